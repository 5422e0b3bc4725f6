package rows

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"stowage/mysql"
)

// AnswerColumn is one column of what a query returns, as the server says with its answer.
type AnswerColumn struct {
	Name          string
	Kind          string // as information_schema's DATA_TYPE, in lower case: bigint, varchar, varbinary; text of any length is text, bytes of any length blob
	Unsigned      bool
	Digits, Scale int // of decimal: all digits, and those behind the point
}

// Answer is the rows of one query, each handed out as it comes: neither end keeps them. It is not safe for several
// goroutines.
type Answer struct {
	Columns []AnswerColumn

	view   *View
	asked  *sql.Stmt
	rows   *sql.Rows
	cells  []sql.RawBytes
	into   []any
	row    [][]byte
	unheed func()
}

// answerPatience is for how long whoever takes the rows may pause, in seconds: a server gives a client up that takes nothing
// for net_write_timeout, 60 s if nobody says otherwise.
const answerPatience = "86400"

// Answer asks a query, whose first row may take as long as it does. Text comes in UTF-8, binary columns as they are, times in
// UTC, and numbers as text with all their digits. When ctx ends, the server stops the query. The view takes no other query until
// the answer is closed.
func (v *View) Answer(ctx context.Context, query string, args ...any) (*Answer, error) {
	if err := v.heedful(ctx); err != nil {
		return nil, err
	}
	var thread uint64
	if err := v.conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&thread); err != nil {
		return nil, v.server.Fail("SELECT CONNECTION_ID()", err)
	}
	a := &Answer{view: v, unheed: endWith(ctx, v.server, thread)}
	// As a prepared statement: numbers travel as numbers, and FLOAT with all its digits; as text it comes with six of them.
	var err error
	if a.asked, err = v.conn.PrepareContext(ctx, query); err == nil {
		a.rows, err = a.asked.QueryContext(ctx, args...) //nolint:rowserrcheck // Close asks for it
	}
	if err == nil {
		err = a.describe()
	}
	if err != nil {
		_ = a.Close() // it would say the same
		return nil, v.server.Fail("read rows", err)
	}
	return a, nil
}

// QueryRowContext asks for one row in the view, with text in UTF-8.
func (v *View) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	_ = v.heedful(ctx) // a session that refuses this says so again below
	return v.conn.QueryRowContext(ctx, query, args...)
}

// heedful prepares the session for long answers in UTF-8.
func (v *View) heedful(ctx context.Context) error {
	if v.heeds {
		return nil
	}
	flavor, err := v.server.Flavor(ctx)
	if err != nil {
		return err
	}
	limit := "max_execution_time" // MySQL
	if flavor.HasGTIDDomains() {
		limit = "max_statement_time"
	}
	for _, st := range []string{"SET NAMES utf8mb4", "SET SESSION net_write_timeout = " + answerPatience + ", " + limit + " = 0"} {
		if _, err := v.conn.ExecContext(ctx, st); err != nil {
			return v.server.Fail(mysql.FirstWords(st), err)
		}
	}
	v.heeds = true
	return nil
}

// endWith ends a session on the server when ctx ends: a query that has not sent a row yet would go on without its client.
// The function returned ends that, and waits where it has begun.
func endWith(ctx context.Context, s mysql.Door, thread uint64) (stop func()) {
	done := make(chan struct{})
	heeding := context.AfterFunc(ctx, func() {
		defer close(done)
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = s.Kill(clean, thread) // it may have ended
	})
	return func() {
		if !heeding() {
			<-done
		}
	}
}

func (a *Answer) describe() error {
	types, err := a.rows.ColumnTypes()
	if err != nil {
		return err
	}
	a.cells, a.into = rawCells(len(types))
	a.row = make([][]byte, len(types))
	for _, t := range types {
		c := AnswerColumn{Name: t.Name(), Kind: strings.ToLower(t.DatabaseTypeName())}
		c.Kind, c.Unsigned = strings.CutPrefix(c.Kind, "unsigned ")
		if digits, scale, ok := t.DecimalSize(); ok && c.Kind == "decimal" {
			c.Digits, c.Scale = int(digits), int(scale)
		}
		a.Columns = append(a.Columns, c)
	}
	return nil
}

// Next is the next row, one value a column, nil for NULL; it is valid until Next is called again. No row: there is none any
// more, or Close says why.
func (a *Answer) Next() [][]byte {
	if !a.rows.Next() || a.rows.Scan(a.into...) != nil {
		return nil
	}
	for i, c := range a.cells {
		a.row[i] = c
	}
	return a.row
}

// Close lets go of the answer and says what went wrong with it. An answer that was not read to its end is thrown away.
func (a *Answer) Close() error {
	var err error
	if a.rows != nil {
		err = errors.Join(a.rows.Err(), a.rows.Close())
	}
	if a.asked != nil {
		_ = a.asked.Close() // it goes with the session anyway
	}
	a.unheed()
	return a.view.server.Fail("read rows", err)
}

// IsStaleView reports whether a view could not read a table because its definition was changed after the view was opened
// (error 1412).
func IsStaleView(err error) bool { return mysql.CodeOf(err) == 1412 }
