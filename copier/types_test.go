package copier

import (
	"fmt"
	"slices"
	"testing"

	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
	"stowage/mysql/rows"
)

func TestEveryType(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, mariadbtest.EveryType()...)
	must(t, f.c.Prepare(t.Context()))
	must(t, f.c.Carry(t.Context()))
	f.equal(t, "")
	f.from.Exec(t, "USE shop", "SET SESSION sql_mode = 'ALLOW_INVALID_DATES', time_zone = '-07:00'",
		// As events: new rows, changed rows, and a row that goes.
		"CREATE TEMPORARY TABLE w2 LIKE wide", "INSERT INTO wide (id, t1) VALUES (500, 1)", "UPDATE wide SET id = id + 1000 WHERE id < 100",
		"UPDATE wide SET t1u = 254, v = CONCAT(v, '☃') WHERE id = 1002", "DELETE FROM wide WHERE id = 500", "UPDATE wide SET id = id - 1 WHERE id > 9000")
	must(t, f.c.Carry(t.Context()))
	f.equal(t, "")
	must(t, f.c.Finish(t.Context()))
	f.clean(t)
}

// TestKeysWithAHiddenColumn: MariaDB keeps a unique key over a TEXT by a column that nobody sees, behind all others, and events have it.
func TestKeysWithAHiddenColumn(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, "CREATE TABLE urls (id INT PRIMARY KEY, url TEXT NOT NULL, alt TEXT, v VARCHAR(20), n BIGINT, UNIQUE KEY url (url), UNIQUE KEY alt (alt, v), UNIQUE KEY n (n) USING HASH)",
		"INSERT INTO urls SELECT seq, REPEAT(MD5(seq), 40), MD5(seq), seq, seq FROM seq_1_to_200")
	must(t, f.c.Prepare(t.Context()))
	must(t, f.c.Carry(t.Context()))
	f.from.Exec(t, "USE shop", "INSERT INTO urls SELECT seq, REPEAT(MD5(seq), 40), MD5(seq), seq, -seq FROM seq_201_to_300", "UPDATE urls SET v = 'changed', n = n + 1000000 WHERE id % 3 = 0", "DELETE FROM urls WHERE id % 7 = 0")
	must(t, f.c.Carry(t.Context()))
	f.equal(t, "")
	must(t, f.c.Finish(t.Context()))
	f.clean(t)
}

// TestKeys carries tables whose keys compare in ways of their own.
func TestKeys(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	keys := map[string]string{
		"kdec": "a DECIMAL(20,10)", "kdt": "a DATETIME(6)", "kts": "a TIMESTAMP(6)", "kbin": "a BINARY(8)", "kvb": "a VARBINARY(20)",
		"kci": "a VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci", "kl1": "a VARCHAR(30) CHARACTER SET latin1 COLLATE latin1_german2_ci",
		"kbu": "a BIGINT UNSIGNED", "ken": "a ENUM('zz','b','a','q','w','e','r','t')", "kbit": "a BIT(40)", "kdo": "a DOUBLE", "kfl": "a FLOAT", "kti": "a TIME(3)",
		"ksj": "a VARCHAR(30) CHARACTER SET sjis", "kda": "a DATE", "ky": "a YEAR", "k6": "a INET6", "kset": "a SET('a','b','c','d','e','f','g','h')", "k16": "a VARCHAR(30) CHARACTER SET utf16",
	}
	value := map[string]string{
		"kdec": "seq / 7", "kdt": "FROM_UNIXTIME(1e9 + seq * 1000.000123)", "kts": "FROM_UNIXTIME(1e9 + seq * 1000.000123)", "kbin": "UNHEX(LPAD(HEX(seq * 256), 8, '0'))", "kvb": "LEFT(UNHEX(SHA2(seq, 256)), 20)",
		"kci": "CONCAT(CHAR(97 + seq % 26), IF(seq % 2, 'Ä', 'b'), seq)", "kl1": "CONCAT(_utf8mb4'ß', seq)", "kbu": "18446744073709551615 - seq * 1000003", "ken": "1 + seq % 8", "kbit": "seq * 1000003",
		"kdo": "seq / 3", "kfl": "seq / 3", "kti": "SEC_TO_TIME(seq * 3.333 - 300)", "ksj": "CONCAT('ソ', seq)", "kda": "DATE_ADD('2000-01-01', INTERVAL seq DAY)", "ky": "1901 + seq % 200",
		"k6": "CONCAT('fe80::', HEX(seq))", "kset": "seq % 256", "k16": "CONCAT('😀', seq)",
	}
	statements := []string{"SET SESSION sql_mode = '', NAMES utf8mb4"}
	for name, column := range keys {
		statements = append(statements, fmt.Sprintf("CREATE TABLE %s (%s NOT NULL, n INT NOT NULL, v INT, UNIQUE KEY (a, n))", name, column),
			fmt.Sprintf("INSERT INTO %s SELECT %s, seq, seq FROM seq_1_to_300", name, value[name]),
			fmt.Sprintf("CREATE TABLE one%s (%s NOT NULL PRIMARY KEY, v INT)", name, column),
			fmt.Sprintf("INSERT IGNORE INTO one%s SELECT %s, seq FROM seq_1_to_300", name, value[name]))
	}
	f := start(t, statements...)
	f.c.Settings.Streams = 2
	must(t, f.c.Prepare(t.Context()))
	chunked(t, f, 7)
	f.equal(t, "")
	for name := range keys {
		f.from.Exec(t, "USE shop", "UPDATE "+name+" SET v = v + 1 WHERE n % 3 = 0", "DELETE FROM "+name+" WHERE n % 3 = 1", "UPDATE one"+name+" SET v = v + 1 WHERE v % 3 = 0", "DELETE FROM one"+name+" WHERE v % 3 = 1")
	}
	must(t, f.c.Carry(t.Context()))
	f.equal(t, "")
	must(t, f.c.Finish(t.Context()))
	f.clean(t)
}

// chunked copies everything in chunks of n rows, so that every key becomes a mark.
func chunked(t *testing.T, f *farmOfTwo, n int) {
	t.Helper()
	r, err := f.c.open(t.Context(), false)
	must(t, err)
	defer r.close()
	here, err := f.c.standing(t.Context(), f.c.From)
	must(t, err)
	parts, err := rows.Parts(t.Context(), f.c.To, f.c.marks(), here.tables)
	must(t, err)
	src, err := rows.OpenStream(t.Context(), r.from, f.c.Settings.LockWait)
	must(t, err)
	defer src.Close()
	dst, err := rows.OpenStream(t.Context(), r.to, f.c.Settings.LockWait)
	must(t, err)
	defer dst.Close()
	for _, p := range parts {
		chunks := 0
		for !p.Done {
			_, err := r.copyChunk(t.Context(), src, dst, p, n, dst.Loads(r.tables[p.Table.Name]))
			must(t, err)
			// Read the mark back, as a successor would.
			again, err := rows.Parts(t.Context(), f.c.To, f.c.marks(), here.tables)
			must(t, err)
			i := slices.IndexFunc(again, func(q *rows.Part) bool { return q.Table.Name == p.Table.Name && q.N == p.N })
			p.After = again[i].After
			if chunks++; chunks > 1000 {
				t.Fatalf("table %s: no end after %d chunks: a key that does not compare as it is ordered (%v)", p.Table.Name, chunks, p.After)
			}
		}
	}
}
