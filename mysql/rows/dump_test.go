package rows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"stowage/backup/dump"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
)

// odd is a database with what dumps have lost elsewhere.
var odd = append([]string{
	"CREATE DATABASE odd CHARACTER SET latin1 COLLATE latin1_german2_ci COMMENT 'it''s \\\\ odd'", "CREATE DATABASE `o-d.d ü/%` CHARACTER SET utf8mb4", "USE odd",
	"CREATE TABLE `with-dash` (id INT PRIMARY KEY, v TEXT)", "CREATE TABLE `with.dot` (id INT PRIMARY KEY, v TEXT)", "CREATE TABLE `quo``te'\"\\\\ ü` (id INT PRIMARY KEY, `c``ü` INT)",
	"INSERT INTO `with-dash` VALUES (1, 'a;\\nDELIMITER $$\\r\\n\\0x\\Z''--'), (2, '')", "INSERT INTO `with.dot` VALUES (1, NULL)", "INSERT INTO `quo``te'\"\\\\ ü` VALUES (1, 2)",
	"CREATE TABLE keyless (v INT, w VARBINARY(10))", "INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (NULL, NULL), (2, '\\0')",
	"CREATE TABLE empty (id INT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 77",
	"CREATE TABLE parts (id INT, d DATE, v VARCHAR(20), PRIMARY KEY (id, d)) PARTITION BY RANGE (YEAR(d)) (PARTITION a VALUES LESS THAN (2020), PARTITION b VALUES LESS THAN MAXVALUE)",
	"INSERT INTO parts SELECT seq, '2019-12-30' + INTERVAL seq DAY, seq FROM seq_1_to_500",
	"CREATE TABLE computed (id INT PRIMARY KEY, v INT, twice INT AS (v * 2) STORED, thrice INT AS (v * 3) VIRTUAL, KEY (thrice), CHECK (v < 1000))", "INSERT INTO computed (id, v) VALUES (1, 10), (2, NULL)",
	"CREATE TABLE parent (id INT PRIMARY KEY)", "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)",
	"INSERT INTO parent VALUES (1)", "INSERT INTO child VALUES (1, 1)", "SET foreign_key_checks = 0", "INSERT INTO child VALUES (2, 99)", "SET foreign_key_checks = 1",
	"CREATE TABLE squeezed (id INT PRIMARY KEY, v TEXT COMPRESSED) ROW_FORMAT=COMPRESSED", "INSERT INTO squeezed VALUES (1, REPEAT('abc', 1000))",
	"CREATE TABLE floats (id INT PRIMARY KEY, f FLOAT)", "INSERT INTO floats VALUES (1, 16777217.0), (2, 0.1), (3, 1234567.9), (4, 3.4028234e38)",
	"CREATE TABLE ranges (id INT PRIMARY KEY, v VARCHAR(40))", "INSERT INTO ranges SELECT CAST(seq AS SIGNED) * 3 - 700000, MD5(seq) FROM seq_1_to_450000",
	"CREATE VIEW a_top AS SELECT n FROM b_low", // of a view that sorts behind it, made below
	"CREATE FUNCTION plus_one(x INT) RETURNS INT DETERMINISTIC BEGIN DECLARE y INT; SET y = x + 1; /* $$ ;; */ RETURN y; END",
	"CREATE PROCEDURE cut() DELETE FROM child WHERE id < 0",
	"CREATE TRIGGER on_child BEFORE INSERT ON child FOR EACH ROW BEGIN IF NEW.p IS NULL THEN SET NEW.p = 1; END IF; END",
	"CREATE TRIGGER on_child_too BEFORE INSERT ON child FOR EACH ROW FOLLOWS on_child SET @x = 1",
	"SET SESSION sql_mode = 'ALLOW_INVALID_DATES,ANSI_QUOTES'", "CREATE PROCEDURE lenient() SELECT 1", "CREATE EVENT lenient_e ON SCHEDULE EVERY 1 YEAR DO SET @x = 1", "SET SESSION sql_mode = DEFAULT",
	"CREATE EVENT sweep ON SCHEDULE EVERY 1 YEAR DO DELETE FROM child WHERE id < 0", "CREATE EVENT off_one ON SCHEDULE EVERY 1 DAY DISABLE COMMENT 'ü' DO SET @x = 1",
	"USE `o-d.d ü/%`", "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "CREATE VIEW over_it AS SELECT id FROM odd.parent", "USE odd",
}, mariadbtest.EveryType()...)

func oddStatements() []string {
	all := slices.Clone(odd)
	n := slices.IndexFunc(all, func(s string) bool { return strings.HasPrefix(s, "CREATE VIEW a_top") })
	return slices.Insert(all, n, "CREATE VIEW b_low AS SELECT COUNT(*) AS n, plus(1) AS p FROM parent")
}

var oddDatabases = []string{"o-d.d ü/%", "odd"}

// A dump of everything that is odd comes back byte for byte by tar and the server's own client, into databases of other names, too; nobody else reads it.
func TestDumpComesBackByHand(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, program := range []string{"tar", "mariadb"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NOT TESTED: %s is not installed", program)
		}
	}
	from, to := mariadbtest.Start(t, "from"), mariadbtest.Start(t, "to")
	statements := oddStatements()
	from.Exec(t, slices.Insert(statements, 3, "CREATE FUNCTION plus(x INT) RETURNS INT DETERMINISTIC RETURN x + 1")...)
	comesBackByHand(t, mysqltest.Open(t, from), from, to, "binary", 450000)
}

// comesBackByHand dumps the odd databases of a server through an account, and has a shell load them into another server, which is compared.
func comesBackByHand(t *testing.T, server *mysql.Server, from, to *mariadbtest.Instance, names string, least int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), dump.Part)
	f, err := os.Create(path)
	must(t, err)
	end, err := Dump(t.Context(), server, oddDatabases, 3, f)
	must(t, err)
	must(t, f.Close())
	head, _, err := readDump(t, path)
	must(t, err)
	if at, _ := server.BinlogPosition(t.Context()); head.GTID != at.String() || end.Rows < least {
		t.Errorf("%+v %+v, the server is at %s", head, end, at)
	}
	for _, d := range head.Databases {
		text := "CREATE DATABASE `" + d.Name + "` CHARACTER SET " + d.Charset + " COLLATE " + d.Collation
		if d.Comment != "" {
			text += " COMMENT '" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(d.Comment) + "'"
		}
		to.Exec(t, text)
	}
	for n := range head.Databases {
		d := head.Databases[len(head.Databases)-1-n] // the view over the other database comes last
		script := fmt.Sprintf("set -o pipefail; tar -xOf '%s' --wildcards '%s/*' | MYSQL_PWD=%s mariadb --no-defaults -h %s -P %d -u %s --binary-mode --comments --default-character-set=%s --max-allowed-packet=1G '%s'",
			path, d.Dir, mariadbtest.Stowage.Password(), to.Host, to.Port, mariadbtest.Stowage, names, d.Name)
		if out, err := exec.CommandContext(t.Context(), "bash", "-c", script).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", d.Name, err, out)
		}
	}
	for _, database := range oddDatabases {
		sameDatabases(t, from, to, database)
	}
}

// sameDatabases compares definitions, and rows by the server's own sums, which know nothing of ours.
func sameDatabases(t *testing.T, from, to *mariadbtest.Instance, database string) {
	t.Helper()
	list := func(query string) []string {
		t.Helper()
		a, b := from.Value(t, query), to.Value(t, query)
		if a != b {
			t.Errorf("%s: %s\nand in what came back %s", query, a, b)
		}
		return strings.Split(a, "\n")
	}
	const all = "SELECT COALESCE(GROUP_CONCAT(%[1]s ORDER BY %[1]s SEPARATOR '\n'), '') FROM information_schema.%[2]s WHERE %[3]s = '"
	names := list(fmt.Sprintf(all, "TABLE_NAME", "TABLES", "TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA") + database + "'")
	tables := 0
	for _, name := range names {
		if name == "" {
			continue
		}
		tables++
		quoted := "`" + database + "`.`" + strings.ReplaceAll(name, "`", "``") + "`"
		a, b := columnOf(t, from, "CHECKSUM TABLE "+quoted+" EXTENDED", 1), columnOf(t, to, "CHECKSUM TABLE "+quoted+" EXTENDED", 1)
		if name != "listed" && (a != b || a == "") { // MySQL has another sum each time where an index has several values of a row
			t.Errorf("%s: the sum of its rows is %s, and %s in what came back", quoted, a, b)
		}
		if a, b := tableAs(t, from, quoted), tableAs(t, to, quoted); a != b {
			t.Errorf("%s:\n%s\nand in what came back\n%s", quoted, a, b)
		}
	}
	comment := ", SCHEMA_COMMENT"
	if !strings.Contains(from.Value(t, "SELECT VERSION()"), "MariaDB") {
		comment = ""
	}
	for _, x := range []struct{ columns, table, schema string }{
		{"CONCAT_WS('|', TABLE_NAME, VIEW_DEFINITION, DEFINER, SECURITY_TYPE)", "VIEWS", "TABLE_SCHEMA"},
		{"CONCAT_WS('|', ROUTINE_NAME, ROUTINE_DEFINITION, DEFINER, SQL_MODE, DTD_IDENTIFIER)", "ROUTINES", "ROUTINE_SCHEMA"},
		{"CONCAT_WS('|', TRIGGER_NAME, ACTION_STATEMENT, ACTION_ORDER, DEFINER, SQL_MODE, CHARACTER_SET_CLIENT)", "TRIGGERS", "TRIGGER_SCHEMA"},
		{"CONCAT_WS('|', EVENT_NAME, EVENT_DEFINITION, STATUS, INTERVAL_VALUE, EVENT_COMMENT, TIME_ZONE)", "EVENTS", "EVENT_SCHEMA"},
		{"CONCAT_WS('|', SCHEMA_NAME, DEFAULT_COLLATION_NAME" + comment + ")", "SCHEMATA", "SCHEMA_NAME"},
	} {
		list(fmt.Sprintf(all, x.columns, x.table, x.schema) + database + "'")
	}
	if tables == 0 {
		t.Errorf("%s has no table", database)
	}
}

// tableAs is the text of a table. MySQL names the character set of a column whose text had a collation alone.
func tableAs(t *testing.T, i *mariadbtest.Instance, quoted string) string {
	t.Helper()
	return strings.ReplaceAll(columnOf(t, i, "SHOW CREATE TABLE "+quoted, 1), "CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs", "COLLATE utf8mb4_0900_as_cs")
}

// columnOf is one column of the only row of a statement.
func columnOf(t *testing.T, i *mariadbtest.Instance, query string, n int) string {
	t.Helper()
	rows, err := i.DB(t, mariadbtest.Stowage, "").QueryContext(t.Context(), query)
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	cells, into := make([][]byte, len(columns)), make([]any, len(columns))
	for i := range cells {
		into[i] = &cells[i]
	}
	if !rows.Next() {
		t.Fatalf("%s: no row", query)
	}
	must(t, rows.Scan(into...))
	must(t, rows.Err())
	return string(cells[n])
}

func readDump(t *testing.T, path string) (dump.Head, dump.End, error) {
	t.Helper()
	raw, err := os.ReadFile(path)
	must(t, err)
	return dump.Read(bytes.NewReader(raw), func(dump.Head, dump.File, io.Reader) error { return nil })
}

// While clients write to two tables in one transaction, a dump has both rows of each or none, whichever session reads which table.
func TestDumpIsOfOneMoment(t *testing.T) {
	for _, line := range []string{mariadbtest.MariaDB10, mariadbtest.MySQL9} {
		t.Run(line, func(t *testing.T) {
			t.Parallel() // it mostly waits
			dumpsWhileClientsWrite(t, mariadbtest.Named(t, line).Start(t, "s"))
		})
	}
}

func dumpsWhileClientsWrite(t *testing.T, s *mariadbtest.Instance) {
	t.Helper()
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT PRIMARY KEY)", "CREATE TABLE d.b (id INT PRIMARY KEY)")
	db := s.DB(t, mariadbtest.Stowage, "d")
	done := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for n := w; ; n += 3 {
				select {
				case <-done:
					return
				default:
				}
				tx, err := db.Begin()
				if err == nil {
					_, err = tx.Exec("INSERT INTO a VALUES (?)", n)
				}
				if err == nil {
					_, err = tx.Exec("INSERT INTO b VALUES (?)", n)
				}
				if err = errors.Join(err, tx.Commit()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	server := mysqltest.Open(t, s)
	for range 10 {
		var out bytes.Buffer
		_, err := Dump(t.Context(), server, []string{"d"}, 2, &out)
		must(t, err)
		rows := map[string][]string{}
		head, _, err := dump.Read(&out, func(_ dump.Head, f dump.File, text io.Reader) error {
			if f.Stage != dump.Rows {
				return nil
			}
			var b bytes.Buffer
			_, err := b.ReadFrom(text)
			for _, line := range strings.Split(b.String(), "\n") {
				if id, is := strings.CutPrefix(line, "("); is {
					table := strings.Split(filepath.Base(f.Name), ".")[0]
					rows[table] = append(rows[table], strings.TrimRight(id, "),;"))
				}
			}
			return err
		})
		must(t, err)
		stands, err := mysql.ParsePosition(head.GTID)
		must(t, err)
		is, err := server.BinlogPosition(t.Context())
		must(t, err)
		if a, b := rows["a"], rows["b"]; !slices.Equal(a, b) || head.GTID == "" || !is.Reached(stands) {
			t.Errorf("%d rows of one table, and %d of the other, at %s", len(a), len(b), head.GTID)
		}
	}
	close(done)
	writers.Wait()
}

// What no dump brings back is named before a row is read.
func TestDumpRefusesWhatItWouldLose(t *testing.T) {
	t.Parallel() // it mostly waits
	s := mariadbtest.Start(t, "s")
	s.Exec(t, "CREATE DATABASE d", "CREATE DATABASE other", "USE d", "CREATE TABLE mine (id INT PRIMARY KEY) ENGINE=MyISAM", "CREATE TABLE past (id INT PRIMARY KEY) WITH SYSTEM VERSIONING", "CREATE SEQUENCE seq",
		"CREATE TABLE gone (id INT)", "CREATE VIEW lost AS SELECT * FROM gone", "DROP TABLE gone", "CREATE TABLE other.t (id INT)", "CREATE VIEW across AS SELECT id FROM other.t")
	server := mysqltest.Open(t, s)
	found, err := UnfitForDump(t.Context(), server, []string{"d"})
	must(t, err)
	said := fmt.Sprint(found)
	for _, want := range []string{"d.mine its engine is MyISAM", "d.past it is a system versioned", "d.seq it is a sequence", "d.lost it is an invalid view", "d.across it is a view that reads database other"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %s", want, said)
		}
	}
	var out bytes.Buffer
	if _, err := Dump(t.Context(), server, []string{"d"}, 1, &out); !errors.Is(err, farm.ErrRefused) || out.Len() > 0 {
		t.Errorf("%v, and %d bytes were written", err, out.Len())
	}
	both, err := UnfitForDump(t.Context(), server, []string{"d", "other"})
	must(t, err)
	if strings.Contains(fmt.Sprint(both), "across") {
		t.Errorf("a view over a database that is dumped with it: %s", both)
	}
}

// A table that was changed behind the snapshot ends the dump with an error that names it, also where the server would read it: two columns that have changed their names
// have each other's values then. What is made meanwhile is not looked at.
func TestDumpSeesChangesOfTables(t *testing.T) {
	for _, line := range []string{mariadbtest.MariaDB10, mariadbtest.MySQL9} {
		t.Run(line, func(t *testing.T) {
			t.Parallel() // it mostly waits
			i := mariadbtest.Named(t, line).Start(t, "s")
			server := mysqltest.Open(t, i)
			for n, x := range []struct{ want, do string }{
				{"read rows of d0.t", "ALTER TABLE d0.t RENAME COLUMN a TO x; ALTER TABLE d0.t RENAME COLUMN b TO a; ALTER TABLE d0.t RENAME COLUMN x TO b"},
				{"read rows of d1.t", "ALTER TABLE d1.t DROP COLUMN a, ALGORITHM=INSTANT; ALTER TABLE d1.t ADD COLUMN a INT, ALGORITHM=INSTANT"},
				{"read rows of d2.p", "ALTER TABLE d2.p RENAME COLUMN a TO x; ALTER TABLE d2.p RENAME COLUMN b TO a; ALTER TABLE d2.p RENAME COLUMN x TO b"},
				{"read rows of d3.t", "DROP TABLE d3.t; CREATE TABLE d3.t (id INT PRIMARY KEY, a INT, b INT)"},
				{"", "CREATE TABLE d4.later (id INT PRIMARY KEY); ANALYZE TABLE d4.t; INSERT INTO d4.t VALUES (2, 2, 2)"},
			} {
				name := fmt.Sprint("d", n)
				i.Exec(t, "CREATE DATABASE "+name, "USE "+name, "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)", "INSERT INTO t VALUES (1, 5, 6)",
					"CREATE TABLE p (id INT PRIMARY KEY, a INT, b INT) PARTITION BY HASH (id) PARTITIONS 2", "INSERT INTO p VALUES (1, 5, 6)", "DO SLEEP(1.1)")
				d, err := openDump(t.Context(), mysql.Through(server), []string{name}, 2)
				must(t, err)
				i.Exec(t, strings.Split(x.do, "; ")...)
				out, err := dump.NewWriter(io.Discard, d.head)
				must(t, err)
				err = d.writeRows(t.Context(), out)
				if text := fmt.Sprint(err); x.want == "" && err != nil || x.want != "" && (!strings.Contains(text, x.want) || !strings.Contains(text, "its definition was changed while it was read")) {
					t.Errorf("%q: %v, want %q", x.do, err, x.want)
				}
				d.close()
			}
		})
	}
}
