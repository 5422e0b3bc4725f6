package scratch

import (
	"log/slog"
	"testing"

	"stowage/host"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
	"stowage/schema"
)

// goesBack makes a change of a table, takes it back by the statement of its judgement, which must be one that a script may have, and wants the table of before.
func goesBack(t *testing.T, s *Server, create, text string, around schema.Around) {
	t.Helper()
	statements := []Statement{{"seq", "CREATE SEQUENCE seq", "x"}, {"t", create, "x"}}
	if around.MySQL {
		statements = statements[1:]
	}
	tables, err := s.Read(t.Context(), statements)
	if err != nil {
		t.Fatal(err)
	}
	there, err := s.Try(t.Context(), tables, change(t, "ALTER TABLE t "+text), nil)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	j := schema.JudgeChange(there, around)
	if j.Reverse == "" || j.Class == schema.Breaking {
		t.Errorf("%s: %s, reverse %q, refused %q", text, j.Class, j.Reverse, j.Refused)
		return
	}
	tables["t"] = there.After.Text
	back, err := s.Try(t.Context(), tables, change(t, j.Reverse), nil)
	if err != nil {
		t.Errorf("%s, back by %s: %v", text, j.Reverse, err)
		return
	}
	if d := schema.Diff(back.After, there.Before); len(d) > 0 || there.Before.Text == there.After.Text {
		t.Errorf("%s, back by %s: %v", text, j.Reverse, d)
	}
}

// Options of engines and partitions have ways back of their own.
func TestChangesGoBack(t *testing.T) {
	t.Parallel()
	s := opened(t)
	const plain, rest = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(20), b BLOB COMPRESSED, n INT)", "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(20))"
	for _, x := range [][2]string{
		{plain, "PAGE_COMPRESSED=1 PAGE_COMPRESSION_LEVEL=3"},
		{plain + " PAGE_COMPRESSED=1", "PAGE_COMPRESSED=0"},
		{plain, "ENCRYPTED=NO"},
		{plain, "ENCRYPTION_KEY_ID=1"},
		{plain, "DROP COLUMN n, DROP COLUMN b"},
		{rest + " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10))", "ADD PARTITION (PARTITION `P,1` VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN (30) COMMENT 'a)')"},
		{rest + " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION pm VALUES LESS THAN MAXVALUE)", "REORGANIZE PARTITION pm INTO (PARTITION p1 VALUES LESS THAN (20), PARTITION pm VALUES LESS THAN MAXVALUE)"},
		{rest + " PARTITION BY LIST (id) (PARTITION p0 VALUES IN (1, 2))", "ADD PARTITION (PARTITION p1 VALUES IN (3))"},
		{rest + " PARTITION BY HASH (id) PARTITIONS 3", "ADD PARTITION PARTITIONS 2"},
		{rest + " PARTITION BY KEY (id) PARTITIONS 3", "COALESCE PARTITION 1"},
		{rest + " PARTITION BY HASH (id) PARTITIONS 3", "REMOVE PARTITIONING"},
		{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, n INT, c BIGINT DEFAULT NEXTVAL(seq))", "DROP COLUMN c"},
		{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, c BIGINT DEFAULT NEXTVAL(seq), n INT)", "ALTER COLUMN c SET DEFAULT 1"},
		{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(9)) CHARSET=utf8mb3", "CONVERT TO CHARACTER SET utf8mb4, ADD c INT"},
	} {
		goesBack(t, s, x[0], x[1], schema.Around{})
	}
}

// What MySQL says in comments for some versions comes back in plain words.
func TestChangesGoBackOnMySQL(t *testing.T) {
	turns.One(t, 8)
	t.Setenv("PATH", mariadbtest.Named(t, mariadbtest.MySQL9).Path())
	local, err := host.NewLocal(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	q := question(t)
	q.Local = local
	s, err := Open(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	const plain = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(20), g INT AS (id + 1) VIRTUAL INVISIBLE, KEY v (v) INVISIBLE, FULLTEXT KEY f (v) WITH PARSER ngram)"
	const simple = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(20))"
	for _, x := range [][2]string{
		{plain, "DROP COLUMN g, DROP KEY v, DROP KEY f"},
		{simple, "COMPRESSION='zlib'"},
		{simple + " COMPRESSION='zlib'", "COMPRESSION=''"},
		{simple + " PARTITION BY HASH (id) PARTITIONS 2", "REMOVE PARTITIONING"},
		{simple + " PARTITION BY HASH (id) PARTITIONS 2", "ADD PARTITION PARTITIONS 2"},
		{simple + " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10))", "ADD PARTITION (PARTITION p1 VALUES LESS THAN (20))"},
		{simple + " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION pm VALUES LESS THAN MAXVALUE)", "REORGANIZE PARTITION pm INTO (PARTITION p1 VALUES LESS THAN (20), PARTITION pm VALUES LESS THAN MAXVALUE)"},
	} {
		goesBack(t, s, x[0], x[1], schema.Around{MySQL: true})
	}
}
