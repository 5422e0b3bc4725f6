package rows

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stowage/mysql"
)

// definitions are what two servers must share before their rows can be compared.
type definitions struct {
	tables  []*CopyTable
	objects map[string]string // "index d.t.PRIMARY" and what it is
}

func definitionsOf(ctx context.Context, s mysql.Door, databases []string, kinds ...string) (d definitions, err error) {
	if d.tables, err = tablesOf(ctx, s, databases); err != nil {
		return d, err
	}
	d.objects, err = objectsOf(ctx, s, databases, kinds)
	return d, err
}

// tableKinds are the kinds of objects that belong to tables, without what acts on rows.
var tableKinds = []string{"index", "column", "table", "foreign key", "check"}

// objectQueries are what belongs to a database and is not its tables' rows and columns: each gives a database, a name and
// everything about it that must be the same on a copy, in as many rows as it has parts (GROUP_CONCAT cuts off what is
// longer than 1024 bytes in MySQL). They are asked of information_schema and of InnoDB with nothing but
// SELECT, PROCESS, EVENT, TRIGGER and SHOW VIEW; what an account may not see is not shown, rather than refused.
// "{in}" is the condition for the databases.
var objectQueries = []struct {
	kind, query string
	mysql       string // where MySQL has it otherwise
	parts       bool   // a row is one part of it
}{
	{kind: "index", parts: true, query: indexQuery("COLUMN_NAME"), mysql: indexQuery("COALESCE(COLUMN_NAME, EXPRESSION)")},
	{kind: "column", query: `SELECT TABLE_SCHEMA, CONCAT(TABLE_NAME, '.', COLUMN_NAME), CONCAT_WS(' ', COALESCE(COLUMN_DEFAULT, 'no default'), EXTRA, GENERATION_EXPRESSION)
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA {in} AND (COLUMN_DEFAULT IS NOT NULL AND COLUMN_DEFAULT <> 'NULL' OR EXTRA <> '')`},
	// Where its file lies is each server's own (DATA DIRECTORY).
	{kind: "table", query: tableQuery(`TRIM(REGEXP_REPLACE(CREATE_OPTIONS, ' ?(DATA|INDEX) DIRECTORY=''[^'']*''', ''))`), mysql: tableQuery("CREATE_OPTIONS")},
	{kind: "foreign key", parts: true, query: foreignKeyQuery("INNODB_SYS_FOREIGN"), mysql: foreignKeyQuery("INNODB_FOREIGN")},
	{kind: "check", query: `SELECT CONSTRAINT_SCHEMA, CONCAT(TABLE_NAME, '.', CONSTRAINT_NAME), CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS
		WHERE CONSTRAINT_SCHEMA {in}`,
		mysql: `SELECT c.CONSTRAINT_SCHEMA, CONCAT_WS('.', t.TABLE_NAME, c.CONSTRAINT_NAME), CONCAT_WS(' ', c.CHECK_CLAUSE, IF(t.ENFORCED = 'NO', 'NOT ENFORCED', NULL))
		FROM information_schema.CHECK_CONSTRAINTS c LEFT JOIN information_schema.TABLE_CONSTRAINTS t
			ON t.CONSTRAINT_SCHEMA = c.CONSTRAINT_SCHEMA AND t.CONSTRAINT_NAME = c.CONSTRAINT_NAME AND t.CONSTRAINT_TYPE = 'CHECK'
		WHERE c.CONSTRAINT_SCHEMA {in}`},
	{kind: "trigger", query: `SELECT TRIGGER_SCHEMA, TRIGGER_NAME, CONCAT_WS(' ', ACTION_TIMING, EVENT_MANIPULATION, EVENT_OBJECT_TABLE, ACTION_ORDER, DEFINER, SQL_MODE, ACTION_STATEMENT)
		FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA {in}`},
	{kind: "view", query: `SELECT TABLE_SCHEMA, TABLE_NAME, CONCAT_WS(' ', DEFINER, SECURITY_TYPE, CHECK_OPTION, VIEW_DEFINITION)
		FROM information_schema.VIEWS WHERE TABLE_SCHEMA {in}`},
	{kind: "routine", query: `SELECT ROUTINE_SCHEMA, CONCAT(ROUTINE_NAME, ' (', LOWER(ROUTINE_TYPE), ')'), CONCAT_WS(' ', DEFINER, SECURITY_TYPE, SQL_MODE, IS_DETERMINISTIC, DTD_IDENTIFIER, ROUTINE_DEFINITION)
		FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA {in}`},
	{kind: "event", query: `SELECT EVENT_SCHEMA, EVENT_NAME, CONCAT_WS(' ', DEFINER, TIME_ZONE, SQL_MODE, EVENT_TYPE, EXECUTE_AT, INTERVAL_VALUE, INTERVAL_FIELD, STARTS, ENDS, EVENT_DEFINITION)
		FROM information_schema.EVENTS WHERE EVENT_SCHEMA {in}`},
}

func tableQuery(options string) string {
	return `SELECT TABLE_SCHEMA, TABLE_NAME, CONCAT_WS(' ', TABLE_TYPE, ENGINE, TABLE_COLLATION, ` + options + `)
		FROM information_schema.TABLES WHERE TABLE_SCHEMA {in} AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')`
}

// indexQuery: a functional part of MySQL's has an expression and no column.
func indexQuery(column string) string {
	return `SELECT TABLE_SCHEMA, CONCAT(TABLE_NAME, '.', INDEX_NAME), CONCAT_WS(' ', NON_UNIQUE, INDEX_TYPE, part, SUB_PART, COLLATION)
		FROM (SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, NON_UNIQUE, INDEX_TYPE, SEQ_IN_INDEX, ` + column + ` AS part, SUB_PART, COLLATION
			FROM information_schema.STATISTICS WHERE TABLE_SCHEMA {in}) AS s ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX`
}

// foreignKeyQuery: information_schema's own views of foreign keys show them to those who may change the tables.
func foreignKeyQuery(table string) string {
	return `SELECT SUBSTRING_INDEX(f.ID, '/', 1), SUBSTRING_INDEX(f.ID, '/', -1), CONCAT(f.FOR_NAME, ' -> ', f.REF_NAME, ' ', f.TYPE, ' ', c.FOR_COL_NAME, '=', c.REF_COL_NAME)
		FROM information_schema.` + table + ` f JOIN information_schema.` + table + `_COLS c ON c.ID = f.ID ORDER BY f.ID, c.POS`
}

// objectsOf are the definitions of everything but columns and rows, of some databases, nil: of all; and of some kinds.
func objectsOf(ctx context.Context, s mysql.Door, databases, kinds []string) (map[string]string, error) {
	flavor, err := s.Flavor(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, ask := range objectQueries {
		if len(kinds) > 0 && !slices.Contains(kinds, ask.kind) {
			continue
		}
		query := ask.query
		if ask.mysql != "" && !flavor.HasGTIDDomains() {
			query = ask.mysql
		}
		found, err := askObjects(ctx, s, strings.ReplaceAll(query, "{in}", inSchemas(databases)))
		if err != nil {
			return nil, s.Fail("read each "+ask.kind, err)
		}
		for _, o := range found {
			if databases != nil && !slices.Contains(databases, o.schema) {
				continue
			}
			key := ask.kind + " " + o.schema + "." + o.name
			if before, more := out[key]; more && ask.parts {
				o.text = before + ", " + o.text
			}
			out[key] = o.text
		}
	}
	return out, nil
}

type object struct{ schema, name, text string }

func askObjects(ctx context.Context, s mysql.Door, query string) ([]object, error) {
	rows, err := s.DB().QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []object
	for rows.Next() {
		var o object
		if err := rows.Scan(&o.schema, &o.name, &o.text); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, rows.Err()
}

// diff is what of two readings differs: of the columns, where those do, and else of the rest.
func (d definitions) diff(is definitions) []Mismatch {
	if out := diffTexts(d.columns(), is.columns(), "columns", "no such table"); len(out) > 0 {
		return out
	}
	return diffTexts(d.objects, is.objects, "definition", "none")
}

func (d definitions) columns() map[string]string {
	out := map[string]string{}
	for _, t := range d.tables {
		out[t.String()] = t.definition
	}
	return out
}

func diffTexts(was, is map[string]string, what, none string) []Mismatch {
	var out []Mismatch
	all := maps.Clone(was)
	maps.Copy(all, is)
	for name := range all {
		m := Mismatch{Table: name, Chunk: what, Was: none, Is: none}
		if text, there := was[name]; there {
			m.Was = text
		}
		if text, there := is[name]; there {
			m.Is = text
		}
		if m.Was != m.Is {
			out = append(out, m)
		}
	}
	sortMismatches(out)
	return out
}

func sortMismatches(list []Mismatch) {
	slices.SortFunc(list, func(a, b Mismatch) int { return strings.Compare(a.Table, b.Table) })
}

// Sequence is how a sequence stands: next_not_cached_value only ever moves on, by Increment, unless it cycles.
type Sequence struct {
	Next       int64
	Increment  int64
	Cycles     bool
	Definition string
}

// Sequences are the sequences of all databases, by "d.name". MariaDB; elsewhere there are none.
func Sequences(ctx context.Context, server *mysql.Server) (map[string]Sequence, error) {
	s := mysql.Through(server)
	names, err := s.Records(ctx, "SELECT TABLE_SCHEMA AS db, TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_TYPE = 'SEQUENCE' AND TABLE_SCHEMA NOT IN "+mysql.SystemSchemas)
	if err != nil {
		return nil, err
	}
	out := map[string]Sequence{}
	for _, n := range names {
		var q Sequence
		err := s.Row(ctx, `SELECT next_not_cached_value, increment, cycle_option,
			CONCAT_WS(' ', minimum_value, maximum_value, start_value, increment, cache_size, cycle_option) FROM `+mysql.Ident(n["db"])+"."+mysql.Ident(n["name"]), nil,
			&q.Next, &q.Increment, &q.Cycles, &q.Definition)
		if err != nil {
			return nil, err
		}
		out[n["db"]+"."+n["name"]] = q
	}
	return out, nil
}

// diffSequences compares sequences of a copy that is at a snapshot with the source's, read before the snapshot was
// taken and now. A sequence's row is not versioned: what it was at the snapshot cannot be read, but it is between.
func diffSequences(before, is, now map[string]Sequence, wanted []string) []Mismatch {
	var out []Mismatch
	for name, was := range before {
		schema, _, _ := strings.Cut(name, ".")
		if wanted != nil && !slices.Contains(wanted, schema) {
			continue
		}
		later, still := now[name]
		if !still || later.Definition != was.Definition {
			continue // somebody has just changed it: its definition is told elsewhere, or by the next comparison
		}
		copied, there := is[name]
		m := Mismatch{Table: "sequence " + name, Chunk: "next value"}
		switch {
		case !there:
			m.Chunk, m.Was, m.Is = "definition", was.Definition, "none"
		case copied.Definition != was.Definition:
			m.Chunk, m.Was, m.Is = "definition", was.Definition, copied.Definition
		case was.Cycles || between(copied.Next, was.Next, later.Next):
			continue
		default:
			m.Was, m.Is = fmt.Sprintf("%d to %d", was.Next, later.Next), fmt.Sprint(copied.Next)
		}
		out = append(out, m)
	}
	sortMismatches(out)
	return out
}

func between(n, a, b int64) bool { return min(a, b) <= n && n <= max(a, b) }
