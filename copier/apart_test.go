package copier

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/internal/mariadbtest"
)

// restless are tables with what acts on rows by itself, and objects of which some name the database.
var restless = []string{
	"CREATE TABLE parent (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20), KEY by_name (name)) AUTO_INCREMENT = 500",
	"CREATE TABLE child (id INT PRIMARY KEY, parent INT, price DECIMAL(8,2), double_price DECIMAL(9,2) AS (price * 2) STORED, CHECK (price >= 0), CONSTRAINT of_parent FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)",
	"CREATE TABLE loose (id INT PRIMARY KEY, words TEXT, FULLTEXT KEY by_word (words)) ENGINE=MyISAM",
	"INSERT INTO loose SELECT seq, CONCAT('some words ', seq) FROM seq_1_to_1500",
	"INSERT INTO parent (id, name) SELECT seq, CONCAT('p', seq) FROM seq_1_to_400",
	"INSERT INTO child (id, parent, price) SELECT seq, 1 + seq % 400, seq / 7 FROM seq_1_to_3000",
	"CREATE VIEW dear AS SELECT id, double_price FROM child WHERE price > 100",
	"CREATE VIEW dearest AS SELECT MAX(double_price) AS most FROM dear",
	"CREATE VIEW both_ways AS SELECT c.id FROM child c JOIN other.lookup l ON l.id = c.id",
	"CREATE PROCEDURE cut() DELETE FROM child WHERE price < 1",
	"CREATE PROCEDURE cut_named() DELETE FROM shop.child WHERE price < 1",
	"CREATE TRIGGER on_child BEFORE INSERT ON child FOR EACH ROW SET NEW.price = COALESCE(NEW.price, 1)",
	"CREATE TRIGGER shop.named BEFORE INSERT ON parent FOR EACH ROW SET NEW.name = UPPER(NEW.name)",
	"CREATE EVENT sweep ON SCHEDULE EVERY 1 SECOND DO DELETE FROM child",
}

// apart is a copy of shop as shop_then, into a server that has a shop which serves.
func apart(t *testing.T, tables []string, statements ...string) *farmOfTwo {
	t.Helper()
	f := start(t, append([]string{"CREATE DATABASE other", "CREATE TABLE other.lookup (id INT PRIMARY KEY)", "USE shop"}, statements...)...)
	f.to.Exec(t, "CREATE DATABASE other", "CREATE TABLE other.lookup (id INT PRIMARY KEY)", "CREATE DATABASE shop", "CREATE TABLE shop.child (id INT PRIMARY KEY)", "INSERT INTO shop.child VALUES (7)", "CREATE TABLE shop.parent (id INT PRIMARY KEY, name VARCHAR(20))")
	f.c.Apart = &Apart{As: "shop_then", Tables: tables}
	return f
}

// serves makes sure that what serves is as it was.
func (f *farmOfTwo) serves(t *testing.T) {
	t.Helper()
	if got := f.to.Value(t, "SELECT CONCAT((SELECT GROUP_CONCAT(id) FROM shop.child), ' ', (SELECT COUNT(*) FROM shop.parent), ' ', (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop'),"+
		" ' ', (SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop'))"); got != "7 0 2 0" {
		t.Errorf("the database that serves has %s", got)
	}
}

func (f *farmOfTwo) findsDifference(t *testing.T, want string) {
	t.Helper()
	must(t, f.c.Recheck(t.Context()))
	found, err := f.c.Compare(t.Context())
	must(t, err)
	if !slices.ContainsFunc(found, func(d Difference) bool { return strings.Contains(d.String(), want) }) {
		t.Errorf("found %q, want %q", found, want)
	}
}

// A database of a server at rest becomes one of another name beside the one that serves, with keys, what is generated, views, routines, triggers and events; what
// would act on the one that serves is left out and named.
func TestApartKeepsAwayFromWhatServes(t *testing.T) {
	t.Parallel() // it mostly waits
	f := apart(t, nil, append(restless, mariadbtest.EveryType()...)...)
	found, err := f.c.Refusals(t.Context())
	if must(t, err); len(found) > 0 {
		t.Fatalf("refused: %v", found)
	}
	must(t, f.c.Prepare(t.Context()))
	must(t, f.c.Carry(t.Context()))
	var first []string
	for range 2 { // again after a kill
		left, err := f.c.FinishApart(t.Context())
		must(t, err)
		if text := strings.Join(left, "; "); len(left) != 3 || !strings.Contains(text, "view both_ways: ") || !strings.Contains(text, "procedure cut_named: ") || !strings.Contains(text, "trigger named: ") {
			t.Errorf("left out: %q", left)
		}
		if first != nil && !slices.Equal(first, left) {
			t.Errorf("left out the second time: %q", left)
		}
		first = left
	}
	f.clean(t)
	was, is := dump(t, f.from, ""), dumpOf(t, f.to, "shop_then", "")
	for table, rows := range was {
		if !slices.Equal(rows, is[table]) {
			t.Errorf("%s: %d rows, and %d in the copy", table, len(rows), len(is[table]))
		}
	}
	n, err := f.c.ComparedRows(t.Context())
	must(t, err)
	if total := sum(was); n != int64(total) || total < 4900 {
		t.Errorf("%d rows compared of %d", n, total)
	}
	f.serves(t)

	f.to.Exec(t, "SET SESSION foreign_key_checks = 0", "UPDATE shop_then.child SET price = price + 1 WHERE id = 77", "DELETE FROM shop_then.parent WHERE id = 3")
	f.findsDifference(t, "table child, key (77) differs")
	f.findsDifference(t, "table parent, key (3) is missing")
	found2, err := f.c.Compare(t.Context())
	must(t, err)
	must(t, f.c.Repair(t.Context(), found2))
	f.clean(t)
	f.to.Exec(t, "ALTER TABLE shop_then.child DROP FOREIGN KEY of_parent")
	f.findsDifference(t, "of_parent")
	f.to.Exec(t, "ALTER TABLE shop_then.parent DROP KEY by_name")
	f.findsDifference(t, "by_name")
	f.to.Exec(t, "ALTER TABLE shop_then.parent ADD KEY by_name (name)", "ALTER TABLE shop_then.child ADD CONSTRAINT of_parent FOREIGN KEY (parent) REFERENCES shop_then.parent (id) ON DELETE CASCADE ON UPDATE CASCADE")
	f.clean(t)

	must(t, f.c.Keep(t.Context(), "as of then"))
	must(t, f.c.Keep(t.Context(), "as of then"))
	must(t, f.c.Discard(t.Context())) // it is no longer this job's
	for query, want := range map[string]string{
		"SELECT SCHEMA_COMMENT FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'shop_then'":                                 "as of then",
		"SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE '\\_stow%'":                                        "0",
		"SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'shop_then' AND STATUS = 'DISABLED'":                "1",
		"SELECT most > 800 FROM shop_then.dearest":                                                                               "1",
		"SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop_then' AND TABLE_NAME = 'parent'":        "500",
		"SELECT GROUP_CONCAT(TRIGGER_NAME) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'shop_then'":                  "on_child",
		"SELECT GROUP_CONCAT(ROUTINE_NAME) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'shop_then'":                  "cut",
		"SELECT COUNT(*) FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE UNIQUE_CONSTRAINT_SCHEMA = 'shop_then'":           "1",
		"SELECT COUNT(*) FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA <> UNIQUE_CONSTRAINT_SCHEMA":    "0",
		"SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop_then' AND EXTRA LIKE '%GENERATED%'":          f.from.Value(t, "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND EXTRA LIKE '%GENERATED%'"),
		"SELECT COUNT(*) FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'shop_then' AND TABLE_NAME='child'": "1",
	} {
		if got := f.to.Value(t, query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	f.to.Exec(t, "DELETE FROM shop_then.parent WHERE id = 1")
	if n := f.to.Value(t, "SELECT COUNT(*) FROM shop_then.child WHERE parent = 1"); n != "0" {
		t.Errorf("a foreign key of the copy has left %s rows", n)
	}
	f.serves(t)
}

func sum(of map[string][]string) (n int) {
	for _, rows := range of {
		n += len(rows)
	}
	return n
}

// Of a database only some tables are copied: keys to others are left out and named, and nothing else comes along.
func TestApartOfSomeTables(t *testing.T) {
	t.Parallel() // it mostly waits
	f := apart(t, []string{"child", "a.b-c"}, append(restless, "CREATE TABLE `a.b-c` (id INT PRIMARY KEY, v INT, KEY by_v (v))", "INSERT INTO `a.b-c` SELECT seq, seq FROM seq_1_to_50",
		"CREATE TABLE heap (id INT) ENGINE=MyISAM", "CREATE TABLE keyless (v INT)", "CREATE SEQUENCE seq")...)
	found, err := f.c.Refusals(t.Context())
	if must(t, err); len(found) > 0 {
		t.Fatalf("refused: %v", found)
	}
	must(t, f.c.Prepare(t.Context()))
	must(t, f.c.Carry(t.Context()))
	left, err := f.c.FinishApart(t.Context())
	must(t, err)
	if text := strings.Join(left, "; "); !strings.Contains(text, "foreign key of_parent of table child: ") || !strings.Contains(text, "trigger on_child: only tables were asked for") {
		t.Errorf("left out: %q", left)
	}
	f.clean(t)
	must(t, f.c.Keep(t.Context(), ""))
	if got := f.to.Value(t, "SELECT GROUP_CONCAT(TABLE_NAME ORDER BY 1) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop_then'"); got != "a.b-c,child" {
		t.Errorf("it has %s", got)
	}
	f.to.Exec(t, "INSERT INTO shop_then.child (id, parent, price) VALUES (100000, 99999, 1)") // no key leads to a table that is not there
	f.serves(t)
}

// What cannot be carried, or is not there, is said before anything is made; what was made is removed again, also when the source is gone.
func TestApartIsRefused(t *testing.T) {
	t.Parallel() // it mostly waits
	f := apart(t, nil, append(restless, "CREATE TABLE heap (id INT PRIMARY KEY) ENGINE=MEMORY", "CREATE TABLE keyless (v INT)", "CREATE SEQUENCE seq",
		"CREATE TABLE numbered (id INT NOT NULL DEFAULT (NEXT VALUE FOR shop.seq) PRIMARY KEY)")...)
	for check, about := range map[string]string{"copier-table": "heap", "copier-key": "keyless", "copier-text": "numbered"} {
		found, err := f.c.Refusals(t.Context())
		must(t, err)
		ahead, err := f.c.Apart.Foresight(t.Context(), f.c.From, "shop")
		must(t, err)
		for _, all := range [][]farm.Finding{found, ahead} {
			if !slices.ContainsFunc(all, func(x farm.Finding) bool {
				return x.Check == check && x.Severity == farm.Blocker && strings.Contains(x.Text, about) && strings.Contains(x.Remedy, "--table")
			}) {
				t.Errorf("no %s of %s in %v", check, about, all)
			}
		}
	}
	f.c.Apart.Tables = []string{"child", "nobody"}
	found, err := f.c.Refusals(t.Context())
	must(t, err)
	if len(found) != 1 || found[0].Check != "copier-chosen" || !strings.Contains(found[0].Text, "nobody") {
		t.Errorf("found %v", found)
	}
	if ahead, err := f.c.Apart.Foresight(t.Context(), f.c.From, "nobody"); err != nil || len(ahead) > 0 {
		t.Errorf("of no database: %v, %v", ahead, err)
	}
	f.to.Exec(t, "CREATE DATABASE shop_then")
	found, err = f.c.Refusals(t.Context())
	must(t, err)
	if !slices.ContainsFunc(found, func(x farm.Finding) bool {
		return x.Check == "copier-database" && strings.Contains(x.Text, "shop_then")
	}) {
		t.Errorf("found %v", found)
	}
	if err := f.c.Prepare(t.Context()); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("prepared over what is there: %v", err)
	}
	must(t, f.c.Discard(t.Context()))
	f.to.Exec(t, "DROP DATABASE shop_then") // it was there still
	f.c.Apart.Tables = []string{"child"}
	must(t, f.c.Prepare(t.Context()))
	must(t, f.c.Carry(t.Context()))
	if _, err := f.c.Fence(t.Context()); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("a copy that stands apart was cut over: %v", err)
	}
	f.from.Kill()
	must(t, f.c.Discard(t.Context()))
	if n := f.to.Value(t, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'shop_then'"); n != "0" {
		t.Error("it is there still")
	}
	f.serves(t)
}
