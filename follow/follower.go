package follow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stowage/farm"
	"stowage/feed"
	"stowage/mysql"
)

const (
	flushEvery = 10 * time.Millisecond // lines wait for those behind them no longer, and not at all for what has not come
	idleWait   = 100 * time.Millisecond
	saveEvery  = 250 * time.Millisecond // what is at most repeated after a kill
	lookEvery  = time.Second            // at who serves, and where the shard is
)

// Places tells where a shard is.
type Places interface {
	// Servers are those of a pair that can be read from, the best first, and which of them serve clients now.
	Servers(ctx context.Context, pair farm.PairName) (all []*mysql.Server, serving int, err error)
	// Serves is the pair that has the shard now; "" while nobody serves it.
	Serves(ctx context.Context) (farm.PairName, error)
	// Next is how the shard left the pair; nil while it is there.
	Next(ctx context.Context, pair farm.PairName, at mysql.Position) (*feed.Handover, error)
}

// Follower follows one shard.
type Follower struct {
	Places Places
	Sink   Sink
	State  State
	Keep   func(State) error // nil: nothing is kept
	To     mysql.Position    // where it ends, with exactly what this position holds; nil: nowhere
	// AcceptCascades follows tables with a foreign key that changes their rows, which the binary log does not show.
	AcceptCascades bool
	// Tell hears what happens to the connection. May be nil.
	Tell func(format string, args ...any)

	reader  *feed.Reader
	lines   *lines
	at      mysql.Position
	kept    mysql.Position // as State has it
	trx     mysql.Trx
	skipped bool // something was left out that To does not hold
	whole   bool // no transaction is half handed out

	saving                 chan error // how the keeping of a position ends that goes on beside the reading; nil: none does
	flushed, saved, looked time.Time
}

// Run follows until ctx ends, To is reached, or what is read ends it. The
// position is kept in any case.
func (f *Follower) Run(ctx context.Context) (err error) {
	f.at = f.State.At()
	f.kept = f.at
	defer func() { err = errors.Join(err, f.settled()) }() // nothing is written after the end
	for {
		next, err := f.onPair(ctx)
		// Where the old place has nothing more to say, what it says of itself is of no interest.
		if next == nil && err != nil && ctx.Err() == nil {
			if left, e := f.hasLeft(ctx); e == nil && left != nil {
				next = left
			}
		}
		if next == nil {
			return err
		}
		if err := f.enter(ctx, next); err != nil {
			return err
		}
	}
}

// enter goes on where the shard is now.
func (f *Follower) enter(ctx context.Context, h *feed.Handover) error {
	_, entered, err := h.Positions()
	if err != nil {
		return err
	}
	f.tell("%s moved from %s to %s: continuing there after %s", f.State.Shard, h.From, h.To, h.Entered)
	f.State.Pair, f.at = h.To, entered
	return f.keep(ctx)
}

// hasLeft is the handover by which the shard left, once everything before it is read.
func (f *Follower) hasLeft(ctx context.Context) (*feed.Handover, error) {
	h, err := f.Places.Next(ctx, f.State.Pair, f.at)
	if err != nil || h == nil {
		return nil, err
	}
	left, _, err := h.Positions()
	if err != nil || !f.at.Reached(left) {
		return nil, err
	}
	return h, nil
}

// onPair follows the shard in one pair, until it has left.
func (f *Follower) onPair(ctx context.Context) (*feed.Handover, error) {
	if h, err := f.hasLeft(ctx); h != nil || err != nil {
		return h, err
	}
	if f.isDone() {
		return nil, f.keep(ctx)
	}
	if err := f.open(ctx); err != nil {
		return nil, err
	}
	defer f.reader.Close()
	next, err := f.read(ctx)
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, farm.ErrRefused) {
		always, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer done()
		if e := f.keep(always); !errors.Is(err, e) { // a sink says once why it takes no more
			err = errors.Join(err, e)
		}
	}
	return next, err
}

// open reads the definitions and begins to read behind the position.
func (f *Follower) open(ctx context.Context) error {
	plain, err := f.definitions(ctx)
	if err != nil {
		return err
	}
	if f.lines, err = newLines(f.Sink, plain, f.State.Tenant); err != nil {
		return f.input(err, "narrow it with --tables")
	}
	if odd, err := f.lines.mean(ctx, plain); err != nil {
		return err
	} else if odd != "" {
		return f.input(errors.New(odd), "--tenant takes a value that the column can have")
	}
	f.reader, err = feed.Open(ctx, feed.Source{
		Servers:  func(ctx context.Context) ([]*mysql.Server, error) { return f.servers(ctx) },
		ServerID: f.State.ServerID, Schema: string(f.State.Shard), Tables: f.State.Tables, Tries: -1,
		Tell: func(text string) { f.tell("%s", text) },
	}, f.at)
	f.whole = true
	return f.explained(err)
}

func (f *Follower) servers(ctx context.Context) ([]*mysql.Server, error) {
	all, _, err := f.Places.Servers(ctx, f.State.Pair)
	return all, err
}

// read hands out lines until the shard has left, or To is reached.
func (f *Follower) read(ctx context.Context) (*feed.Handover, error) {
	f.looked = time.Now()
	for {
		wait := idleWait
		if !f.flushed.IsZero() {
			wait = 0
		}
		p, ok, err := f.reader.Next(ctx, wait)
		if err != nil {
			return nil, f.explained(err)
		}
		if ok {
			if err := f.take(ctx, p); err != nil {
				return nil, err
			}
		}
		if err := f.let(ctx, !ok); err != nil {
			return nil, err
		}
		if f.isDone() {
			f.at, f.skipped = f.To, false
			return nil, nil
		}
		if time.Since(f.looked) < lookEvery {
			continue
		}
		f.looked = time.Now()
		if h, err := f.look(ctx); h != nil || err != nil {
			return h, err
		}
	}
}

// isDone reports that everything was handed out that To holds.
func (f *Follower) isDone() bool { return f.To != nil && f.at.Reached(f.To) }

func (f *Follower) take(ctx context.Context, p feed.Piece) error {
	f.trx, f.whole = p.Trx, p.Last
	if f.To != nil && !f.To.Holds(p.Trx) {
		f.skipped = true
	} else {
		if p.IsRolledBack && !p.First {
			return f.refuse(fmt.Sprintf("a transaction of more than %s, or of large ones, was rolled back, but it had changed a table that cannot roll back", farm.Counted(feed.PieceRows, "row")))
		}
		if p.First {
			f.lines.on(f.reader.Server())
		}
		var odd *misfit
		if err := f.lines.take(ctx, p); errors.As(err, &odd) {
			return f.refuse(odd.why)
		} else if errors.Is(err, farm.ErrRefused) {
			return f.refusedBySink(err)
		} else if err != nil {
			return err
		}
	}
	if p.Last {
		f.at = p.At
	}
	if f.flushed.IsZero() {
		f.flushed = time.Now()
	}
	return nil
}

// let lets lines go that have waited for long enough, and keeps the position.
func (f *Follower) let(ctx context.Context, isIdle bool) error {
	if !f.flushed.IsZero() && (isIdle || time.Since(f.flushed) >= flushEvery) {
		f.flushed = time.Time{}
		if err := f.Sink.Flush(); err != nil {
			return err
		}
	}
	if time.Since(f.saved) < saveEvery {
		return nil
	}
	return f.begin(ctx)
}

// look goes to a side that serves where the one that is read does not any
// more, and finds out whether the shard has left.
func (f *Follower) look(ctx context.Context) (*feed.Handover, error) {
	h, err := f.hasLeft(ctx)
	if err != nil { // a store that is busy, a routing that cannot be read: later
		f.tell("the pair of %s cannot be found now: %v", f.State.Shard, err)
		return nil, nil
	}
	if h != nil || !f.whole {
		return h, nil
	}
	all, serving, err := f.Places.Servers(ctx, f.State.Pair)
	if err != nil || serving == 0 {
		return nil, nil // the one that is read goes on
	}
	if slices.ContainsFunc(all[:serving], func(s *mysql.Server) bool { return s.Address() == f.reader.Server().Address() }) {
		return nil, nil
	}
	was := f.reader.Server().Name()
	if err := f.reader.Again(ctx); err == nil && f.reader.Server().Name() != was {
		f.tell("%s is not in rotation: reading from %s", was, f.reader.Server().Name())
	}
	f.looked = f.looked.Add(10 * lookEvery) // the one that serves may not have the position yet, or any more
	return nil, nil
}

func (f *Follower) tell(format string, args ...any) {
	if f.Tell != nil {
		f.Tell(format, args...)
	}
}
