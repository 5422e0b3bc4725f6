package binlog_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stowage/binlog"
	"stowage/internal/mariadbtest"
)

// said is one transaction as the server's own tool prints it.
type said struct {
	begin int64
	gtid  string
}

var (
	saidGTID = regexp.MustCompile(`(?m)^# at (\d+)\n#\S+ +\S+ server id \d+ .*\tGTID (\d+-\d+-\d+)`)
	saidAt   = regexp.MustCompile(`(?m)^# at (\d+)$`)
)

// tool is what mariadb-binlog says of a file: its transactions, and where each of its events begins.
func tool(t *testing.T, path string) (all []said, events []int64) {
	t.Helper()
	cmd := exec.Command("mariadb-binlog", "--no-defaults", "--verify-binlog-checksum", "--base64-output=decode-rows", path)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("mariadb-binlog %s: %v\n%s", path, err, errs.String())
	}
	for _, m := range saidGTID.FindAllStringSubmatch(out.String(), -1) {
		at, _ := strconv.ParseInt(m[1], 10, 64)
		all = append(all, said{at, m[2]})
	}
	for _, m := range saidAt.FindAllStringSubmatch(out.String(), -1) {
		at, _ := strconv.ParseInt(m[1], 10, 64)
		events = append(events, at)
	}
	return all, events
}

// files are those of a server's binary log, in order.
func files(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "bl.0?????"))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	slices.Sort(all)
	return all
}

// write fills a server's log with whatever a log may hold.
func write(t *testing.T, s *mariadbtest.Instance, format string) {
	t.Helper()
	s.Exec(t, "SET GLOBAL binlog_format='"+format+"'")
	s.Exec(t, "CREATE DATABASE d", "USE d", "CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200), b LONGBLOB)", "CREATE TABLE m (id INT) ENGINE=MyISAM",
		"CREATE TRIGGER tr AFTER INSERT ON a FOR EACH ROW SET @last = NEW.id",
		"CREATE PROCEDURE p() BEGIN INSERT a (v) VALUES ('COMMIT'); INSERT a (v) VALUES ('ROLLBACK'); END",
		"INSERT a (v) VALUES (UUID()), (RAND())", "SET @x = 5", "INSERT a (v) VALUES (@x)", "INSERT a (v) VALUES (LAST_INSERT_ID())",
		"BEGIN", "INSERT a (v) VALUES ('a')", "SAVEPOINT x", "INSERT a (v) VALUES ('b')", "ROLLBACK TO x", "COMMIT",
		"BEGIN", "INSERT a (v) VALUES ('c')", "INSERT m VALUES (1)", "ROLLBACK",
		"INSERT m VALUES (1),(2)", "CALL p()", "SET gtid_domain_id=77", "INSERT a (v) VALUES ('other domain')", "CREATE TABLE b AS SELECT * FROM a",
		"CREATE OR REPLACE TABLE b AS SELECT id FROM a", "CREATE TEMPORARY TABLE tmp (id INT)", "INSERT tmp VALUES (1)", "INSERT a (v) SELECT 'from tmp' FROM tmp", "DROP TEMPORARY TABLE tmp",
		"SET gtid_domain_id=DEFAULT",
		"INSERT a (b) VALUES (REPEAT('x', 3000000))", "INSERT a (v) SELECT seq FROM seq_1_to_5000", "UPDATE a SET v = CONCAT(v, '!')",
		"XA START 'one'", "INSERT a (v) VALUES ('xa')", "XA END 'one'", "XA PREPARE 'one'", "XA COMMIT 'one'",
		"XA START 'two'", "INSERT a (v) VALUES ('xa')", "XA END 'two'", "XA PREPARE 'two'", "XA ROLLBACK 'two'",
		"XA START 'three'", "INSERT a (v) VALUES ('xa')", "XA END 'three'", "XA COMMIT 'three' ONE PHASE",
		"ALTER TABLE a ADD COLUMN c INT", "TRUNCATE TABLE b", "DROP TABLE b", "FLUSH BINARY LOGS", "DELETE FROM a WHERE id < 20", "ANALYZE TABLE a")
	if format != "STATEMENT" { // which sequences refuse
		s.Exec(t, "USE d", "CREATE SEQUENCE s", "DO NEXT VALUE FOR s")
	}
	db := s.DB(t, mariadbtest.App, "d")
	st, err := db.Prepare("INSERT a (v) VALUES (?)")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for n := range 20 {
		if _, err := st.Exec(fmt.Sprint("prepared ", n)); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(s.Dir, "load.txt")
	if err := os.WriteFile(data, []byte("1\n2\n3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Exec(t, "USE d", "LOAD DATA INFILE '"+data+"' INTO TABLE m", "LOAD DATA INFILE '"+data+"' INTO TABLE a (v)")
	several(t, s)
}

// several sessions write at once, so that commits come in groups.
func several(t *testing.T, s *mariadbtest.Instance) {
	done := make(chan error)
	for w := range 4 {
		db := s.DB(t, mariadbtest.App, "d")
		go func() {
			var err error
			for n := 0; n < 50 && err == nil; n++ {
				err = inTransaction(db, fmt.Sprintf("w%d %d", w, n))
			}
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

func inTransaction(db *sql.DB, v string) error {
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	for range 3 {
		if _, err := tx.Exec("INSERT a (v) VALUES (?)", v); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// TestAgainstTheServersOwnTool: the same transactions at the same offsets as mariadb-binlog prints, and the states that the server writes at
// the head of its next file; with all that a log may hold, on each server, in each format.
func TestAgainstTheServersOwnTool(t *testing.T) {
	for _, name := range []string{mariadbtest.MariaDB10, mariadbtest.MariaDB11} {
		for _, format := range []string{"ROW", "MIXED", "STATEMENT"} {
			for _, option := range []string{"--binlog-checksum=CRC32", "--binlog-checksum=NONE", "--log-bin-compress=1"} {
				if testing.Short() && (format == "MIXED" || strings.HasSuffix(option, "=NONE") != (format == "STATEMENT")) {
					continue // two of nine
				}
				t.Run(name+"/"+format+"/"+option, func(t *testing.T) {
					t.Parallel()
					l := mariadbtest.Named(t, name)
					s := l.Start(t, "s", option, "--max-binlog-size=1M", "--innodb-log-file-size=64M", "--max-allowed-packet=16M", "--binlog-annotate-row-events=1", "--log-slave-updates=1")
					write(t, s, format)
					if name == mariadbtest.MariaDB11 { // a transaction of more than this becomes a file of its own
						s.Exec(t, "SET GLOBAL binlog_large_commit_threshold=10485760", "INSERT d.a (b) VALUES (REPEAT('x', 6000000)), (REPEAT('y', 6000000))")
					}
					s.Kill()
					s.Restart(t)
					s.Exec(t, "INSERT d.a (v) VALUES ('after a crash')")
					compareAll(t, s)
				})
			}
		}
	}
}

func compareAll(t *testing.T, s *mariadbtest.Instance) {
	var state binlog.State
	all := files(t, s.Datadir)
	count := 0
	for n, path := range all {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		h, err := binlog.ReadHead(bytes.NewReader(raw))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if h.Start.String() != state.String() {
			t.Fatalf("%s begins with %s; the one before ended with %s", path, h.Start, state)
		}
		if h.ServerID != s.ServerID || !strings.Contains(h.Version, "MariaDB") {
			t.Errorf("%s: server %d %s", path, h.ServerID, h.Version)
		}
		want, events := tool(t, path)
		scan := h.Scan(bytes.NewReader(raw), h.End, h.Start)
		got := 0
		for scan.Next() {
			x := scan.Transaction()
			if got >= len(want) || want[got] != (said{x.Begin, x.GTID.String()}) {
				t.Fatalf("%s: transaction %d is %v; the tool says %v", path, got, x, want[min(got, len(want)-1)])
			}
			got++
			if x.End != int64(len(raw)) && !slices.Contains(events, x.End) {
				t.Fatalf("%s: %v ends at %d, where no event begins", path, x, x.End)
			}
			if got < len(want) && x.End > want[got].begin {
				t.Fatalf("%s: %v ends behind the beginning of the next, %v", path, x, want[got])
			}
		}
		if err := scan.Err(); err != nil || scan.Whole() != int64(len(raw)) {
			t.Fatalf("%s: read up to %d of %d: %v", path, scan.Whole(), len(raw), err)
		}
		if got != len(want) {
			t.Fatalf("%s: %d transactions; the tool says %d", path, got, len(want))
		}
		if ending := scan.Ending(); n < len(all)-1 && ending == binlog.Open && !strings.HasSuffix(path, filepath.Base(all[len(all)-2])) {
			t.Errorf("%s has no ending", path)
		}
		state, count = scan.State(), count+got
	}
	if pos := s.Value(t, "SELECT @@gtid_binlog_pos"); !sameList(pos, state.Position()) {
		t.Errorf("position %s; the server says %s", state.Position(), pos)
	}
	if count < 250 {
		t.Errorf("only %d transactions", count)
	}
	t.Logf("%d files, %d transactions", len(all), count)
}

func sameList(a, b string) bool {
	x, y := strings.Split(a, ","), strings.Split(b, ",")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
