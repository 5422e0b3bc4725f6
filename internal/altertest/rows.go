package altertest

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand"
	"strconv"
	"strings"
)

// column is a column as information_schema has it.
type column struct {
	name, kind, full, charset string
	length                    int
	null, computed            bool
}

func columnsOf(ctx context.Context, conn *sql.Conn, db, table string) ([]column, error) {
	rows, err := conn.QueryContext(ctx, `SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COALESCE(CHARACTER_SET_NAME, ''), COALESCE(CHARACTER_MAXIMUM_LENGTH, 0), IS_NULLABLE = 'YES', COALESCE(GENERATION_EXPRESSION, '') <> ''
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`, db, table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []column
	for rows.Next() {
		var c column
		if err := rows.Scan(&c.name, &c.kind, &c.full, &c.charset, &c.length, &c.null, &c.computed); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

var bits = map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

// value is a literal for a column, an edge of its type more often than not.
func value(r *rand.Rand, c column) string {
	if c.null && r.Intn(5) == 0 {
		return "NULL"
	}
	of := func(all ...string) string { return all[r.Intn(len(all))] }
	switch {
	case bits[c.kind] > 0:
		n := bits[c.kind]
		small := strconv.Itoa(r.Intn(127))
		if n > 8 && r.Intn(2) == 0 {
			small = strconv.Itoa(r.Intn(5000))
		}
		if strings.Contains(c.full, "unsigned") {
			most := ^uint64(0) >> (64 - n)
			return of("0", "1", strconv.FormatUint(most, 10), strconv.FormatUint(most/2+1, 10), strconv.FormatUint(most/2+5, 10), small, small, small)
		}
		most := int64(^uint64(0) >> (65 - n))
		return of("0", "1", "-1", strconv.FormatInt(most, 10), strconv.FormatInt(-most-1, 10), small, small, small)
	}
	switch c.kind {
	case "decimal":
		p, s, _ := strings.Cut(strings.TrimSuffix(c.full[strings.Index(c.full, "(")+1:], " unsigned"), ",")
		whole, _ := strconv.Atoi(p)
		behind, _ := strconv.Atoi(strings.TrimSuffix(s, ")"))
		return of("0", "1.5", "-1", strings.Repeat("9", max(whole-behind, 1)), strings.Repeat("9", max(whole-behind, 1))+"."+strings.Repeat("9", max(behind, 1)))
	case "float", "double":
		return of("0", "1.5", "-3.25", "1e10", "-1e-10")
	case "bit":
		return of("0", "1", "2", "b'1111'", "b'11'")
	case "year":
		return of("1901", "2155", "2024", "0")
	case "date":
		return of("'1000-01-01'", "'9999-12-31'", "'2024-02-29'", "'0000-00-00'", "'2024-00-00'", "'"+strconv.Itoa(1990+r.Intn(60))+"-05-05'")
	case "datetime":
		return of("'0000-00-00 00:00:00'", "'1000-01-01 00:00:00'", "'9999-12-31 23:59:59'", "'2024-02-29 23:59:59.123456'", "'2024-02-29 12:00:00.7'")
	case "timestamp":
		return of("'0000-00-00 00:00:00'", "'1970-01-02 00:00:01'", "'2037-12-31 23:59:59.999'", "'2024-02-29 12:00:00.25'")
	case "time":
		return of("'-838:59:59'", "'00:00:00'", "'12:34:56.789'")
	case "enum", "set":
		all := strings.Split(c.full[strings.Index(c.full, "(")+1:len(c.full)-1], ",")
		if c.kind == "set" && r.Intn(3) == 0 {
			return strconv.Itoa(r.Intn(1 << min(len(all), 16)))
		}
		return all[r.Intn(len(all))]
	case "uuid":
		return "'123e4567-e89b-12d3-a456-4266141740" + strconv.Itoa(10+r.Intn(80)) + "'"
	case "inet6":
		return of("'::1'", "'fe80::2'", "'::ffff:1.2.3.4'")
	case "inet4":
		return of("'0.0.0.0'", "'10.0.0.1'", "'255.255.255.255'", "'192.168.1."+strconv.Itoa(r.Intn(250))+"'")
	case "point", "geometry":
		return fmt.Sprintf("POINT(%d, %d)", r.Intn(300)-150, r.Intn(90))
	}
	n := min(c.length, 300)
	if c.charset == "utf8mb4" && (c.kind == "char" || c.kind == "varchar") {
		n = min(c.length, 255)
	}
	if strings.Contains(c.kind, "text") || strings.Contains(c.kind, "blob") {
		n = 250
		if r.Intn(10) == 0 {
			n = min(c.length, 70000) // more than TEXT holds
		}
	}
	if c.charset != "" && n >= 5 && r.Intn(2) == 0 {
		return "'ä" + strconv.Itoa(r.Intn(2000)) + "'"
	}
	switch c.charset {
	case "":
		return of("''", "x'00ff80'", "'a'", "'"+strings.Repeat("z", n)+"'", "x'e4f6'", "'x '")
	case "utf8mb4":
		return of("''", "'a'", "'äöü'", "'😀'", "'"+strings.Repeat("w", n)+"'", "'x '", "'{\"k\": [1, \"ä\"]}'", "'[]'", "'"+strings.Repeat("€", min(n, 80))+"'", "'"+strconv.Itoa(r.Intn(1000))+"'")
	case "utf8mb3":
		return of("''", "'a'", "'äöü'", "'€'", "'"+strings.Repeat("w", n)+"'", "'"+strings.Repeat("€", n)+"'", "'"+strconv.Itoa(r.Intn(1000))+"'")
	}
	return of("''", "'a'", "'äöü'", "'"+strings.Repeat("ß", n)+"'", "'x '", "'"+strconv.Itoa(r.Intn(1000))+"'")
}

// writeRows changes rows of a table as a client would: what the server refuses is left out. It reports how many statements were taken.
func writeRows(ctx context.Context, conn *sql.Conn, r *rand.Rand, db, table string, statements int) (int, error) {
	all, err := columnsOf(ctx, conn, db, table)
	if err != nil {
		return 0, err
	}
	var columns []column
	for _, c := range all {
		if !c.computed {
			columns = append(columns, c)
		}
	}
	if r.Intn(3) == 0 { // a client that is not strict: zero dates, texts that are cut, 0 where nothing is said
		if _, err := conn.ExecContext(ctx, "SET SESSION sql_mode = ''"); err != nil {
			return 0, err
		}
		defer conn.ExecContext(context.WithoutCancel(ctx), "SET SESSION sql_mode = DEFAULT")
	}
	taken := 0
	for range statements {
		kind := r.Intn(10)
		for range 4 { // another row where the server refuses one
			_, err := conn.ExecContext(ctx, statement(r, kind, "`"+db+"`.`"+table+"`", columns))
			if err == nil {
				taken++
				break
			}
		}
	}
	return taken, ctx.Err()
}

// statement changes a few rows: more come than go.
func statement(r *rand.Rand, kind int, at string, columns []column) string {
	order := "`" + columns[r.Intn(len(columns))].name + "`"
	if r.Intn(2) == 0 {
		order += " DESC"
	}
	switch {
	case kind < 6:
		var names, values []string
		for _, c := range columns {
			if r.Intn(6) == 0 {
				continue // its default
			}
			names, values = append(names, "`"+c.name+"`"), append(values, value(r, c))
		}
		return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", at, strings.Join(names, ", "), strings.Join(values, ", "))
	case kind < 9:
		c := columns[r.Intn(len(columns))]
		return fmt.Sprintf("UPDATE %s SET `%s` = %s ORDER BY %s LIMIT %d", at, c.name, value(r, c), order, 1+r.Intn(3))
	}
	return fmt.Sprintf("DELETE FROM %s ORDER BY %s LIMIT 1", at, order)
}
