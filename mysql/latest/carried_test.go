package latest

import (
	"strings"
	"testing"

	"stowage/reshape/spec"
)

// A file's own times are its clients': neither a fill-in, nor an applier, nor a trigger touches a column that changes by itself with its row.
func TestOnlyCarriedColumnsAreWritten(t *testing.T) {
	t.Parallel()
	s := raise(t)
	s.build("ALTER TABLE files ADD COLUMN changed TIMESTAMP(6) NOT NULL DEFAULT '2020-01-01' ON UPDATE CURRENT_TIMESTAMP(6), ADD COLUMN seen DATETIME NULL ON UPDATE CURRENT_TIMESTAMP")
	s.again()
	touched := func(by string) {
		t.Helper()
		var n int
		s.must(s.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM fs1.files WHERE changed <> '2020-01-01' OR seen IS NOT NULL").Scan(&n))
		if n > 0 {
			t.Errorf("%s changed the times of %d files", by, n)
		}
		s.build("UPDATE files SET changed = '2020-01-01', seen = NULL")
	}
	x := s.session()
	x.Shape = s.shape
	s.fill(x, "1", 500)
	touched("the fill-in")
	_, err := x.Apply(t.Context(), "fs1", []Key{{"1"}, {"3"}})
	s.must(err)
	touched("the applier")
	s.triggers()
	s.build("INSERT INTO versions (tenant_id, file_id, version_no, size) VALUES (1, 2, 9, 1)", "UPDATE versions SET size = size + 1 WHERE file_id = 4", "DELETE FROM versions WHERE file_id = 6",
		"UPDATE versions SET file_id = 8, version_no = 11 WHERE file_id = 10 AND version_no = 3")
	touched("a trigger")
	if n := s.wrong(); n > 0 {
		t.Errorf("%d files are wrong", n)
	}
	s.build("UPDATE files SET name = 'new' WHERE file_id = 2")
	var n int
	s.must(s.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM fs1.files WHERE changed <> '2020-01-01' AND seen IS NOT NULL").Scan(&n))
	if n != 1 {
		t.Errorf("a client's own write changes the times of %d files, want 1", n)
	}
}

// again completes the spec by the tables as they are now.
func (s *stand) again() {
	s.Helper()
	s.shape = Shape{filesSpec().Complete(s.tables())}
}

// Children's columns of any type are carried as they are, NULL and the hour that comes twice, too.
func TestColumnsOfEveryKindAreCarried(t *testing.T) {
	t.Parallel()
	s := raise(t)
	kinds := []struct{ kind, value string }{
		{"TIMESTAMP NULL", "FROM_UNIXTIME(1792886400 + version_no * 1800)"}, {"TIMESTAMP(6) NULL", "FROM_UNIXTIME(1792886400.5 + version_no * 1800)"}, {"DATETIME(3)", "'2026-10-25 02:30:00.125'"}, {"TIME(2)", "'-101:02:03.45'"}, {"DATE", "'0000-00-00'"}, {"YEAR", "1999"},
		{"DECIMAL(40,12)", "12345678901234567890.123456789012"}, {"FLOAT", "0.1"}, {"DOUBLE", "1e300"}, {"BIT(9)", "b'101010101'"}, {"JSON", "'{\"a\": [1, 2.0]}'"}, {"LONGBLOB", "REPEAT(X'00FF27', 99)"},
		{"LONGTEXT CHARACTER SET latin1", "'ä '"}, {"CHAR(9)", "'Ab '"}, {"ENUM('b','a')", "'a'"}, {"SET('x','y')", "'x,y'"}, {"UUID", "UUID()"}, {"INET6", "'::1'"}, {"POINT", "POINT(1, 2)"}, {"BINARY(4)", "X'0100'"}, {"BIGINT UNSIGNED ZEROFILL", "7"},
		{"BIGINT AS (version_no * 2) VIRTUAL", ""}, {"VARCHAR(20) AS (CONCAT('v', version_no)) STORED", ""},
	}
	sp := filesSpec()
	var add, set []string
	for n, k := range kinds {
		name := "c" + itoa(n)
		add = append(add, "ADD COLUMN "+name+" "+k.kind)
		if k.value != "" {
			set = append(set, name+" = IF(version_no % 2 = 0, NULL, "+k.value+")")
		}
		sp.Carry = append(sp.Carry, spec.Carry{Column: "latest_" + name, From: name})
	}
	tables := func() spec.Tables {
		got, err := Tables(t.Context(), s.server, "fs1", sp.Names())
		s.must(err)
		return got
	}
	s.build("SET sql_mode = '', SESSION time_zone = '+00:00'", "ALTER TABLE versions "+strings.Join(add, ", "), "UPDATE versions SET "+strings.Join(set, ", "))
	s.shape = Shape{sp.Complete(tables())}
	s.build(s.shape.AddColumns(tables())...)
	x := s.session()
	s.fill(x, "1", 500)
	if n := s.wrong(); n > 0 {
		t.Errorf("%d files are wrong when they are filled in", n)
	}
	for _, tr := range s.shape.Triggers(tables()) {
		s.build("SET sql_mode = 'STRICT_ALL_TABLES'", tr.Create)
	}
	s.build("SET time_zone = 'SYSTEM'", "UPDATE versions SET note = 'x' WHERE file_id < 200", "DELETE FROM versions WHERE version_no = 5 AND file_id < 400", "DELETE FROM versions WHERE version_no = 4 AND file_id < 300", "DELETE FROM versions WHERE file_id < 40")
	if n := s.wrong(); n > 0 {
		t.Errorf("%d files are wrong when triggers have carried", n)
	}
}
