package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
)

// Stream is one session that carries rows: it reads and writes bytes as they
// are, in every character set, with the time zone UTC, without foreign key and
// check constraints, which held on the source already. It is not safe for
// several goroutines.
type Stream struct {
	server  *Server
	db      *sql.DB
	conn    *sql.Conn
	packet  int // how long a statement may be
	loader  *loader
	canLoad bool // the server takes LOAD DATA LOCAL, and its binary log will have rows
}

const (
	statementBytes = 512 << 10 // how long a statement of many rows gets
	chunkBytes     = 16 << 20  // and how much of one chunk is kept in memory
)

const (
	strictMode  = "'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION'"
	lenientMode = "'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION'"
)

// Stream opens such a session. lockWait bounds every wait for a lock.
func (s *Server) Stream(ctx context.Context, lockWait time.Duration) (*Stream, error) {
	return s.stream(ctx, lockWait, func(c sqldriver.Connector) sqldriver.Connector { return c })
}

// stream: by is what its statements pass through. Rows that it writes tell the trail of themselves.
func (s *Server) stream(ctx context.Context, lockWait time.Duration, by func(sqldriver.Connector) sqldriver.Connector) (*Stream, error) {
	seconds := strconv.Itoa(max(1, int(lockWait.Round(time.Second)/time.Second)))
	connector, err := Connector(s.address, s.account, func(cfg *driver.Config) {
		cfg.MaxAllowedPacket = 0 // as the server says
		cfg.Params = map[string]string{
			"lock_wait_timeout": seconds, "innodb_lock_wait_timeout": seconds,
			"sql_mode": strictMode, "time_zone": "'+00:00'", "foreign_key_checks": "0",
			"wait_timeout": "28800", "net_write_timeout": "600", // a throttle may wait for hours between two chunks
		}
	})
	if err != nil {
		return nil, s.fail("connect", err)
	}
	w := &Stream{server: s, db: sql.OpenDB(by(connector)), loader: newLoader()}
	if w.conn, err = w.db.Conn(ctx); err != nil {
		w.Close()
		return nil, s.fail("connect", err)
	}
	if err := w.begin(ctx); err != nil {
		w.Close()
		return nil, s.fail("connect", err)
	}
	return w, nil
}

func (w *Stream) begin(ctx context.Context) error {
	var version string
	if err := w.conn.QueryRowContext(ctx, "SELECT @@max_allowed_packet, VERSION(), @@local_infile = 1 AND @@binlog_format = 'ROW'").Scan(&w.packet, &version, &w.canLoad); err != nil {
		return err
	}
	settings := []string{"SET NAMES binary", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"}
	if parseFlavor(version).HasGTIDDomains() {
		// A transaction whose program froze or lost its network holds locks for so long and no longer.
		settings = append(settings, "SET SESSION idle_transaction_timeout = 60, check_constraint_checks = 0")
	}
	for _, st := range settings {
		if _, err := w.conn.ExecContext(ctx, st); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the session; an open transaction is rolled back.
func (w *Stream) Close() error {
	w.loader.close()
	if w.conn != nil {
		w.conn.Close()
	}
	return w.db.Close()
}

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
		first = ident(p.Table.Columns[p.Table.Key[0]].Name)
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
	return w.server.readRows(ctx, w.conn, p.Table, p.where(p.After)+p.Table.first(limit)+" LOCK IN SHARE MODE", to, load)
}

// ReadKeys reads the rows that have these keys, under the same locks.
func (w *Stream) ReadKeys(ctx context.Context, t *CopyTable, keys [][]string, to *CopyTable) (Chunk, error) {
	return w.server.readRows(ctx, w.conn, t, " WHERE "+t.anyOf(keys)+t.first(len(keys))+" LOCK IN SHARE MODE", to, false)
}

// readRows makes statements for the table `to` of rows of t, or lines for it.
func (s *Server) readRows(ctx context.Context, conn *sql.Conn, t *CopyTable, which string, to *CopyTable, load bool) (Chunk, error) {
	exprs := make([]string, 0, len(t.Columns))
	for _, c := range t.written {
		exprs = append(exprs, t.Columns[c].read())
	}
	exprs = append(exprs, t.keyValues()...)
	rows, err := conn.QueryContext(ctx, "SELECT "+strings.Join(exprs, ", ")+" FROM "+t.source()+which)
	if err != nil {
		return Chunk{}, s.fail("read rows of "+t.At(), err)
	}
	defer rows.Close()
	build := newRows(to)
	build.load = load
	cells := make([]sql.RawBytes, len(exprs))
	into := make([]any, len(exprs))
	for i := range cells {
		into[i] = &cells[i]
	}
	out := Chunk{Loaded: load}
	for rows.Next() {
		if out.Cut = build.bytes+len(build.buf) > chunkBytes; out.Cut {
			break
		}
		if err := rows.Scan(into...); err != nil {
			return Chunk{}, s.fail("read rows of "+t.At(), err)
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
		return Chunk{}, s.fail("read rows of "+t.At(), err)
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

// ErrSuperseded: another copier has taken this job over.
var ErrSuperseded = errors.New("another copier has taken over this job")

// Write carries out cargo and a mark in one transaction, which happens as
// a whole and only while epoch is the job's. The mark comes first: whoever
// reads the transaction in the binary log knows by its first row whose it is.
// Damaged reports that a value was not accepted as it is and was written
// leniently; a comparison will tell whether it is the same. Of cargo that was
// to be loaded ErrNotLoaded is the error then.
func (w *Stream) Write(ctx context.Context, m Marks, epoch int64, mark string, cargo Cargo) (damaged error, err error) {
	told := w.tell(ctx, cargo)
	defer func() { told(err) }()
	err = w.write(ctx, m, epoch, mark, cargo)
	if cargo.load == nil && refusedValue[CodeOf(err)] {
		damaged = err
		if _, err := w.conn.ExecContext(ctx, "SET SESSION sql_mode = "+lenientMode); err != nil {
			return damaged, w.server.fail("write rows", err)
		}
		err = w.write(ctx, m, epoch, mark, cargo)
		if _, back := w.conn.ExecContext(ctx, "SET SESSION sql_mode = "+strictMode); err == nil && back != nil {
			err = w.server.fail("write rows", back)
		}
	}
	return damaged, err
}

// refusedValue are the errors of strict mode: an ENUM with the empty value of
// index 0, text that is not valid in its character set, and the like, which
// only a lenient session could have written on the source either.
var refusedValue = map[uint16]bool{1265: true, 1366: true, 1292: true, 1264: true, 1406: true}

func (w *Stream) write(ctx context.Context, m Marks, epoch int64, mark string, cargo Cargo) error {
	err := w.within(ctx, func(run func(string) error) error {
		var now int64
		query := "SELECT epoch FROM " + m.table("job") + " WHERE job = " + quote(m.Job) + " LOCK IN SHARE MODE"
		if err := w.conn.QueryRowContext(ctx, query).Scan(&now); err != nil {
			return err
		}
		if now != epoch {
			return ErrSuperseded
		}
		if err := run(mark); err != nil {
			return err
		}
		if cargo.load != nil && len(cargo.Statements) > 0 {
			return w.load(ctx, cargo.load, cargo.Statements)
		}
		for _, st := range cargo.Statements {
			if err := run(string(st)); err != nil {
				return err
			}
		}
		return nil
	})
	return w.server.fail("write rows", err)
}

// within does work in one transaction.
func (w *Stream) within(ctx context.Context, work func(run func(string) error) error) error {
	run := func(text string) error {
		if len(text)+1024 > w.packet {
			return fmt.Errorf("a row takes %d bytes in a statement, max_allowed_packet is %d", len(text), w.packet)
		}
		_, err := w.conn.ExecContext(ctx, text)
		return err
	}
	if err := run("START TRANSACTION"); err != nil {
		return err
	}
	err := work(run)
	if err == nil {
		err = run("COMMIT")
	}
	if err != nil {
		_ = run("ROLLBACK") // a broken connection is rolled back by the server
	}
	return err
}

// IsLockWait reports that a lock was not to be had in time, or a deadlock: the
// transaction can be tried again.
func IsLockWait(err error) bool {
	return slices.Contains([]uint16{1205, 1213}, CodeOf(err))
}

// Batch collects changes of one or more transactions, table by table: within
// a table their order is kept, and between tables it does not matter, for no
// constraint is checked and no trigger is there yet.
type Batch struct {
	tables []*batchOf
	index  map[string]int
	Rows   int
	Bytes  int
}

type batchOf struct {
	table   *CopyTable
	rows    *rowsOf // REPLACEs not yet flushed
	deletes []string
	out     [][]byte
}

func (b *Batch) of(t *CopyTable) *batchOf {
	if b.index == nil {
		b.index = map[string]int{}
	}
	at, ok := b.index[t.Name]
	if !ok {
		at = len(b.tables)
		b.index[t.Name] = at
		b.tables = append(b.tables, &batchOf{table: t})
	}
	return b.tables[at]
}

// Put adds a row as the event has it.
func (b *Batch) Put(t *CopyTable, row []any) error {
	o := b.of(t)
	if len(row) != len(t.Columns) {
		return fmt.Errorf("table %s has %s, an event has %d", t.Name, farm.Counted(len(t.Columns), "column"), len(row))
	}
	o.flushDeletes()
	if o.rows == nil {
		o.rows = newRows(t)
	}
	before := len(o.rows.buf)
	o.rows.begin()
	for _, c := range t.written {
		var err error
		if o.rows.buf, err = t.Columns[c].appendEvent(o.rows.buf, row[c]); err != nil {
			return err
		}
		o.rows.buf = append(o.rows.buf, ',')
	}
	grown := len(o.rows.buf) - before
	o.rows.end()
	b.Rows++
	b.Bytes += grown
	return nil
}

// Delete adds the end of a row.
func (b *Batch) Delete(t *CopyTable, row []any) error {
	o := b.of(t)
	if len(row) != len(t.Columns) {
		return fmt.Errorf("table %s has %s, an event has %d", t.Name, farm.Counted(len(t.Columns), "column"), len(row))
	}
	o.flushRows()
	key, err := t.keyOf(row)
	if err != nil {
		return err
	}
	term := t.same(key)
	o.deletes = append(o.deletes, term)
	if len(o.deletes) >= 200 {
		o.flushDeletes()
	}
	b.Rows++
	b.Bytes += len(term)
	return nil
}

// Change adds an update: the whole new row, and the end of the old one where the key is another.
func (b *Batch) Change(t *CopyTable, was, is []any) error {
	if len(was) != len(t.Columns) || len(is) != len(t.Columns) {
		return fmt.Errorf("table %s has %s, an event has %d", t.Name, farm.Counted(len(t.Columns), "column"), len(is))
	}
	old, err := t.keyOf(was)
	if err != nil {
		return err
	}
	now, err := t.keyOf(is)
	if err != nil {
		return err
	}
	if strings.Join(old, ",") != strings.Join(now, ",") {
		if err := b.Delete(t, was); err != nil {
			return err
		}
	}
	return b.Put(t, is)
}

func (t *CopyTable) keyOf(row []any) ([]string, error) {
	key := make([]string, len(t.Key))
	for i, k := range t.Key {
		var err error
		if key[i], err = t.Columns[k].keyEvent(row[k]); err != nil {
			return nil, err
		}
	}
	return key, nil
}

func (o *batchOf) flushRows() {
	if o.rows != nil {
		o.out = append(o.out, o.rows.done()...)
		o.rows = nil
	}
}

func (o *batchOf) flushDeletes() {
	if len(o.deletes) > 0 {
		o.out = append(o.out, []byte("DELETE FROM "+o.table.At()+" WHERE "+strings.Join(o.deletes, " OR ")))
		o.deletes = nil
	}
}

// Statements are what carries the batch out.
func (b *Batch) Statements() [][]byte {
	var out [][]byte
	for _, o := range b.tables {
		o.flushRows()
		o.flushDeletes()
		out = append(out, o.out...)
	}
	return out
}

// delete is a statement that removes the rows with these keys.
func (t *CopyTable) delete(keys [][]string) []byte {
	return []byte("DELETE FROM " + t.At() + " WHERE " + t.anyOf(keys))
}
