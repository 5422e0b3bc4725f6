package scratch

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stowage/schema"
)

// row is one of docs/guide/alter.md: a change of a table, and what it is called.
type row struct {
	name   string // as the page says it
	tables []string
	change string
	around schema.Around
	refuse string // in the reasons
	steps  []string
}

const (
	plainTable = "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, v VARCHAR(20), n INT DEFAULT 7, e ENUM('a','b'), u INT UNSIGNED, d DATETIME, KEY n (n)) DEFAULT CHARSET=utf8mb4"
	keyed      = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, n INT, UNIQUE KEY a (a))"
	keyless    = "CREATE TABLE t (a INT, v VARCHAR(10))"
	parent     = "CREATE TABLE p (id INT NOT NULL PRIMARY KEY)"
	child      = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, p INT, q INT, CONSTRAINT strict FOREIGN KEY (p) REFERENCES p (id), CONSTRAINT cascading FOREIGN KEY (q) REFERENCES p (id) ON DELETE CASCADE)"
	computed   = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT, g INT AS (a + 1) STORED)"
	ranges     = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v INT) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10))"
	versioned  = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v INT) WITH SYSTEM VERSIONING"
	old        = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v VARCHAR(20), x TEXT) DEFAULT CHARSET="
)

var rows = []row{
	{name: "comment, default, `AUTO_INCREMENT=`, default character set of the table", change: "COMMENT='x', ALTER COLUMN n SET DEFAULT 8, DEFAULT CHARSET=latin1"},
	{name: "rename an index, `IGNORED`", change: "RENAME INDEX n TO m"},
	{name: "drop a check", tables: []string{"CREATE TABLE t (id INT PRIMARY KEY, CONSTRAINT c CHECK (id > 0))"}, change: "DROP CONSTRAINT c"},
	{name: "add or drop an index", change: "DROP INDEX n, ADD INDEX v (v)"},
	{name: "add a full text index", change: "ADD FULLTEXT INDEX f (v)"},
	{name: "unique index over a unique one", tables: []string{keyed}, change: "ADD UNIQUE KEY ab (b, a)"},
	{name: "row format, `FORCE`, `OPTIMIZE TABLE`", change: "FORCE"},
	{name: "partitions by hash, or with a place for every row", change: "PARTITION BY HASH (id) PARTITIONS 3"},
	{name: "add a column at the end", change: "ADD COLUMN c INT NOT NULL DEFAULT 9"},
	{name: "drop the last column", change: "DROP COLUMN d"},
	{name: "rename a column", change: "RENAME COLUMN n TO number"},
	{name: "longer integer, same sign", change: "MODIFY n BIGINT DEFAULT 7"},
	{name: "longer text, same character set", change: "MODIFY v VARCHAR(200)"},
	{name: "utf8mb3 to utf8mb4", tables: []string{old + "utf8mb3"}, change: "CONVERT TO CHARACTER SET utf8mb4"},
	{name: "values added at the end of ENUM or SET", change: "MODIFY e ENUM('a','b','c')"},
	{name: "NOT NULL to NULL", tables: []string{keyed}, change: "MODIFY b INT"},
	{name: "NULL to NOT NULL under a check", tables: []string{"CREATE TABLE t (id INT PRIMARY KEY, n INT, CONSTRAINT c CHECK (n IS NOT NULL))"}, change: "MODIFY n INT NOT NULL"},
	{name: "generated column at the end", change: "ADD COLUMN g INT AS (n + 1) VIRTUAL"},
	{name: "drop a unique index", tables: []string{keyed}, change: "DROP INDEX a"},
	{name: "drop a foreign key without cascades", tables: []string{parent, child}, change: "DROP FOREIGN KEY strict"},
	{name: "add a check", change: "ADD CONSTRAINT c CHECK (n > 0)"},
	{name: "new partition at the end of ranges", tables: []string{ranges}, change: "ADD PARTITION (PARTITION p1 VALUES LESS THAN (20))"},
	{name: "add a column to a table without a primary key", tables: []string{keyless}, change: "ADD COLUMN c INT"},
	{name: "new primary key over the old one", tables: []string{keyed}, change: "DROP PRIMARY KEY, ADD PRIMARY KEY (id, b)"},
	{name: "column in the middle", change: "ADD COLUMN c INT AFTER id", refuse: "stands before others", steps: []string{"ADD COLUMN `c`"}},
	{name: "drop a column in the middle", change: "DROP COLUMN v", refuse: "one place off"},
	{name: "another order of columns", change: "MODIFY n INT DEFAULT 7 FIRST", refuse: "swapped"},
	{name: "default that is an expression", change: "ADD COLUMN c DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP", refuse: "every row", steps: []string{"ADD COLUMN `c` datetime NOT NULL DEFAULT '1970-01-01 00:00:00'", "MODIFY COLUMN `c`"}},
	{name: "TEXT or JSON with a default", change: "ADD COLUMN c JSON DEFAULT '{}'", refuse: "no default", steps: []string{"ADD COLUMN `c` longtext", "MODIFY COLUMN `c`"}},
	{name: "virtual column with an index", change: "ADD COLUMN g INT AS (n + 1) VIRTUAL, ADD INDEX g (g)", refuse: "NULL in that index", steps: []string{"ADD COLUMN `g`", "ADD KEY `g`"}},
	{name: "generated column on a table without a primary key", tables: []string{keyless}, change: "ADD COLUMN g INT AS (a + 1) VIRTUAL", refuse: "no primary key"},
	{name: "another expression of a generated column", tables: []string{computed}, change: "MODIFY g INT AS (a + 2) STORED", refuse: "its value comes to be"},
	{name: "type of a column that a stored or indexed generated column is computed of", tables: []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a FLOAT, g VARCHAR(20) AS (CONCAT(a)) STORED)"}, change: "MODIFY a DOUBLE", refuse: "is computed of it"},
	{name: "AUTO_INCREMENT column", change: "ADD COLUMN c INT NOT NULL AUTO_INCREMENT UNIQUE", refuse: "numbers rows"},
	{name: "NULL to NOT NULL", change: "MODIFY n INT NOT NULL DEFAULT 7", refuse: "a NULL", steps: []string{"ADD CONSTRAINT `stowage_n` CHECK (`n` is not null)", "MODIFY COLUMN `n`", "DROP CONSTRAINT `stowage_n`"}},
	{name: "unsigned to signed", change: "MODIFY u BIGINT", refuse: "sign", steps: []string{"MODIFY COLUMN `u` bigint unsigned", "ADD CONSTRAINT `stowage_u`", "MODIFY COLUMN `u` bigint(20) DEFAULT", "DROP CONSTRAINT"}},
	{name: "shorter type", change: "MODIFY v VARCHAR(10)", refuse: "do not fit"},
	{name: "digits of a second, from none", change: "MODIFY d DATETIME(6)", refuse: "add a column of the new type"},
	{name: "latin1 to utf8mb4", tables: []string{old + "latin1"}, change: "CONVERT TO CHARACTER SET utf8mb4", refuse: "character sets"},
	{name: "ENUM or SET in another order", change: "MODIFY e ENUM('b','a')", refuse: "travel as numbers"},
	{name: "add a unique index", change: "ADD UNIQUE KEY v (v)", refuse: "through the binary log"},
	{name: "add a foreign key", tables: []string{parent, "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, p INT)"}, change: "ADD FOREIGN KEY (p) REFERENCES p (id)", refuse: "without its parent"},
	{name: "drop a foreign key with cascades", tables: []string{parent, child}, change: "DROP FOREIGN KEY cascading", refuse: "would stay"},
	{name: "check of a column", change: "MODIFY n INT DEFAULT 7 CHECK (n > 0)", refuse: "without looking at rows", steps: []string{"ADD CONSTRAINT `stowage_n` CHECK (`n` > 0)", "MODIFY COLUMN", "DROP CONSTRAINT"}},
	{name: "primary key over a new column", tables: []string{keyless}, change: "ADD COLUMN id INT NOT NULL DEFAULT 0, ADD PRIMARY KEY (id)", refuse: "new column"},
	{name: "ranges without a place for every row", change: "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10))", refuse: "MAXVALUE"},
	{name: "drop a partition", tables: []string{strings.Replace(ranges, "(10))", "(10), PARTITION p1 VALUES LESS THAN MAXVALUE)", 1)}, change: "DROP PARTITION p0", refuse: "gone on one side"},
	{name: "a column comes or goes, and a unique key is over a TEXT or `USING HASH`", tables: []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, url TEXT NOT NULL, UNIQUE KEY url (url))"}, change: "ADD COLUMN c BIGINT", refuse: "hidden column behind all others"},
	{name: "subpartitions of a table without partitions", change: "PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 (PARTITION p VALUES LESS THAN MAXVALUE)"},
	{name: "drop a spatial index", tables: []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, g GEOMETRY NOT NULL, SPATIAL KEY g (g))"}, change: "DROP INDEX g"},
	{name: "add a spatial index", tables: []string{"CREATE TABLE t (id INT NOT NULL PRIMARY KEY, g GEOMETRY NOT NULL)"}, change: "ADD SPATIAL INDEX g (g)", refuse: "empty geometry"},
	{name: "another engine", change: "ENGINE=Aria", refuse: "another engine"},
	{name: "begin of SYSTEM VERSIONING", change: "ADD SYSTEM VERSIONING", refuse: "histories"},
	{name: "column of a system-versioned table", tables: []string{versioned}, change: "ADD COLUMN c INT", refuse: "keeps the history"},
	{name: "column that a trigger names", change: "MODIFY n BIGINT DEFAULT 7", around: schema.Around{Triggers: []schema.Object{{Name: "d.tr", Text: "SET NEW.n = NEW.n + 1"}}}, refuse: "trigger d.tr names column n"},
	{name: "column that a view, routine or event names, dropped or renamed", change: "DROP COLUMN d", around: schema.Around{Views: []schema.Object{{Name: "d.v", Text: "select `d`.`t`.`d` from `d`.`t`"}},
		Routines: []schema.Object{{Name: "d.r", Text: "SELECT d FROM t"}}, Events: []schema.Object{{Name: "d.e", Text: "UPDATE t SET d = NULL"}}}, refuse: "view d.v names column d, which is dropped"},
	{name: "default that takes from a sequence", tables: []string{"CREATE SEQUENCE s", plainTable}, change: "ADD COLUMN c BIGINT DEFAULT NEXTVAL(s)", refuse: "every row", steps: []string{"ADD COLUMN `c`", "MODIFY COLUMN `c`"}},
}

// The table of docs/guide/alter.md says what a real server and the judge say, row by row, and has no other rows.
func TestWhatWorksAndWhatIsRefused(t *testing.T) {
	t.Parallel()
	said := documented(t)
	s, err := Open(t.Context(), question(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			want, is := said[r.name]
			if !is {
				t.Fatal("docs/guide/alter.md has no such row")
			}
			delete(said, r.name)
			r.test(t, s, want)
		})
	}
	for name := range said {
		t.Errorf("docs/guide/alter.md has a row without a test: %s", name)
	}
}

// documented are the rows of the page: what, and its class.
func documented(t *testing.T) map[string]schema.Class {
	t.Helper()
	text, err := os.ReadFile("../../docs/guide/alter.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]schema.Class{}
	for _, m := range regexp.MustCompile(`(?m)^\| (.+?) \| (instant|invisible|directional|breaking) \|`).FindAllStringSubmatch(string(text), -1) {
		out[m[1]] = schema.Class(m[2])
	}
	return out
}

func (r row) test(t *testing.T, s *Server, want schema.Class) {
	if r.tables == nil {
		r.tables = []string{plainTable}
	}
	var statements []Statement
	for _, text := range r.tables {
		n, err := schema.Named(text)
		if err != nil {
			t.Fatal(err)
		}
		statements = append(statements, Statement{n, text, "row"})
	}
	tables, err := s.Read(t.Context(), statements)
	if err != nil {
		t.Fatal(err)
	}
	try := func(text string) schema.Judgement {
		t.Helper()
		all, err := schema.Changes("c.sql", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		tried, err := s.Try(t.Context(), tables, all[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		tables["t"] = tried.After.Text
		return schema.JudgeChange(tried, r.around)
	}
	was := tables["t"]
	j := try("ALTER TABLE t " + r.change)
	after := tables["t"]
	if j.Class != want || !strings.Contains(strings.Join(j.Refused, "; "), r.refuse) || (r.refuse == "") != (len(j.Refused) == 0) {
		t.Errorf("%s, should be %s: %q", j.Class, want, j.Refused)
	}
	if len(j.SafeSteps) != len(r.steps) || !slices.EqualFunc(j.SafeSteps, r.steps, func(has, part string) bool { return strings.Contains(has, part) }) {
		t.Fatalf("steps are %q", j.SafeSteps)
	}
	tables["t"] = was
	for _, step := range j.SafeSteps {
		if by := try(step); by.Class == schema.Breaking {
			t.Errorf("step %q: %q", step, by.Refused)
		}
	}
	if j.SafeSteps != nil && r.name != "column in the middle" && tables["t"] != after {
		t.Errorf("steps lead to\n%s\nand not to\n%s", tables["t"], after)
	}
	if j.Class == schema.Breaking {
		return
	}
	if (j.Undo == "") == (j.Lost == "") {
		t.Errorf("undo %q, lost %q", j.Undo, j.Lost)
	}
	if j.Undo != "" && j.Undo != j.Reverse || j.Reverse == "" && was != after {
		t.Errorf("undo %q, reverse %q", j.Undo, j.Reverse)
	}
	if j.Reverse != "" {
		tables["t"] = after
		try(j.Reverse)
		a, _ := schema.Read(was)
		b, _ := schema.Read(tables["t"])
		if d := schema.Diff(b, a); len(d) > 0 {
			t.Errorf("%s leaves %v", j.Reverse, d)
		}
	}
}
