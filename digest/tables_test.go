package digest

import (
	"strings"
	"testing"
)

func TestTables(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"SELECT c FROM sbtest1 WHERE id=1", "sbtest1"},
		{"select * from a, b as c, `d`.`e` f where x='from nowhere'", "a b d.e"},
		{"SELECT 1 FROM t1 JOIN db.t2 USING (id) LEFT JOIN `t 3` ON 1", "t1 db.t2 t 3"},
		{"INSERT INTO orders (a,b) VALUES (1,2) ON DUPLICATE KEY UPDATE a=2", "orders"},
		{"insert ignore logs set a=1", "logs"},
		{"REPLACE INTO t SELECT * FROM u", "t u"},
		{"UPDATE LOW_PRIORITY a, b SET a.x=b.x", "a b"},
		{"SELECT * FROM t FOR UPDATE", "t"},
		{"SELECT * FROM t FOR UPDATE SKIP LOCKED", "t"},
		{"DELETE a FROM a JOIN b ON a.id=b.id", "a b"},
		{"SELECT EXTRACT(YEAR FROM d), TRIM(LEADING 'x' FROM y) FROM t", "t"},
		{"SELECT * FROM (SELECT id FROM inside) x", "inside"},
		{"WITH recent AS (SELECT * FROM orders) SELECT * FROM recent JOIN users USING (id)", "orders users"},
		{"SELECT x FROM t -- FROM comment\nWHERE 1 /* FROM other */", "t"},
		{"SELECT 1 FROM DUAL", ""},
		{"LOCK TABLES foo READ, bar WRITE", "foo bar"},
		{"CREATE TABLE IF NOT EXISTS t2 (a int)", "t2"},
		{"DROP TABLE a, b", "a b"},
		{"TRUNCATE t", "t"},
		{"LOAD DATA INFILE '/tmp/x' INTO TABLE db.tbl", "db.tbl"},
		{"SELECT a INTO OUTFILE '/tmp/x' FROM t", "t"},
		{"SELECT a INTO @x FROM t", "t"},
		{"SHOW INDEX FROM `db`.`t`", "db.t"},
		{"SHOW TABLES FROM shop", ""},
		{"select c from sbtest? where id=?", "sbtest?"},
		{"SELECT a FROM t1 UNION SELECT a FROM t2", "t1 t2"},
		{"SELECT * FROM t WHERE a IN (SELECT b FROM u)", "t u"},
		{"SET NAMES utf8", ""},
		{"COMMIT", ""},
		{"SELECT * FROM a, (SELECT * FROM b) c, d", "a b"},
	} {
		var got []string
		for _, n := range tablesOf(nil, []byte(c.query)) {
			got = append(got, string(n))
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.query, g, c.want)
		}
	}
}
