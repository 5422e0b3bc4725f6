package rows

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"stowage/mysql"
)

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
	behind      int    // columns that events have behind all others, and nobody sees: MariaDB keeps a unique key over a TEXT, or USING HASH, by one
	definition  string // everything of its columns that a copy must share
	periodShown bool   // of a versioned table
}

// At is the table's quoted name as it is now.
func (t *CopyTable) At() string { return mysql.Ident(t.Schema) + "." + mysql.Ident(t.nameNow()) }

// String is its name as it is now, for people.
func (t *CopyTable) String() string { return t.Schema + "." + t.nameNow() }

func (t *CopyTable) nameNow() string {
	if t.IsAside {
		return mysql.AsidePrefix + t.Name
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
		text += " FORCE INDEX (" + mysql.Ident(t.KeyName) + ")"
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
func CopyTables(ctx context.Context, s *mysql.Server, schema string) ([]*CopyTable, error) {
	tables, err := tablesOf(ctx, mysql.Through(s), []string{schema})
	return slices.DeleteFunc(tables, func(t *CopyTable) bool { return t.Versioned || mysql.IsMark(t.Name) }), err
}

// inSchemas is the condition for databases; nil: all that are not the server's own.
func inSchemas(databases []string) string {
	if databases == nil {
		return "NOT IN " + mysql.SystemSchemas
	}
	names := make([]string, len(databases))
	for i, d := range databases {
		names[i] = mysql.Quote(d)
	}
	return "IN (" + strings.Join(append(names, "''"), ", ") + ")"
}

// tablesOf are the base tables of some databases, nil: of all. During a schema change information_schema may show a table
// twice.
func tablesOf(ctx context.Context, s mysql.Door, databases []string) ([]*CopyTable, error) {
	in, ask, size := inSchemas(databases), s.RecordsFresh, "MAX(TABLE_ROWS)"
	if databases == nil { // as many tables as there are, each of which would be opened for its size
		ask, size = s.RecordsSlow, "0"
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
			name, aside := strings.CutPrefix(r["tbl"], mysql.AsidePrefix)
			t = &CopyTable{Schema: r["db"], Name: name, IsAside: aside, Versioned: r["is_a"] == "SYSTEM VERSIONED"}
			t.Rows, _ = strconv.ParseInt(r["table_rows"], 10, 64)
			byName[full] = t
			out = append(out, t)
		}
		t.add(r)
	}
	if err := readKeys(ctx, s, in, byName); err != nil {
		return nil, err
	}
	for _, t := range out {
		t.showPeriod()
	}
	return out, nil
}

func (t *CopyTable) add(r map[string]string) {
	kind := strings.ToLower(r["kind"])
	col := CopyColumn{Name: r["col"], Kind: kind, Type: r["type"], Charset: r["charset"], Collation: r["coll"], Unsigned: strings.Contains(r["type"], "unsigned"),
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

// AsEventsOf says that the rows of some tables come in events of others of the same names, which may have keys that these do not have yet.
func AsEventsOf(source, tables []*CopyTable) {
	for _, t := range tables {
		if n := slices.IndexFunc(source, func(s *CopyTable) bool { return s.Name == t.Name }); n >= 0 {
			t.behind = source[n].behind
		}
	}
}

// isWhole reports whether a row of an event has as many columns as the table.
func (t *CopyTable) isWhole(row []any) bool {
	return len(row) >= len(t.Columns) && len(row) <= len(t.Columns)+t.behind
}

// readKeys finds each table's key: the primary one, or the first unique one
// whose columns are whole, in order, and never NULL. A part that no server
// shares, or that is not shown, is left out: several rows of a versioned table
// have one key.
func readKeys(ctx context.Context, s mysql.Door, in string, tables map[string]*CopyTable) error {
	records, err := s.RecordsSlow(ctx, `SELECT DISTINCT TABLE_SCHEMA AS db, TABLE_NAME AS tbl, INDEX_NAME AS name, COLUMN_NAME AS col, INDEX_NAME <> 'PRIMARY' AS later,
			SEQ_IN_INDEX AS n, INDEX_TYPE IN ('BTREE', 'LSMTREE') AND NULLABLE <> 'YES' AND SUB_PART IS NULL AND COLUMN_NAME IS NOT NULL AS fits, INDEX_TYPE = 'HASH' AND SEQ_IN_INDEX = 1 AS hashed
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA `+in+` AND NON_UNIQUE = 0 ORDER BY db, tbl, later, name, n`)
	if err != nil {
		return err
	}
	type index struct{ db, tbl, name string }
	unfit := map[index]bool{}
	for _, r := range records {
		if t := tables[r["db"]+"."+r["tbl"]]; t != nil && r["hashed"] == "1" {
			t.behind++
		}
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

// beyond is "key > bound" (or "<="), spelled out so that the optimizer uses the index: row constructors do not.
func (t *CopyTable) beyond(bound []string, op string) string {
	strict := map[string]string{">": " > ", "<=": " < "}[op]
	var terms []string
	for i := range t.Key {
		var parts []string
		for j := range i {
			parts = append(parts, mysql.Ident(t.Columns[t.Key[j]].Name)+" = "+bound[j])
		}
		o := strict
		if i == len(t.Key)-1 {
			o = " " + op + " "
		}
		parts = append(parts, mysql.Ident(t.Columns[t.Key[i]].Name)+o+bound[i])
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
		parts[i] = mysql.Ident(t.Columns[k].Name) + " = " + key[i]
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
		names[i] = mysql.Ident(t.Columns[k].Name)
	}
	return strings.Join(names, ", ")
}

// replaceHead begins a statement that writes rows of t.
func (t *CopyTable) replaceHead() string {
	return "REPLACE INTO " + t.At() + " (" + t.writtenNames() + ") VALUES "
}
