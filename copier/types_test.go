package copier

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stowage/mysql"
)

// wide holds a column of every type that is carried. Half of the rows come by
// reading, half by the binary log.
var wide = []string{
	"SET SESSION sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+05:45', NAMES utf8mb4",
	`CREATE TABLE wide (
		id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
		t1 TINYINT, t1u TINYINT UNSIGNED, t2 SMALLINT, t2u SMALLINT UNSIGNED, t3 MEDIUMINT, t3u MEDIUMINT UNSIGNED,
		t4 INT, t4u INT UNSIGNED ZEROFILL, t8 BIGINT, t8u BIGINT UNSIGNED,
		d1 DECIMAL(65,30), d2 DECIMAL(10,0) UNSIGNED, d3 DECIMAL(5,5), f FLOAT, g DOUBLE, fm FLOAT(7,3),
		b1 BIT(1), b9 BIT(9), b64 BIT(64), y YEAR,
		da DATE, ti TIME, ti6 TIME(6), ti2 TIME(2), dt DATETIME, dt1 DATETIME(1), dt6 DATETIME(6), ts TIMESTAMP NULL, ts6 TIMESTAMP(6) NULL, ts3 TIMESTAMP(3) NULL,
		c CHAR(10), cb CHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, v VARCHAR(300) CHARACTER SET utf8mb4, vl VARCHAR(20) CHARACTER SET latin1,
		vu VARCHAR(20) CHARACTER SET ucs2, vs VARCHAR(20) CHARACTER SET sjis, vg VARCHAR(20) CHARACTER SET gbk, v16 VARCHAR(20) CHARACTER SET utf16, v32 VARCHAR(20) CHARACTER SET utf32,
		bi BINARY(6), vb VARBINARY(20), tt TINYTEXT, tx TEXT CHARACTER SET utf16, mt MEDIUMTEXT, lt LONGTEXT, tb TINYBLOB, bl BLOB, mb MEDIUMBLOB, lb LONGBLOB,
		e ENUM('a','b','','ü') CHARACTER SET utf8mb4, st SET('x','y','z'), st64 SET(` + members(64) + `),
		j JSON, ge GEOMETRY, po POINT, i6 INET6, i4 INET4,
		gv BIGINT AS (t8 + 1) VIRTUAL, gs VARCHAR(400) AS (CONCAT(v, '-')) STORED, inv INT INVISIBLE DEFAULT 7,
		KEY (gv), KEY (v(20)))`,
	"INSERT INTO wide (id) VALUES (0)", // all NULL; a zero in the key is a zero
	`INSERT INTO wide (id, t1, t1u, t2, t2u, t3, t3u, t4, t4u, t8, t8u, d1, d2, d3, f, g, fm, b1, b9, b64, y, da, ti, ti6, ti2, dt, dt1, dt6, ts, ts6, ts3,
			c, cb, v, vl, vu, vs, vg, v16, v32, bi, vb, tt, tx, mt, lt, tb, bl, mb, lb, e, st, st64, j, ge, po, i6, i4, inv) VALUES
		(18446744073709551615, -128, 255, -32768, 65535, -8388608, 16777215, -2147483648, 4294967295, -9223372036854775808, 18446744073709551615,
			-99999999999999999999999999999999999.999999999999999999999999999999, 9999999999, -0.00001, 3.4028234e38, -1.7976931348623157e308, 1234.567, 1, 511, 18446744073709551615, 2155,
			'9999-12-31', '-838:59:59', '-00:00:00.000001', '-12:34:56.78', '9999-12-31 23:59:59', '2020-02-29 12:00:00.5', '1000-01-01 00:00:00.000001', '2038-01-19 08:59:00', '1970-01-01 05:45:01.000001', '2020-06-01 00:00:00.999',
			'a  ', 'B ', 'naïve ☃ 😀 ''quoted\\ \0 \n', 'é\\', '☃', '表ソ', '縗\\', '😀', '😀', 'ab\0', '\0\\''\Z\r\n', 'x', 'tä', 'm', 'l', '\0', '\xFF\xFE', '\'', '\\',
			'ü', 'x,z', 'm0,m63', '{"a": [1, 2.50, null, "☃"]}', ST_GeomFromText('POLYGON((0 0,0 1.5,1 1,0 0))', 4326), POINT(-0.0, 1e-300), 'fe80::1', '10.0.0.255', NULL),
		(1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 1.1, 0.1, -0.001, 0, 0, 0, 1901, '0000-00-00', '00:00:00', '838:59:59', '00:00:00.01', '0000-00-00 00:00:00', '0000-00-00 00:00:00', '2020-02-31 25:00:00', '0000-00-00 00:00:00', '0000-00-00', '1970-01-01 05:45:01',
			'', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', 0, '[]', NULL, POINT(0,0), '::', '0.0.0.0', 1),
		(2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9223372036854775808, 0.000000000000000000000000000001, 1, 0.5, -1.17549e-38, 5e-324, 0, b'1', b'100000001', b'1', 0, '2020-00-15', '12:00:00', '12:00:00.5', '-00:00:01', '2021-12-00 00:00:00', '1999-12-31 23:59:59.9', '1999-12-31 23:59:59.999999', '2021-03-28 02:30:00', '2021-10-31 02:30:00.5', '2001-01-01 00:00:00',
			'NULL', 'a ', 'NULL', 'NULL', 'a', 'a', 'a', 'a', 'a', '\0\0\0', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ', 'b', '', 'm62,m63', 'null', ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))'), POINT(1e300, -1), '2001:db8::', '255.255.255.255', -1)`,
	"UPDATE wide SET f = -0e0, g = -0e0 WHERE id = 0",
	"INSERT INTO wide (id, e, y, v) VALUES (77, 0, 0, REPEAT('ä', 300))", // an ENUM without a value
}

func members(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("'m%d'", i)
	}
	return strings.Join(out, ",")
}

func TestEveryType(t *testing.T) {
	t.Parallel() // it mostly waits
	f := start(t, wide...)
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

// TestKeys carries tables whose keys compare in ways of their own.
func TestKeys(t *testing.T) {
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
	parts, err := f.c.To.Parts(t.Context(), f.c.marks(), here.tables)
	must(t, err)
	src, err := r.from.Stream(t.Context(), f.c.Settings.LockWait)
	must(t, err)
	defer src.Close()
	dst, err := r.to.Stream(t.Context(), f.c.Settings.LockWait)
	must(t, err)
	defer dst.Close()
	for _, p := range parts {
		chunks := 0
		for !p.Done {
			_, err := r.copyChunk(t.Context(), src, dst, p, n, dst.Loads(r.tables[p.Table.Name]))
			must(t, err)
			// Read the mark back, as a successor would.
			again, err := f.c.To.Parts(t.Context(), f.c.marks(), here.tables)
			must(t, err)
			i := slices.IndexFunc(again, func(q *mysql.Part) bool { return q.Table.Name == p.Table.Name && q.N == p.N })
			p.After = again[i].After
			if chunks++; chunks > 1000 {
				t.Fatalf("table %s: no end after %d chunks: a key that does not compare as it is ordered (%v)", p.Table.Name, chunks, p.After)
			}
		}
	}
}
