package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
)

// indexBudget bounds one ALTER TABLE that adds indexes to a large table.
const indexBudget = 24 * time.Hour

// SchemaOptions are what a database is made with.
type SchemaOptions struct {
	Exists             bool
	Charset, Collation string
	Comment            string
	Tables             int // and views, the copier's own included
	job                string
}

// SchemaOptions reads them.
func (s *Server) SchemaOptions(ctx context.Context, schema string) (SchemaOptions, error) {
	var o SchemaOptions
	d, err := s.dialect(ctx)
	if err != nil {
		return o, err
	}
	comment := "SCHEMA_COMMENT"
	if !d.flavor.HasGTIDDomains() {
		comment = "''" // MySQL's databases have none
	}
	records, err := s.records(ctx, `SELECT DEFAULT_CHARACTER_SET_NAME AS charset, DEFAULT_COLLATION_NAME AS collation, `+comment+` AS comment,
			(SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = SCHEMA_NAME) AS tables
		FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?`, schema)
	if err != nil || len(records) == 0 {
		return o, err
	}
	r := records[0]
	o = SchemaOptions{true, r["charset"], r["collation"], r["comment"], int(number(r["tables"])), ""}
	if !d.flavor.HasGTIDDomains() {
		o.job, err = s.jobOf(ctx, schema, o)
	}
	return o, err
}

// MadeBy is the comment of a database that this job has made, until it is settled.
func (m Marks) MadeBy() string { return "made by stowage for job " + m.Job }

// IsOf reports whether this job has made the database and not settled it yet.
func (o SchemaOptions) IsOf(m Marks) bool {
	return o.Comment == m.MadeBy() || o.job == m.Job || o.job == nobodys
}

// MakeSchema makes the database like the source's, and says who has made it.
func (s *Server) MakeSchema(ctx context.Context, m Marks, like SchemaOptions) error {
	text := "CREATE DATABASE IF NOT EXISTS " + ident(m.Schema) + " " + ownComment + " CHARACTER SET " + like.Charset + " COLLATE " + like.Collation
	if d, err := s.dialect(ctx); err != nil || !d.flavor.HasGTIDDomains() {
		if err != nil {
			return err
		}
		return s.exec(ctx, text)
	}
	return s.exec(ctx, text+" COMMENT "+quote(m.MadeBy()))
}

// SettleSchema gives the database the comment it had on the source.
func (s *Server) SettleSchema(ctx context.Context, m Marks, comment string) error {
	if d, err := s.dialect(ctx); err != nil || !d.flavor.HasGTIDDomains() {
		return err // it has none; its marks go
	}
	return s.exec(ctx, "ALTER DATABASE "+ident(m.Schema)+" "+ownComment+" COMMENT "+quote(comment))
}

// DropSchema removes a database that carries this job's comment, and no other.
func (s *Server) DropSchema(ctx context.Context, m Marks) error {
	o, err := s.SchemaOptions(ctx, m.Schema)
	if err != nil || !o.Exists {
		return err
	}
	if !o.IsOf(m) {
		return s.fail("drop database "+m.Schema, errors.New("this job has not made it"))
	}
	return s.bounded(ctx, indexBudget, "DROP DATABASE "+ident(m.Schema)+" "+ownComment)
}

// defining opens a session that changes definitions of a database as they are
// written: with names in utf8mb4, no checks, and the given SQL mode.
func (s *Server) defining(ctx context.Context, schema string) (*Stream, error) {
	w, err := s.Stream(ctx, StatementTimeout)
	if err != nil {
		return nil, err
	}
	for _, st := range []string{"SET NAMES utf8mb4", "SET SESSION sql_mode = 'ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION'", "USE " + ident(schema)} {
		if _, err := w.conn.ExecContext(ctx, st); err != nil {
			w.Close()
			return nil, s.fail(firstWords(st), err)
		}
	}
	return w, nil
}

// CreateText is the statement that makes a table.
func (s *Server) CreateText(ctx context.Context, t *CopyTable) (string, error) {
	w, err := s.defining(ctx, t.Schema)
	if err != nil {
		return "", err
	}
	defer w.Close()
	var name, text string
	if err := w.conn.QueryRowContext(ctx, "SHOW CREATE TABLE "+t.At()).Scan(&name, &text); err != nil {
		return "", s.fail("read definition of "+t.Name, err)
	}
	return text, nil
}

// CreateTables makes tables by their texts, those that are missing.
func (s *Server) CreateTables(ctx context.Context, schema string, texts []string) error {
	w, err := s.defining(ctx, schema)
	if err != nil {
		return err
	}
	defer w.Close()
	for _, text := range texts {
		text = strings.Replace(text, "CREATE TABLE ", "CREATE TABLE IF NOT EXISTS "+ownComment+" ", 1)
		if _, err := w.conn.ExecContext(ctx, text); err != nil {
			return s.fail("create table", fmt.Errorf("%w: %s", err, firstWords(text)))
		}
	}
	return nil
}

// SplitIndexes takes the plain secondary indexes out of the text of a table:
// building each at once, when the rows are in, is faster than keeping all of
// them for every row. A table with foreign keys, or whose counter is not the
// first column of its primary key, keeps them.
func SplitIndexes(text string) (table string, indexes []string) {
	lines := strings.Split(text, "\n")
	var primary, counter string
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "  CONSTRAINT ") && strings.Contains(l, "FOREIGN KEY"):
			return text, nil
		case strings.HasPrefix(l, "  PRIMARY KEY (`"):
			primary, _ = firstName(strings.TrimPrefix(l, "  PRIMARY KEY ("))
		case strings.HasPrefix(l, "  `") && strings.Contains(l, " AUTO_INCREMENT"):
			counter, _ = firstName(strings.TrimPrefix(l, "  "))
		}
	}
	if counter != "" && counter != primary {
		return text, nil
	}
	var kept []string
	end := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, ")") })
	for i, l := range lines {
		if i < end && strings.HasPrefix(l, "  KEY `") {
			indexes = append(indexes, strings.TrimSuffix(strings.TrimSpace(l), ","))
			continue
		}
		kept = append(kept, l)
	}
	if len(indexes) == 0 {
		return text, nil
	}
	return tableOf(kept), indexes
}

// tableOf is the text of a table of its lines: the last element before ")" has no comma.
func tableOf(lines []string) string {
	for i, l := range lines {
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], ")") {
			lines[i] = strings.TrimSuffix(l, ",")
			break
		}
	}
	return strings.Join(lines, "\n")
}

// WithoutForeignKeys takes the foreign keys out of the text of a table that lead to a table which is not kept, of this database or another, and names them.
func WithoutForeignKeys(text string, kept func(table string) bool) (table string, out []string) {
	var lines []string
	for l := range strings.SplitSeq(text, "\n") {
		if name, to, is := foreignKeyIn(l); is && !kept(to) {
			out = append(out, name)
			continue
		}
		lines = append(lines, l)
	}
	if len(out) == 0 {
		return text, nil
	}
	return tableOf(lines), out
}

// foreignKeyIn reads a line of a table's text. Of a foreign key to another database, the table has no name that is known here: "".
func foreignKeyIn(line string) (name, to string, is bool) {
	rest, is := strings.CutPrefix(line, "  CONSTRAINT ")
	head, target, found := strings.Cut(rest, " REFERENCES ")
	if !is || !found || !strings.Contains(head, " FOREIGN KEY (") {
		return "", "", false
	}
	name, _ = firstName(rest)
	if strings.HasPrefix(target, "`") {
		table, end := quotedWord(target, 0)
		if !strings.HasPrefix(target[end:], ".") {
			to = table
		}
	}
	return name, to, true
}

func firstName(text string) (string, bool) {
	if !strings.HasPrefix(text, "`") {
		return "", false
	}
	name, _ := quotedWord(text, 0)
	return name, true
}

// AddIndexes adds those indexes, given as in the text of a table, that t does not have yet.
func (s *Server) AddIndexes(ctx context.Context, t *CopyTable, indexes []string) error {
	records, err := s.records(ctx, "SELECT DISTINCT INDEX_NAME AS name FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", t.Schema, t.Name)
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for _, r := range records {
		has[strings.ToLower(r["name"])] = true
	}
	var adds []string
	for _, i := range indexes {
		if name, ok := firstName(strings.TrimPrefix(i, "KEY ")); ok && !has[strings.ToLower(name)] {
			adds = append(adds, "ADD "+i)
		}
	}
	if len(adds) == 0 {
		return nil
	}
	w, err := s.defining(ctx, t.Schema)
	if err != nil {
		return err
	}
	defer w.Close()
	ctx, cancel := context.WithTimeout(ctx, indexBudget)
	defer cancel()
	_, err = w.conn.ExecContext(ctx, "ALTER TABLE "+t.At()+" "+ownComment+" "+strings.Join(adds, ", "))
	return s.fail("add indexes to "+t.Name, err)
}

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
func (s *Server) CopyObjects(ctx context.Context, schema string) ([]CopyObject, error) {
	return s.texts(ctx, `SELECT 1 AS o, ROUTINE_TYPE AS kind, ROUTINE_NAME AS name, DEFINER AS definer, SQL_MODE AS mode, CHARACTER_SET_CLIENT AS client,
			COLLATION_CONNECTION AS coll, '' AS zone FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ? AND ROUTINE_TYPE IN ('PROCEDURE', 'FUNCTION')
		UNION ALL SELECT 2, 'VIEW', TABLE_NAME, DEFINER, '', CHARACTER_SET_CLIENT, COLLATION_CONNECTION, '' FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ?
		UNION ALL SELECT 3, 'EVENT', EVENT_NAME, DEFINER, SQL_MODE, CHARACTER_SET_CLIENT, COLLATION_CONNECTION, TIME_ZONE FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ?
		ORDER BY 1, 2, 3`, schema, schema, schema, schema)
}

// CopyTriggers are the triggers of a database's tables, in the order in which they act.
func (s *Server) CopyTriggers(ctx context.Context, schema string) ([]CopyObject, error) {
	return s.texts(ctx, `SELECT 'TRIGGER' AS kind, TRIGGER_NAME AS name, DEFINER AS definer, SQL_MODE AS mode, CHARACTER_SET_CLIENT AS client,
			COLLATION_CONNECTION AS coll, '' AS zone FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ?
		ORDER BY EVENT_OBJECT_TABLE, EVENT_MANIPULATION, ACTION_TIMING, ACTION_ORDER`, schema, schema)
}

func (s *Server) texts(ctx context.Context, query, schema string, args ...any) ([]CopyObject, error) {
	records, err := s.records(ctx, query, args...)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	w, err := s.defining(ctx, schema)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	var out []CopyObject
	for _, r := range records {
		o := CopyObject{Kind: r["kind"], Name: r["name"], Definer: r["definer"], SQLMode: settable(r["mode"]), Client: r["client"], Collation: r["coll"], TimeZone: r["zone"]}
		if o.Text, err = w.objectText(ctx, o); err != nil {
			return nil, s.fail("read definition of "+o.Name, err)
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
	if _, err := w.conn.ExecContext(ctx, "SET SESSION character_set_results = "+quote(o.Client)); err != nil {
		return nil, err
	}
	rows, err := w.conn.QueryContext(ctx, "SHOW CREATE "+o.Kind+" "+ident(o.Name))
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
	cells := make([]sql.RawBytes, len(columns))
	into := make([]any, len(columns))
	for i := range cells {
		into[i] = &cells[i]
	}
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
func (s *Server) CreateObjects(ctx context.Context, schema string, objects []CopyObject) error {
	left, err := s.CreateSome(ctx, schema, objects)
	var all error
	for _, u := range left {
		all = errors.Join(all, fmt.Errorf("%s %s: %w", strings.ToLower(u.Kind), u.Name, u.Err))
	}
	return errors.Join(err, s.fail("create", all))
}

// Unmade is an object that a server would not make, and what it said.
type Unmade struct {
	CopyObject
	Err error
}

// CreateSome is CreateObjects of what can be made; the rest is returned. Views may need one another: they are tried until all
// are there or none of the rest can be made.
func (s *Server) CreateSome(ctx context.Context, schema string, objects []CopyObject) ([]Unmade, error) {
	w, err := s.defining(ctx, schema)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	left := objects
	for len(left) > 0 {
		var failed []CopyObject
		var unmade []Unmade
		for _, o := range left {
			exists, err := s.hasObject(ctx, schema, o)
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

func (s *Server) hasObject(ctx context.Context, schema string, o CopyObject) (bool, error) {
	query := map[string]string{
		"PROCEDURE": "SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ? AND ROUTINE_NAME = ? AND ROUTINE_TYPE = 'PROCEDURE'",
		"FUNCTION":  "SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = ? AND ROUTINE_NAME = ? AND ROUTINE_TYPE = 'FUNCTION'",
		"VIEW":      "SELECT COUNT(*) FROM information_schema.VIEWS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?",
		"EVENT":     "SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = ? AND EVENT_NAME = ?",
		"TRIGGER":   "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = ? AND TRIGGER_NAME = ?",
	}[o.Kind]
	var n int
	err := s.row(ctx, query, []any{schema, o.Name}, &n)
	return n > 0, err
}

func (w *Stream) create(ctx context.Context, o CopyObject) error {
	set := "SET SESSION character_set_client = " + quote(o.Client) + ", collation_connection = " + quote(o.Collation) + ", sql_mode = " + quote(o.SQLMode)
	if o.TimeZone != "" {
		set += ", time_zone = " + quote(o.TimeZone)
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
func (s *Server) DropTriggers(ctx context.Context, schema string, triggers []CopyObject) error {
	for _, t := range triggers {
		if err := s.exec(ctx, "DROP TRIGGER IF EXISTS "+ident(schema)+"."+ident(t.Name)); err != nil {
			return err
		}
	}
	return nil
}

// KeepObjects writes texts into the marks, unless some are kept already.
func (s *Server) KeepObjects(ctx context.Context, m Marks, objects []CopyObject) error {
	for i, o := range objects {
		err := s.exec(ctx, "INSERT IGNORE INTO "+m.table("object")+" (job, n, name, text, sql_mode, client, collation) VALUES (?, ?, ?, ?, ?, ?, ?)",
			m.Job, i, o.Name, o.Text, o.SQLMode, o.Client, o.Collation)
		if err != nil {
			return err
		}
	}
	return nil
}

// KeptTriggers are the triggers kept in the marks.
func (s *Server) KeptTriggers(ctx context.Context, m Marks) ([]CopyObject, error) {
	records, err := s.records(ctx, "SELECT name, text, sql_mode, client, collation FROM "+m.table("object")+" WHERE "+m.job()+" ORDER BY n")
	var out []CopyObject
	for _, r := range records {
		out = append(out, CopyObject{Kind: "TRIGGER", Name: r["name"], Text: []byte(r["text"]), SQLMode: r["sql_mode"], Client: r["client"], Collation: r["collation"]})
	}
	return out, err
}

// Counters are the AUTO_INCREMENT counters of a database's tables, by the name clients know.
func (s *Server) Counters(ctx context.Context, schema string) (map[string]uint64, error) {
	records, err := s.recordsFresh(ctx, "SELECT TABLE_NAME AS tbl, AUTO_INCREMENT AS n FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND AUTO_INCREMENT IS NOT NULL", schema)
	out := map[string]uint64{}
	for _, r := range records {
		var n uint64
		if _, err := fmt.Sscan(r["n"], &n); err != nil {
			return nil, s.fail("read counter of "+r["tbl"], err)
		}
		out[strings.TrimPrefix(r["tbl"], AsidePrefix)] = n
	}
	return out, err
}

// RaiseCounter makes a table count on from n.
func (s *Server) RaiseCounter(ctx context.Context, t *CopyTable, n uint64) error {
	return s.exec(ctx, fmt.Sprintf("ALTER TABLE %s %s AUTO_INCREMENT = %d", t.At(), ownComment, n))
}

// DropTables removes tables; of a set that refer to one another in any order.
func (s *Server) DropTables(ctx context.Context, schema string, tables []*CopyTable) error {
	w, err := s.defining(ctx, schema)
	if err != nil {
		return err
	}
	defer w.Close()
	for _, t := range tables {
		if _, err := w.conn.ExecContext(ctx, "DROP TABLE IF EXISTS "+t.At()); err != nil {
			return s.fail("drop "+t.At(), err)
		}
	}
	return nil
}

// UnknownCollations are collations of a database's columns that server does not have.
func (s *Server) UnknownCollations(ctx context.Context, schema string, on *Server) ([]string, error) {
	records, err := s.records(ctx, `SELECT DISTINCT COLLATION_NAME AS c FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND COLLATION_NAME IS NOT NULL
		UNION SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?`, schema, schema)
	if err != nil {
		return nil, err
	}
	known, err := on.records(ctx, "SELECT COLLATION_NAME AS c FROM information_schema.COLLATIONS")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range records {
		// Newer servers list a collation of many character sets without its prefix: uca1400_ai_ci.
		has := slices.ContainsFunc(known, func(k map[string]string) bool { return k["c"] == r["c"] || strings.HasSuffix(r["c"], "_"+k["c"]) })
		if !has {
			out = append(out, r["c"])
		}
	}
	return out, nil
}

// HasUser reports whether an account or role "user@host" exists.
func (s *Server) HasUser(ctx context.Context, definer string) (bool, error) {
	user, host := definer, ""
	if at := strings.LastIndexByte(definer, '@'); at >= 0 {
		user, host = definer[:at], definer[at+1:]
	}
	var n int
	err := s.row(ctx, "SELECT COUNT(*) FROM mysql.user WHERE User = ? AND Host = ?", []any{user, host}, &n)
	return n > 0, err
}

// ForgetObjects removes what KeepObjects has kept.
func (s *Server) ForgetObjects(ctx context.Context, m Marks) error {
	return s.exec(ctx, "DELETE FROM "+m.table("object")+" WHERE "+m.job())
}

// DropEmptySchema removes a database that holds no base table but the copier's own.
func (s *Server) DropEmptySchema(ctx context.Context, schema string) error {
	tables, err := s.CopyTables(ctx, schema)
	if err != nil {
		return err
	}
	if len(tables) > 0 {
		return s.fail("drop database "+schema, fmt.Errorf("it holds %s still", farm.Counted(len(tables), "table")))
	}
	return s.bounded(ctx, StatementTimeout, "DROP DATABASE IF EXISTS "+ident(schema)+" "+ownComment)
}
