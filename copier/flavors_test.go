package copier

import (
	"strings"
	"testing"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
)

// mySQLShop is what MySQL has and MariaDB has not, beside a column of every
// type that both have.
var mySQLShop = []string{
	"CREATE TABLE docs (id INT AUTO_INCREMENT PRIMARY KEY, d JSON, v VECTOR(4), fe INT DEFAULT (1 + 1), KEY f ((fe + 1)), KEY low ((CAST(d->>'$.n' AS SIGNED))))",
	`INSERT INTO docs (d, v) VALUES ('{"b": 1.0, "aa": -0.0, "a": 1e300, "n": 18446744073709551615, "t": "☃ \\"q\\" \\\\ \\u0001", "l": [null, true, false, {}, []]}', STRING_TO_VECTOR('[1,-0.5,1e-30,3.4e38]')),
		('null', NULL), (NULL, STRING_TO_VECTOR('[0,0,0,0]')), ('"text"', NULL), ('-1', NULL), ('3.14', NULL)`,
	"CREATE TABLE down (a INT NOT NULL, b INT NOT NULL, v INT, PRIMARY KEY (a DESC, b))",
	"INSERT INTO down SELECT seq % 7, seq, seq FROM seq_1_to_200",
	"SET SESSION sql_generate_invisible_primary_key = ON", "CREATE TABLE keyless (v INT)", "INSERT INTO keyless (v) VALUES (1), (1), (2)", "SET SESSION sql_generate_invisible_primary_key = OFF",
	"CREATE TABLE parent (id INT PRIMARY KEY, v VARCHAR(20))", "CREATE TABLE child (id INT PRIMARY KEY, p INT, KEY (p), FOREIGN KEY (p) REFERENCES parent (id), CHECK (id > 0))",
	"INSERT INTO parent VALUES (1, 'a'), (2, 'b')", "INSERT INTO child VALUES (1, 1), (2, 2)",
	"CREATE TABLE heard (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(20))",
	"CREATE TRIGGER hear AFTER INSERT ON child FOR EACH ROW INSERT INTO heard (what) VALUES (CONCAT('child ', NEW.id))",
	"CREATE VIEW seen AS SELECT id, v FROM parent", "CREATE FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN 2 * n",
	"CREATE EVENT later ON SCHEDULE EVERY 1 DAY DO DELETE FROM heard WHERE id < 0",
}

// wideWithoutAddresses is the table of every type without what is MariaDB's alone.
func wideWithoutAddresses() []string {
	wide := mariadbtest.EveryType()
	out := make([]string, len(wide))
	for i, s := range wide {
		out[i] = strings.Replace(s, "i6 INET6, i4 INET4", "i6 VARBINARY(40), i4 VARBINARY(40)", 1)
	}
	return out
}

// TestCopierOnMySQL carries a database from one MySQL server to another, there
// and back, with every type and object it has.
func TestCopierOnMySQL(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	f := startOn(t, mariadbtest.Named(t, mariadbtest.MySQL9), append(append(wideWithoutAddresses(), "SET SESSION sql_mode = DEFAULT"), mySQLShop...)...)
	found, err := f.c.Refusals(t.Context())
	must(t, err)
	for _, x := range found {
		if x.Severity == farm.Blocker {
			t.Errorf("refused: %s: %s", x.Check, x.Text)
		}
	}
	must(t, f.c.Prepare(t.Context()))
	must(t, f.c.Prepare(t.Context())) // again is harmless: the database is known by its marks
	must(t, f.c.Carry(t.Context()))
	f.equal(t, "")
	f.mySQLChanges(t)
	must(t, f.c.Carry(t.Context()))
	f.equal(t, "")
	must(t, f.c.Finish(t.Context()))
	f.clean(t)
	f.mySQLDates(t)

	f.cutOver(t)
	f.equal(t, "_stowage_")
	f.to.Exec(t, "USE shop", "INSERT INTO child VALUES (100, 1)", "INSERT INTO heard (what) VALUES ('there')", `UPDATE docs SET d = JSON_SET(d, '$.b', 2.5e0) WHERE id = 1`)
	if got := f.to.Value(t, "SELECT COUNT(*) FROM shop.heard WHERE what = 'child 100'"); got != "1" {
		t.Errorf("the trigger has acted %s times on the target, want 1", got)
	}
	back, err := f.c.FenceBack(t.Context())
	must(t, err)
	must(t, back.Reach(t.Context()))
	must(t, back.Rename(t.Context()))
	must(t, back.Unlock(t.Context()))
	if got := f.from.Value(t, "SELECT CONCAT((SELECT COUNT(*) FROM shop.child WHERE id = 100), (SELECT COUNT(*) FROM shop.heard WHERE what = 'child 100'), (SELECT d->>'$.b' FROM shop.docs WHERE id = 1))"); got != "112.5" {
		t.Errorf("what was written on the target has come back as %s, want 112.5", got)
	}
	f.from.Exec(t, "USE shop", "INSERT INTO child VALUES (101, 2)") // its trigger and names are there again
	must(t, f.c.Carry(t.Context()))
	f.cutOver(t)
	f.equal(t, "_stowage_")
	must(t, f.c.Settle(t.Context()))
	if got := f.from.Value(t, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'shop'"); got != "0" {
		t.Error("the source has the database still")
	}
	if got := f.to.Value(t, `SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME LIKE '\_stow%'`); got != "0" {
		t.Errorf("%s of the copier's tables are left", got)
	}
}

// TestUUIDsAndVectors: what MariaDB keeps in forms of its own, read from rows
// and from the binary log, as values and as keys.
func TestUUIDsAndVectors(t *testing.T) {
	for _, line := range []string{mariadbtest.MariaDB10, mariadbtest.MariaDB11} {
		t.Run(line, func(t *testing.T) {
			t.Parallel() // it mostly waits
			vector, value := "VARBINARY(16)", "x'0000803f000000bf00000080cdcccc3d'"
			if line == mariadbtest.MariaDB11 {
				vector = "VECTOR(4)"
			}
			f := startOn(t, mariadbtest.Named(t, line),
				"CREATE TABLE u (id INT PRIMARY KEY, u UUID, v "+vector+")", "CREATE TABLE ku (u UUID PRIMARY KEY, n INT)",
				"INSERT INTO u (id, u) VALUES (1, NULL), (2, '00000000-0000-0000-0000-000000000000'), (3, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), (4, UUID())",
				"INSERT INTO u (id, v) VALUES (5, "+value+"), (6, REPEAT(x'00', 16))",
				// Every version with every variant, and what is none; a server refuses some.
				"INSERT IGNORE INTO u (id, u) SELECT 1000 + seq, INSERT(INSERT(MD5(seq), 13, 1, HEX(seq % 16)), 17, 1, HEX(seq DIV 16 % 16)) FROM seq_1_to_300",
				"INSERT IGNORE INTO ku SELECT INSERT(INSERT(MD5(seq), 13, 1, HEX(seq % 16)), 17, 1, HEX(seq DIV 16 % 16)), seq FROM seq_1_to_300",
				"INSERT IGNORE INTO ku VALUES (RPAD('7', 32, '0'), 0), (RPAD('000000000000100080', 32, '0'), -1)")
			must(t, f.c.Prepare(t.Context()))
			chunked(t, f, 7)
			f.equal(t, "")
			f.from.Exec(t, "USE shop", "INSERT INTO u (id, u, v) SELECT id + 5000, u, v FROM u", "UPDATE ku SET n = n + 1 WHERE n % 3 = 0", "DELETE FROM ku WHERE n % 3 = 2",
				"UPDATE IGNORE ku SET u = MD5(n) WHERE n % 5 = 0")
			must(t, f.c.Carry(t.Context()))
			f.equal(t, "")
			must(t, f.c.Finish(t.Context()))
			f.clean(t)
		})
	}
}

// mySQLChanges come by the binary log.
func (f *farmOfTwo) mySQLChanges(t *testing.T) {
	t.Helper()
	f.from.Exec(t, "USE shop", "SET SESSION sql_mode = 'ALLOW_INVALID_DATES', time_zone = '-07:00'",
		"INSERT INTO wide (id, t1) VALUES (500, 1)", "UPDATE wide SET id = id + 1000 WHERE id < 100",
		"UPDATE wide SET t1u = 254, v = CONCAT(v, '☃') WHERE id = 1002", "DELETE FROM wide WHERE id = 500", "UPDATE wide SET id = id - 1 WHERE id > 9000",
		"SET SESSION sql_mode = DEFAULT",
		"INSERT INTO docs (d, v) SELECT d, v FROM docs", `UPDATE docs SET d = JSON_SET(d, '$.l[1]', 7e0), v = STRING_TO_VECTOR('[4,3,2,1]') WHERE id = 1`,
		`INSERT INTO docs (d) VALUES ('{"x": 1e-7, "y": 123456789.125, "z": -9223372036854775808, "é": "é/<>&"}')`,
		"UPDATE down SET v = v + 1 WHERE a = 3", "DELETE FROM down WHERE a = 4", "UPDATE keyless SET v = 3 LIMIT 1", "INSERT INTO keyless (v) VALUES (9)", "INSERT INTO child VALUES (3, 1)",
		"START TRANSACTION", "INSERT INTO parent VALUES (7, 'kept')", "SAVEPOINT s", "INSERT INTO parent VALUES (8, 'gone')", "ROLLBACK TO s", "INSERT INTO parent VALUES (9, 'kept')", "COMMIT",
		"SET SESSION binlog_transaction_compression = ON", "START TRANSACTION", "INSERT INTO parent SELECT seq + 100, REPEAT('x', 20) FROM seq_1_to_300", "DELETE FROM parent WHERE id = 150", "COMMIT",
		"CREATE DATABASE IF NOT EXISTS elsewhere", "USE elsewhere", "CREATE TABLE IF NOT EXISTS elsewhere.t (id INT PRIMARY KEY) AS SELECT 1 AS id", "XA START 'x'", "REPLACE INTO elsewhere.t VALUES (2)", "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'")
}

// mySQLDates: a value inside a JSON document that JSON's text cannot say is
// found by the comparison, never taken for the same.
func (f *farmOfTwo) mySQLDates(t *testing.T) {
	t.Helper()
	f.from.Exec(t, "USE shop", "INSERT INTO docs (id, d) VALUES (777, JSON_OBJECT('at', CAST('2020-01-02' AS DATE))), (778, JSON_OBJECT('price', 9.99))")
	must(t, f.c.Carry(t.Context()))
	must(t, f.c.Recheck(t.Context()))
	found, err := f.c.Compare(t.Context())
	must(t, err)
	if len(found) != 2 || found[0].Table != "docs" || found[0].Kind != "differs" {
		t.Errorf("a date and a decimal in JSON documents: %v, want two rows that differ", found)
	}
	f.from.Exec(t, "DELETE FROM shop.docs WHERE id > 776")
	must(t, f.c.Carry(t.Context()))
	must(t, f.c.Recheck(t.Context()))
	f.clean(t)
}
