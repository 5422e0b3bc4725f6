package rows

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
)

// oddMySQL is what MySQL has and MariaDB has not, and what both have under names that need care, in the databases of odd.
var oddMySQL = []string{
	"CREATE DATABASE odd CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs", "CREATE DATABASE `o-d.d ü/%` CHARACTER SET latin1 COLLATE latin1_german2_ci", "USE odd",
	"CREATE TABLE `with-dash` (id INT PRIMARY KEY, v TEXT)", "CREATE TABLE `with.dot` (id INT PRIMARY KEY, v TEXT) COMMENT='😀 '' TABLESPACE `x`'", "CREATE TABLE `quo``te'\"\\ ü` (id INT PRIMARY KEY, `c``ü` INT)",
	"INSERT INTO `with-dash` VALUES (1, 'a;\\nDELIMITER $$\\r\\n\\0x\\Z''--'), (2, '')", "INSERT INTO `with.dot` VALUES (1, NULL)", "INSERT INTO `quo``te'\"\\ ü` VALUES (1, 2)",
	"CREATE TABLE docs (id INT AUTO_INCREMENT PRIMARY KEY, d JSON, v VECTOR(4), fe INT DEFAULT (1 + 1), u CHAR(36) DEFAULT (UUID()), KEY f ((fe + 1)), KEY low ((CAST(d->>'$.n' AS SIGNED))))",
	"CREATE TABLE listed (id INT PRIMARY KEY, d JSON, KEY many ((CAST(d->'$.m' AS UNSIGNED ARRAY))))", `INSERT INTO listed VALUES (1, '{"m": [1, 2]}'), (2, '{"m": []}'), (3, NULL)`,
	`INSERT INTO docs (d, v) VALUES ('{"b": 1.0, "aa": -0.0, "a": 1e300, "n": 1, "t": "☃ \\"q\\" \\\\ \\u0001 ''", "l": [null, true, false, {}, []], "m": [1, 2]}', STRING_TO_VECTOR('[1,-0.5,1e-30,3.4e38]')),
		('null', NULL), (NULL, STRING_TO_VECTOR('[0,0,0,0]')), ('"text"', NULL), ('-1', NULL), ('3.14', NULL)`,
	"CREATE TABLE down (a INT NOT NULL, b INT NOT NULL, v INT, PRIMARY KEY (a DESC, b), KEY gone (v) INVISIBLE)", "INSERT INTO down SELECT seq % 7, seq, seq FROM seq_1_to_200",
	"CREATE TABLE keyless (v INT, w VARBINARY(10))", "INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (NULL, NULL), (2, '\\0')",
	"SET SESSION sql_generate_invisible_primary_key = ON", "CREATE TABLE given (v INT)", "INSERT INTO given (v) VALUES (1), (1), (2)", "DELETE FROM given WHERE v = 1 LIMIT 1", "SET SESSION sql_generate_invisible_primary_key = OFF",
	"CREATE TABLE `empty` (id INT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 77",
	"CREATE TABLE parts (id INT, d DATE, v VARCHAR(20), PRIMARY KEY (id, d)) PARTITION BY RANGE (YEAR(d)) (PARTITION a VALUES LESS THAN (2020), PARTITION b VALUES LESS THAN MAXVALUE)",
	"INSERT INTO parts SELECT seq, '2019-12-30' + INTERVAL seq DAY, seq FROM seq_1_to_500",
	"CREATE TABLE computed (id INT PRIMARY KEY, v INT, twice INT AS (v * 2) STORED, thrice INT AS (v * 3) VIRTUAL, hidden INT INVISIBLE DEFAULT 7, KEY (thrice), CHECK (v < 1000), CONSTRAINT lax CHECK (v < 5) NOT ENFORCED)", "INSERT INTO computed (id, v, hidden) VALUES (1, 10, 3), (2, NULL, NULL)",
	"CREATE TABLE parent (id INT PRIMARY KEY)", "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)",
	"INSERT INTO parent VALUES (1)", "INSERT INTO child VALUES (1, 1)", "SET foreign_key_checks = 0", "INSERT INTO child VALUES (2, 99)", "SET foreign_key_checks = 1",
	"CREATE TABLE squeezed (id INT PRIMARY KEY, v TEXT) ROW_FORMAT=COMPRESSED", "INSERT INTO squeezed VALUES (1, REPEAT('abc', 1000))",
	"CREATE TABLE floats (id INT PRIMARY KEY, f FLOAT)", "INSERT INTO floats VALUES (1, 16777217.0), (2, 0.1), (3, 1234567.9), (4, 3.4028234e38)",
	"CREATE TABLE orders (v VARCHAR(80) COLLATE utf8mb4_0900_ai_ci PRIMARY KEY, w VARCHAR(20) COLLATE utf8mb4_de_pb_0900_as_cs, n INT)", "INSERT INTO orders SELECT CONCAT(SHA2(seq, 224), 'ä'), 'Straße 😀', seq FROM seq_1_to_9000",
	"CREATE TABLE place (id INT PRIMARY KEY, g POINT NOT NULL SRID 4326, SPATIAL KEY (g))", "INSERT INTO place VALUES (1, ST_GeomFromText('POINT(48.1 11.5)', 4326))",
	"CREATE FUNCTION plus(x INT) RETURNS INT DETERMINISTIC RETURN x + 1", "CREATE VIEW b_low AS SELECT COUNT(*) AS n, plus(1) AS p FROM parent", "CREATE VIEW a_top AS SELECT n FROM b_low",
	"CREATE FUNCTION plus_one(x INT) RETURNS INT DETERMINISTIC BEGIN DECLARE y INT; SET y = x + 1; /* $$ ;; */ RETURN y; END", "CREATE PROCEDURE cut() DELETE FROM child WHERE id < 0",
	"CREATE TRIGGER on_child BEFORE INSERT ON child FOR EACH ROW BEGIN IF NEW.p IS NULL THEN SET NEW.p = 1; END IF; END", "CREATE TRIGGER on_child_too BEFORE INSERT ON child FOR EACH ROW FOLLOWS on_child SET @x = 1",
	"SET SESSION sql_mode = 'ALLOW_INVALID_DATES,ANSI_QUOTES'", "CREATE PROCEDURE lenient() SELECT 1", "CREATE EVENT lenient_e ON SCHEDULE EVERY 1 YEAR DO SET @x = 1", "SET SESSION sql_mode = DEFAULT",
	"CREATE EVENT sweep ON SCHEDULE EVERY 1 YEAR DO DELETE FROM child WHERE id < 0", "CREATE EVENT off_one ON SCHEDULE EVERY 1 DAY DISABLE COMMENT 'ü' DO SET @x = 1",
	"USE `o-d.d ü/%`", "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "CREATE VIEW over_it AS SELECT id FROM odd.parent", "USE odd",
}

// A dump of everything that is odd in MySQL, made by an account with the privileges that are asked for and no other, comes back byte for byte.
func TestDumpOfMySQLComesBackByHand(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, program := range []string{"tar", "mariadb"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("NOT TESTED: %s is not installed", program)
		}
	}
	line := mariadbtest.Named(t, mariadbtest.MySQL9)
	from, to := line.Start(t, "from"), line.Start(t, "to")
	statements := slices.Clone(oddMySQL)
	for _, s := range mariadbtest.EveryType() {
		statements = append(statements, strings.Replace(s, "i6 INET6, i4 INET4", "i6 VARBINARY(40), i4 VARBINARY(40)", 1)) // these are MariaDB's alone
	}
	from.Exec(t, statements...)
	to.Exec(t, "SET GLOBAL sql_generate_invisible_primary_key = ON") // tables without a key stay so
	copies := mariadbtest.Account("copies")
	from.Exec(t, "CREATE USER copies@'%' IDENTIFIED BY '"+copies.Password()+"'")
	must(t, from.DB(t, copies, "").Ping()) // from then on the server knows its password without TLS
	_, remedy, err := mysqltest.Open(t, from).DumpFault(t.Context(), mysqltest.Account(copies))
	must(t, err)
	grant, _, _ := strings.Cut(remedy, ";")
	from.Exec(t, grant)
	server := mysqltest.OpenAs(t, from, copies)
	comesBackByHand(t, server, from, to, "utf8mb4", 9000)
	const listed = "SELECT GROUP_CONCAT(id, ':', COALESCE(d, '-') ORDER BY id) FROM odd.listed"
	if a, b := from.Value(t, listed), to.Value(t, listed); a != b || a == "" {
		t.Errorf("%s, and in what came back %s", a, b)
	}
	if n := to.Value(t, "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'odd' AND COLUMN_NAME = 'my_row_id'"); n != "1" {
		t.Errorf("%s tables have an invisible key, want 1", n)
	}
}

// What another server of MySQL would lack is named before a row is read; what only looks like it is not.
func TestDumpOfMySQLRefusesWhatItWouldLose(t *testing.T) {
	t.Parallel() // it mostly waits
	s := mariadbtest.Named(t, mariadbtest.MySQL9).Start(t, "s")
	s.Exec(t, "CREATE DATABASE d", "USE d", "CREATE TABLE mine (id INT PRIMARY KEY) ENGINE=MyISAM", "CREATE TABLESPACE ts ADD DATAFILE 'ts.ibd'", "CREATE TABLE far (id INT PRIMARY KEY) TABLESPACE ts",
		"CREATE TABLE near (id INT PRIMARY KEY COMMENT ' TABLESPACE `x`') TABLESPACE innodb_file_per_table COMMENT ' DATA DIRECTORY='", "CREATE LIBRARY lib LANGUAGE JAVASCRIPT AS 'export function f(n) {return n}'",
		"CREATE TABLE keyless (v INT)")
	server := mysqltest.Open(t, s)
	said := func() string {
		found, err := UnfitForDump(t.Context(), server, []string{"d"})
		must(t, err)
		return fmt.Sprint(found)
	}
	first := said()
	s.Exec(t, "SET GLOBAL show_gipk_in_create_table_and_information_schema = OFF")
	server = mysqltest.Open(t, s)
	second := said()
	for _, want := range []string{"d.mine its engine is MyISAM", "d.far its rows are in tablespace ts", "d.lib it is a library"} {
		if !strings.Contains(first, want) {
			t.Errorf("%q is not in %s", want, first)
		}
	}
	if strings.Contains(first, "d.near") || strings.Contains(first, "d.keyless") || !strings.Contains(second, "d.keyless it may have a generated invisible primary key") {
		t.Errorf("%s\nand with hidden keys\n%s", first, second)
	}
	var out bytes.Buffer
	if _, err := Dump(t.Context(), server, []string{"d"}, 1, &out); err == nil || out.Len() > 0 {
		t.Errorf("%v, and %d bytes were written", err, out.Len())
	}
}
