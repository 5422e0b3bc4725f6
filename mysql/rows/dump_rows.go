package rows

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"stowage/backup/dump"
	"stowage/mysql"
)

const (
	dumpStatement = 1 << 20 // how long an INSERT gets
	dumpFile      = 8 << 20 // and a file of them
	dumpPartRows  = 200000  // a larger table is read in ranges of its key of about so many rows
)

// dumpPart is a range of a table, read by one session.
type dumpPart struct {
	*Part
	of    dump.Database
	table *dumpTable
}

// dumpTable is what all ranges of a table share.
type dumpTable struct {
	session string // begins a file
	head    string // of a statement
	query   string // up to its condition
	made    string // when it was made or last changed

	mu    sync.Mutex
	files int
}

// file is the name of its next file.
func (p dumpPart) file() string {
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	p.table.files++
	return dump.RowsOf(p.of, p.Part.Table.nameNow(), p.table.files)
}

// writeRows writes the rows of all tables.
func (d *dumping) writeRows(ctx context.Context, out *dump.Writer) error {
	parts, err := d.parts(ctx)
	if err != nil {
		return err
	}
	work := make(chan dumpPart, len(parts))
	for _, p := range parts {
		work <- p
	}
	close(work)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var readers sync.WaitGroup
	for _, r := range d.readers {
		readers.Go(func() {
			for p := range work {
				if err := r.dumpRows(ctx, p, out); err != nil {
					stop(d.server.Fail("read rows of "+p.Table.String(), changedMeanwhile(err)))
					return
				}
				if ctx.Err() != nil {
					return
				}
			}
		})
	}
	readers.Wait()
	return context.Cause(ctx)
}

// changedMeanwhile: a table that was changed after the snapshot cannot be read in it.
func changedMeanwhile(err error) error {
	if IsChangedDefinition(err) {
		return fmt.Errorf("%w: %w", errChanged, err)
	}
	return err
}

var errChanged = errors.New("its definition was changed while it was read")

// parts are the ranges of all tables, those of large ones first.
func (d *dumping) parts(ctx context.Context) ([]dumpPart, error) {
	var out []dumpPart
	for _, x := range d.shapes {
		for i, t := range x.tables {
			exprs := make([]string, len(t.written))
			for n, c := range t.written {
				exprs[n] = t.Columns[c].read()
			}
			table := &dumpTable{session: d.sessionText("binary"), head: "INSERT INTO " + mysql.Ident(t.nameNow()) + " (" + t.writtenNames() + ") VALUES\n", query: "SELECT " + strings.Join(exprs, ", ") + " FROM " + t.source(), made: x.made[i]}
			if len(t.written) == 0 {
				return nil, d.server.Fail("dump "+t.String(), errors.New("the server computes all of its columns"))
			}
			ranges, err := Divide(ctx, d.server.Server, t, int(t.Rows/dumpPartRows)+1)
			if err != nil {
				return nil, err
			}
			for _, r := range ranges {
				out = append(out, dumpPart{r, x.Database, table})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b dumpPart) int { return int(min(1, max(-1, b.Table.Rows-a.Table.Rows))) })
	return out, nil
}

// dumpRows reads a range and adds files of it. The savepoint lets go of the table's definition once it is read: who changes it waits no longer than that.
func (w *Stream) dumpRows(ctx context.Context, p dumpPart, out *dump.Writer) error {
	if _, err := w.conn.ExecContext(ctx, "SAVEPOINT stowage_dump"); err != nil {
		return err
	}
	err := w.conn.Raw(func(c any) error {
		rows, err := c.(driver.QueryerContext).QueryContext(ctx, p.table.query+p.where(nil), nil)
		if err != nil {
			return err
		}
		return errors.Join(p.writeAll(rows, out), rows.Close())
	})
	if err == nil {
		err = w.isUnchanged(ctx, p)
	}
	if err != nil {
		return err
	}
	_, err = w.conn.ExecContext(ctx, "ROLLBACK TO SAVEPOINT stowage_dump")
	return err
}

// isUnchanged asks, while this session keeps others from changing the table, whether someone has since the snapshot.
func (w *Stream) isUnchanged(ctx context.Context, p dumpPart) error {
	now, err := madeAt(ctx, w.server, p.Part.Table.Schema, []*CopyTable{p.Part.Table})
	if err == nil && now[0] != p.table.made {
		err = errChanged
	}
	return err
}

// writeAll makes statements of rows. The driver's own rows are read, without database/sql between: it takes a third of the time.
func (p dumpPart) writeAll(rows driver.Rows, out *dump.Writer) error {
	t := p.Part.Table
	columns := make([]CopyColumn, len(t.written))
	for n, c := range t.written {
		columns[n] = t.Columns[c]
	}
	cells := make([]driver.Value, len(columns))
	head := p.table.session
	buf := append(make([]byte, 0, dumpFile+2*dumpStatement), head...)
	var count int64
	begin := -1 // of the statement
	flush := func() error {
		if begin >= 0 {
			buf = append(buf, ";\n"...)
		}
		begin = -1
		if count == 0 {
			return nil
		}
		err := out.Add(p.file(), buf, count)
		buf, count = append(buf[:0], head...), 0
		return err
	}
	for {
		switch err := rows.Next(cells); {
		case errors.Is(err, io.EOF):
			return flush()
		case err != nil:
			return err
		}
		if begin < 0 {
			begin = len(buf)
			buf = append(append(buf, p.table.head...), '(')
		} else {
			buf = append(buf, ",\n("...)
		}
		for n := range columns {
			if n > 0 {
				buf = append(buf, ',')
			}
			var err error
			if buf, err = columns[n].appendCell(buf, cells[n]); err != nil {
				return err
			}
		}
		buf = append(buf, ')')
		if count++; len(buf)-begin < dumpStatement {
			continue
		}
		buf, begin = append(buf, ";\n"...), -1
		if len(buf) >= dumpFile {
			if err := flush(); err != nil {
				return err
			}
		}
	}
}

// appendCell writes the literal of a value as the driver hands it out, read through read(). It is one for the server's own client, too: what that takes for the end
// of a line or of a text is escaped.
func (c *CopyColumn) appendCell(dst []byte, v driver.Value) ([]byte, error) {
	switch x := v.(type) {
	case nil:
		return append(dst, "NULL"...), nil
	case int64:
		return strconv.AppendInt(dst, x, 10), nil
	case uint64:
		return strconv.AppendUint(dst, x, 10), nil
	case float64:
		switch c.Kind {
		case "bit", "enum", "year", "set":
			return strconv.AppendFloat(dst, x, 'f', -1, 64), nil
		}
		return appendDouble(dst, x), nil
	case []byte:
		switch c.Kind {
		case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "bit", "enum", "set", "year", "float", "double":
			return c.appendText(dst, x), nil
		case "inet6", "inet4", "uuid": // bytes of no character set would be taken for the address itself
			dst = append(dst, "_latin1"...)
		case "json": // MySQL makes no JSON of bytes that have no character set
			dst = append(dst, "_utf8mb4"...)
		}
		return appendEscaped(dst, x), nil
	}
	return nil, fmt.Errorf("column %s: the driver has a %T for %s", c.Name, v, c.Type)
}

// escapes are the bytes that a literal has another way to write, and that way.
var escapes = [256]byte{0: '0', '\n': 'n', '\r': 'r', 26: 'Z', '\'': '\'', '\\': '\\'}

func appendEscaped(dst, raw []byte) []byte {
	dst = append(dst, '\'')
	from := 0
	for i, b := range raw {
		if e := escapes[b]; e != 0 {
			dst = append(append(dst, raw[from:i]...), '\\', e)
			from = i + 1
		}
	}
	return append(append(dst, raw[from:]...), '\'')
}
