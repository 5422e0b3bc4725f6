package mariadbtest

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// DSN for the Go driver; database may be empty. TLS is off and parameters are
// put into the text by the driver, which saves a round trip a statement.
func (i *Instance) DSN(as Account, database string) string {
	return fmt.Sprintf("%s:%s@tcp(%s)/%s?interpolateParams=true&parseTime=true", as, as.Password(), i.Address, database)
}

// DB opens a pool of connections, closed when the test ends.
func (i *Instance) DB(t testing.TB, as Account, database string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", i.DSN(as, database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Exec runs statements one after the other in one session, with every
// privilege. "USE db" works.
func (i *Instance) Exec(t testing.TB, statements ...string) {
	t.Helper()
	db, err := sql.Open("mysql", i.DSN(Stowage, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatalf("connect to %s: %v", i.Name, err)
	}
	defer conn.Close()
	for _, s := range statements {
		if i.home.line.MySQL && strings.HasPrefix(s, "CREATE SEQUENCE ") {
			continue // MySQL has none; what uses it fails there
		}
		if i.home.line.MySQL {
			s = sequence.ReplaceAllStringFunc(s, numbers)
		}
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %s: %v", i.Name, s, err)
		}
	}
}

// sequence is a sequence table of MariaDB.
var sequence = regexp.MustCompile(`\bseq_1_to_\d+\b`)

// numbers is MySQL's way to say seq_1_to_n, up to 9999.
func numbers(table string) string {
	const digit = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5" +
		" UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	all := fmt.Sprintf("(SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS seq FROM %[1]s AS a, %[1]s AS b, %[1]s AS c, %[1]s AS e) AS n", digit)
	return fmt.Sprintf("(SELECT seq FROM %s WHERE seq BETWEEN 1 AND %s ORDER BY seq) AS numbers", all, strings.TrimPrefix(table, "seq_1_to_"))
}

// Value is the one value a query returns, as text; NULL is "".
func (i *Instance) Value(t testing.TB, query string, args ...any) string {
	t.Helper()
	db, err := sql.Open("mysql", i.DSN(Stowage, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var v sql.NullString
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %s: %v", i.Name, query, err)
	}
	return v.String
}

// ReplicaStatus is SHOW SLAVE STATUS by column name, empty for a server that
// replicates from nobody.
func (i *Instance) ReplicaStatus(t testing.TB) map[string]string {
	t.Helper()
	query := "SHOW SLAVE STATUS"
	if i.home.line.MySQL {
		query = "SHOW REPLICA STATUS"
	}
	rows, err := i.DB(t, Stowage, "").QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", i.Name, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	status := map[string]string{}
	values := make([]sql.NullString, len(columns))
	into := make([]any, len(columns))
	for n := range values {
		into[n] = &values[n]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for n, c := range columns {
			// By MariaDB's names on every line.
			status[strings.NewReplacer("Replica_", "Slave_", "Source_", "Master_").Replace(c)] = values[n].String
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return status
}

// Replicate makes replica follow source by GTID and waits until both its
// threads run: an IO thread that met error 1236 is never retried.
func Replicate(t testing.TB, replica, source *Instance) {
	t.Helper()
	if replica.home.line.MySQL {
		replica.Exec(t,
			"STOP REPLICA",
			fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST='%s', SOURCE_PORT=%d, SOURCE_USER='%s', SOURCE_PASSWORD='%s', "+
				"SOURCE_AUTO_POSITION=1, SOURCE_CONNECT_RETRY=1, SOURCE_HEARTBEAT_PERIOD=2, GET_SOURCE_PUBLIC_KEY=1",
				source.Host, source.Port, Repl, Repl.Password()),
			"START REPLICA")
	} else {
		replica.Exec(t,
			"STOP SLAVE",
			fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%d, MASTER_USER='%s', MASTER_PASSWORD='%s', "+
				"MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1, MASTER_HEARTBEAT_PERIOD=2",
				source.Host, source.Port, Repl, Repl.Password()),
			"START SLAVE")
	}
	for end := time.Now().Add(startLimit); ; time.Sleep(20 * time.Millisecond) {
		s := replica.ReplicaStatus(t)
		if s["Slave_IO_Running"] == "Yes" && s["Slave_SQL_Running"] == "Yes" {
			return
		}
		if time.Now().After(end) || s["Last_IO_Errno"] == "1236" || s["Last_SQL_Errno"] != "0" {
			t.Fatalf("%s does not follow %s: IO %s %s, SQL %s %s", replica.Name, source.Name,
				s["Slave_IO_Running"], s["Last_IO_Error"], s["Slave_SQL_Running"], s["Last_SQL_Error"])
		}
	}
}

// Ring joins two instances into an active-active pair: each follows the other,
// a hands out odd keys and b even ones.
func Ring(t testing.TB, a, b *Instance) {
	t.Helper()
	for offset, i := range []*Instance{a, b} {
		i.SetOptions(fmt.Sprintf("--auto-increment-offset=%d", offset+1))
		i.Exec(t, fmt.Sprintf("SET GLOBAL auto_increment_offset=%d", offset+1))
	}
	Replicate(t, b, a)
	Replicate(t, a, b)
}

// AwaitApplied waits until replica has applied everything source has in its
// binary log by now.
func AwaitApplied(t testing.TB, replica, source *Instance) {
	t.Helper()
	pos := source.Value(t, "SELECT @@gtid_binlog_pos")
	if pos == "" {
		return
	}
	// A replica that stopped would let the wait sit out its time: look at it
	// between short waits.
	for end := time.Now().Add(startLimit); ; {
		if replica.hasApplied(t, pos) {
			return
		}
		s := replica.ReplicaStatus(t)
		if s["Slave_SQL_Running"] != "Yes" || time.Now().After(end) {
			t.Fatalf("%s has not applied %s of %s: IO %s, SQL %s %s", replica.Name, pos, source.Name,
				s["Slave_IO_Running"], s["Slave_SQL_Running"], s["Last_SQL_Error"])
		}
	}
}

// hasApplied waits up to half a second for a position. Domains are waited for
// one by one and compared with what the server itself has written: its own
// domain comes back only through a closed ring.
func (i *Instance) hasApplied(t testing.TB, pos string) bool {
	t.Helper()
	own := i.Value(t, "SELECT @@gtid_domain_id")
	for _, gtid := range strings.Split(pos, ",") {
		gtid = strings.TrimSpace(gtid)
		if strings.HasPrefix(gtid, own+"-") {
			continue
		}
		if i.Value(t, "SELECT MASTER_GTID_WAIT(?, 0.5)", gtid) != "0" {
			return false
		}
	}
	return true
}
