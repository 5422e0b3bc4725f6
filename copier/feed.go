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
	binlogfeed "stowage/feed"
	"stowage/mysql"
	"stowage/mysql/rows"
)

const (
	batchRows  = 2000                  // changes in one transaction on the target
	batchBytes = 1 << 20               // or so many bytes
	batchTime  = 20 * time.Millisecond // or whatever came in so long
	idleMark   = time.Second           // how old the kept mark gets while only others write
)

// feed applies every change of the source behind a mark, in order; beside a
// target that follows by itself it only looks at them.
type feed struct {
	run    *run
	reader *binlogfeed.Reader
	out    *rows.Stream

	batch  *rows.Batch
	since  time.Time      // of the batch's first change
	at     mysql.Position // read to the end
	marked mysql.Position // as the mark says
	saved  time.Time
	trx    mysql.Trx // the one that is being applied

	mu      sync.Mutex
	applied mysql.Position
	failed  error
	moved   chan struct{}
}

func newFeed(r *run, reader *binlogfeed.Reader, out *rows.Stream, at mysql.Position) *feed {
	return &feed{run: r, reader: reader, out: out, batch: &rows.Batch{}, at: maps.Clone(at), marked: maps.Clone(at), saved: time.Now(),
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
		p, ok, err := f.reader.Next(ctx, wait)
		var found *binlogfeed.Stopped
		switch {
		case errors.As(err, &found):
			f.trx = found.Trx
			return f.cannot("%s", found.What)
		case err != nil:
			return err
		case ok:
			err = f.take(ctx, p)
		default:
			err = f.flush(ctx, false)
		}
		if err != nil {
			return err
		}
	}
}

// take applies a transaction, or a piece of one that is too large to be held:
// the mark stays before it until its end, and what is applied twice after a
// kill comes out the same, for rows are written whole and by their key.
func (f *feed) take(ctx context.Context, p binlogfeed.Piece) error {
	if p.First {
		if err := f.begin(ctx, p.Trx); err != nil {
			return err
		}
	}
	if p.IsRolledBack && !p.First && f.run.native == nil {
		return f.cannot("a transaction of more than %s, or of large ones, was rolled back, but it had changed a table that cannot roll back", farm.Counted(binlogfeed.PieceRows, "row"))
	}
	if err := f.apply(p.Changes); err != nil {
		return err
	}
	if !p.Last {
		return f.flush(ctx, true)
	}
	f.at = p.At
	return f.commit(ctx)
}

// begin waits until the transaction may be applied.
func (f *feed) begin(ctx context.Context, x mysql.Trx) error {
	f.trx = x
	if f.run.native != nil {
		if !slices.ContainsFunc(f.run.c.Native.Domains, x.IsOf) {
			return f.cannot("transaction %s is of a GTID domain that neither side of the source writes", x)
		}
		return nil
	}
	for {
		ok, moved := f.run.hold.admit(x)
		if ok {
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

// apply puts the transaction's rows into the batch, whole, as the event has
// them: no event is left out because its row will be copied later, and none is
// read again by its key. A guard only sees whether it could.
func (f *feed) apply(changes []mysql.Change) error {
	if len(changes) > 0 && f.batch.Rows == 0 {
		f.since = time.Now()
	}
	for _, c := range changes {
		t := f.run.tables[strings.TrimPrefix(c.Table, mysql.AsidePrefix)]
		if t == nil {
			return f.cannot("table %s is new", c.Table)
		}
		if err := t.Fits(c); err != nil {
			return f.cannot("%v", err)
		}
		if f.run.native != nil {
			continue
		}
		if err := put(f.batch, t, c); err != nil {
			return f.run.c.fail("apply change at "+c.Trx.String(), err)
		}
	}
	return nil
}

func put(b *rows.Batch, t *rows.CopyTable, c mysql.Change) error {
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

// changedError is an ErrDefinition: which transaction, and what it did.
type changedError struct{ at, what string }

func (e *changedError) Error() string        { return ErrDefinition.Error() + ": " + e.what }
func (e *changedError) Is(target error) bool { return target == ErrDefinition }

// cannot is the end of the job as it is. The mark stays before the change, so
// that whoever tries again meets it again.
func (f *feed) cannot(format string, args ...any) error {
	return &farm.Error{Op: "carry change at " + f.trx.String(), Subject: f.run.c.Schema, Err: fmt.Errorf("%w: %w", farm.ErrRefused, &changedError{f.trx.String(), fmt.Sprintf(format, args...)}),
		Hint: f.cannotHint()}
}

func (f *feed) cannotHint() string {
	if f.run.to == f.run.c.From {
		return "" // Copy.lost has one
	}
	return "undo the move of this shard and begin again when the change is done; until then the source serves as before"
}

func (f *feed) commit(ctx context.Context) error {
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
		if !rows.IsLockWait(err) {
			return err
		}
		f.run.c.tell(farm.StepWaiting, 0, 0, "changes wait for a lock on %s", f.run.to.Name())
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	f.batch = &rows.Batch{}
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
