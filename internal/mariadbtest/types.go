package mariadbtest

import (
	"fmt"
	"strings"
)

// EveryType are statements that make a table wide with a column of every type
// that MariaDB has and Stowage carries, and rows with the edges of their values.
func EveryType() []string {
	return []string{
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
}

func members(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("'m%d'", i)
	}
	return strings.Join(out, ",")
}
