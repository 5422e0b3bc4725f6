package rows

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
)

// TestPlainIsAlike: a row out of an event comes out as the same row that was
// read, for every type and for text of many character sets.
func TestPlainIsAlike(t *testing.T) {
	t.Parallel()
	charsets := []string{"latin1", "latin2", "cp1251", "koi8r", "greek", "swe7", "cp850", "sjis", "cp932", "ujis", "eucjpms", "gbk", "gb2312", "big5", "euckr", "utf16le", "ucs2", "utf32", "utf8mb3", "utf8mb4", "ascii"}
	text := []string{"SET SESSION sql_mode = '', NAMES utf8mb4, SESSION max_recursive_iterations = 10000", "CREATE TABLE text (id INT PRIMARY KEY, " + each(charsets, "c_NAME VARCHAR(40) CHARACTER SET NAME") + ")",
		"INSERT INTO text SELECT seq, " + each(charsets, "CONVERT(CONCAT('a', CHAR(32 + seq USING utf32), CHAR(0x3000 + seq * 7 USING utf32), CHAR(IF(seq < 500, 0x1F300 + seq, 0xAC00 + seq) USING utf32), IF(seq % 3, ' ', '')) USING utf8mb4)") + " FROM seq_0_to_1500",
		"CREATE TABLE words (id INT PRIMARY KEY, e ENUM('a','it''s','b,c','d\\\\e','ä\"',' x'), s SET('a','it''s','d\\\\e','ä\"',' x'), en ENUM('ж','б') CHARACTER SET cp1251)",
		"INSERT INTO words SELECT seq, seq % 7, seq % 32, seq % 3 FROM seq_0_to_99",
		"CREATE TABLE odd (id INT PRIMARY KEY, d DOUBLE, f FLOAT, i6 INET6, u UUID, z INT ZEROFILL, dz DECIMAL(9,3) ZEROFILL, c CHAR(20), b BINARY(20), t6 TIMESTAMP(6) NULL, t4 TIME(4))",
		`INSERT INTO odd SELECT seq, (RAND(seq) - 0.5) * POW(10, seq % 600 - 300.0), (RAND(seq) - 0.5) * POW(10, seq % 70 - 35.0),
			CONCAT_WS(':', HEX(FLOOR(RAND(seq+1)*3)), HEX(FLOOR(RAND(seq+2)*2)), HEX(FLOOR(RAND(seq+3)*2)), HEX(FLOOR(RAND(seq+4)*2)), HEX(FLOOR(RAND(seq+5)*2)), IF(seq % 3 = 0, 'ffff', HEX(FLOOR(RAND(seq+6)*2))), HEX(FLOOR(RAND(seq+7)*2)), HEX(FLOOR(RAND(seq+8)*65536))),
			IF(seq % 2, UUID(), INSERT(MD5(seq), 1, 0, '')), seq, seq / 7, CONCAT(seq, '  '), UNHEX(HEX(seq * 256)), FROM_UNIXTIME(1e9 + seq * 1000.000123), SEC_TO_TIME(seq * 33.3333 - 3000.0) FROM seq_0_to_2000`,
		"INSERT INTO odd (id, i6) VALUES (-1, '::'), (-2, '::1'), (-3, '1::'), (-4, '::1.2.3.4'), (-5, '::ffff:1.2.3.4'), (-6, '::1:0'), (-7, '1:0:0:2:0:0:0:3')"}
	i := mariadbtest.Start(t, "plain")
	i.Exec(t, append([]string{"CREATE DATABASE shop CHARACTER SET utf8mb4", "USE shop"}, append(mariadbtest.EveryType(), text...)...)...)
	i.Exec(t, "USE shop", "SET SESSION sql_mode = ''", "UPDATE wide SET t1u = 254, v = CONCAT(LEFT(v, 290), '☃') WHERE id = 2", "DELETE FROM wide WHERE id = 1", "UPDATE text SET id = id + 10000 WHERE id > 1000")
	alike(t, i, 4)
}

// TestPlainIsAlikeOnMySQL: with the types that only MySQL has.
func TestPlainIsAlikeOnMySQL(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Named(t, mariadbtest.MySQL9).Start(t, "plain")
	i.Exec(t, "CREATE DATABASE shop", "USE shop", "SET SESSION sql_mode = ''",
		"CREATE TABLE r (id BIGINT UNSIGNED PRIMARY KEY, j JSON, f FLOAT, d DOUBLE, de DECIMAL(12,4), e ENUM('a','it''s','d\\\\e'), s SET('x','y'), v VARCHAR(20) CHARACTER SET latin1, w VARCHAR(20) CHARACTER SET gb18030, t TIMESTAMP(3) NULL, ti TIME(2), y YEAR, b BIT(12), p POINT, vb VARBINARY(9), g INT AS (de + 1) VIRTUAL)",
		`INSERT INTO r (id, j, f, d, de, e, s, v, w, t, ti, y, b, p, vb) VALUES (18446744073709551615, '{"b": [1, 2.50, 1e100, null, true, "☃\\n"], "a": {}}', 1.1, 0.1, -0.5, 'it''s', 'x,y', 'äß', '漢字', '2020-01-02 03:04:05.6', '-00:00:01.5', 2020, 4095, POINT(1, 2), X'00FF'),
			(1, 'null', -0.0, -1e300, 12345678.9, 3, 0, '', '', '1970-01-01 00:00:01', '838:59:59', 0, 0, POINT(0,0), '')`, "INSERT INTO r (id) VALUES (2)",
		`INSERT INTO r (id, j) VALUES (3, '"text"'), (4, '1.0'), (5, '[1.5e-10, 123456789012345678901]')`, "INSERT INTO r (id, j) VALUES (6, CAST(TIME'10:11:12.5' AS JSON)), (7, CAST(1.50 AS JSON))", "UPDATE r SET de = 1 WHERE id = 1")
	alike(t, i, 1)
}

// TestPlainKnowsAnotherShape: an event that was written when the table had
// other columns is not shown under wrong names.
func TestPlainKnowsAnotherShape(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		metadata, alter, says string
	}{
		"another name":           {"FULL", "ALTER TABLE r RENAME COLUMN a TO c", "column 2 of shop.r is called a in an event, and c in the table"},
		"two that changed place": {"FULL", "ALTER TABLE r MODIFY a INT AFTER b", "is called a in an event, and b"},
		"one more":               {"NO_LOG", "ALTER TABLE r ADD c INT", "has 3 columns, the table has 4"},
		"another type":           {"NO_LOG", "ALTER TABLE r MODIFY a BIGINT", "column a of shop.r is bigint(20), an event has it with type number 3"},
		"a set for an enum":      {"NO_LOG", "ALTER TABLE r MODIFY b SET('x')", "column b of shop.r is set('x')"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i, s := start(t, "shape", "--binlog-row-metadata="+tt.metadata)
			i.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.r (id INT PRIMARY KEY, a INT, b ENUM('x'))", "INSERT INTO shop.r VALUES (1, 2, 'x')", "SET SESSION sql_log_bin = 0", "USE shop", tt.alter)
			list, err := CopyTables(t.Context(), s, "shop")
			must(t, err)
			p, err := PlainOf(t.Context(), s, list[0])
			must(t, err)
			r, err := s.Binlog(t.Context(), 990001, mysql.Position{}, "shop")
			must(t, err)
			defer r.Close()
			for {
				c, ok, err := r.Next(t.Context(), patience)
				if err != nil || !ok {
					t.Fatal(ok, err)
				}
				if c.Kind != mysql.Insert {
					continue
				}
				if err := p.Fits(c); err == nil || !strings.Contains(err.Error(), tt.says) || c.IsNamed() != (tt.metadata == "FULL") {
					t.Errorf("named %v: %v, want %s", c.IsNamed(), err, tt.says)
				}
				return
			}
		})
	}
}

// each fills every name into form.
func each(names []string, form string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.ReplaceAll(form, "NAME", n)
	}
	return strings.Join(out, ", ")
}

// alike reads all that was ever written to shop, and holds what is left of it
// against the tables.
func alike(t *testing.T, i *mariadbtest.Instance, tables int) {
	t.Helper()
	s := mysqltest.Open(t, i)
	ctx := t.Context()
	list, err := CopyTables(ctx, s, "shop")
	if err != nil || len(list) != tables {
		t.Fatal(len(list), err)
	}
	plain, folded := map[string]*Plain{}, map[string]map[string]string{}
	for _, table := range list {
		if plain[table.Name], err = PlainOf(ctx, s, table); err != nil {
			t.Fatal(err)
		}
		folded[table.Name] = map[string]string{}
	}
	goal, err := s.BinlogPosition(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Binlog(ctx, 990001, mysql.Position{}, "shop")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var row PlainRow
	keyOf := func(p *Plain, v PlainRow) string { return string(p.AppendObject(nil, v, p.Table.Key)) }
	for at := (mysql.Position{}); !at.Reached(goal); {
		c, ok, err := r.Next(ctx, 30*time.Second)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		p := plain[c.Table]
		if p != nil && len(c.Rows) > 0 {
			must(t, p.Fits(c))
		}
		for n, values := range c.Rows {
			if row, err = p.Event(ctx, values, row); err != nil {
				t.Fatal(err)
			}
			if c.Kind == mysql.Delete || c.Kind == mysql.Update && n%2 == 0 {
				delete(folded[c.Table], keyOf(p, row))
			} else {
				folded[c.Table][keyOf(p, row)] = string(p.AppendObject(nil, row, nil))
			}
		}
		if c.Kind == mysql.Commit || c.Kind == mysql.Rollback {
			at = at.With(c.Trx)
		}
	}
	v, err := Snapshot(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for name, p := range plain {
		rows := 0
		err := v.EachPlain(ctx, p, func(read PlainRow) error {
			rows++
			is, key := string(p.AppendObject(nil, read, nil)), keyOf(p, read)
			if got := folded[name][key]; got != is {
				return fmt.Errorf("%s: event and row differ:\n%s\n%s", name, got, is)
			}
			if !json.Valid([]byte(is)) {
				return fmt.Errorf("%s: no JSON: %s", name, is)
			}
			delete(folded[name], key)
			return nil
		})
		if err != nil {
			t.Error(err)
		} else if rows == 0 || len(folded[name]) > 0 {
			t.Errorf("%s: %d rows read, %d more by events", name, rows, len(folded[name]))
		}
	}
}

// TestGivenIsWhatRowsHave: a value as people write it becomes what a row has that was written with it, and what the column cannot have is refused.
func TestGivenIsWhatRowsHave(t *testing.T) {
	t.Parallel()
	i, s := start(t, "given")
	columns := []struct{ kind, fits, odd string }{
		{"INT", "7,007,+7,-7, 7 ", "7x,,2147483648,7.5,seven"}, {"TINYINT UNSIGNED ZEROFILL", "7,007,255", "256,-1"}, {"BIGINT UNSIGNED", "18446744073709551615,+1", "18446744073709551616"}, {"BIT(12)", "", "-1"},
		{"DECIMAL(5,2)", "7,7.00,007.5,-7,.5,7.,999.99", "7.001,1000,7x,1/2,1e2,."}, {"DECIMAL(2,2)", "0.5,0", "1"}, {"DECIMAL(5,0) UNSIGNED", "7", "-7,7.5"},
		{"FLOAT", "1.5,001.5,16777217", "1e60,NaN,x"}, {"DOUBLE", "1.50,-2e3,1e-300", "1e400,inf"}, {"YEAR", "2026", "x"},
		{"DATE", "2026-11-28,2026-1-5", "x,2026-02-30"}, {"DATETIME(3)", "2026-11-28 01:02:03,2026-11-28 01:02:03.5", "x"}, {"TIME", "01:02:03,1:02:03", ""}, {"TIMESTAMP NULL", "2026-11-28 01:02:03", "x"},
		{"UUID", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11,a0eebc999c0b4ef8bb6d6bb9bd380a11", "x,a0eebc99"}, {"INET4", "10.0.0.1", "x"}, {"INET6", "2001:DB8:0:0:0:0:0:1,::ffff:10.0.0.1", "x"},
		{"BINARY(4)", "ab,abcd", "abcde"}, {"VARBINARY(9)", "ab", ""}, {"VARCHAR(9)", "acme,007", ""},
	}
	i.Exec(t, "CREATE DATABASE shop")
	for n, c := range columns {
		i.Exec(t, fmt.Sprintf("CREATE TABLE shop.t%02d (v %s)", n, c.kind))
	}
	list, err := CopyTables(t.Context(), s, "shop")
	must(t, err)
	v, err := OpenView(t.Context(), s, false)
	must(t, err)
	defer v.Close()
	for n, c := range columns {
		p, err := PlainOf(t.Context(), s, list[n])
		must(t, err)
		for _, text := range strings.Split(c.fits, ",") {
			if c.fits == "" {
				break
			}
			i.Exec(t, "SET time_zone = '+00:00'", "TRUNCATE shop."+list[n].Name, "INSERT INTO shop."+list[n].Name+" VALUES ("+mysql.Quote(text)+")")
			want := ""
			must(t, v.EachPlain(t.Context(), p, func(row PlainRow) error { want = string(row[0]); return nil }))
			if got, ok, err := p.Given(t.Context(), 0, text); err != nil || !ok || got != want {
				t.Errorf("%s: %q is %q (%v, %v), a row has %q", c.kind, text, got, ok, err, want)
			}
		}
		for _, text := range strings.Split(c.odd, ",") {
			if got, ok, err := p.Given(t.Context(), 0, text); c.odd != "" && (err != nil || ok) {
				t.Errorf("%s: %q is taken for %q: %v", c.kind, text, got, err)
			}
		}
	}
}
