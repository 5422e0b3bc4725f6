package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stowage/mysql"
)

// CopyObject is a view, routine, event or trigger: its text in the character
// set of the client that wrote it, and the settings it was written with.
type CopyObject struct {
	Kind      string // PROCEDURE, FUNCTION, VIEW, EVENT, TRIGGER
	Name      string
	Definer   string // user@host
	Text      []byte
	SQLMode   string
	Client    string // character_set_client
	Collation string // collation_connection
	TimeZone  string // of an event
}

// CopyObjects are the routines, views and events of a database, in the order in which they can be made.
func CopyObjects(ctx context.Context, s *mysql.Server, schema string) ([]CopyObject, error) {
	return texts(ctx, mysql.Through(s), `SELECT 1 AS o, ROUTINE_TYPE AS kind, ROUTINE_NAME AS name, DEFINER AS definer, SQL_MODE AS mode, CHARACTER_SET_CLIENT AS client,
			COLLATION_CONNECTION AS coll, '' AS zone FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ? AND ROUTINE_TYPE IN ('PROCEDURE', 'FUNCTION')
		UNION ALL SELECT 2, 'VIEW', TABLE_NAME, DEFINER, '', CHARACTER_SET_CLIENT, COLLATION_CONNECTION, '' FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ?
		UNION ALL SELECT 3, 'EVENT', EVENT_NAME, DEFINER, SQL_MODE, CHARACTER_SET_CLIENT, COLLATION_CONNECTION, TIME_ZONE FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ?
		ORDER BY 1, 2, 3`, schema, schema, schema, schema)
}

// CopyTriggers are the triggers of a database's tables, in the order in which they act.
func CopyTriggers(ctx context.Context, s *mysql.Server, schema string) ([]CopyObject, error) {
	return texts(ctx, mysql.Through(s), `SELECT 'TRIGGER' AS kind, TRIGGER_NAME AS name, DEFINER AS definer, SQL_MODE AS mode, CHARACTER_SET_CLIENT AS client,
			COLLATION_CONNECTION AS coll, '' AS zone FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ?
		ORDER BY EVENT_OBJECT_TABLE, EVENT_MANIPULATION, ACTION_TIMING, ACTION_ORDER`, schema, schema)
}

func texts(ctx context.Context, s mysql.Door, query, schema string, args ...any) ([]CopyObject, error) {
	records, err := s.Records(ctx, query, args...)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	w, err := defining(ctx, s, schema)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	var out []CopyObject
	for _, r := range records {
		o := CopyObject{Kind: r["kind"], Name: r["name"], Definer: r["definer"], SQLMode: settable(r["mode"]), Client: r["client"], Collation: r["coll"], TimeZone: r["zone"]}
		if o.Text, err = w.objectText(ctx, o); err != nil {
			return nil, s.Fail("read definition of "+o.Name, err)
		}
		out = append(out, o)
	}
	return out, nil
}

// settable is the SQL mode of a routine or an event in the words of the variable: MariaDB keeps one of them under a shorter name (mysql.proc, mysql.event in 10.11.19).
func settable(mode string) string {
	words := strings.Split(mode, ",")
	for n, w := range words {
		if w == "INVALID_DATES" {
			words[n] = "ALLOW_INVALID_DATES"
		}
	}
	return strings.Join(words, ",")
}

func (w *Stream) objectText(ctx context.Context, o CopyObject) ([]byte, error) {
	// The name goes in utf8mb4, the text comes as its writer typed it.
	if _, err := w.conn.ExecContext(ctx, "SET SESSION character_set_results = "+mysql.Quote(o.Client)); err != nil {
		return nil, err
	}
	rows, err := w.conn.QueryContext(ctx, "SHOW CREATE "+o.Kind+" "+mysql.Ident(o.Name))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(columns, func(c string) bool { return strings.HasPrefix(c, "Create ") || c == "SQL Original Statement" })
	if at < 0 || !rows.Next() {
		return nil, errors.Join(errors.New("no text: does the account have the privilege to see it?"), rows.Err())
	}
	cells, into := rawCells(len(columns))
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	if cells[at] == nil {
		return nil, errors.New("no text: does the account have the privilege to see it?")
	}
	return slices.Clone([]byte(cells[at])), rows.Err()
}

// CreateObjects makes objects as they are written, those that are missing;
// events come DISABLED.
func CreateObjects(ctx context.Context, s *mysql.Server, schema string, objects []CopyObject) error {
	left, err := CreateSome(ctx, s, schema, objects)
	var all error
	for _, u := range left {
		all = errors.Join(all, fmt.Errorf("%s %s: %w", strings.ToLower(u.Kind), u.Name, u.Err))
	}
	return errors.Join(err, mysql.Through(s).Fail("create", all))
}

// Unmade is an object that a server would not make, and what it said.
type Unmade struct {
	CopyObject
	Err error
}

// CreateSome is CreateObjects of what can be made; the rest is returned. Views may need one another: they are tried until all
// are there or none of the rest can be made.
func CreateSome(ctx context.Context, server *mysql.Server, schema string, objects []CopyObject) ([]Unmade, error) {
	s := mysql.Through(server)
	w, err := defining(ctx, s, schema)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	left := objects
	for len(left) > 0 {
		var failed []CopyObject
		var unmade []Unmade
		for _, o := range left {
			exists, err := hasObject(ctx, s, schema, o)
			if err != nil {
				return nil, err
			}
			if exists {
				continue
			}
			if err := w.create(ctx, o); err != nil {
				failed = append(failed, o)
				unmade = append(unmade, Unmade{o, err})
			}
		}
		if len(failed) == len(left) {
			return unmade, nil
		}
		left = failed
	}
	return nil, nil
}

func hasObject(ctx context.Context, s mysql.Door, schema string, o CopyObject) (bool, error) {
	query := map[string]string{
		"PROCEDURE": "SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ? AND ROUTINE_NAME = ? AND ROUTINE_TYPE = 'PROCEDURE'",
		"FUNCTION":  "SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ? AND ROUTINE_NAME = ? AND ROUTINE_TYPE = 'FUNCTION'",
		"VIEW":      "SELECT COUNT(*) FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?",
		"EVENT":     "SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ? AND EVENT_NAME = ?",
		"TRIGGER":   "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ? AND TRIGGER_NAME = ?",
	}[o.Kind]
	var n int
	err := s.Row(ctx, query, []any{schema, o.Name}, &n)
	return n > 0, err
}

func (w *Stream) create(ctx context.Context, o CopyObject) error {
	set := "SET SESSION character_set_client = " + mysql.Quote(o.Client) + ", collation_connection = " + mysql.Quote(o.Collation) + ", sql_mode = " + mysql.Quote(o.SQLMode)
	if o.TimeZone != "" {
		set += ", time_zone = " + mysql.Quote(o.TimeZone)
	}
	text := string(o.Text)
	if o.Kind == "EVENT" {
		text = disabled(text)
	}
	if _, err := w.conn.ExecContext(ctx, set); err != nil {
		return err
	}
	_, err := w.conn.ExecContext(ctx, text)
	return err
}

// disabled is the text of an event that will not run. The server writes the
// clause itself, always right behind ON COMPLETION.
func disabled(text string) string {
	for _, preserve := range []string{" ON COMPLETION NOT PRESERVE ", " ON COMPLETION PRESERVE "} {
		head, rest, found := strings.Cut(text, preserve)
		if !found {
			continue
		}
		for _, status := range []string{"ENABLE", "DISABLE ON SLAVE", "DISABLE ON REPLICA", "DISABLE"} {
			if tail, ok := strings.CutPrefix(rest, status); ok {
				return head + preserve + "DISABLE" + tail
			}
		}
	}
	return text
}

// DropTriggers removes triggers by name.
func DropTriggers(ctx context.Context, s *mysql.Server, schema string, triggers []CopyObject) error {
	for _, t := range triggers {
		if err := mysql.Through(s).Exec(ctx, "DROP TRIGGER IF EXISTS "+mysql.Ident(schema)+"."+mysql.Ident(t.Name)); err != nil {
			return err
		}
	}
	return nil
}

// KeepObjects writes texts into the marks, unless some are kept already.
func KeepObjects(ctx context.Context, s *mysql.Server, m Marks, objects []CopyObject) error {
	for i, o := range objects {
		err := mysql.Through(s).Exec(ctx, "INSERT IGNORE INTO "+m.table("object")+" (job, n, name, text, sql_mode, client, collation) VALUES (?, ?, ?, ?, ?, ?, ?)",
			m.Job, i, o.Name, o.Text, o.SQLMode, o.Client, o.Collation)
		if err != nil {
			return err
		}
	}
	return nil
}

// KeptTriggers are the triggers kept in the marks.
func KeptTriggers(ctx context.Context, s *mysql.Server, m Marks) ([]CopyObject, error) {
	records, err := mysql.Through(s).Records(ctx, "SELECT name, text, sql_mode, client, collation FROM "+m.table("object")+" WHERE "+m.job()+" ORDER BY n")
	var out []CopyObject
	for _, r := range records {
		out = append(out, CopyObject{Kind: "TRIGGER", Name: r["name"], Text: []byte(r["text"]), SQLMode: r["sql_mode"], Client: r["client"], Collation: r["collation"]})
	}
	return out, err
}

// ForgetObjects removes what KeepObjects has kept.
func ForgetObjects(ctx context.Context, s *mysql.Server, m Marks) error {
	return mysql.Through(s).Exec(ctx, "DELETE FROM "+m.table("object")+" WHERE "+m.job())
}
