package snapshot

import (
	"context"
	"errors"
	"io"
	"time"

	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/mysql/rows"
	"stowage/snapshot/format"
)

// Summary is what a snapshot was.
type Summary struct {
	Position mysql.Position // everything written is of it
	Form     latest.Form    // of the query that was asked
	Rows     int64
	Bytes    int64 // written
	Lost     int64 // values that the format has no word for, written as NULL
	Took     time.Duration
}

// Question is what is asked of a server in the view of a snapshot.
type Question struct {
	Tenant string
	// Choose is asked in the view which form, and by which text with one place for the tenant.
	Choose func(ctx context.Context, view *rows.View) (form latest.Form, query string, err error)
}

// Take writes the rows of one tenant as they are in one view of the server. It holds one row, or one group of rows of Parquet. When ctx
// ends, so does the query on the server. tell, if not nil, hears about once a second how many rows there are.
func Take(ctx context.Context, server *mysql.Server, q Question, name string, out io.Writer, tell func(rows int64)) (s Summary, err error) {
	began := time.Now()
	defer func() { // the connection of a query that was ended is lost, which may be noticed first
		if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
			err = errors.Join(ctx.Err(), err)
		}
	}()
	view, err := rows.Snapshot(ctx, server)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	s.Position = view.At
	var query string
	if s.Form, query, err = q.Choose(ctx, view); err != nil {
		return s, stale(err)
	}
	answer, err := view.Answer(ctx, query, q.Tenant)
	if err != nil {
		return s, stale(err)
	}
	err = s.write(answer, name, out, tell)
	err = errors.Join(err, stale(answer.Close()))
	s.Took = time.Since(began)
	return s, err
}

// toldEvery is after how many rows the clock is looked at.
const toldEvery = 4096

func (s *Summary) write(answer *rows.Answer, name string, out io.Writer, tell func(int64)) error {
	counted := &counting{w: out}
	w, err := format.New(name, counted, columnsOf(answer.Columns))
	if err != nil {
		return err
	}
	told := time.Now()
	for row := answer.Next(); row != nil; row = answer.Next() {
		if err := w.Row(row); err != nil {
			return err
		}
		if s.Rows++; s.Rows%toldEvery == 0 && tell != nil && time.Since(told) > time.Second {
			told = time.Now()
			tell(s.Rows)
		}
	}
	err = w.Close()
	s.Bytes, s.Lost = counted.n, w.Lost()
	return err
}

type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
