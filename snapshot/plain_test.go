package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// A line of a snapshot has the same values as the row of `stowage follow`, which shows rows of events by rows.Plain: every type of MariaDB, and
// those that only MySQL has.
func TestLinesAreThoseOfFollow(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "plain")
	i.Exec(t, append([]string{"CREATE DATABASE shop CHARACTER SET utf8mb4", "USE shop"}, mariadbtest.EveryType()...)...)
	i.Exec(t, "USE shop", "CREATE TABLE odd (id INT PRIMARY KEY, u UUID, dz DECIMAL(9,3) ZEROFILL, z INT ZEROFILL, f FLOAT ZEROFILL)", "INSERT odd VALUES (1, UUID(), 1.5, 7, 2.5), (2, NULL, 0, 0, 0), (3, UUID(), 123456.789, 1, 1e20)")
	asFollowed(t, i)
	t.Run("MySQL", func(t *testing.T) {
		i := mariadbtest.Named(t, mariadbtest.MySQL9).Start(t, "plain")
		i.Exec(t, "CREATE DATABASE shop", "USE shop", "SET SESSION sql_mode = ''",
			"CREATE TABLE r (id BIGINT UNSIGNED PRIMARY KEY, j JSON, f FLOAT, d DOUBLE, de DECIMAL(12,4), e ENUM('a','it''s'), s SET('x','y'), v VARCHAR(20) CHARACTER SET latin1, t TIMESTAMP(3) NULL, ti TIME(2), y YEAR, b BIT(12), p POINT, vb VARBINARY(9))",
			`INSERT INTO r VALUES (18446744073709551615, '{"b": [1, 2.50, 1e100, null, true, "☃\\n"], "a": {}}', 1.1, 0.1, -0.5, 'it''s', 'x,y', 'äß', '2020-01-02 03:04:05.6', '-00:00:01.5', 2020, 4095, POINT(1, 2), X'00FF')`, "INSERT INTO r (id) VALUES (2)")
		asFollowed(t, i)
	})
}

func asFollowed(t *testing.T, i *mariadbtest.Instance) {
	t.Helper()
	s, ctx := mysqltest.Open(t, i), t.Context()
	tables, err := rows.CopyTables(ctx, s, "shop")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		p, err := rows.PlainOf(ctx, s, table)
		if err != nil {
			t.Fatal(err)
		}
		var want []map[string]any
		view, err := rows.OpenView(ctx, s, false)
		if err != nil {
			t.Fatal(err)
		}
		err = view.EachPlain(ctx, p, func(row rows.PlainRow) error {
			want = append(want, decoded(t, p.AppendObject(nil, row, nil)))
			return nil
		})
		if err = errors.Join(err, view.Close()); err != nil {
			t.Fatal(err)
		}
		query, sep := "SELECT ", ""
		for _, c := range table.Columns { // the invisible ones, too
			query += sep + mysql.Ident(c.Name)
			sep = ", "
		}
		out, _ := take(t, s, text(query+" FROM "+table.At()+" WHERE ? = 1 ORDER BY id", "1"), "jsonl")
		lines := bytes.Split(bytes.TrimSpace([]byte(out)), []byte("\n"))
		if len(lines) != len(want) || len(want) == 0 {
			t.Fatalf("%s: %d lines, %d rows", table, len(lines), len(want))
		}
		for n, line := range lines {
			got := decoded(t, line)
			for _, c := range table.Columns {
				if is := want[n][c.Name]; !reflect.DeepEqual(got[c.Name], is) && (c.Kind != "json" || !reflect.DeepEqual(numbers(t, got[c.Name]), numbers(t, is))) {
					t.Errorf("%s row %v, %s %s: snapshot %s, follow %s", table, got["id"], c.Name, c.Type, shownAny(got[c.Name]), shownAny(is))
				}
			}
			if len(got) != len(want[n]) {
				t.Errorf("%s: %d members, follow has %d", table, len(got), len(want[n]))
			}
		}
	}
}

func decoded(t *testing.T, line []byte) (out map[string]any) {
	t.Helper()
	in := json.NewDecoder(bytes.NewReader(line))
	in.UseNumber()
	if err := in.Decode(&out); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return out
}

// numbers is a document whose numbers are compared by what they are: 1e100 is 1e+100.
func numbers(t *testing.T, document any) (out any) {
	t.Helper()
	text, err := json.Marshal(document)
	if err = errors.Join(err, json.Unmarshal(text, &out)); err != nil {
		t.Fatal(err)
	}
	return out
}

func shownAny(v any) string { return fmt.Sprintf("%T %v", v, v) }
