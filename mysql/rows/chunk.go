package rows

import (
	"context"
	"database/sql"
	"strings"

	"stowage/mysql"
)

const (
	statementBytes = 512 << 10 // how long a statement of many rows gets
	chunkBytes     = 16 << 20  // and how much of one chunk is kept in memory
)

// Part is a range of a table's keys that one stream copies by itself.
type Part struct {
	Table *CopyTable
	N     int
	Lower string // literal: the first column of the key is greater, "" for no bound
	Upper string // literal: the first column of the key is at most this
	After []string
	Done  bool
	Rows  int64
}

func (p *Part) where(after []string) string {
	var conditions []string
	first := ""
	if len(p.Table.Key) > 0 {
		first = mysql.Ident(p.Table.Columns[p.Table.Key[0]].Name)
	}
	switch {
	case after != nil:
		conditions = append(conditions, p.Table.beyond(after, ">"))
	case p.Lower != "":
		conditions = append(conditions, first+" > "+p.Lower)
	}
	if p.Upper != "" {
		conditions = append(conditions, first+" <= "+p.Upper)
	}
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}

// Chunk is some rows, ready to be written.
type Chunk struct {
	Statements [][]byte // or, where it is Loaded, lines for LOAD DATA
	Loaded     bool
	Rows       int
	Bytes      int
	Last       []string // key of the last row; nil: there was none
	Cut        bool     // it became too long: there were more rows
}

// ReadChunk reads up to limit rows of a part in key order, with shared locks
// until the last of them has come: a change that is in the binary log and not
// yet visible is waited for. The statements write to the table `to`; with load
// they are lines for it.
func (w *Stream) ReadChunk(ctx context.Context, p *Part, limit int, to *CopyTable, load bool) (Chunk, error) {
	return readRows(ctx, w.server, w.conn, p.Table, p.where(p.After)+p.Table.first(limit)+" LOCK IN SHARE MODE", to, load)
}

// ReadKeys reads the rows that have these keys, under the same locks.
func (w *Stream) ReadKeys(ctx context.Context, t *CopyTable, keys [][]string, to *CopyTable) (Chunk, error) {
	return readRows(ctx, w.server, w.conn, t, " WHERE "+t.anyOf(keys)+t.first(len(keys))+" LOCK IN SHARE MODE", to, false)
}

// readRows makes statements for the table `to` of rows of t, or lines for it.
func readRows(ctx context.Context, s mysql.Door, conn *sql.Conn, t *CopyTable, which string, to *CopyTable, load bool) (Chunk, error) {
	exprs := make([]string, 0, len(t.Columns))
	for _, c := range t.written {
		exprs = append(exprs, t.Columns[c].read())
	}
	exprs = append(exprs, t.keyValues()...)
	rows, err := conn.QueryContext(ctx, "SELECT "+strings.Join(exprs, ", ")+" FROM "+t.source()+which)
	if err != nil {
		return Chunk{}, s.Fail("read rows of "+t.At(), err)
	}
	defer rows.Close()
	build := newRows(to)
	build.load = load
	cells, into := rawCells(len(exprs))
	out := Chunk{Loaded: load}
	for rows.Next() {
		if out.Cut = build.bytes+len(build.buf) > chunkBytes; out.Cut {
			break
		}
		if err := rows.Scan(into...); err != nil {
			return Chunk{}, s.Fail("read rows of "+t.At(), err)
		}
		if load {
			build.line(cells[:len(t.written)])
		} else {
			build.begin()
			for i, c := range t.written {
				build.buf = t.Columns[c].appendText(build.buf, cells[i])
				build.buf = append(build.buf, ',')
			}
			build.end()
		}
		out.Last = t.keyOfCells(cells[len(t.written):])
	}
	if err := rows.Err(); err != nil {
		return Chunk{}, s.Fail("read rows of "+t.At(), err)
	}
	out.Statements, out.Rows, out.Bytes = build.done(), build.rows, build.bytes
	return out, nil
}

// rowsOf builds statements that write many rows of one table, or lines for LOAD DATA.
type rowsOf struct {
	load  bool
	head  string
	buf   []byte
	out   [][]byte
	rows  int
	bytes int
}

func newRows(t *CopyTable) *rowsOf { return &rowsOf{head: t.replaceHead()} }

func (b *rowsOf) begin() {
	if len(b.buf) == 0 {
		b.buf = append(make([]byte, 0, 16<<10), b.head...)
	} else {
		b.buf = append(b.buf, ',')
	}
	b.buf = append(b.buf, '(')
}

func (b *rowsOf) end() {
	if b.buf[len(b.buf)-1] == ',' {
		b.buf = b.buf[:len(b.buf)-1]
	}
	b.buf = append(b.buf, ')')
	b.counted()
}

// line adds a row as LOAD DATA reads it.
func (b *rowsOf) line(cells []sql.RawBytes) {
	if b.buf == nil {
		b.buf = make([]byte, 0, statementBytes+statementBytes/8)
	}
	for i, c := range cells {
		if i > 0 {
			b.buf = append(b.buf, '\t')
		}
		b.buf = appendField(b.buf, c)
	}
	b.buf = append(b.buf, '\n')
	b.counted()
}

func (b *rowsOf) counted() {
	b.rows++
	if len(b.buf) >= statementBytes {
		b.flush()
	}
}

func (b *rowsOf) flush() {
	if len(b.buf) > 0 {
		b.bytes += len(b.buf)
		b.out = append(b.out, b.buf)
		b.buf = nil
	}
}

func (b *rowsOf) done() [][]byte {
	b.flush()
	return b.out
}
