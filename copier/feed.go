package copier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"stowage/farm"
	"stowage/mysql"
)

const (
	batchRows  = 2000                  // changes in one transaction on the target
	batchBytes = 1 << 20               // or so many bytes
	batchTime  = 20 * time.Millisecond // or whatever came in so long
	idleMark   = time.Second           // how old the kept mark gets while only others write
	// pieceRows is where a transaction of the source is carried in pieces: the
	// mark stays before it until its end, and what is applied twice after a
	// kill comes out the same, for rows are written whole and by their key.
	pieceRows = 20000
)

// feed applies every change of the source behind a mark, in order; beside a
// target that follows by itself it only looks at them.
type feed struct {
	run    *run
	reader *mysql.BinlogReader
	out    *mysql.Stream

	batch  *mysql.Batch
	since  time.Time      // of the batch's first change
	at     mysql.Position // read to the end
	marked mysql.Position // as the mark says
	saved  time.Time
	trx    transaction
	lost   bool // the reader was begun again and has not brought anything yet

	mu      sync.Mutex
	applied mysql.Position
	failed  error
	moved   chan struct{}
}

// transaction is the one that is being read.
type transaction struct {
	id      mysql.Trx
	changes []mysql.Change
	rows    int
	isOwn   bool // the copier's in the other direction
	isXA    bool
	pieces  bool // some of it is applied
}

func newFeed(r *run, reader *mysql.BinlogReader, out *mysql.Stream, at mysql.Position) *feed {
	return &feed{run: r, reader: reader, out: out, batch: &mysql.Batch{}, at: maps.Clone(at), marked: maps.Clone(at), saved: time.Now(),
		applied: maps.Clone(at), moved: make(chan struct{})}
}

// loop runs until ctx ends or something fails; reach hears of it.
func (f *feed) loop(ctx context.Context) {
	err := f.follow(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = err
	close(f.moved)
	f.moved = make(chan struct{})
}

func (f *feed) follow(ctx context.Context) error {
	for {
		wait := 200 * time.Millisecond
		if f.batch.Rows > 0 {
			wait = batchTime
		}
		c, ok, err := f.reader.Next(ctx, wait)
		if err != nil {
			if err := f.mend(ctx, err); err != nil {
				return err
			}
			continue
		}
		f.lost = f.lost && !ok
		if !ok {
			if err := f.flush(ctx, false); err != nil {
				return err
			}
			continue
		}
		if err := f.take(ctx, c); err != nil {
			return err
		}
	}
}

// mend begins to read again where the last whole transaction ended, when the
// connection was lost: a source that restarts, a throttle that kept us from
// reading for too long. Twice without a change in between waits longer.
func (f *feed) mend(ctx context.Context, cause error) error {
	if ctx.Err() != nil || mysql.IsReaderRefused(cause) {
		return cause
	}
	f.trx = transaction{}
	for try := range 20 {
		if f.lost || try > 0 {
			if err := pause(ctx, time.Second); err != nil {
				return err
			}
		}
		f.lost = true
		f.run.c.tell(farm.StepWaiting, 0, 0, "the reader of %s is begun again: %v", f.run.from.Name(), cause)
		reader, err := f.run.from.Binlog(ctx, f.run.c.ServerID, f.at, f.run.c.Schema)
		if err == nil {
			f.reader.Close()
			f.reader = reader
			return nil
		}
		if mysql.IsReaderRefused(err) {
			return err
		}
	}
	return cause
}

func (f *feed) take(ctx context.Context, c mysql.Change) error {
	switch c.Kind {
	case mysql.Begin:
		return f.begin(ctx, c.Trx)
	case mysql.Insert, mysql.Update, mysql.Delete:
		return f.rows(ctx, c)
	case mysql.Statement:
		return f.statement(c)
	case mysql.Rollback:
		if f.trx.pieces && f.run.native == nil {
			return f.cannot("a transaction of more than %d rows was rolled back after a change to a table that cannot be", pieceRows)
		}
		f.trx.changes = nil
	}
	return f.commit(ctx)
}

// begin waits until the transaction may be applied.
func (f *feed) begin(ctx context.Context, x mysql.Trx) error {
	if f.run.native != nil {
		f.trx = transaction{id: x}
		if !slices.ContainsFunc(f.run.c.Native.Domains, x.IsOf) {
			return f.cannot("transaction %s is of a GTID domain that neither side of the source writes", x)
		}
		return nil
	}
	for {
		ok, moved := f.run.hold.admit(x)
		if ok {
			f.trx = transaction{id: x}
			return nil
		}
		if err := f.flush(ctx, false); err != nil {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *feed) rows(ctx context.Context, c mysql.Change) error {
	if c.Schema != f.run.c.Schema || f.trx.isOwn {
		return nil
	}
	if mysql.IsMark(c.Table) {
		f.trx.isOwn = true // the mark is the first row of every transaction of ours
		return nil
	}
	if f.trx.isXA {
		return f.cannot("an XA transaction wrote to table %s: its rows are in the binary log before it is decided", c.Table)
	}
	f.trx.changes = append(f.trx.changes, c)
	f.trx.rows += len(c.Rows)
	if f.run.native != nil {
		f.trx.pieces = true
		return f.apply()
	}
	if f.trx.rows < pieceRows {
		return nil
	}
	f.trx.pieces, f.trx.rows = true, 0
	if err := f.apply(); err != nil {
		return err
	}
	return f.flush(ctx, true)
}

// apply puts the transaction's rows into the batch, whole, as the event has
// them: no event is left out because its row will be copied later, and none is
// read again by its key. A guard only sees whether it could.
func (f *feed) apply() error {
	if len(f.trx.changes) > 0 && f.batch.Rows == 0 {
		f.since = time.Now()
	}
	for _, c := range f.trx.changes {
		t := f.run.tables[strings.TrimPrefix(c.Table, mysql.AsidePrefix)]
		if t == nil {
			return f.cannot("table %s is new", c.Table)
		}
		if err := c.Fits(t); err != nil {
			return f.cannot("%v", err)
		}
		if f.run.native != nil {
			continue
		}
		if err := put(f.batch, t, c); err != nil {
			return f.run.c.fail("apply change at "+c.Trx.String(), err)
		}
	}
	f.trx.changes = nil
	return nil
}

func put(b *mysql.Batch, t *mysql.CopyTable, c mysql.Change) error {
	for i := 0; i < len(c.Rows); i++ {
		var err error
		switch c.Kind {
		case mysql.Insert:
			err = b.Put(t, c.Rows[i])
		case mysql.Delete:
			err = b.Delete(t, c.Rows[i])
		case mysql.Update:
			err = b.Change(t, c.Rows[i], c.Rows[i+1])
			i++
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *feed) statement(c mysql.Change) error {
	switch mysql.Understand(f.run.c.Schema, c.Schema, c.Text) {
	case mysql.Definition:
		return f.cannot("another client ran: %s", short(c.Text))
	case mysql.Writing:
		return f.cannot("a client writes by statements (binlog_format), not by rows: %s", short(c.Text))
	case mysql.TwoPhase:
		if len(f.trx.changes) > 0 || f.trx.pieces {
			return f.cannot("an XA transaction wrote to the database: its rows are in the binary log before it is decided")
		}
		f.trx.isXA = true
	case mysql.PartUndone:
		if len(f.trx.changes) > 0 || f.trx.pieces {
			return f.cannot("part of a transaction was rolled back after a change to a table that cannot be: %s", short(c.Text))
		}
	}
	return nil
}

func short(text string) string {
	if r := []rune(text); len(r) > 200 {
		return string(r[:200]) + " ..."
	}
	return text
}

// changedError is an ErrDefinition: which transaction, and what it did.
type changedError struct{ at, what string }

func (e *changedError) Error() string        { return ErrDefinition.Error() + ": " + e.what }
func (e *changedError) Is(target error) bool { return target == ErrDefinition }

// cannot is the end of the job as it is. The mark stays before the change, so
// that whoever tries again meets it again.
func (f *feed) cannot(format string, args ...any) error {
	return &farm.Error{Op: "carry change at " + f.trx.id.String(), Subject: f.run.c.Schema, Err: fmt.Errorf("%w: %w", farm.ErrRefused, &changedError{f.trx.id.String(), fmt.Sprintf(format, args...)}),
		Hint: f.cannotHint()}
}

func (f *feed) cannotHint() string {
	if f.run.to == f.run.c.From {
		return "" // Copy.lost has one
	}
	return "undo the move of this shard and begin again when the change is done; until then the source serves as before"
}

func (f *feed) commit(ctx context.Context) error {
	if err := f.apply(); err != nil {
		return err
	}
	f.at = f.at.With(f.trx.id)
	if f.batch.Rows == 0 {
		f.publish()
		if time.Since(f.saved) < idleMark {
			return nil
		}
		return f.flush(ctx, false)
	}
	if f.batch.Rows >= batchRows || f.batch.Bytes >= batchBytes || time.Since(f.since) >= batchTime {
		return f.flush(ctx, false)
	}
	return nil
}

// flush writes the batch and, unless a transaction is only half there, the
// mark behind it, in one transaction.
func (f *feed) flush(ctx context.Context, half bool) error {
	isNews := !f.at.Equal(f.marked)
	if f.batch.Rows == 0 && (!isNews || time.Since(f.saved) < idleMark) {
		return nil
	}
	if err := f.run.c.throttle(ctx); err != nil {
		return err
	}
	cargo, mark := f.batch.Cargo(), f.at
	if f.run.native != nil {
		var err error
		if mark, err = f.run.native.safe(ctx, f.at); err != nil {
			return err
		}
	}
	for {
		damaged, err := f.out.Write(ctx, f.run.c.marks(), f.run.epoch, f.run.c.marks().MoveMark(mark), cargo)
		if damaged != nil {
			f.run.c.tell(farm.StepProgress, 0, 0, "a change was written leniently, the comparison will judge it: %v", damaged)
		}
		if err == nil {
			break
		}
		if !mysql.IsLockWait(err) {
			return err
		}
		f.run.c.tell(farm.StepWaiting, 0, 0, "changes wait for a lock on %s", f.run.to.Name())
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	f.batch = &mysql.Batch{}
	f.marked, f.saved = maps.Clone(f.at), time.Now()
	if !half {
		f.publish()
	}
	return nil
}

// publish says what is applied; the caller's batch is empty.
func (f *feed) publish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.applied = maps.Clone(f.at)
	close(f.moved)
	f.moved = make(chan struct{})
}

// reach waits until everything up to goal is applied.
func (f *feed) reach(ctx context.Context, goal mysql.Position) error {
	for {
		f.mu.Lock()
		reached, failed, moved := f.applied.Reached(goal), f.failed, f.moved
		f.mu.Unlock()
		switch {
		case reached:
			return nil
		case failed != nil && errors.Is(failed, context.Canceled) && ctx.Err() == nil:
			return f.run.c.fail("apply changes", errors.New("the feed was stopped"))
		case failed != nil:
			return failed
		}
		select {
		case <-moved:
		case <-ctx.Done():
			f.mu.Lock()
			at := f.applied.String()
			f.mu.Unlock()
			return f.run.c.fail("apply changes up to "+goal.String(), fmt.Errorf("%w: at %s", ctx.Err(), at))
		}
	}
}

// err is why the feed has ended, nil while it runs.
func (f *feed) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
