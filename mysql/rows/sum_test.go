package rows

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/internal/turns"
	"stowage/mysql"
)

// everyType is one table with a column of every kind that is compared in its
// own way, and a row at every edge we could think of.
var everyType = []string{
	"CREATE DATABASE d",
	`CREATE TABLE d.types (id BIGINT UNSIGNED PRIMARY KEY, tiny TINYINT, dec20 DECIMAL(38,10), f FLOAT, g DOUBLE, flags BIT(10), yes BOOL,
		c CHAR(8), v VARCHAR(40) COLLATE utf8mb4_general_ci, latin VARCHAR(40) CHARACTER SET latin1, b VARBINARY(40), t TEXT, blo BLOB, j JSON,
		e ENUM('z','a'), s SET('x','y'), d DATE, dt DATETIME(6), ts TIMESTAMP(6) NULL, ti TIME, y YEAR, p POINT, twice INT AS (tiny * 2) VIRTUAL)`,
	`INSERT d.types (id, tiny, dec20, f, g, flags, yes, c, v, latin, b, t, blo, j, e, s, d, dt, ts, ti, y, p) VALUES
		(0, -128, -9999999999999999999999999999.9999999999, 1.5, 2.5e300, b'0', 0, '', '', '', '', '', '', '{}', 'z', '', '1000-01-01', '1000-01-01 00:00:00', '2021-03-28 01:30:00', '-838:59:59', 1901, POINT(0,0)),
		(9223372036854775808, 127, 0.0000000001, 0.1, -0.1, b'1111111111', 1, 'a  ', 'é  ', 'é', 0x00ff00, 'NULL', 0x00, '{"k":"é"}', 'a', 'x,y', '9999-12-31', '9999-12-31 23:59:59.999999', '2021-10-31 02:30:00.5', '838:59:59', 2155, POINT(1,-1)),
		(18446744073709551615, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`,
	"CREATE TABLE d.empty (id INT PRIMARY KEY)",
	"CREATE TABLE d.nokey (a INT, b VARCHAR(10))",
	"INSERT d.nokey VALUES (1,'x'),(1,'x'),(2,NULL)",
	"CREATE TABLE d.names (name VARCHAR(40) COLLATE utf8mb4_general_ci PRIMARY KEY, n INT)",
	"INSERT d.names VALUES ('Zoé',1),('anna',2),('Ärger',3),('bERT',4),('émile',5),('zoe  x',6),('',7),('日本',8),('o''brien',9),('back\\\\slash',10),('Bert2 ',11),('B%',12)",
	"CREATE TABLE d.pairs (a INT, b VARCHAR(10), c BIGINT UNSIGNED, v INT, PRIMARY KEY (b, a, c))",
	"INSERT d.pairs SELECT seq % 3, CONCAT('k', seq % 5), 18446744073709551000 + seq, seq FROM seq_1_to_40",
	"CREATE TABLE d.many (id INT PRIMARY KEY, v VARCHAR(20))",
	"INSERT d.many SELECT seq * 2, CONCAT('value ', seq) FROM seq_1_to_100",
	"CREATE TABLE d.bits (b BIT(8) PRIMARY KEY, v INT)",
	"INSERT d.bits SELECT seq, seq FROM seq_1_to_20",
	"CREATE TABLE d.floats (f FLOAT PRIMARY KEY, v INT)",
	"INSERT d.floats SELECT 1.234567 + seq / 1000000, seq FROM seq_1_to_20",
	"CREATE TABLE d.decimals (n DECIMAL(38,2) PRIMARY KEY, v INT)",
	"INSERT d.decimals SELECT 123456789012345678901234567890.00 + seq / 100, seq FROM seq_1_to_20",
	"CREATE TABLE d.enums (e ENUM('z','m','a','k') PRIMARY KEY, v INT)",
	"INSERT d.enums VALUES ('z',1),('m',2),('a',3),('k',4)",
	"CREATE TABLE d.blank (id INT PRIMARY KEY, e ENUM('', 'a'))",
	"INSERT d.blank VALUES (1, ''), (2, 'a')",
	"CREATE TABLE d.second (a VARCHAR(20) CHARACTER SET latin1 NOT NULL, b INT NOT NULL, v INT, UNIQUE KEY by_both (a, b), UNIQUE KEY by_half (b, v))",
	"INSERT d.second SELECT CONCAT('é', seq % 5), seq, seq FROM seq_1_to_30",
	"CREATE TABLE d.moments (at DATETIME(3), n BINARY(2), PRIMARY KEY (at, n))",
	"INSERT d.moments SELECT '2021-01-01 00:00:00' + INTERVAL seq MINUTE, UNHEX(LPAD(HEX(seq), 4, '0')) FROM seq_1_to_20",
	"CREATE TABLE d.`odd``name` (`select` INT, `a``b` INT, PRIMARY KEY (`a``b`))",
	"INSERT d.`odd``name` VALUES (1,1),(2,2)",
	"CREATE VIEW d.view_of AS SELECT * FROM d.many",
}

// twins are two servers with the same rows, not connected: what stands still
// at the same place. The sequences need a current database.
func twins(t *testing.T, options ...string) (ai, bi *mariadbtest.Instance, a, b *mysql.Server) {
	t.Helper()
	ai, a = start(t, "a")
	bi, b = start(t, "b", options...)
	for _, i := range []*mariadbtest.Instance{ai, bi} {
		i.Exec(t, append([]string{everyType[0], "USE d", "SET time_zone = '+00:00'"}, everyType[1:]...)...)
	}
	return ai, bi, a, b
}

func compare(t *testing.T, a, b *mysql.Server, chunkRows int) []Mismatch {
	t.Helper()
	snap, err := Snapshot(t.Context(), a)
	must(t, err)
	defer func() { must(t, snap.Close()) }()
	out, err := inChunks(t, snap, b, chunkRows)
	must(t, err)
	return out
}

// inChunks compares all with a copy that stands still.
func inChunks(t *testing.T, snap *View, copied *mysql.Server, chunkRows int) ([]Mismatch, error) {
	t.Helper()
	v, err := Comparison{Copy: copied, ChunkRows: chunkRows}.Compare(t.Context(), snap, nil)
	return v.Mismatches, err
}

func allTables(t *testing.T, snap *View, copied *mysql.Server) ([]Mismatch, error) {
	t.Helper()
	return inChunks(t, snap, copied, ChunkRows)
}

func TestCompareTables(t *testing.T) {
	t.Parallel() // it mostly waits
	// The copy lives in another time zone; that is not a difference.
	ai, bi, a, b := twins(t, "--default-time-zone=+05:30")

	for _, chunkRows := range []int{1, 2, 3, 7, 1000} {
		if out := compare(t, a, b, chunkRows); len(out) > 0 {
			t.Fatalf("equal copies differ in chunks of %d rows: %v", chunkRows, out)
		}
	}

	for _, test := range []struct{ name, table, change, back string }{
		{"a changed row", "d.many", "UPDATE d.many SET v='other' WHERE id=100", "UPDATE d.many SET v='value 50' WHERE id=100"},
		{"a missing row", "d.many", "DELETE FROM d.many WHERE id=2", "INSERT d.many VALUES (2,'value 1')"},
		{"the last row missing", "d.many", "DELETE FROM d.many WHERE id=200", "INSERT d.many VALUES (200,'value 100')"},
		{"a row more before the first", "d.many", "INSERT d.many VALUES (-5,'')", "DELETE FROM d.many WHERE id=-5"},
		{"a row more between", "d.many", "INSERT d.many VALUES (101,'')", "DELETE FROM d.many WHERE id=101"},
		{"a row more beyond the last chunk", "d.many", "INSERT d.many VALUES (100000,'')", "DELETE FROM d.many WHERE id=100000"},
		{"a row more in an empty table", "d.empty", "INSERT d.empty VALUES (1)", "DELETE FROM d.empty"},
		{"all rows missing", "d.enums", "CREATE TABLE x.keep SELECT * FROM d.enums; DELETE FROM d.enums", "INSERT d.enums SELECT * FROM x.keep; DROP TABLE x.keep"},
		{"two values swapped", "d.many", "UPDATE d.many SET v=IF(id=20,'value 11','value 10') WHERE id IN (20,22)", "UPDATE d.many SET v=IF(id=20,'value 10','value 11') WHERE id IN (20,22)"},
		{"one duplicate less without a key", "d.nokey", "DELETE FROM d.nokey WHERE a=1 LIMIT 1", "INSERT d.nokey VALUES (1,'x')"},
		{"two duplicates more without a key", "d.nokey", "INSERT d.nokey VALUES (3,'y'),(3,'y')", "DELETE FROM d.nokey WHERE a=3"},
		{"one pair of duplicates for another", "d.nokey", "UPDATE d.nokey SET b='z' WHERE a=1", "UPDATE d.nokey SET b='x' WHERE a=1"},
		{"empty string for NULL", "d.nokey", "UPDATE d.nokey SET b='' WHERE a=2", "UPDATE d.nokey SET b=NULL WHERE a=2"},
		{"the word NULL for NULL", "d.nokey", "UPDATE d.nokey SET b='NULL' WHERE a=2", "UPDATE d.nokey SET b=NULL WHERE a=2"},
		{"0 for NULL", "d.types", "UPDATE d.types SET tiny=0 WHERE tiny IS NULL", "UPDATE d.types SET tiny=NULL WHERE tiny=0"},
		{"case of a letter under a collation that does not care", "d.names", "UPDATE d.names SET name='BERT' WHERE n=4", "UPDATE d.names SET name='bERT' WHERE n=4"},
		{"an accent likewise", "d.names", "UPDATE d.names SET name='Emile' WHERE n=5", "UPDATE d.names SET name='émile' WHERE n=5"},
		{"a trailing space", "d.names", "UPDATE d.names SET name='Bert2' WHERE n=11", "UPDATE d.names SET name='Bert2 ' WHERE n=11"},
		{"a trailing zero byte", "d.types", "UPDATE d.types SET b=0x00ff0000 WHERE tiny=127", "UPDATE d.types SET b=0x00ff00 WHERE tiny=127"},
		{"a bit", "d.types", "UPDATE d.types SET flags=b'1111111110' WHERE tiny=127", "UPDATE d.types SET flags=b'1111111111' WHERE tiny=127"},
		{"the last digit of a decimal", "d.types", "UPDATE d.types SET dec20=-9999999999999999999999999999.9999999998 WHERE id=0", "UPDATE d.types SET dec20=-9999999999999999999999999999.9999999999 WHERE id=0"},
		{"the last bit of a float", "d.types", "UPDATE d.types SET f=0.10000001 WHERE tiny=127", "UPDATE d.types SET f=0.1 WHERE tiny=127"},
		{"the last bit of a double", "d.types", "UPDATE d.types SET g=-0.10000000000000002 WHERE tiny=127", "UPDATE d.types SET g=-0.1 WHERE tiny=127"},
		{"bigint unsigned beyond 2^63", "d.types", "UPDATE d.types SET id=9223372036854775809 WHERE tiny=127", "UPDATE d.types SET id=9223372036854775808 WHERE tiny=127"},
		{"in a composite key, beyond 2^63", "d.pairs", "UPDATE d.pairs SET v=v+1 WHERE c=18446744073709551007", "UPDATE d.pairs SET v=v-1 WHERE c=18446744073709551007"},
		{"a row more in a composite key", "d.pairs", "INSERT d.pairs VALUES (1,'k2',1,1)", "DELETE FROM d.pairs WHERE c=1"},
		{"a space in a JSON document", "d.types", `UPDATE d.types SET j='{"k": "é"}' WHERE tiny=127`, `UPDATE d.types SET j='{"k":"é"}' WHERE tiny=127`},
		{"a byte of a blob", "d.types", "UPDATE d.types SET blo=0x01 WHERE tiny=127", "UPDATE d.types SET blo=0x00 WHERE tiny=127"},
		{"a microsecond", "d.types", "UPDATE d.types SET dt='9999-12-31 23:59:59.999998' WHERE tiny=127", "UPDATE d.types SET dt='9999-12-31 23:59:59.999999' WHERE tiny=127"},
		{"a point", "d.types", "UPDATE d.types SET p=POINT(1,-2) WHERE tiny=127", "UPDATE d.types SET p=POINT(1,-1) WHERE tiny=127"},
		{"latin1", "d.types", "UPDATE d.types SET latin='e' WHERE tiny=127", "UPDATE d.types SET latin='é' WHERE tiny=127"},
		{"a value moved to the next column", "d.types", "UPDATE d.types SET c='x', v='' WHERE id=0", "UPDATE d.types SET c='', v='' WHERE id=0"},
		{"a bit key", "d.bits", "UPDATE d.bits SET v=0 WHERE b=20", "UPDATE d.bits SET v=20 WHERE b=20"},
		{"a float key", "d.floats", "UPDATE d.floats SET v=0 WHERE v=20", "UPDATE d.floats SET v=20 WHERE v=0"},
		{"a decimal key", "d.decimals", "UPDATE d.decimals SET v=0 WHERE v=20", "UPDATE d.decimals SET v=20 WHERE v=0"},
		{"an enum key", "d.enums", "UPDATE d.enums SET v=0 WHERE v=2", "UPDATE d.enums SET v=2 WHERE v=0"},
		{"no value of an ENUM for the value ''", "d.blank", "SET SESSION sql_mode = ''; UPDATE d.blank SET e = 0 WHERE id = 1", "UPDATE d.blank SET e = 1 WHERE id = 1"},
		{"a unique key in place of a primary one", "d.second", "UPDATE d.second SET v = 0 WHERE b = 9", "UPDATE d.second SET v = 9 WHERE b = 9"},
		{"a binary key", "d.moments", "UPDATE d.moments SET n=0xffff WHERE n=0x0001", "UPDATE d.moments SET n=0x0001 WHERE n=0xffff"},
		{"odd names", "d.odd`name", "UPDATE d.`odd``name` SET `select`=9 WHERE `a``b`=2", "UPDATE d.`odd``name` SET `select`=2 WHERE `a``b`=2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bi.Exec(t, "CREATE DATABASE IF NOT EXISTS x")
			bi.Exec(t, strings.Split(test.change, "; ")...)
			bi.Exec(t, "DROP DATABASE IF EXISTS nothing")
			for _, chunkRows := range []int{3, 1000} {
				out := compareOnly(t, a, b, test.table, chunkRows)
				if len(out) == 0 {
					t.Errorf("not seen in chunks of %d rows", chunkRows)
				}
				for _, m := range out {
					if m.Table != test.table || !strings.Contains(m.String(), test.table) || m.Was == m.Is {
						t.Errorf("reported as %s, want a difference in %s", m, test.table)
					}
				}
			}
			bi.Exec(t, strings.Split(test.back, "; ")...)
			if out := compareOnly(t, a, b, test.table, 3); len(out) > 0 {
				t.Errorf("still differs after the change was taken back: %v", out)
			}
		})
	}
	t.Run("two tables, two mismatches, and progress", func(t *testing.T) {
		bi.Exec(t, "DROP DATABASE IF EXISTS x", "DELETE FROM d.many WHERE id=2", "INSERT d.empty VALUES (5)")
		snap, err := Snapshot(t.Context(), a)
		must(t, err)
		defer snap.Close()
		var told []int
		v, err := Comparison{Copy: b, Tell: func(c Compared) { told = append(told, c.Done, c.Of) }}.Compare(t.Context(), snap, nil)
		must(t, err)
		out := v.Mismatches
		if len(out) != 2 || out[0].Table != "d.empty" || out[1].Table != "d.many" {
			t.Errorf("differences: %v, want d.empty and d.many", out)
		}
		if len(out) == 2 && (!strings.HasPrefix(out[0].Was, "0 rows") || !strings.HasPrefix(out[0].Is, "1 row,") || out[0].Chunk != "all rows") {
			t.Errorf("the empty table: %s", out[0])
		}
		if n := len(told); n != 2*14 || told[0] != 0 || told[1] != 14 || told[n-2] != 13 {
			t.Errorf("progress was %v, want 0 14 to 13 14", told)
		}
	})
	_ = ai
}

// compareOnly compares one table of two servers.
func compareOnly(t *testing.T, a, b *mysql.Server, table string, chunkRows int) []Mismatch {
	t.Helper()
	snap, err := Snapshot(t.Context(), a)
	must(t, err)
	defer func() { must(t, snap.Close()) }()
	was, err := definitionsOf(t.Context(), mysql.Through(a), nil)
	must(t, err)
	is, err := definitionsOf(t.Context(), mysql.Through(b), nil)
	must(t, err)
	for _, pair := range pairs(was, is) {
		if pair.was.String() == table {
			copied, err := OpenView(t.Context(), b, false)
			must(t, err)
			defer copied.Close()
			v, err := Comparison{Ends: func(context.Context) (*View, *View, error) { return snap, copied, nil }, Copy: b, ChunkRows: chunkRows}.Rows(t.Context(), []TablePair{pair})
			must(t, err)
			return v.Mismatches
		}
	}
	t.Fatalf("no table %s", table)
	return nil
}

// TestHashCanBeReadBack: values that hold what is between values are told
// from those next to them.
func TestHashCanBeReadBack(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	ai, a := start(t, "a")
	bi, b := start(t, "b")
	rows := []string{"'#', 'a', 1, NULL", "'', '#a', 1, NULL", "'#1#a', '', 1, NULL", "'a#1', 'a', NULL, 1", "'a', '1#a', NULL, 1", "'1', '', 1, 0", "'', '1', 1, 0", "'0', NULL, 10, 0", "'0#0', NULL, 1, 0"}
	for _, i := range []*mariadbtest.Instance{ai, bi} {
		i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, a VARCHAR(20), b VARBINARY(20), n INT, m INT)")
	}
	for x, was := range rows {
		ai.Exec(t, "REPLACE d.t VALUES (1, "+was+")")
		for y, is := range rows {
			bi.Exec(t, "REPLACE d.t VALUES (1, "+is+")")
			if differs := len(compare(t, a, b, 10)) > 0; differs != (x != y) {
				t.Errorf("(%s) and (%s): differ %v", was, is, differs)
			}
		}
	}
}

// TestRowsLargerThanAPacket: a function result beyond max_allowed_packet is
// NULL, and NULL equals NULL.
func TestRowsLargerThanAPacket(t *testing.T) {
	t.Parallel() // it mostly waits
	_, a := start(t, "a", "--max-allowed-packet=1M", "--innodb-log-file-size=16M")
	bi, b := start(t, "b", "--max-allowed-packet=1M", "--innodb-log-file-size=16M")
	for _, s := range []*mysql.Server{a, b} {
		must(t, s.Build(t.Context(), []string{"CREATE DATABASE d",
			"CREATE TABLE d.large (id INT PRIMARY KEY, x LONGBLOB, y LONGTEXT, v VARCHAR(60000) CHARACTER SET latin1)",
			"INSERT d.large VALUES (1, REPEAT('x', 700000), REPEAT('y', 700000), REPEAT('v', 60000))",
			"FLUSH BINARY LOGS"})) // BINLOG_GTID_POS cannot read past an event that large
	}
	if out := compare(t, a, b, 10); len(out) > 0 {
		t.Fatalf("equal and differ: %v", out)
	}
	bi.Exec(t, "UPDATE d.large SET y = CONCAT(REPEAT('y', 699999), 'z')")
	if out := compare(t, a, b, 10); len(out) != 1 {
		t.Errorf("differences: %v, want one", out)
	}
}

func TestCompareTablesReportsColumns(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, a := start(t, "a")
	bi, b := start(t, "b")
	both := []string{"CREATE DATABASE d", "CREATE TABLE d.same (id INT PRIMARY KEY)"}
	ai.Exec(t, append(both, "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "CREATE TABLE d.only_source (id INT)", "CREATE TABLE d.collation (v VARCHAR(9) COLLATE utf8mb4_bin)")...)
	bi.Exec(t, append(both, "CREATE TABLE d.t (id INT PRIMARY KEY, v BIGINT)", "CREATE TABLE d.only_copy (id INT)", "CREATE TABLE d.collation (v VARCHAR(9) COLLATE utf8mb4_general_ci)", "INSERT d.same VALUES (1)")...)
	want := "d.collation d.only_copy d.only_source d.t"
	for name, out := range map[string][]Mismatch{"CompareTables": compare(t, a, b, 10), "CompareDefinitions": columnsOf(t, a, b)} {
		var tables []string
		for _, m := range out {
			tables = append(tables, m.Table)
			if m.Chunk != "columns" {
				t.Errorf("%s: %s is not about columns", name, m)
			}
		}
		if strings.Join(tables, " ") != want {
			t.Errorf("%s: differences in %v, want %s", name, tables, want)
		}
	}
	out := columnsOf(t, a, b)
	if len(out) == 4 && (out[1].Was != "no such table" || out[2].Is != "no such table" || !strings.Contains(out[3].Is, "v bigint")) {
		t.Errorf("said as %v", out)
	}
	if out := columnsOf(t, a, a); len(out) > 0 {
		t.Errorf("a server differs from itself: %v", out)
	}
}

func columnsOf(t *testing.T, a, b *mysql.Server) []Mismatch {
	t.Helper()
	out, err := CompareDefinitions(t.Context(), a, b)
	must(t, err)
	return out
}

// TestCompareWhileTheSourceIsWritten is the way a move compares: the copy
// stops at the snapshot's position, the source goes on.
func TestCompareWhileTheSourceIsWritten(t *testing.T) {
	t.Parallel() // it mostly waits
	ai, a := start(t, "a")
	bi, b := start(t, "b")
	mariadbtest.Ring(t, ai, bi)
	stop := ai.Writers(t, 2)
	defer stop()
	for round := range 3 {
		must(t, b.StopReplicating(t.Context()))
		snap, err := Snapshot(t.Context(), a)
		must(t, err)
		must(t, b.StopAt(t.Context(), snap.At, patience))
		eventually(t, "the source goes on", func() bool { return !mysqltest.Position(t, a).Equal(snap.At) })
		out, err := inChunks(t, snap, b, 50)
		must(t, err)
		if len(out) > 0 {
			t.Errorf("round %d: the copy differs: %v", round, out)
		}
		must(t, snap.Close())
		if round == 1 { // and it is not blind: a row that only the copy has
			bi.Exec(t, "SET SESSION sql_log_bin=0", "INSERT d.w VALUES (1000000000, 1)")
		}
		if round == 0 {
			follow(t, b, ai)
			must(t, b.WaitFor(t.Context(), snap.At, patience))
			continue
		}
		if round == 1 {
			snap, err := Snapshot(t.Context(), a)
			must(t, err)
			must(t, b.StopAt(t.Context(), snap.At, patience))
			out, err := inChunks(t, snap, b, 50)
			must(t, err)
			if len(out) != 1 || out[0].Table != "d.w" {
				t.Errorf("a row that only the copy has: %v, want one difference", out)
			}
			must(t, snap.Close())
			bi.Exec(t, "SET SESSION sql_log_bin=0", "DELETE FROM d.w WHERE id = 1000000000")
			follow(t, b, ai)
		}
	}
}

func TestSnapshotNeedsABinaryLog(t *testing.T) {
	t.Parallel() // it mostly waits
	_, s := start(t, "a", "--skip-log-bin")
	if _, err := Snapshot(t.Context(), s); err == nil || !strings.Contains(err.Error(), "log_bin") {
		t.Errorf("error %v, want one that names log_bin", err)
	}
}

// TestSnapshotStandsStill: it shows what was there, and its position with it.
func TestSnapshotStandsStill(t *testing.T) {
	t.Parallel() // it mostly waits
	i, s := start(t, "a")
	i.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT d.t VALUES (1)")
	before := mysqltest.Position(t, s)
	snap, err := Snapshot(t.Context(), s)
	must(t, err)
	defer snap.Close()
	i.Exec(t, "INSERT d.t VALUES (2)")
	var n int
	must(t, snap.conn.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM d.t").Scan(&n))
	if n != 1 || !snap.At.Equal(before) || snap.At.Equal(mysqltest.Position(t, s)) {
		t.Errorf("shows %d rows at %s, want 1 at %s", n, snap.At, before)
	}
	if _, err := snap.conn.ExecContext(t.Context(), "INSERT d.t VALUES (3)"); err == nil {
		t.Error("a snapshot can write")
	}
}

func ExampleMismatch_String() {
	fmt.Println(Mismatch{Table: "d.t", Chunk: "key > (1) and <= end", Was: "2 rows, sum 1f", Is: "3 rows, sum 2e"})
	// Output: d.t key > (1) and <= end: source 2 rows, sum 1f, copy 3 rows, sum 2e
}
