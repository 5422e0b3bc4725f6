package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"sort"
	"strings"
)

// Mismatch is a chunk of rows, or a definition, that differs between two servers.
type Mismatch struct {
	Table string
	Chunk string // its range of keys, or "all rows"; of what is no row, what it is: "columns", "definition"
	Was   string // on the source
	Is    string // on the copy

	// Rows are the rows of the chunk that differ, counted and the first few named, where that was asked for.
	Rows *RowDiff

	of       shape
	from, to []any
}

func (m Mismatch) String() string {
	text := fmt.Sprintf("%s %s: source %s, copy %s", m.Table, m.Chunk, m.Was, m.Is)
	if m.Rows != nil {
		text += ": " + m.Rows.String()
	}
	return text
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
// the number of tables done. Comparison can do more: it can be resumed.
func CompareTables(ctx context.Context, source *Snapshot, copyServer *Server, progress func(done, total int)) ([]Mismatch, error) {
	return compareTables(ctx, source, copyServer, ChunkRows, progress)
}

func compareTables(ctx context.Context, source *Snapshot, copyServer *Server, chunkRows int, progress func(done, total int)) ([]Mismatch, error) {
	c := Comparison{Source: source, Copy: copyServer, ChunkRows: chunkRows}
	if progress != nil {
		last := -1
		c.Tell = func(s Compared) {
			if s.Done != last {
				progress(s.Done, s.Of)
			}
			last = s.Done
		}
	}
	v, err := c.Run(ctx)
	return v.Mismatches, err
}

// shape is a table's name and columns, with everything that a copy must share.
type shape struct {
	schema, name string
	columns      []column
	key          []string // primary key, in order; empty: the table is one chunk
	definition   string
	versioned    bool // its history rows are compared too
}

type column struct {
	name      string
	kind      string // DATA_TYPE
	generated string // expression it is computed by, ROW START or ROW END of a versioned table; "" for a value that is stored as given
}

// isLocal: the number of a transaction, which is another on every server (transaction-precise versioning).
func (c column) isLocal() bool {
	return c.kind == "bigint" && (c.generated == "ROW START" || c.generated == "ROW END")
}

func (t shape) String() string { return t.schema + "." + t.name }

func tableShapes(ctx context.Context, q queryer) ([]shape, error) {
	rows, err := q.QueryContext(ctx, `SELECT c.TABLE_SCHEMA, c.TABLE_NAME, c.COLUMN_NAME, c.DATA_TYPE, c.COLUMN_TYPE,
			c.IS_NULLABLE, COALESCE(c.COLLATION_NAME, ''), COALESCE(k.SEQ_IN_INDEX, 0), COALESCE(c.GENERATION_EXPRESSION, ''), t.TABLE_TYPE
		FROM information_schema.COLUMNS c
		JOIN (SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES
			WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') AND TABLE_SCHEMA NOT IN `+systemSchemas+`) t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
		LEFT JOIN (SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, INDEX_NAME, SEQ_IN_INDEX FROM information_schema.STATISTICS
			WHERE INDEX_NAME = 'PRIMARY' AND TABLE_SCHEMA NOT IN `+systemSchemas+`) k ON k.TABLE_SCHEMA = c.TABLE_SCHEMA AND k.TABLE_NAME = c.TABLE_NAME
			AND k.COLUMN_NAME = c.COLUMN_NAME
		WHERE c.TABLE_SCHEMA NOT IN `+systemSchemas+` ORDER BY 1, 2, c.ORDINAL_POSITION`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []shape
	keys := map[string]map[int]string{}
	for rows.Next() {
		var schema, name, col, dataType, columnType, nullable, collation, generated, tableType string
		var inKey int
		if err := rows.Scan(&schema, &name, &col, &dataType, &columnType, &nullable, &collation, &inKey, &generated, &tableType); err != nil {
			return nil, err
		}
		if n := len(out); n == 0 || out[n-1].schema != schema || out[n-1].name != name {
			out = append(out, shape{schema: schema, name: name, versioned: tableType == "SYSTEM VERSIONED"})
		}
		t := &out[len(out)-1]
		t.columns = append(t.columns, column{col, dataType, generated})
		t.definition += col + " " + columnType + " " + nullable + " " + collation + "; "
		if inKey > 0 {
			if keys[t.String()] == nil {
				keys[t.String()] = map[int]string{}
			}
			keys[t.String()][inKey] = col
		}
	}
	for i := range out {
		out[i].showPeriod()
		parts := keys[out[i].String()]
		for n := 1; n <= len(parts); n++ {
			if !out[i].isLocal(parts[n]) {
				out[i].key = append(out[i].key, parts[n])
			}
		}
	}
	return out, rows.Err()
}

func (t shape) isLocal(name string) bool {
	for _, c := range t.columns {
		if c.name == name {
			return c.isLocal()
		}
	}
	return false
}

// showPeriod adds the two columns of a versioned table that are there and not shown: when each row began and ended. They
// are in the row events, and equal on a replica to the microsecond (MariaDB 10.11.19; updates, deletes, several changes of
// a row in one transaction).
func (t *shape) showPeriod() {
	if !t.versioned {
		return
	}
	for _, c := range t.columns {
		if c.generated == "ROW START" {
			return // it shows them
		}
	}
	t.columns = append(t.columns, column{"row_start", "timestamp", "ROW START"}, column{"row_end", "timestamp", "ROW END"})
}

// from is the table as it is read: with its history.
func (t shape) from() string {
	text := ident(t.schema) + "." + ident(t.name)
	if t.versioned {
		text += " FOR SYSTEM_TIME ALL"
	}
	return text
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
		return "SHA2(CAST(" + name + " AS BINARY), 256)" // MySQL 9.6 took MD5 out of the server
	}
	return "CAST(" + name + " AS BINARY)"
}

// bound is the column's value in a form that, sent back, compares with the
// column as the key is ordered. Bytes of a BIT compare as 0, six digits of a
// FLOAT as another number, and the word of an ENUM by its letters.
func (c column) bound() string {
	switch c.kind {
	case "bit", "enum":
		return ident(c.name) + " + 0"
	case "set": // 64 members: MySQL adds as DOUBLE, which has 53 bits
		return "CAST(" + ident(c.name) + " AS UNSIGNED)"
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
	query := fmt.Sprintf("SELECT %s FROM %s%s ORDER BY %s LIMIT 1 OFFSET %d", strings.Join(t.keyBounds(), ", "),
		t.from(), where, strings.Join(cols, ", "), chunkRows-1)
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

// sum is what a chunk of rows comes to.
type sum struct {
	rows int64
	text string
}

func (s sum) String() string { return fmt.Sprintf("%d rows, sum %s", s.rows, s.text) }

// chunkSum is the number of rows of a chunk and two sums over the SHA-256 of each
// row. XOR alone would not see a pair of equal rows come or go; the sum does.
// NULL and empty string are told apart by a bit for each column.
func chunkSum(ctx context.Context, q queryer, t shape, from, to []any) (sum, error) {
	where, args := t.within(from, to)
	query := fmt.Sprintf(`SELECT COUNT(*), COALESCE(LOWER(CONCAT(
			HEX(BIT_XOR(CAST(CONV(LEFT(h, 16), 16, 10) AS UNSIGNED))),
			HEX(BIT_XOR(CAST(CONV(RIGHT(h, 16), 16, 10) AS UNSIGNED))), '-', SUM(CRC32(h)))), '0')
		FROM (SELECT %s AS h FROM %s%s) AS chunk`, t.rowSum(), t.from(), where)
	var out sum
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return out, err
	}
	defer rows.Close()
	if rows.Next() {
		if err := rows.Scan(&out.rows, &out.text); err != nil {
			return out, err
		}
	}
	return out, rows.Err()
}

// rowSum is an expression that is equal for equal rows only.
func (t shape) rowSum() string {
	var cells, nulls []string
	for _, c := range t.columns {
		if c.isLocal() {
			continue
		}
		cell := c.cell()
		cells = append(cells, "COALESCE("+cell+", '')", "LENGTH(COALESCE("+cell+", ''))")
		nulls = append(nulls, "ISNULL("+ident(c.name)+")")
	}
	return "SHA2(CONCAT_WS('#', " + strings.Join(cells, ", ") + ", CONCAT(" + strings.Join(nulls, ", ") + ")), 256)"
}

// within is the condition of a chunk.
func (t shape) within(from, to []any) (where string, args []any) {
	var conditions []string
	if from != nil {
		c, a := keyBeyond(t.key, from, ">")
		conditions, args = append(conditions, c), append(args, a...)
	}
	if to != nil {
		c, a := keyBeyond(t.key, to, "<=")
		conditions, args = append(conditions, c), append(args, a...)
	}
	if len(conditions) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(conditions, " AND "), args
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
