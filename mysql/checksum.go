package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"sort"
	"strings"
)

// Mismatch is a chunk of rows that differs between two servers.
type Mismatch struct {
	Table string
	Chunk string // its range of keys, or "all rows"
	Was   string // on the source
	Is    string // on the copy
}

func (m Mismatch) String() string {
	return fmt.Sprintf("%s %s: source %s, copy %s", m.Table, m.Chunk, m.Was, m.Is)
}

// ChunkRows is how many rows are summed at a time: short enough to stop
// within a second or so, long enough that the round trips do not matter.
const ChunkRows = 50000

// queryer is what a checksum reads from: a snapshot or a server at rest.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// CompareTables compares every table of every database, row by row through
// checksums of chunks in key order, between a snapshot of the source and a
// copy that has applied exactly the snapshot's position and stands still.
// Differences are returned, not failed: the caller decides. progress is told
// the number of tables done.
func CompareTables(ctx context.Context, source *Snapshot, copyServer *Server, progress func(done, total int)) ([]Mismatch, error) {
	return compareTables(ctx, source, copyServer, ChunkRows, progress)
}

func compareTables(ctx context.Context, source *Snapshot, copyServer *Server, chunkRows int, progress func(done, total int)) ([]Mismatch, error) {
	tables, err := tableShapes(ctx, source.conn)
	if err != nil {
		return nil, source.server.fail("read tables", err)
	}
	there, err := tableShapes(ctx, copyServer.db)
	if err != nil {
		return nil, copyServer.fail("read tables", err)
	}
	out := diffShapes(tables, there)
	if len(out) > 0 {
		return out, nil // summing rows of different shapes would only confuse
	}
	for i, t := range tables {
		if progress != nil {
			progress(i, len(tables))
		}
		ms, err := compareTable(ctx, source, copyServer, t, chunkRows)
		if err != nil {
			return nil, err
		}
		out = append(out, ms...)
	}
	return out, nil
}

// shape is a table's name and columns, with everything that a copy must share.
type shape struct {
	schema, name string
	columns      []column
	key          []string // primary key, in order; empty: the table is one chunk
	definition   string
}

type column struct {
	name string
	kind string // DATA_TYPE
}

func (t shape) String() string { return t.schema + "." + t.name }

func tableShapes(ctx context.Context, q queryer) ([]shape, error) {
	rows, err := q.QueryContext(ctx, `SELECT c.TABLE_SCHEMA, c.TABLE_NAME, c.COLUMN_NAME, c.DATA_TYPE, c.COLUMN_TYPE,
			c.IS_NULLABLE, COALESCE(c.COLLATION_NAME, ''), COALESCE(k.SEQ_IN_INDEX, 0)
		FROM information_schema.COLUMNS c
		JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
			AND t.TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')
		LEFT JOIN information_schema.STATISTICS k ON k.TABLE_SCHEMA = c.TABLE_SCHEMA AND k.TABLE_NAME = c.TABLE_NAME
			AND k.COLUMN_NAME = c.COLUMN_NAME AND k.INDEX_NAME = 'PRIMARY'
		WHERE c.TABLE_SCHEMA NOT IN `+systemSchemas+` ORDER BY 1, 2, c.ORDINAL_POSITION`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []shape
	keys := map[string]map[int]string{}
	for rows.Next() {
		var schema, name, col, dataType, columnType, nullable, collation string
		var inKey int
		if err := rows.Scan(&schema, &name, &col, &dataType, &columnType, &nullable, &collation, &inKey); err != nil {
			return nil, err
		}
		if n := len(out); n == 0 || out[n-1].schema != schema || out[n-1].name != name {
			out = append(out, shape{schema: schema, name: name})
		}
		t := &out[len(out)-1]
		t.columns = append(t.columns, column{col, dataType})
		t.definition += col + " " + columnType + " " + nullable + " " + collation + "; "
		if inKey > 0 {
			if keys[t.String()] == nil {
				keys[t.String()] = map[int]string{}
			}
			keys[t.String()][inKey] = col
		}
	}
	for i := range out {
		parts := keys[out[i].String()]
		for n := 1; n <= len(parts); n++ {
			out[i].key = append(out[i].key, parts[n])
		}
	}
	return out, rows.Err()
}

// cell is the column's value as bytes that are equal only for equal values.
func (c column) cell() string {
	name := ident(c.name)
	switch c.kind {
	case "bit":
		return "HEX(" + name + ")"
	case "float": // as text it has six digits; the rest would not be compared
		return "CAST(CAST(" + name + " AS DOUBLE) AS BINARY)"
	case "tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob",
		"geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection":
		// Two large values side by side may exceed max_allowed_packet, and the
		// row would be NULL on both ends, equal whatever it holds.
		return "MD5(CAST(" + name + " AS BINARY))"
	}
	return "CAST(" + name + " AS BINARY)"
}

// bound is the column's value in a form that, sent back, compares with the
// column as the key is ordered. Bytes of a BIT compare as 0, six digits of a
// FLOAT as another number, and the word of an ENUM by its letters.
func (c column) bound() string {
	switch c.kind {
	case "bit", "enum", "set":
		return ident(c.name) + " + 0"
	case "float":
		return "CAST(" + ident(c.name) + " AS DOUBLE)"
	}
	return ident(c.name)
}

// keyBounds are the bounds of the key's columns.
func (t shape) keyBounds() []string {
	out := make([]string, len(t.key))
	for i, k := range t.key {
		for _, c := range t.columns {
			if c.name == k {
				out[i] = c.bound()
			}
		}
	}
	return out
}

func diffShapes(was, is []shape) []Mismatch {
	defs := map[string][2]string{}
	for _, t := range was {
		defs[t.String()] = [2]string{t.definition, ""}
	}
	for _, t := range is {
		d := defs[t.String()]
		d[1] = t.definition
		defs[t.String()] = d
	}
	var out []Mismatch
	for name, d := range defs {
		if d[0] != d[1] {
			out = append(out, Mismatch{Table: name, Chunk: "columns", Was: orNone(d[0]), Is: orNone(d[1])})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Table < out[j].Table })
	return out
}

func orNone(s string) string {
	if s == "" {
		return "no such table"
	}
	return s
}

// compareTable walks the key of one table chunk by chunk. The bounds come
// from the source; both ends sum the same ranges, the last one open-ended, so
// a row that exists only on the copy falls into some chunk as well.
func compareTable(ctx context.Context, source *Snapshot, copyServer *Server, t shape, chunkRows int) ([]Mismatch, error) {
	var out []Mismatch
	var from []any
	for {
		to, err := chunkEnd(ctx, source.conn, t, from, chunkRows)
		if err != nil {
			return nil, source.server.fail("find chunk of "+t.String(), err)
		}
		if from != nil && keyText(to, "") == keyText(from, "") {
			to = nil // a key that does not compare as it is ordered: the rest is one chunk
		}
		was, err := chunkSum(ctx, source.conn, t, from, to)
		if err != nil {
			return nil, source.server.fail("checksum "+t.String(), err)
		}
		is, err := chunkSum(ctx, copyServer.db, t, from, to)
		if err != nil {
			return nil, copyServer.fail("checksum "+t.String(), err)
		}
		if was != is {
			out = append(out, Mismatch{t.String(), chunkName(from, to), was, is})
		}
		if to == nil {
			return out, nil
		}
		from = to
	}
}

func chunkName(from, to []any) string {
	if from == nil && to == nil {
		return "all rows"
	}
	return fmt.Sprintf("key > %s and <= %s", keyText(from, "start"), keyText(to, "end"))
}

func keyText(key []any, otherwise string) string {
	if key == nil {
		return otherwise
	}
	parts := make([]string, len(key))
	for i, k := range key {
		if b, ok := k.([]byte); ok {
			k = string(b)
		}
		parts[i] = fmt.Sprint(k)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// chunkEnd is the key of the last row of the chunk that begins after from, or
// nil when no further chunk follows.
func chunkEnd(ctx context.Context, q queryer, t shape, from []any, chunkRows int) ([]any, error) {
	if len(t.key) == 0 {
		return nil, nil
	}
	cols := make([]string, len(t.key))
	for i, k := range t.key {
		cols[i] = ident(k)
	}
	where, args := "", []any(nil)
	if from != nil {
		where, args = keyBeyond(t.key, from, ">")
		where = " WHERE " + where
	}
	query := fmt.Sprintf("SELECT %s FROM %s.%s%s ORDER BY %s LIMIT 1 OFFSET %d", strings.Join(t.keyBounds(), ", "),
		ident(t.schema), ident(t.name), where, strings.Join(cols, ", "), chunkRows-1)
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, rows.Err()
	}
	key := make([]any, len(t.key))
	into := make([]any, len(t.key))
	for i := range key {
		into[i] = &key[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	// Text comes as bytes, and bytes are sent back as a binary literal, which
	// would compare byte by byte where the key is ordered by its collation.
	for i, ct := range types {
		b, isBytes := key[i].([]byte)
		if isBytes && !strings.Contains(ct.DatabaseTypeName(), "BINARY") && !strings.Contains(ct.DatabaseTypeName(), "BLOB") {
			key[i] = string(b)
		}
	}
	return key, nil
}

// keyBeyond is "key > bound" (or "<=") for a key of several columns, spelled
// out so that the optimizer uses the index: row constructors do not.
func keyBeyond(key []string, bound []any, op string) (string, []any) {
	strict := map[string]string{">": ">", "<=": "<"}[op]
	var terms []string
	var args []any
	for i := range key {
		var parts []string
		for j := 0; j < i; j++ {
			parts = append(parts, ident(key[j])+" = ?")
			args = append(args, bound[j])
		}
		last := strict
		if i == len(key)-1 {
			last = op
		}
		parts = append(parts, ident(key[i])+" "+last+" ?")
		args = append(args, bound[i])
		terms = append(terms, "("+strings.Join(parts, " AND ")+")")
	}
	return "(" + strings.Join(terms, " OR ") + ")", args
}

// chunkSum is the number of rows of a chunk and two sums over the MD5 of each
// row. XOR alone would not see a pair of equal rows come or go; the sum does.
// NULL and empty string are told apart by a bit for each column.
func chunkSum(ctx context.Context, q queryer, t shape, from, to []any) (string, error) {
	var cells, nulls []string
	for _, c := range t.columns {
		cell := c.cell()
		cells = append(cells, "COALESCE("+cell+", '')", "LENGTH(COALESCE("+cell+", ''))")
		nulls = append(nulls, "ISNULL("+ident(c.name)+")")
	}
	var conditions []string
	var args []any
	if from != nil {
		c, a := keyBeyond(t.key, from, ">")
		conditions, args = append(conditions, c), append(args, a...)
	}
	if to != nil {
		c, a := keyBeyond(t.key, to, "<=")
		conditions, args = append(conditions, c), append(args, a...)
	}
	where := ""
	if len(conditions) > 0 {
		where = " WHERE " + strings.Join(conditions, " AND ")
	}
	query := fmt.Sprintf(`SELECT COUNT(*), COALESCE(LOWER(CONCAT(
			HEX(BIT_XOR(CAST(CONV(LEFT(h, 16), 16, 10) AS UNSIGNED))),
			HEX(BIT_XOR(CAST(CONV(RIGHT(h, 16), 16, 10) AS UNSIGNED))), '-', SUM(CRC32(h)))), '0')
		FROM (SELECT MD5(CONCAT_WS('#', %s, CONCAT(%s))) AS h FROM %s.%s%s) AS chunk`,
		strings.Join(cells, ", "), strings.Join(nulls, ", "), ident(t.schema), ident(t.name), where)
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var count int64
	var sum string
	if rows.Next() {
		if err := rows.Scan(&count, &sum); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d rows, sum %s", count, sum), rows.Err()
}

// CompareDefinitions compares the columns of all tables of two servers.
func CompareDefinitions(ctx context.Context, source, copyServer *Server) ([]Mismatch, error) {
	was, err := tableShapes(ctx, source.db)
	if err != nil {
		return nil, source.fail("read tables", err)
	}
	is, err := tableShapes(ctx, copyServer.db)
	if err != nil {
		return nil, copyServer.fail("read tables", err)
	}
	return diffShapes(was, is), nil
}
