package capture

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"stowage/internal/mariadbtest"
)

// loggingServer writes every statement into its slow log and its
// performance_schema.
func loggingServer(t *testing.T) *mariadbtest.Instance {
	i := mariadbtest.Start(t, "wire", "--slow-query-log=1", "--slow-query-log-file=slow.log", "--long-query-time=60", "--local-infile=1",
		"--max-allowed-packet=64M", "--innodb-buffer-pool-size=64M", "--thread-stack=256K",
		"--performance-schema=ON", "--performance-schema-events-statements-history-long-size=20000",
		"--performance-schema-consumer-events-statements-history-long=ON", "--performance-schema-consumer-events-statements-current=ON")
	i.Exec(t, "CREATE DATABASE shop", "USE shop",
		"CREATE TABLE t (id INT PRIMARY KEY, k INT, a VARCHAR(2000), b DOUBLE, c DATETIME(6), d LONGBLOB)",
		"INSERT INTO t SELECT seq, seq % 17, REPEAT('v', seq % 200), seq / 3, '2024-03-01 12:00:00', NULL FROM seq_1_to_500",
		"CREATE PROCEDURE two() BEGIN SELECT 1; SELECT id FROM t LIMIT 3; END",
		"SET GLOBAL long_query_time=0", "TRUNCATE performance_schema.events_statements_history_long")
	return i
}

// statement is what capture and server must agree on.
type statementSeen struct {
	text string
	rows uint64
}

// slowLog reads MariaDB's own format; the statements of these tests hold no
// line that looks like a header.
func slowLog(t *testing.T, i *mariadbtest.Instance) map[statementSeen]int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(i.Datadir, "slow.log"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[statementSeen]int{}
	var e statementSeen
	var text []string
	inText := false
	flush := func() {
		if e.text = strings.TrimSuffix(strings.Join(text, "\n"), ";"); inText {
			all[e]++
		}
		e, text, inText = statementSeen{}, nil, false
	}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "# Time:"), strings.HasPrefix(line, "# User@Host:"):
			flush()
		case strings.HasPrefix(line, "# Query_time:"):
			w := strings.Fields(line)
			e.rows, _ = strconv.ParseUint(w[slices.Index(w, "Rows_sent:")+1], 10, 64)
		case strings.HasPrefix(line, "# ") && !inText: // "# administrator command: Ping" stands behind SET timestamp
		case strings.HasPrefix(line, "SET timestamp=") && !inText:
			inText = true
		case inText:
			text = append(text, line)
		}
	}
	flush()
	return all
}

// history is what performance_schema kept: text, rows, errors and warnings.
func history(t *testing.T, i *mariadbtest.Instance) map[string]int {
	t.Helper()
	rows, err := i.DB(t, mariadbtest.Stowage, "").QueryContext(t.Context(), `SELECT SQL_TEXT, ROWS_SENT, ROWS_AFFECTED, MYSQL_ERRNO, WARNINGS
		FROM performance_schema.events_statements_history_long WHERE EVENT_NAME LIKE 'statement/sql/%' AND NESTING_EVENT_ID IS NULL`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]int{}
	for rows.Next() {
		var text sql.NullString
		var sent, affected, code, warnings uint64
		if err := rows.Scan(&text, &sent, &affected, &code, &warnings); err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprintf("%d rows, %d affected, error %d: %.900s", sent, affected, code, text.String)]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// expand puts the values into the statement, as the server does in its log.
func (s *seen) expand() string {
	if s.Command != Execute {
		return s.Query
	}
	parts := strings.Split(s.Query, "?")
	var b strings.Builder
	for k, p := range parts {
		b.WriteString(p)
		if k < len(s.Args) {
			b.WriteString(s.Args[k])
		}
	}
	return b.String()
}

func fromCapture(list []seen) (slow map[statementSeen]int, schema map[string]int) {
	slow, schema = map[statementSeen]int{}, map[string]int{}
	for _, e := range list {
		if e.Command != Query && e.Command != Execute {
			continue
		}
		text := strings.TrimSuffix(e.expand(), ";")
		if inner, ok := executed[text]; ok {
			text = inner
		}
		slow[statementSeen{text, e.RowsSent}]++
		if e.Command == Query && e.Statement == 0 && e.Query != called {
			schema[fmt.Sprintf("%d rows, %d affected, error %d: %.900s", e.RowsSent, e.RowsAffected, e.ErrorCode, e.Query)]++
		}
	}
	return slow, schema
}

func compare[K comparable](t *testing.T, what string, got, want map[K]int) {
	t.Helper()
	n := 0
	for k := range maps.Keys(want) {
		if got[k] != want[k] {
			if n++; n < 10 {
				t.Errorf("%s: %d in the capture, %d by the server: %.300v", what, got[k], want[k], k)
			}
		}
	}
	for k := range maps.Keys(got) {
		if _, ok := want[k]; !ok {
			if n++; n < 10 {
				t.Errorf("%s: only in the capture: %.300v", what, k)
			}
		}
	}
}

// workload runs statements of every kind through one way of talking.
func workload(t *testing.T, dsn string, seed uint64) {
	t.Helper()
	pool, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	db, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	do := func(text string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
			t.Fatalf("%.100s: %v", text, err)
		}
	}
	fails := func(text string, args ...any) {
		t.Helper()
		var e *mysql.MySQLError
		if _, err := db.ExecContext(t.Context(), text, args...); !errors.As(err, &e) {
			t.Fatalf("%.100s: %v", text, err)
		}
	}
	ask := func(text string, args ...any) {
		t.Helper()
		rows, err := db.QueryContext(t.Context(), text, args...)
		if err != nil {
			t.Fatalf("%.100s: %v", text, err)
		}
		for more := true; more; more = rows.NextResultSet() {
			for rows.Next() {
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatalf("%.100s: %v", text, err)
		}
	}
	r := rand.New(rand.NewPCG(seed, 3))
	for n := range 60 {
		id := int(seed)*10_000 + n + 1000
		ask("SELECT a FROM t WHERE id = ?", r.IntN(600))
		ask("SELECT id, a, b, c FROM t WHERE k = ? LIMIT "+strconv.Itoa(n), r.IntN(20))
		do("INSERT INTO t (id, k, a, b) VALUES (?, ?, ?, ?)", id, n, "it's \\ \"here\" \n"+strings.Repeat("w", r.IntN(1500)), 1.5)
		do("UPDATE t SET a = ?, c = ? WHERE id = ?", "x", "2024-05-05 01:02:03", id)
		if n%5 == 0 {
			fails("INSERT INTO t (id) VALUES (?)", id)
			fails("SELEC " + strconv.Itoa(n))
			ask("SELECT ?, ?, ?", nil, int64(-1)<<40, "")
			do("DELETE FROM t WHERE id >= ? AND id < ?", id-3, id-1)
		}
	}
	ask("SELECT * FROM t")
	ask("SELECT REPEAT('z', 3000000)")
	ask("SELECT REPEAT('z', 17000000)")
	do("INSERT INTO t (id, d) VALUES (?, ?)", seed*10_000+9_999, bytes.Repeat([]byte("q"), 200_000))
	ask(called)
	_ = db.Raw(func(c any) error { return c.(driver.Pinger).Ping(t.Context()) })
}

// TestAgainstServer: what is read off the wire is what the server itself wrote
// down, statement by statement: text, rows sent, rows affected and errors.
func TestAgainstServer(t *testing.T) {
	i := loggingServer(t)
	p := startProxy(t, i.Address)
	dsn := func(options string) string {
		return fmt.Sprintf("%s:%s@tcp(%s)/shop?%s", mariadbtest.Stowage, mariadbtest.Stowage.Password(), p.address(), options)
	}
	workload(t, dsn("interpolateParams=true"), 1)
	workload(t, dsn(""), 2)
	workload(t, dsn("compress=true&interpolateParams=true"), 3)
	workload(t, dsn("compress=true"), 4)
	severalStatements(t, dsn("multiStatements=true"))
	loadLocal(t, dsn("allowAllFiles=true"))
	commandLine(t, p.address())
	commandLine(t, p.address(), "--compress")
	file := pcapOf(p.stop()...)
	list, sum := readAll(t, file, Options{MaxQuery: 1 << 22})
	for _, r := range sum.Skipped {
		t.Errorf("skipped: %+v", r)
	}
	if sum.Sessions != 8 || sum.Compressed != 3 || sum.TLS != 0 {
		t.Errorf("%+v", sum)
	}
	slow, schema := fromCapture(list)
	logged := statementsOf(slowLog(t, i))
	if len(logged) < 800 {
		t.Fatalf("only %d different statements in the slow log", len(logged))
	}
	compare(t, "slow log", slow, logged)
	kept := history(t, i)
	maps.DeleteFunc(kept, func(s string, _ int) bool {
		return !isOurs(s) || strings.HasSuffix(s, several) || strings.HasSuffix(s, called)
	})
	t.Logf("%d events, %d different statements in the slow log, %d in performance_schema", len(list), len(logged), len(kept))
	compare(t, "performance_schema", schema, kept)
	commands := map[Command]uint64{}
	for _, e := range list {
		commands[e.Command]++
	}
	for c, name := range map[Command]string{Prepare: "Prepare", Execute: "Execute", CloseStatement: "Close stmt", Ping: "Ping", InitDB: "Init DB"} {
		n := i.Value(t, "SELECT COUNT(*) FROM performance_schema.events_statements_history_long WHERE EVENT_NAME = 'statement/com/"+name+"'")
		if got := strconv.FormatUint(commands[c], 10); got != n {
			t.Errorf("%s %s in the capture, %s in performance_schema", got, c, n)
		}
	}
	for _, e := range list {
		if e.Incomplete || e.Truncated || e.User != "stowage" || e.Command.hasAnswer() && (!e.Answered || e.Latency <= 0 && e.Statement < 2) {
			t.Fatalf("%.300s %+v", e.Query, e)
		}
	}
}

// statementsOf leaves out what did not go over our wire: commands that are no
// statements, and the test's own questions.
func statementsOf(all map[statementSeen]int) map[statementSeen]int {
	maps.DeleteFunc(all, func(s statementSeen, _ int) bool { return !isOurs(s.text) })
	return all
}

func isOurs(text string) bool {
	return !strings.Contains(text, "performance_schema") && !strings.Contains(text, "SET GLOBAL") && !strings.HasPrefix(text, "# administrator")
}

// several marks texts of several statements: performance_schema keeps with each
// of them all that follow.
const several = " /* several */"

// called is a procedure, whose rows performance_schema counts for the statements
// in it, and the slow log for the call.
const called = "CALL two()"

// executed is what the slow log makes of an EXECUTE in SQL, whose values only
// the server knows.
var executed = map[string]string{"EXECUTE s USING @a": "SELECT 5 + 1"}

func severalStatements(t *testing.T, dsn string) {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for n := range 20 {
		_, _ = conn.ExecContext(t.Context(), fmt.Sprintf("SELECT ';%d'; UPDATE t SET k=k+1 WHERE id < %d;\n SELECT id FROM t LIMIT %d"+several, n, n, n))
		_, _ = conn.ExecContext(t.Context(), fmt.Sprintf("SELECT %d; SELECT * FROM nowhere; SELECT 'never'"+several, n))
	}
}

func loadLocal(t *testing.T, dsn string) {
	path := filepath.Join(t.TempDir(), "rows")
	var rows bytes.Buffer
	for n := range 5000 {
		fmt.Fprintf(&rows, "%d\t%d\tname\n", 500_000+n, n)
	}
	if err := os.WriteFile(path, rows.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "LOAD DATA LOCAL INFILE '"+path+"' INTO TABLE t (id, k, a)"); err != nil {
		t.Fatal(err)
	}
}

// commandLine talks through the C client.
func commandLine(t *testing.T, address string, more ...string) {
	path, err := exec.LookPath("mariadb")
	if err != nil {
		t.Fatal("the mariadb command line client is missing: ", err)
	}
	host, port, _ := net.SplitHostPort(address)
	script := "use shop;\nSELECT COUNT(*) FROM t;\nselect id, a from t where id < 400;\nPREPARE s FROM 'SELECT ? + 1';\nSET @a = 5;\nEXECUTE s USING @a;\nSELECT * FROM missing;\nselect 7;\n"
	args := append([]string{"--no-defaults", "-h" + host, "-P" + port, "-u" + string(mariadbtest.Stowage), "--force", "--skip-ssl"}, more...)
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+mariadbtest.Stowage.Password())
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if !strings.Contains(string(out), "missing") {
		t.Fatalf("%v: %.300s", err, out)
	}
}

// TestAgainstTcpdump takes the same wire with tcpdump, which needs privileges.
func TestAgainstTcpdump(t *testing.T) {
	path, err := exec.LookPath("tcpdump")
	if err != nil || os.Getuid() != 0 {
		t.Skip("NOT TESTED: captures by tcpdump itself: it is not installed, or we are not root")
	}
	i := loggingServer(t)
	file := filepath.Join(t.TempDir(), "wire.pcap")
	// -B: its default of 2 MiB is too little for answers of 17 MB.
	cmd := exec.Command(path, "-i", "any", "-Z", "root", "-B", "65536", "-U", "-w", file, "host", i.Host, "and", "port", strconv.Itoa(i.Port))
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("NOT TESTED: captures by tcpdump itself: ", err)
	}
	said := make([]byte, 0, 4096)
	for !bytes.Contains(said, []byte("listening on")) {
		n, err := errs.Read(said[len(said):cap(said)])
		if said = said[:len(said)+n]; err != nil {
			_ = cmd.Wait()
			t.Skipf("NOT TESTED: captures by tcpdump itself: %s", said)
		}
	}
	dsn := fmt.Sprintf("%s:%s@tcp(%s)/shop", mariadbtest.Stowage, mariadbtest.Stowage.Password(), i.Address)
	workload(t, dsn, 1)
	workload(t, dsn+"?interpolateParams=true", 2)
	time.Sleep(time.Second) // packets are in the kernel's buffer for a while
	_ = cmd.Process.Signal(syscall.SIGINT)
	rest, _ := io.ReadAll(errs)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, rest)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	list, sum := readAll(t, raw, Options{MaxQuery: 1 << 22})
	t.Logf("%s; %d events; %+v", strings.TrimSpace(strings.ReplaceAll(string(rest), "\n", ", ")), len(list), sum)
	if !bytes.Contains(rest, []byte("0 packets dropped by kernel")) {
		t.Skipf("NOT TESTED: the kernel dropped packets: %s", rest)
	}
	slow, _ := fromCapture(list)
	compare(t, "slow log", slow, statementsOf(slowLog(t, i)))
}
