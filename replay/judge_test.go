package replay

import (
	"strings"
	"testing"
)

// judged is the table of what statements do. Reason and chance are parts of
// what must be said; "" in chance says that the answer may be compared.
var judged = []struct {
	text   string
	kind   Kind
	reason string
	chance string
}{
	{"SELECT * FROM t WHERE id = 1", Read, "", ""},
	{"select 1", Read, "", ""},
	{"SELECT /*+ MAX_EXECUTION_TIME(5) */ a FROM t", Read, "", ""},
	{"SELECT SQL_NO_CACHE a FROM t -- and so on", Read, "", ""},
	{"-- first\nSELECT a FROM t # last", Read, "", ""},
	{"(SELECT 1) UNION (SELECT 2)", Read, "", ""},
	{"WITH x AS (SELECT 1) SELECT * FROM x", Read, "", ""},
	{"WITH RECURSIVE x (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 5) SELECT * FROM x", Read, "", ""},
	{"VALUES (1), (2)", Read, "", ""},
	{"TABLE t", Read, "", ""},
	{"SELECT COUNT(*), SUM(a), `max`(b) FROM t GROUP BY c HAVING COUNT(*) > 2 ORDER BY c LIMIT 5", Read, "", ""},
	{"SELECT CAST(a AS DECIMAL(10,2)), CONVERT(b, CHAR(5)) FROM t WHERE (a) IN (1) AND (b) LIKE ('x')", Read, "", ""},
	{"SELECT a FROM t USE INDEX (k) JOIN u USING (id) WHERE a = ANY (SELECT b FROM v)", Read, "", ""},
	{"SELECT 'DELETE FROM t; DROP TABLE u', \"UPDATE\", `insert`, t.`delete` FROM t", Read, "", ""},
	{"SELECT 'it''s', 'a\\'b', '\\\\' FROM t", Read, "", ""},
	{"SELECT t.update, t.drop FROM t", Read, "", ""},
	{"SELECT INSERT('abc', 1, 1, 'x'), REPLACE(a, 'b', 'c'), TRUNCATE(1.5, 1) FROM t", Read, "", ""},
	{"SELECT CASE WHEN (a) THEN (b) ELSE (c) END FROM t", Read, "", ""},
	{"SELECT RANK() OVER (PARTITION BY a ORDER BY b) FROM t", Read, "", ""},
	{"SELECT x.a FROM (SELECT 1 AS a) AS x (a)", Read, "", ""},
	{"SELECT 1;", Read, "", ""},
	{"SELECT * FROM t WHERE a = ? AND b IN (?, ?)", Read, "", ""},
	{"EXPLAIN SELECT 1", Read, "", "plans"},
	{"EXPLAIN FORMAT=JSON SELECT 1", Read, "", "plans"},
	{"ANALYZE FORMAT=JSON SELECT 1", Read, "", "plans"},
	{"DESCRIBE t", Read, "", ""},
	{"SHOW TABLES LIKE 'x%'", Read, "", ""},
	{"SHOW CREATE TABLE t", Read, "", ""},
	{"SHOW FULL COLUMNS FROM t", Read, "", ""},
	{"SHOW VARIABLES LIKE 'x'", Read, "", "figures"},
	{"SET STATEMENT max_statement_time=1 FOR SELECT a FROM t", Read, "", ""},
	{"/*!40001 SELECT 1 */", Read, "", ""},
	{"SELECT /*!40001 SQL_NO_CACHE */ * FROM t", Read, "", ""},

	// Reads whose answer may be another next time.
	{"SELECT NOW()", Read, "", "time"},
	{"SELECT CURRENT_TIMESTAMP", Read, "", "time"},
	{"SELECT UNIX_TIMESTAMP()", Read, "", "time"},
	{"SELECT UNIX_TIMESTAMP(a) FROM t", Read, "", ""},
	{"SELECT a FROM t ORDER BY RAND()", Read, "", "rand"},
	{"SELECT UUID()", Read, "", "uuid"},
	{"SELECT CONNECTION_ID()", Read, "", "who asks"},
	{"SELECT LAST_INSERT_ID()", Read, "", "who asks"},
	{"SELECT @@version", Read, "", "variables of the server"},
	{"SELECT @a := @a + 1", Read, "", "variables of the session"},
	{"SELECT a INTO @x FROM t", Read, "", "variables of the session"},
	{"SELECT a FROM t LIMIT 5", Read, "", "LIMIT"},
	{"SELECT a FROM (SELECT a FROM t LIMIT 5) x ORDER BY a", Read, "", "LIMIT"},
	{"SELECT a FROM t ORDER BY a LIMIT 5", Read, "", ""},
	{"SELECT GROUP_CONCAT(a) FROM t", Read, "", "group_concat"},
	{"SELECT GROUP_CONCAT(a ORDER BY a) FROM t", Read, "", ""},
	{"SELECT * FROM information_schema.TABLES", Read, "", "server itself"},

	// Functions that somebody made.
	{"SELECT f(1)", Function, "f", ""},
	{"SELECT shop.now()", Function, "now", ""},
	{"SELECT `f` (1)", Function, "f", ""},
	{"SELECT status(1)", Function, "status", ""},
	{"SELECT any(1)", Function, "any", ""},
	{"SHOW TABLES WHERE f(1)", Function, "f", ""},

	// What looks like a read and is not.
	{"SELECT a FROM t FOR UPDATE", Write, "locks rows", ""},
	{"SELECT a FROM t LOCK IN SHARE MODE", Write, "locks rows", ""},
	{"SELECT a FROM t FOR SHARE", Write, "locks rows", ""},
	{"SELECT a FROM t WHERE b IN (SELECT c FROM u FOR UPDATE)", Write, "locks rows", ""},
	{"SELECT a FROM t FOR/**/UPDATE", Write, "locks rows", ""},
	{"SELECT a FROM t /*!50000 FOR UPDATE */", Write, "locks rows", ""},
	{"SELECT GET_LOCK('a', 1)", Write, "get_lock", ""},
	{"SELECT `sleep`(5)", Write, "sleep", ""},
	{"SELECT sleep -- x\n (5)", Write, "sleep", ""},
	{"SELECT /*! SLEEP(5) */", Write, "sleep", ""},
	{"SELECT /*M!100000 SLEEP(5) */ 1", Write, "sleep", ""},
	{"SELECT NEXTVAL(s)", Write, "nextval", ""},
	{"SELECT NEXT VALUE FOR s", Write, "sequence", ""},
	{"SELECT LAST_INSERT_ID(id + 1) FROM t", Write, "last_insert_id", ""},
	{"SHOW TABLES WHERE sleep(5)", Write, "sleep", ""},
	{"EXPLAIN UPDATE t SET a = 1", Write, "explains", ""},
	{"WITH x AS (SELECT 1) DELETE FROM t", Write, "changes rows", ""},
	{"WITH x AS (SELECT 1) UPDATE t SET a = 1", Write, "changes rows", ""},
	{"SELECT 1 INTO OUTFILE '/tmp/x'", Server, "file", ""},
	{"SELECT 1 INTO/**/DUMPFILE '/tmp/x'", Server, "file", ""},
	{"INSERT INTO t SELECT 1 INTO OUTFILE '/tmp/x'", Server, "file", ""},
	{"SELECT a INTO b FROM t", Unknown, "INTO", ""},
	{"SELECT 1 delete", Unknown, "delete", ""},
	{"/*!99999 SELECT */ /*!50000 TRUNCATE t */", Unknown, "begins inside", ""},
	{"/*!99999 SELECT */ TRUNCATE t", Unknown, "begins inside", ""},
	{"/*!99999 select ' */ DELETE FROM t -- '", Unknown, "version comment", ""},
	{"SELECT /*!99999 /* */ 1", Unknown, "", ""},
	{"SELECT 1 /*! +1", Truncated, "", ""},
	{"SET STATEMENT tx_read_only=0 FOR SELECT 1", Server, "tx_read_only", ""},
	{"SET STATEMENT max_statement_time=1 FOR UPDATE t SET a = 1", Write, "changes rows", ""},
	{"SELECT 1\x00; DROP TABLE t", Unknown, "zero byte", ""},

	// Sessions.
	{"BEGIN", Session, "", ""},
	{"BEGIN WORK", Session, "", ""},
	{"BEGIN NOT ATOMIC DELETE FROM t; END", Unknown, "", ""},
	{"START TRANSACTION", Session, "", ""},
	{"START TRANSACTION READ ONLY", Session, "", ""},
	{"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE", Write, "may write", ""},
	{"START SLAVE", Server, "", ""},
	{"COMMIT", Session, "", ""},
	{"COMMIT AND CHAIN", Session, "", ""},
	{"COMMIT RELEASE", Unknown, "RELEASE", ""},
	{"ROLLBACK TO SAVEPOINT a", Session, "", ""},
	{"SAVEPOINT a", Session, "", ""},
	{"RELEASE SAVEPOINT a", Session, "", ""},
	{"USE shop", Session, "", ""},
	{"SET NAMES utf8mb4", Session, "", ""},
	{"SET NAMES gbk", Server, "gbk", ""},
	{"SET NAMES 'sjis'", Server, "sjis", ""},
	{"SET character_set_client = big5", Server, "big5", ""},
	{"SET character_set_client = @x", Unknown, "not named", ""},
	{"SET CHARACTER SET latin1", Session, "", ""},
	{"SET @a = 5, autocommit = 0", Session, "", ""},
	{"SET SESSION sort_buffer_size = 1000", Session, "", ""},
	{"SET @@session.sql_mode = ''", Session, "", ""},
	{"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", Session, "", ""},
	{"SET SESSION TRANSACTION READ WRITE", Server, "written", ""},
	{"SET GLOBAL max_connections = 1", Server, "server's variables", ""},
	{"SET @@global.max_connections = 1", Server, "server's variables", ""},
	{"SET autocommit = 1, GLOBAL read_only = 0", Server, "server's variables", ""},
	{"SET PERSIST a = 1", Server, "server's variables", ""},
	{"SET tx_read_only = 0", Server, "tx_read_only", ""},
	{"SET @@session . `transaction_read_only` = 0", Server, "transaction_read_only", ""},
	{"SET @@`tx_read_only` = 0", Unknown, "", ""},
	{"SET sql_log_bin = 0", Server, "sql_log_bin", ""},
	{"SET @a = f()", Function, "f", ""},
	{"SET @a = SLEEP(5)", Write, "sleep", ""},
	{"SET PASSWORD = 'x'", Server, "", ""},

	// Writes and definitions.
	{"INSERT INTO t (a, b) VALUES (1, 2) ON DUPLICATE KEY UPDATE a = VALUES(a)", Write, "changes rows: insert", ""},
	{"insert t set a = 1", Write, "changes rows", ""},
	{"REPLACE INTO t SELECT * FROM u", Write, "changes rows", ""},
	{"UPDATE t SET a = 1", Write, "changes rows", ""},
	{"/* SELECT */ DELETE FROM t", Write, "changes rows", ""},
	{"CALL p()", Write, "procedure", ""},
	{"DO SLEEP(1)", Write, "DO", ""},
	{"LOCK TABLES t READ", Write, "locks", ""},
	{"CREATE TABLE t (a INT)", Define, "", ""},
	{"CREATE TEMPORARY TABLE IF NOT EXISTS shop.x AS SELECT 1", Define, "temporary", ""},
	{"ALTER TABLE t ADD b INT", Define, "", ""},
	{"TRUNCATE t", Define, "", ""},
	{"DROP TABLE t", Define, "", ""},

	// The server.
	{"DROP DATABASE shop", Server, "", ""},
	{"CREATE USER x", Server, "", ""},
	{"CREATE OR REPLACE FUNCTION f() RETURNS INT RETURN 1", Server, "", ""},
	{"CREATE TABLE t (a INT) ENGINE=FEDERATED CONNECTION='x'", Server, "reaches out", ""},
	{"GRANT ALL ON *.* TO x", Server, "", ""},
	{"KILL 5", Server, "", ""},
	{"SHUTDOWN", Server, "", ""},
	{"CHANGE MASTER TO MASTER_HOST='x'", Server, "", ""},
	{"FLUSH TABLES", Server, "", ""},
	{"LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t", Server, "file", ""},
	{"ANALYZE TABLE t", Server, "", ""},
	{"XA START 'a'", Server, "", ""},
	{"SHOW PROCESSLIST", Server, "", ""},
	{"SHOW SLAVE STATUS", Server, "", ""},
	{"PREPARE s FROM 'DROP TABLE t'", Unknown, "prepared", ""},
	{"EXECUTE IMMEDIATE 'DROP TABLE t'", Unknown, "prepared", ""},
	{"FOR i IN 1 .. 5 DO DELETE FROM t; END FOR", Unknown, "", ""},
	{"IF 1 THEN DELETE FROM t; END IF", Unknown, "", ""},
	{"", Unknown, "no statement", ""},
	{"/* nothing */", Unknown, "no statement", ""},

	// Several, and halves.
	{"SELECT 1; SELECT 2", Read, "", "several"},
	{"SELECT 1; DELETE FROM t", Write, "changes rows", "several"},
	{"SELECT ';' ; DROP DATABASE x", Server, "", "several"},
	{"SELECT * FROM t WHERE a = 'cut of", Truncated, "", ""},
	{"SELECT * FROM t WHERE a IN (1, 2", Truncated, "", ""},
	{"SELECT 1 /* cut of", Truncated, "", ""},
	{"SELECT 1)", Unknown, "too many", ""},
}

func TestJudge(t *testing.T) {
	for _, tt := range judged {
		j := Judge([]byte(tt.text), Mode{})
		if j.Kind != tt.kind || !strings.Contains(j.Reason, tt.reason) {
			t.Errorf("%q is %s (%s), want %s (%s)", tt.text, j.Kind, j.Reason, tt.kind, tt.reason)
		}
		if tt.kind == Read && (tt.chance == "") != (j.Chance == "") || !strings.Contains(j.Chance, tt.chance) {
			t.Errorf("%q may answer differently because of %q, want %q", tt.text, j.Chance, tt.chance)
		}
	}
}

// TestJudgeByMode: what a text says depends on how the session reads it.
func TestJudgeByMode(t *testing.T) {
	for _, tt := range []struct {
		text string
		mode Mode
		kind Kind
	}{
		{`SELECT '\' ; DELETE FROM t -- '`, Mode{}, Read},
		{`SELECT '\' ; DELETE FROM t -- '`, Mode{NoBackslashEscapes: true}, Write},
		{`SELECT "sleep"(5)`, Mode{AnsiQuotes: true}, Write},
		{`SELECT "a" "b"`, Mode{}, Read},
	} {
		if j := Judge([]byte(tt.text), tt.mode); j.Kind != tt.kind {
			t.Errorf("%q under %+v is %s (%s), want %s", tt.text, tt.mode, j.Kind, j.Reason, tt.kind)
		}
	}
}

func TestJudgeTellsWhatItSaw(t *testing.T) {
	if j := Judge([]byte("SELECT a FROM t WHERE b = ? AND c = '?' /* ? */ ORDER BY a"), Mode{}); j.Params != 1 || !j.IsOrdered {
		t.Errorf("%+v", j)
	}
	if j := Judge([]byte("SELECT a FROM (SELECT b FROM t ORDER BY b) x"), Mode{}); j.IsOrdered {
		t.Error("an ORDER BY inside does not order the whole")
	}
	if j := Judge([]byte("USE `Shop`"), Mode{}); j.Database != "Shop" {
		t.Errorf("%+v", j)
	}
	if j := Judge([]byte("CREATE TEMPORARY TABLE IF NOT EXISTS shop.`x` (a INT)"), Mode{}); j.Temporary != "x" {
		t.Errorf("%+v", j)
	}
	if j := Judge([]byte("SET SESSION sql_mode = 'ANSI'"), Mode{}); !j.SetsMode {
		t.Errorf("%+v", j)
	}
	if j := Judge([]byte("SELECT 1 ; SELECT ';' -- x\n;"), Mode{}); len(j.Parts) != 2 || string(j.Parts[0]) != "SELECT 1 " || !strings.HasPrefix(string(j.Parts[1]), "SELECT ';'") {
		t.Errorf("%q", j.Parts)
	}
}

// FuzzJudge: a read never holds a reserved word of a write at top level, and
// stays a read when it is judged again as one of several.
func FuzzJudge(f *testing.F) {
	for _, tt := range judged {
		f.Add(tt.text, false, false)
	}
	f.Add(`SELECT '\' ; DELETE FROM t -- '`, true, false)
	f.Add("SET FOR a. FOR UPDATE", false, false)
	f.Fuzz(func(t *testing.T, text string, noEscapes, ansi bool) {
		m := Mode{noEscapes, ansi}
		j := Judge([]byte(text), m)
		if j.Kind != Read && j.Kind != Session {
			return
		}
		l := lex([]byte(text), m)
		for i, x := range l.tokens {
			c := clause{l.tokens}
			if x.kind != aWord || c.symbol(i-1) == "." || c.symbol(i+1) == "(" || c.is(i-1, "show", "create") {
				continue
			}
			switch x.text {
			case "insert", "update", "delete", "replace", "drop", "alter", "grant", "revoke", "load", "call", "outfile", "dumpfile", "create":
				t.Errorf("%q is a %s, and says %s", text, j.Kind, x.text)
			}
		}
		if twice := Judge([]byte(text+"\n; DELETE FROM t"), m); len(l.tokens) > 0 && twice.Kind < Write {
			t.Errorf("%q hides what follows it: %s", text, twice.Kind)
		}
	})
}
