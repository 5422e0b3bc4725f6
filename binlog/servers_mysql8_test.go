package binlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"stowage/binlog"
	"stowage/internal/mariadbtest"
)

// writeMySQL fills a server's log with what a log of MySQL may hold, with tags where they are wanted.
func writeMySQL(t *testing.T, s *mariadbtest.Instance, tags bool) {
	t.Helper()
	s.Exec(t, "CREATE DATABASE d", "USE d", "CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200), b LONGBLOB)", "CREATE TABLE m (id INT) ENGINE=MyISAM",
		"CREATE PROCEDURE p() BEGIN INSERT a (v) VALUES ('COMMIT'); INSERT a (v) VALUES ('ROLLBACK'); END", "INSERT a (v) VALUES (UUID()), (RAND())", "INSERT a (v) VALUES (LAST_INSERT_ID())",
		"BEGIN", "INSERT a (v) VALUES ('a')", "SAVEPOINT x", "INSERT a (v) VALUES ('b')", "ROLLBACK TO x", "COMMIT", "INSERT m VALUES (1),(2)", "CALL p()",
		"CREATE TABLE b (PRIMARY KEY (id)) AS SELECT * FROM a", "INSERT a (b) VALUES (REPEAT('x', 3000000))",
		"SET binlog_transaction_compression=ON", "INSERT a (b) VALUES (REPEAT('y', 3000000))", "UPDATE a SET v = CONCAT(v, '!')", "SET binlog_transaction_compression=OFF",
		"XA START 'one'", "INSERT a (v) VALUES ('xa')", "XA END 'one'", "XA PREPARE 'one'", "XA COMMIT 'one'",
		"XA START 'two'", "INSERT a (v) VALUES ('xa')", "XA END 'two'", "XA PREPARE 'two'", "XA ROLLBACK 'two'",
		"XA START 'three'", "INSERT a (v) VALUES ('xa')", "XA END 'three'", "XA COMMIT 'three' ONE PHASE",
		"CREATE USER late IDENTIFIED BY 'x'", "ALTER TABLE a ADD COLUMN c INT", "TRUNCATE TABLE b", "DROP TABLE b", "FLUSH BINARY LOGS", "DELETE FROM a WHERE id < 5",
		"SET gtid_next='5f6c4f1e-0000-1111-2222-333344445555:7'", "INSERT a (v) VALUES ('of another server')",
		"SET gtid_next='5f6c4f1e-0000-1111-2222-333344445555:3'", "INSERT a (v) VALUES ('out of order')", "SET gtid_next='AUTOMATIC'", "FLUSH BINARY LOGS")
	for n := range 3 {
		if tags {
			s.Exec(t, fmt.Sprintf("SET gtid_next='AUTOMATIC:tag_%d'", n), "INSERT d.a (v) VALUES ('tagged')", "SET gtid_next='5f6c4f1e-0000-1111-2222-333344445555:a_tag_of_as_many_letters_as_any1:5'",
				"INSERT d.a (v) SELECT v FROM d.a LIMIT 1", "SET gtid_next='AUTOMATIC'", "FLUSH BINARY LOGS")
		}
	}
	several(t, s)
}

var setGTID = regexp.MustCompile(`GTID_NEXT= ?'([^']+)'`)

// TestAgainstMySQL: the same transactions at the same offsets as the server shows, the sets that it writes at the head of each file, and in the end what
// it has executed.
func TestAgainstMySQL(t *testing.T) {
	for _, option := range []string{"--binlog-checksum=CRC32", "--binlog-checksum=NONE"} {
		for _, tags := range []bool{false, true} {
			t.Run(fmt.Sprint(option, " tags ", tags), func(t *testing.T) {
				t.Parallel()
				s := mariadbtest.Named(t, mariadbtest.MySQL9).Start(t, "s", option, "--max-binlog-size=1M", "--max-allowed-packet=16M")
				writeMySQL(t, s, tags)
				s.Kill()
				s.Restart(t)
				s.Exec(t, "INSERT d.a (v) VALUES ('after a crash')")
				compareMySQL(t, s)
			})
		}
	}
}

func compareMySQL(t *testing.T, s *mariadbtest.Instance) {
	db := s.DB(t, mariadbtest.Root, "")
	var state binlog.State
	count := 0
	for _, path := range files(t, s.Datadir) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		h, err := binlog.ReadHead(bytes.NewReader(raw))
		if err != nil || !h.IsMySQL || h.ServerID != s.ServerID || h.Start.String() != state.String() {
			t.Fatalf("%s: %v; %+v begins with %s; the one before ended with %s", path, err, h, h.Start, state)
		}
		rows, err := db.Query("SHOW BINLOG EVENTS IN '" + filepath.Base(path) + "'")
		if err != nil {
			t.Fatal(err)
		}
		var want []said
		for rows.Next() {
			var file, kind, info string
			var at, server, end int64
			if err := rows.Scan(&file, &at, &kind, &server, &end, &info); err != nil {
				t.Fatal(err)
			}
			if m := setGTID.FindStringSubmatch(info); m != nil && strings.HasPrefix(kind, "Gtid") {
				want = append(want, said{at, m[1]})
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		scan := h.Scan(bytes.NewReader(raw), h.End, h.Start)
		got := 0
		for ; scan.Next(); got++ {
			if x := scan.Transaction(); got >= len(want) || want[got] != (said{x.Begin, x.GTID.String()}) {
				t.Fatalf("%s: transaction %d is %v; the server shows %v", path, got, x, want[min(got, len(want)-1):])
			}
		}
		if err := scan.Err(); err != nil || scan.Whole() != int64(len(raw)) || got != len(want) {
			t.Fatalf("%s: read up to %d of %d, %d transactions of %d: %v", path, scan.Whole(), len(raw), got, len(want), err)
		}
		state, count = scan.State(), count+got
	}
	has, err := binlog.ParseState(strings.ReplaceAll(s.Value(t, "SELECT @@GLOBAL.gtid_executed"), "\n", ""))
	if err != nil || has.String() != state.String() {
		t.Errorf("%s; the server says %s, %v", state, has, err)
	}
	if count < 200 {
		t.Errorf("only %d transactions", count)
	}
	t.Log(state)
}
