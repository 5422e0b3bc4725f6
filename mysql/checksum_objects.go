package mysql

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// objectQueries are what belongs to a database and is not its tables' rows and columns: each gives a name and everything
// about it that must be the same on a copy. They are asked of information_schema and of InnoDB with nothing but
// SELECT, PROCESS, EVENT, TRIGGER and SHOW VIEW; what an account may not see is not shown, rather than refused.
var objectQueries = []struct {
	kind, query string
	mariadb     bool // MySQL knows the table by another name or not at all
}{
	{kind: "index", query: `SELECT TABLE_SCHEMA, CONCAT(TABLE_NAME, '.', INDEX_NAME), CONCAT_WS(' ', NON_UNIQUE, INDEX_TYPE,
			GROUP_CONCAT(CONCAT_WS(' ', COLUMN_NAME, SUB_PART, COLLATION) ORDER BY SEQ_IN_INDEX SEPARATOR ', '))
		FROM (SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, NON_UNIQUE, INDEX_TYPE, SEQ_IN_INDEX, COLUMN_NAME, SUB_PART, COLLATION
			FROM information_schema.STATISTICS WHERE TABLE_SCHEMA NOT IN ` + systemSchemas + `) AS s
		GROUP BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, NON_UNIQUE, INDEX_TYPE`},
	{kind: "column", query: `SELECT TABLE_SCHEMA, CONCAT(TABLE_NAME, '.', COLUMN_NAME), CONCAT_WS(' ', COALESCE(COLUMN_DEFAULT, 'no default'), EXTRA, GENERATION_EXPRESSION)
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA NOT IN ` + systemSchemas + ` AND (COLUMN_DEFAULT IS NOT NULL AND COLUMN_DEFAULT <> 'NULL' OR EXTRA <> '')`},
	{kind: "table", query: `SELECT TABLE_SCHEMA, TABLE_NAME, CONCAT_WS(' ', TABLE_TYPE, ENGINE, TABLE_COLLATION, CREATE_OPTIONS)
		FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ` + systemSchemas + ` AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')`},
	{kind: "foreign key", mariadb: true, query: `SELECT SUBSTRING_INDEX(f.ID, '/', 1), SUBSTRING_INDEX(f.ID, '/', -1), CONCAT(f.FOR_NAME, ' -> ', f.REF_NAME, ' ', f.TYPE, ' ',
			GROUP_CONCAT(CONCAT(c.FOR_COL_NAME, '=', c.REF_COL_NAME) ORDER BY c.POS))
		FROM information_schema.INNODB_SYS_FOREIGN f JOIN information_schema.INNODB_SYS_FOREIGN_COLS c ON c.ID = f.ID GROUP BY f.ID, f.FOR_NAME, f.REF_NAME, f.TYPE`},
	{kind: "check", mariadb: true, query: `SELECT CONSTRAINT_SCHEMA, CONCAT(TABLE_NAME, '.', CONSTRAINT_NAME), CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS
		WHERE CONSTRAINT_SCHEMA NOT IN ` + systemSchemas},
	{kind: "trigger", query: `SELECT TRIGGER_SCHEMA, TRIGGER_NAME, CONCAT_WS(' ', ACTION_TIMING, EVENT_MANIPULATION, EVENT_OBJECT_TABLE, ACTION_ORDER, DEFINER, SQL_MODE, ACTION_STATEMENT)
		FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA NOT IN ` + systemSchemas},
	{kind: "view", query: `SELECT TABLE_SCHEMA, TABLE_NAME, CONCAT_WS(' ', DEFINER, SECURITY_TYPE, CHECK_OPTION, VIEW_DEFINITION)
		FROM information_schema.VIEWS WHERE TABLE_SCHEMA NOT IN ` + systemSchemas},
	{kind: "routine", query: `SELECT ROUTINE_SCHEMA, CONCAT(ROUTINE_NAME, ' (', LOWER(ROUTINE_TYPE), ')'), CONCAT_WS(' ', DEFINER, SECURITY_TYPE, SQL_MODE, IS_DETERMINISTIC, DTD_IDENTIFIER, ROUTINE_DEFINITION)
		FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA NOT IN ` + systemSchemas},
	{kind: "event", query: `SELECT EVENT_SCHEMA, EVENT_NAME, CONCAT_WS(' ', DEFINER, TIME_ZONE, SQL_MODE, EVENT_TYPE, EXECUTE_AT, INTERVAL_VALUE, INTERVAL_FIELD, STARTS, ENDS, EVENT_DEFINITION)
		FROM information_schema.EVENTS WHERE EVENT_SCHEMA NOT IN ` + systemSchemas},
}

// objects are the definitions of everything but columns and rows: "index d.t.PRIMARY" and what it is. wanted
// says which databases count; nil is all of them.
func objects(ctx context.Context, q queryer, wanted []string) (map[string]string, error) {
	version, err := scanText(ctx, q, "SELECT VERSION()")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, ask := range objectQueries {
		if ask.mariadb && !strings.Contains(version, "MariaDB") {
			continue
		}
		if err := askObjects(ctx, q, ask.kind, ask.query, wanted, out); err != nil {
			return nil, fmt.Errorf("read each %s: %w", ask.kind, err)
		}
	}
	return out, nil
}

func askObjects(ctx context.Context, q queryer, kind, query string, wanted []string, into map[string]string) error {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var schema, name, text string
		if err := rows.Scan(&schema, &name, &text); err != nil {
			return err
		}
		if wanted == nil || slices.Contains(wanted, schema) {
			into[kind+" "+schema+"."+name] = text
		}
	}
	return rows.Err()
}

func scanText(ctx context.Context, q queryer, query string) (text string, err error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	if rows.Next() {
		err = rows.Scan(&text)
	}
	if err != nil {
		return "", err
	}
	return text, rows.Err()
}

func diffObjects(was, is map[string]string) []Mismatch {
	var out []Mismatch
	for name, text := range was {
		if other, there := is[name]; !there {
			out = append(out, Mismatch{Table: name, Chunk: "definition", Was: text, Is: "none"})
		} else if other != text {
			out = append(out, Mismatch{Table: name, Chunk: "definition", Was: text, Is: other})
		}
	}
	for name, text := range is {
		if _, there := was[name]; !there {
			out = append(out, Mismatch{Table: name, Chunk: "definition", Was: "none", Is: text})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Table < out[j].Table })
	return out
}

// Sequence is how a sequence stands: next_not_cached_value only ever moves on, by Increment, unless it cycles.
type Sequence struct {
	Next       int64
	Increment  int64
	Cycles     bool
	Definition string
}

// Sequences are the sequences of all databases, by "d.name". MariaDB; elsewhere there are none.
func (s *Server) Sequences(ctx context.Context) (map[string]Sequence, error) {
	names, err := s.records(ctx, "SELECT TABLE_SCHEMA AS db, TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_TYPE = 'SEQUENCE' AND TABLE_SCHEMA NOT IN "+systemSchemas)
	if err != nil {
		return nil, err
	}
	out := map[string]Sequence{}
	for _, n := range names {
		var q Sequence
		err := s.row(ctx, `SELECT next_not_cached_value, increment, cycle_option,
			CONCAT_WS(' ', minimum_value, maximum_value, start_value, increment, cache_size, cycle_option) FROM `+ident(n["db"])+"."+ident(n["name"]), nil,
			&q.Next, &q.Increment, &q.Cycles, &q.Definition)
		if err != nil {
			return nil, err
		}
		out[n["db"]+"."+n["name"]] = q
	}
	return out, nil
}

// diffSequences compares sequences of a copy that stands at a snapshot with the source's, read before the snapshot was
// taken and now. A sequence's row is not versioned: what it was at the snapshot cannot be read, but it lies between.
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
	sort.Slice(out, func(i, j int) bool { return out[i].Table < out[j].Table })
	return out
}

func between(n, a, b int64) bool { return min(a, b) <= n && n <= max(a, b) }
