package digest

import (
	"testing"
)

func TestLexerFingerprint(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"SELECT c FROM sbtest12 WHERE id=4711", "select c from sbtest? where id = ?"},
		{"SELECT  c\nFROM `sbtest1`\tWHERE `id` = 5 ", "select c from sbtest? where id = ?"},
		{"select a='it''s', b=\"x\\\"y\"", "select a = ?, b = ?"},
		{`select a='\\' and b='x'`, "select a = ? and b = ?"},
		{"select 0xDEADBEEF, 0xdead, x'41', 0b01, b'01', _utf8'x', N'y', _binary 'z'", "select ?, ?, ?, ?, ?, ?, ?, ?"},
		{"select 1.5, .5, 1e5, 1.5e-3, -1, +2, 3.", "select ?, ?, ?, ?, ?, ?, ?"},
		{"select a-1, a - 1, a+b, a-b", "select a - ?, a - ?, a + b, a - b"},
		{"select * from shard_0042.users_7 where users_7.id=1", "select * from shard_?.users_? where users_?.id = ?"},
		{"select * from shard_0042_old, user2fa, v2_users t1 where t1.c=t1.d", "select * from shard_?_old, user2fa, v2_users t1 where t1.c = t1.d"},
		{"INSERT INTO t VALUES (1),(2) ON DUPLICATE KEY UPDATE a=a+1", "insert into t values(?+) on duplicate key update a = a + ?"},
		{"insert into t(id) values (1, now()), (2, now())", "insert into t(id) values(?, now())+"},
		{"insert into t(id) values (1, now())", "insert into t(id) values(?, now())"},
		{"insert into t(id) values(1)", "insert into t(id) values(?+)"},
		{"select * from t where (a,b) in ((1,2),(3,4))", "select * from t where (a, b) in(?+)"},
		{"select * from t where a IN (1, 2,3) and b in (select x from y)", "select * from t where a in(?+) and b in(select x from y)"},
		{"select * from t where a in (b, 1)", "select * from t where a in(b, ?)"},
		{"select a from t union all select a from t union all select a from t", "select a from t /*repeat union all*/"},
		{"select a from t limit 5,10", "select a from t limit ?"},
		{"select a from t limit 5 offset 10", "select a from t limit ?"},
		{"select a from t where b is null and c is not null and d = null", "select a from t where b is null and c is not null and d = ?"},
		{"select a from t where x=true or y=FALSE", "select a from t where x = ? or y = ?"},
		{"select a -- comment '\nfrom t # other \"\nwhere 1 /* and 'x' */", "select a from t where ?"},
		{"select /*!40001 SQL_NO_CACHE */ a from t", "select sql_no_cache a from t"},
		{"select 'a' 'b'", "select ?"},
		{"select a from t order by a asc, b desc, ascii(c) asc", "select a from t order by a, b desc, ascii(c)"},
		{"call p(1,2)", "call p(?+)"},
		{"call p (1)", "call p(?+)"},
		{"use shop", "use ?"},
		{"select 'unterminated", "select ?"},
		{"select count(*) from t", "select count(*) from t"},
		{"select @a, @@session.x, a@b from t", "select @a, @@session.x, a@b from t"},
		{"select 12_13_foo from (select 12foo from 123_bar) as 123baz", "select 12_13_foo from (select 12foo from 123_bar) as 123baz"},
		{"commit;", "commit"},
		{"", ""},
	} {
		got := string(lexerFingerprint(nil, []byte(c.query), nil))
		if got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.query, got, c.want)
		}
	}
}

// A fingerprint has no literals left, so its own fingerprint is itself, names of shards included.
func TestLexerFingerprintIsStable(t *testing.T) {
	for _, q := range []string{"SELECT c FROM sbtest12 WHERE id=4711 AND x IN (1,2)", "INSERT INTO a_1.b_2 VALUES (1,'x'),(2,'y') ON DUPLICATE KEY UPDATE c=c+1",
		"select a from t where b is not null limit 5, 6"} {
		once := lexerFingerprint(nil, []byte(q), nil)
		if twice := lexerFingerprint(nil, once, nil); string(once) != string(twice) {
			t.Errorf("%q\nbecomes %q", once, twice)
		}
	}
}

func FuzzLexer(f *testing.F) {
	f.Add([]byte("select a='it''s', -1, x'41' from `a`.b_1 where (a,b) in ((1,2)) limit 1,2"))
	f.Add([]byte("insert into t values (1, now()), (2, now()) on duplicate key update a=1"))
	f.Fuzz(func(t *testing.T, q []byte) {
		out := lexerFingerprint(nil, q, nil)
		if len(out) > 2*len(q)+64 {
			t.Errorf("%d bytes became %d", len(q), len(out))
		}
	})
}
