package mysql

import (
	"reflect"
	"testing"
	"time"
)

// TestParseOpenTrx reads excerpts of SHOW ENGINE INNODB STATUS as servers
// print them (MariaDB 10.11, 10.3 and 5.5, and MySQL 5.6; addresses and times shortened).
func TestParseOpenTrx(t *testing.T) {
	for _, test := range []struct {
		name, status string
		want         map[uint64]openTrx
	}{
		{"nothing open", `
------------
TRANSACTIONS
------------
Trx id counter 42
Purge done for trx's n:o < 42 undo n:o < 0 state: running
History list length 0
LIST OF TRANSACTIONS FOR EACH SESSION:
---TRANSACTION (0x7f2c49c79680), not started
0 lock struct(s), heap size 1128, 0 row lock(s)
--------
FILE I/O
`, map[uint64]openTrx{}},
		{"a write, idle since", `
---TRANSACTION 38, ACTIVE 12 sec
1 lock struct(s), heap size 1128, 0 row lock(s), undo log entries 1
MariaDB thread id 7, OS thread handle 139827, query id 31 127.0.0.1 app
---TRANSACTION (0x7f2c49c78b80), not started
0 lock struct(s), heap size 1128, 0 row lock(s)
`, map[uint64]openTrx{7: {"38", 12 * time.Second}}},
		{"read only has no id yet", `
---TRANSACTION (0x7f2c49c79680), ACTIVE 3 sec
0 lock struct(s), heap size 1128, 0 row lock(s)
MariaDB thread id 9, OS thread handle 139827, query id 40 127.0.0.1 app
Trx read view will not see trx with id >= 38, sees < 38
`, map[uint64]openTrx{9: {"?", 3 * time.Second}}},
		{"prepared", `
---TRANSACTION 51, ACTIVE (PREPARED) 2 sec
mysql tables in use 1, locked 1
2 lock struct(s), heap size 1128, 1 row lock(s), undo log entries 1
MariaDB thread id 11, OS thread handle 139827, query id 77 127.0.0.1 app Commit
COMMIT
`, map[uint64]openTrx{11: {"51", 2 * time.Second}}},
		{"in the middle of a statement, with more words on the line", `
---TRANSACTION 60, ACTIVE 1 sec starting index read
mysql tables in use 1, locked 1
LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)
MariaDB thread id 12, OS thread handle 139827, query id 80 127.0.0.1 app Statistics
SELECT * FROM t WHERE id = 1 FOR UPDATE
------- TRX HAS BEEN WAITING 1000000 us FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 5 page no 3 n bits 8 index PRIMARY of table d.t trx id 60 lock_mode X locks rec but not gap waiting
------------------
---TRANSACTION 61, ACTIVE 5 sec
2 lock struct(s), heap size 1128, 1 row lock(s)
MariaDB thread id 13, OS thread handle 139827, query id 79 127.0.0.1 app
`, map[uint64]openTrx{12: {"60", time.Second}, 13: {"61", 5 * time.Second}}},
		{"a transaction without a session does not lend itself to the next", `
---TRANSACTION 70, ACTIVE (PREPARED) 100 sec
1 lock struct(s), heap size 1128, 0 row lock(s), undo log entries 1
---TRANSACTION (0x7f2c49c79680), not started
MariaDB thread id 14, OS thread handle 139827, query id 90 127.0.0.1 app
`, map[uint64]openTrx{}},
		{"committed in memory is not open", `
---TRANSACTION 71, COMMITTED IN MEMORY flushing log
MariaDB thread id 15, OS thread handle 139827, query id 91 127.0.0.1 app
`, map[uint64]openTrx{}},
		{"a statement that quotes such lines", `
---TRANSACTION 72, ACTIVE 0 sec inserting
MariaDB thread id 16, OS thread handle 139827, query id 92 127.0.0.1 app
INSERT INTO log VALUES ('
MariaDB thread id 99, OS
')
`, map[uint64]openTrx{16: {"72", 0}}},
		{"MySQL 5.6", `
---TRANSACTION 2831, ACTIVE 4 sec
1 lock struct(s), heap size 360, 0 row lock(s), undo log entries 1
MySQL thread id 3, OS thread handle 0x7f, query id 22 localhost app cleaning up
`, map[uint64]openTrx{3: {"2831", 4 * time.Second}}},
		{"MySQL 5.5 and MariaDB 5.5, ids in hexadecimal", `
---TRANSACTION 5A3F, ACTIVE 4 sec
MySQL thread id 4, OS thread handle 0x7f, query id 22 localhost app
`, map[uint64]openTrx{4: {"5A3F", 4 * time.Second}}},
		{"empty", "", map[uint64]openTrx{}},
	} {
		if got := parseOpenTrx(test.status); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: read %v, want %v", test.name, got, test.want)
		}
	}
}

func TestHasEnded(t *testing.T) {
	for _, test := range []struct {
		name    string
		was, is session
		ended   bool
	}{
		{"same statement", session{query: "1"}, session{query: "1"}, false},
		{"next statement", session{query: "1"}, session{query: "2"}, true},
		{"the statement became a transaction", session{query: "1"}, session{trx: "?", query: "1"}, false},
		{"and sleeps in it", session{query: "1"}, session{trx: "9"}, false},
		{"same transaction", session{trx: "9"}, session{trx: "9", query: "4"}, false},
		{"next transaction", session{trx: "9"}, session{trx: "10"}, true},
		{"between two", session{trx: "9"}, session{query: "4"}, true},
		{"its first write", session{trx: "?"}, session{trx: "9"}, false},
		{"its second", session{trx: "?"}, session{trx: "?"}, false},
	} {
		if got := hasEnded(test.was, test.is, 0); got != test.ended {
			t.Errorf("%s: ended is %v, want %v", test.name, got, test.ended)
		}
	}
	// A transaction that was open 5 s ago is at least 4 s old by the server's
	// whole seconds; a younger one is another.
	old, young := session{trx: "?", active: 4 * time.Second}, session{trx: "?", active: 2 * time.Second}
	if hasEnded(session{trx: "?"}, old, 5*time.Second) || !hasEnded(session{trx: "?"}, young, 5*time.Second) {
		t.Error("the age of a transaction without an id does not tell it from its successor")
	}
}
