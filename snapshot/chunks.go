package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/mysql/rows"
	"stowage/snapshot/format"
)

// Progress is how far a snapshot in chunks has come. What it says is in the spool, and on the disk, before it is kept.
type Progress struct {
	From     string     `json:"from"`      // GTIDs of the first chunk: behind it rows may have changed since they were read
	Reached  string     `json:"reached"`   // GTIDs of the last chunk
	After    latest.Key `json:"after"`     // the last parent that was read; null: none
	IsRead   bool       `json:"is_read"`   // there are no more
	Bytes    int64      `json:"bytes"`     // of the spool
	Rows     int64      `json:"rows"`      // in it
	ServerID uint32     `json:"server_id"` // of the reader of changes
}

// Spool is where rows wait until the last of them has been read: a file.
type Spool interface {
	io.ReadWriteSeeker
	Truncate(size int64) error
	Sync() error
}

// Chunked is a snapshot that is read in chunks, each in a view of its own, and goes on after a kill. When all are read, one pass reads the rows again that
// were changed since the first chunk, in one view, and takes the old ones out: everything is of the position of that view.
//
// Parents are known by the exact literals of their keys (rows.CopyColumn.Exact). Which of them a collation takes for the same key, and which comes first, only the server says.
type Chunked struct {
	Shape    latest.Shape
	Shard    farm.ShardName
	Tenant   string
	Server   *mysql.Server
	Progress Progress
	Keep     func(Progress) error // on the disk when it returns
	Spool    Spool
	Rows     int               // of a chunk; 0: 20,000
	Tell     func(text string) // may be nil

	by     latest.Exact
	tables map[string]*touchedTable
}

const (
	chunkRows = 20_000
	askedKeys = 500 // at a time, in the last pass
)

// Run reads what is left, corrects it, and writes all of it as JSON lines to out: first the rows that nobody changed, in the order of keys, then those that were
// changed meanwhile. When it fails or ctx ends, run again with the Progress that was kept last goes on.
func (c *Chunked) Run(ctx context.Context, out io.Writer) (Summary, error) {
	began := time.Now()
	if err := c.Spool.Truncate(c.Progress.Bytes); err != nil { // a chunk of which nobody knows
		return Summary{}, err
	}
	if _, err := c.Spool.Seek(0, io.SeekEnd); err != nil {
		return Summary{}, err
	}
	if err := c.define(ctx); err != nil {
		return Summary{}, err
	}
	for !c.Progress.IsRead {
		if err := c.chunk(ctx); err != nil {
			return Summary{Rows: c.Progress.Rows}, err
		}
	}
	s, err := c.finish(ctx, out)
	s.Took = time.Since(began)
	return s, err
}

// chunk reads the next rows in a view of their own, and keeps them.
func (c *Chunked) chunk(ctx context.Context) error {
	p, lines, err := c.read(ctx)
	if err != nil {
		return err
	}
	if _, err = c.Spool.Write(lines); err == nil {
		err = c.Spool.Sync()
	}
	if err == nil {
		err = c.Keep(p)
	}
	if err != nil {
		return err
	}
	c.Progress = p
	c.tell("%s read", farm.Counted(p.Rows, "row"))
	return nil
}

// read is the next rows, and the progress with them. The view is closed when it returns: nobody waits for it while the rows are written.
func (c *Chunked) read(ctx context.Context) (p Progress, lines []byte, err error) {
	view, err := c.view(ctx, c.Progress.Reached) // another side that lacks what was read already would end at a position before it
	if err != nil {
		return p, nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	form, err := c.form(ctx, view)
	if err != nil {
		return p, nil, err
	}
	limit := c.Rows
	if limit == 0 {
		limit = chunkRows
	}
	p = c.Progress
	if p.From == "" {
		p.From = view.At.String()
	}
	p.Reached = view.At.String()
	lines, rows, last, err := c.lines(ctx, view, c.Shape.ChunkQuery(c.Shard, form, c.by, p.After, limit))
	if last != nil {
		p.After = last
	}
	p.IsRead = rows < limit
	p.Rows, p.Bytes = p.Rows+int64(rows), p.Bytes+int64(len(lines))
	return p, lines, err
}

// view is one that holds everything that a position holds: another side may not have it yet.
func (c *Chunked) view(ctx context.Context, position string) (*rows.View, error) {
	want, err := mysql.ParsePosition(position)
	if err != nil {
		return nil, err
	}
	view, err := rows.Snapshot(ctx, c.Server)
	if err != nil {
		return nil, err
	}
	if !view.At.Reached(want) {
		err := &farm.Error{Op: "read snapshot", Subject: string(c.Server.Name()), Err: fmt.Errorf("%w: it is at %s and lacks part of %s, which was read before", farm.ErrRefused, view.At, want), Hint: "wait until it has caught up and run the command again, or name the other side: --side"}
		return nil, errors.Join(err, view.Close())
	}
	return view, nil
}

func (c *Chunked) form(ctx context.Context, view *rows.View) (latest.Form, error) {
	flags, err := c.Shape.Flag(ctx, view, c.Shard, c.Tenant)
	return c.Shape.Keyed(flags.Active), err
}

// lines are the rows of a query as the spool has them: the parent's key, a tab, the row as JSON.
func (c *Chunked) lines(ctx context.Context, view *rows.View, query string) (lines []byte, count int, last latest.Key, err error) {
	var out bytes.Buffer
	var bad error
	err = each(ctx, view, query, func(a *rows.Answer) func([][]byte) {
		k := len(c.Shape.Parent.Key)
		w, err := format.New(format.JSONLines, &out, columnsOf(a.Columns[k:]))
		bad = err
		return func(row [][]byte) {
			if bad != nil {
				return
			}
			last = keyOf(row[:k])
			out.WriteString(joinKey(last))
			out.WriteByte('\t')
			bad = errors.Join(w.Row(row[k:]), w.Close()) // behind its key, and not later
			count++
		}
	}, c.Tenant)
	return out.Bytes(), count, last, errors.Join(bad, err)
}

func keyOf(values [][]byte) latest.Key {
	key := make(latest.Key, len(values))
	for i, v := range values {
		key[i] = string(v)
	}
	return key
}

func joinKey(k latest.Key) string { return strings.Join(k, ",") }

func splitKey(text string) latest.Key { return strings.Split(text, ",") }

func (c *Chunked) tell(format string, args ...any) {
	if c.Tell != nil {
		c.Tell(fmt.Sprintf(format, args...))
	}
}

// chunksOf are pieces of a list.
func chunksOf[T any](list []T) [][]T { return slices.Collect(slices.Chunk(list, askedKeys)) }
