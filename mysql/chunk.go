package mysql

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Names that the copier uses inside the database it carries.
const (
	// AsidePrefix is put before the name of a table that was set aside at a cutover.
	AsidePrefix = "_stowage_"
	// markPrefix begins the names of the copier's own tables.
	markPrefix = "_stowmark_"
	// ownComment stands in every statement of the copier that changes definitions, so that its own reader knows them.
	ownComment = "/* stowage:copier */"
)

// CopyColumn is one column as it is read, hashed and carried.
type CopyColumn struct {
	Name      string
	Kind      string // DATA_TYPE: varchar
	Type      string // COLUMN_TYPE: varchar(20)
	Charset   string // of text, "" for anything else
	Unsigned  bool
	Generated bool // computed by the server: read and compared, never written
	width     int  // of BINARY(n) and addresses: an event comes without trailing zero bytes
	isLocal   bool // the number of a transaction, which is another on every server (transaction-precise versioning)
}

// CopyTable is one base table: its columns, and the key by which it is cut into chunks.
type CopyTable struct {
	Schema      string
	Name        string // the name clients know, even while the table is set aside
	IsAside     bool   // it is called AsidePrefix + Name now
	Versioned   bool   // it is read with its history
	Columns     []CopyColumn
	Key         []int // columns of the primary key, or of a unique one without NULL, in its order; empty: there is none
	KeyName     string
	Rows        int64  // as InnoDB estimates; of a whole server it is not asked for
	written     []int  // columns that are not generated
	definition  string // everything of its columns that a copy must share
	periodShown bool   // of a versioned table
}

// At is the table's quoted name as it is now.
func (t *CopyTable) At() string { return ident(t.Schema) + "." + ident(t.nameNow()) }

// String is its name as it is now, for people.
func (t *CopyTable) String() string { return t.Schema + "." + t.nameNow() }

func (t *CopyTable) nameNow() string {
	if t.IsAside {
		return AsidePrefix + t.Name
	}
	return t.Name
}

// source is the table as it is read: with its history, by its key.
func (t *CopyTable) source() string {
	text := t.At()
	if t.Versioned {
		text += " FOR SYSTEM_TIME ALL"
	}
	if t.KeyName != "" {
		text += " FORCE INDEX (" + ident(t.KeyName) + ")"
	}
	return text
}

// Aside is the same table under its other name.
func (t *CopyTable) Aside(aside bool) *CopyTable {
	u := *t
	u.IsAside = aside
	return &u
}

// CopyTables are the base tables of a database, without the copier's own.
func (s *Server) CopyTables(ctx context.Context, schema string) ([]*CopyTable, error) {
	tables, err := s.tables(ctx, []string{schema})
	return slices.DeleteFunc(tables, func(t *CopyTable) bool { return t.Versioned || IsMark(t.Name) }), err
}

// inSchemas is the condition for databases; nil: all that are not the server's own.
func inSchemas(databases []string) string {
	if databases == nil {
		return "NOT IN " + systemSchemas
	}
	names := make([]string, len(databases))
	for i, d := range databases {
		names[i] = quote(d)
	}
	return "IN (" + strings.Join(append(names, "''"), ", ") + ")"
}

// tables are the base tables of some databases, nil: of all. During a schema change information_schema may show a table
// twice.
func (s *Server) tables(ctx context.Context, databases []string) ([]*CopyTable, error) {
	in, ask, size := inSchemas(databases), s.recordsFresh, "MAX(TABLE_ROWS)"
	if databases == nil { // as many tables as there are, each of which would be opened for its size
		ask, size = s.recordsSlow, "0"
	}
	records, err := ask(ctx, `SELECT c.TABLE_SCHEMA AS db, c.TABLE_NAME AS tbl, t.TABLE_TYPE AS is_a, COALESCE(t.size, 0) AS table_rows, c.COLUMN_NAME AS col,
			c.DATA_TYPE AS kind, c.COLUMN_TYPE AS type, c.IS_NULLABLE AS nullable, COALESCE(c.CHARACTER_SET_NAME, '') AS charset,
			COALESCE(c.COLLATION_NAME, '') AS coll, COALESCE(c.GENERATION_EXPRESSION, '') AS computed
		FROM information_schema.COLUMNS c
		JOIN (SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, `+size+` AS size FROM information_schema.TABLES
			WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') AND TABLE_SCHEMA `+in+` GROUP BY TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE) t
			ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
		WHERE c.TABLE_SCHEMA `+in+` ORDER BY 1, 2, c.ORDINAL_POSITION`)
	if err != nil {
		return nil, err
	}
	byName := map[string]*CopyTable{}
	var out []*CopyTable
	for _, r := range records {
		full := r["db"] + "." + r["tbl"]
		t := byName[full]
		if t == nil {
			name, aside := strings.CutPrefix(r["tbl"], AsidePrefix)
			t = &CopyTable{Schema: r["db"], Name: name, IsAside: aside, Versioned: r["is_a"] == "SYSTEM VERSIONED"}
			t.Rows, _ = strconv.ParseInt(r["table_rows"], 10, 64)
			byName[full] = t
			out = append(out, t)
		}
		t.add(r)
	}
	if err := s.readKeys(ctx, in, byName); err != nil {
		return nil, err
	}
	for _, t := range out {
		t.showPeriod()
	}
	return out, nil
}

func (t *CopyTable) add(r map[string]string) {
	kind := strings.ToLower(r["kind"])
	col := CopyColumn{Name: r["col"], Kind: kind, Type: r["type"], Charset: r["charset"], Unsigned: strings.Contains(r["type"], "unsigned"),
		Generated: r["computed"] != "", width: widthOf(kind, r["type"]), isLocal: kind == "bigint" && isPeriod(r["computed"])}
	if !col.Generated {
		t.written = append(t.written, len(t.Columns))
	}
	t.Columns = append(t.Columns, col)
	t.definition += r["col"] + " " + r["type"] + " " + r["nullable"] + " " + r["coll"] + "; "
	t.periodShown = t.periodShown || isPeriod(r["computed"])
}

func isPeriod(computed string) bool { return computed == "ROW START" || computed == "ROW END" }

// showPeriod adds the two columns of a versioned table that are there and not shown: when each row began and ended. They
// are in the row events, and equal on a replica to the microsecond (MariaDB 10.11.19; updates, deletes, several changes of
// a row in one transaction).
func (t *CopyTable) showPeriod() {
	if t.Versioned && !t.periodShown {
		t.Columns = append(t.Columns, CopyColumn{Name: "row_start", Kind: "timestamp", Generated: true}, CopyColumn{Name: "row_end", Kind: "timestamp", Generated: true})
	}
}

func widthOf(kind, full string) int {
	switch kind {
	case "binary":
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(full, "binary("), ")"))
		return n
	case "inet6", "uuid":
		return 16
	case "inet4":
		return 4
	}
	return 0
}

// readKeys finds each table's key: the primary one, or the first unique one
// whose columns are whole, in order, and never NULL. A part that no server
// shares, or that is not shown, is left out: several rows of a versioned table
// have one key.
func (s *Server) readKeys(ctx context.Context, in string, tables map[string]*CopyTable) error {
	records, err := s.recordsSlow(ctx, `SELECT DISTINCT TABLE_SCHEMA AS db, TABLE_NAME AS tbl, INDEX_NAME AS name, COLUMN_NAME AS col, INDEX_NAME <> 'PRIMARY' AS later,
			SEQ_IN_INDEX AS n, INDEX_TYPE IN ('BTREE', 'LSMTREE') AND NULLABLE <> 'YES' AND SUB_PART IS NULL AND COLUMN_NAME IS NOT NULL AS fits
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA `+in+` AND NON_UNIQUE = 0 ORDER BY db, tbl, later, name, n`)
	if err != nil {
		return err
	}
	type index struct{ db, tbl, name string }
	unfit := map[index]bool{}
	for _, r := range records {
		if r["fits"] != "1" {
			unfit[index{r["db"], r["tbl"], r["name"]}] = true
		}
	}
	for _, r := range records {
		t := tables[r["db"]+"."+r["tbl"]]
		if t == nil || unfit[index{r["db"], r["tbl"], r["name"]}] || t.KeyName != "" && t.KeyName != r["name"] {
			continue
		}
		at := slices.IndexFunc(t.Columns, func(c CopyColumn) bool { return c.Name == r["col"] })
		if at < 0 || t.Columns[at].isLocal {
			continue
		}
		t.KeyName = r["name"]
		t.Key = append(t.Key, at)
	}
	return nil
}

// carried are the kinds of columns whose values the copier takes over
// exactly, from a row and from an event of the binary log.
var carried = map[string]bool{
	"tinyint": true, "smallint": true, "mediumint": true, "int": true, "bigint": true, "decimal": true, "float": true, "double": true, "bit": true,
	"year": true, "date": true, "time": true, "datetime": true, "timestamp": true,
	"char": true, "varchar": true, "tinytext": true, "text": true, "mediumtext": true, "longtext": true,
	"binary": true, "varbinary": true, "tinyblob": true, "blob": true, "mediumblob": true, "longblob": true,
	"enum": true, "set": true, "inet6": true, "inet4": true,
	"geometry": true, "point": true, "linestring": true, "polygon": true, "multipoint": true, "multilinestring": true, "multipolygon": true,
	"geometrycollection": true, "geomcollection": true, "json": true, "vector": true, "uuid": true,
}

// CanCarry reports whether the column's values survive, or why not.
func (c CopyColumn) CanCarry() (bool, string) {
	switch {
	case !carried[c.Kind]:
		return false, "values of type " + c.Kind + " cannot be taken from the binary log exactly"
	case strings.Contains(c.Type, "mariadb-5.3"):
		return false, "it has the temporal format of MariaDB 5.3"
	case strings.Contains(c.Type, "COMPRESSED"):
		return false, "it is a compressed column"
	}
	return true, ""
}

// read is the expression whose text holds the whole value: as text a FLOAT
// has six digits, a BIT is bytes, and the word of an ENUM may be ambiguous.
func (c CopyColumn) read() string {
	switch c.Kind {
	case "bit", "enum", "year":
		return ident(c.Name) + "+0"
	case "set": // 64 members: MySQL adds as DOUBLE, which has 53 bits
		return "CAST(" + ident(c.Name) + " AS UNSIGNED)"
	case "float":
		return "CAST(" + ident(c.Name) + " AS DOUBLE)"
	}
	return ident(c.Name)
}

// appendText writes the literal of a value read through read(). The session
// has the binary character set, so a string literal is the bytes it is made of.
func (c CopyColumn) appendText(dst, raw []byte) []byte {
	if raw == nil {
		return append(dst, "NULL"...)
	}
	switch c.Kind {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "bit", "enum", "set", "year":
		return append(dst, raw...)
	case "float", "double": // with an exponent it is not a DECIMAL, and -0 stays -0
		dst = append(dst, raw...)
		if !strings.ContainsAny(string(raw), "eE") {
			dst = append(dst, "e0"...)
		}
		return dst
	case "inet6", "inet4", "uuid": // bytes of no character set would be taken for the address itself
		return appendQuoted(append(dst, "_latin1"...), raw)
	case "json": // MySQL makes no JSON of bytes that have no character set
		return appendQuoted(append(dst, "_utf8mb4"...), raw)
	}
	return appendQuoted(dst, raw)
}

// appendQuoted escapes what ends a string; every other byte stands for itself.
func appendQuoted(dst, raw []byte) []byte {
	dst = append(dst, '\'')
	for {
		at := bytes.IndexAny(raw, `'\`)
		if at < 0 {
			return append(append(dst, raw...), '\'')
		}
		dst = append(append(dst, raw[:at]...), '\\', raw[at])
		raw = raw[at+1:]
	}
}

// appendEvent writes the literal of a value out of a row event.
func (c CopyColumn) appendEvent(dst []byte, v any) ([]byte, error) {
	switch x := v.(type) {
	case nil:
		return append(dst, "NULL"...), nil
	case string:
		return c.appendEventBytes(dst, []byte(x))
	case []byte:
		return c.appendEventBytes(dst, x)
	case float32:
		return appendDouble(dst, float64(x)), nil
	case float64:
		return appendDouble(dst, x), nil
	}
	n, ok := asInt(v)
	if !ok {
		return nil, fmt.Errorf("column %s: an event holds a %T for %s", c.Name, v, c.Type)
	}
	switch c.Kind {
	case "bit", "set":
		return strconv.AppendUint(dst, uint64(n), 10), nil
	case "enum", "year":
		return strconv.AppendInt(dst, n, 10), nil
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		if c.Unsigned { // without metadata in the binary log the reader takes every number for signed
			bits := map[string]uint{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}[c.Kind]
			return strconv.AppendUint(dst, uint64(n)<<(64-bits)>>(64-bits), 10), nil
		}
		return strconv.AppendInt(dst, n, 10), nil
	}
	return nil, fmt.Errorf("column %s: an event holds a number for %s", c.Name, c.Type)
}

func (c CopyColumn) appendEventBytes(dst, raw []byte) ([]byte, error) {
	switch c.Kind {
	case "decimal":
		return append(dst, raw...), nil
	case "inet6", "inet4", "binary":
		raw = padded(raw, c.width)
		dst = hex.AppendEncode(append(dst, "X'"...), raw)
		return append(dst, '\''), nil
	case "uuid":
		return c.appendText(dst, shownUUID(padded(raw, c.width))), nil
	case "json":
		return c.appendText(dst, raw), nil
	case "tinyint", "smallint", "mediumint", "int", "bigint", "float", "double", "bit", "enum", "set", "year":
		return nil, fmt.Errorf("column %s: an event holds bytes for %s", c.Name, c.Type)
	}
	return appendQuoted(dst, raw), nil
}

func padded(raw []byte, width int) []byte {
	if len(raw) >= width {
		return raw
	}
	return append(slices.Clone(raw), make([]byte, width-len(raw))...)
}

func appendDouble(dst []byte, v float64) []byte { return strconv.AppendFloat(dst, v, 'e', -1, 64) }

func asInt(v any) (int64, bool) {
	switch x := v.(type) {
	case int8:
		return int64(x), true
	case int16:
		return int64(x), true
	case int32:
		return int64(x), true
	case int64:
		return x, true
	case int:
		return int64(x), true
	case uint8:
		return int64(x), true
	case uint16:
		return int64(x), true
	case uint32:
		return int64(x), true
	case uint64:
		return int64(x), true
	}
	return 0, false
}

// keyLiteral turns a literal's raw text into one that compares with the
// column as its index is ordered: text needs its own character set, for bytes
// of none would be compared one by one.
func (c CopyColumn) keyText(raw []byte) string {
	if c.Charset != "" && !slices.Contains([]string{"enum", "set"}, c.Kind) {
		return "_" + c.Charset + " X'" + hex.EncodeToString(raw) + "'"
	}
	switch c.Kind {
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return "X'" + hex.EncodeToString(padded(raw, c.width)) + "'"
	}
	return string(c.appendText(nil, raw))
}

func (c CopyColumn) keyEvent(v any) (string, error) {
	var raw []byte
	switch x := v.(type) {
	case string:
		raw = []byte(x)
	case []byte:
		raw = x
	}
	if raw != nil && (c.Charset != "" || c.Kind == "varbinary" || c.Kind == "binary" || strings.HasSuffix(c.Kind, "blob")) {
		return c.keyText(raw), nil
	}
	lit, err := c.appendEvent(nil, v)
	return string(lit), err
}

// beyond is "key > bound" (or "<="), spelled out so that the optimizer uses the index: row constructors do not.
func (t *CopyTable) beyond(bound []string, op string) string {
	strict := map[string]string{">": " > ", "<=": " < "}[op]
	var terms []string
	for i := range t.Key {
		var parts []string
		for j := range i {
			parts = append(parts, ident(t.Columns[t.Key[j]].Name)+" = "+bound[j])
		}
		o := strict
		if i == len(t.Key)-1 {
			o = " " + op + " "
		}
		parts = append(parts, ident(t.Columns[t.Key[i]].Name)+o+bound[i])
		terms = append(terms, "("+strings.Join(parts, " AND ")+")")
	}
	return "(" + strings.Join(terms, " OR ") + ")"
}

// between is the condition of a chunk: behind after, up to upTo; nil is no bound.
func (t *CopyTable) between(after, upTo []string) string {
	var conditions []string
	if after != nil {
		conditions = append(conditions, t.beyond(after, ">"))
	}
	if upTo != nil {
		conditions = append(conditions, t.beyond(upTo, "<="))
	}
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}

func (t *CopyTable) same(key []string) string {
	parts := make([]string, len(t.Key))
	for i, k := range t.Key {
		parts[i] = ident(t.Columns[k].Name) + " = " + key[i]
	}
	return "(" + strings.Join(parts, " AND ") + ")"
}

// anyOf is the condition for the rows with these keys.
func (t *CopyTable) anyOf(keys [][]string) string {
	terms := make([]string, len(keys))
	for i, k := range keys {
		terms[i] = t.same(k)
	}
	return strings.Join(terms, " OR ")
}

// first is the end of a query for at most n rows, in order of the key.
func (t *CopyTable) first(n int) string {
	return " ORDER BY " + t.keyColumns() + " LIMIT " + strconv.Itoa(n)
}

// keyValues are the expressions that the literals of a key are made of.
func (t *CopyTable) keyValues() []string {
	exprs := make([]string, len(t.Key))
	for i, k := range t.Key {
		exprs[i] = t.Columns[k].read()
	}
	return exprs
}

// keyOfCells are the literals of a key that was read through keyValues.
func (t *CopyTable) keyOfCells(cells []sql.RawBytes) []string {
	key := make([]string, len(t.Key))
	for i, k := range t.Key {
		key[i] = t.Columns[k].keyText(cells[i])
	}
	return key
}

func (t *CopyTable) keyColumns() string {
	names := make([]string, len(t.Key))
	for i, k := range t.Key {
		names[i] = ident(t.Columns[k].Name)
	}
	return strings.Join(names, ", ")
}

// replaceHead begins a statement that writes rows of t.
func (t *CopyTable) replaceHead() string {
	return "REPLACE INTO " + t.At() + " (" + t.writtenNames() + ") VALUES "
}
