package move

import (
	"context"
	"fmt"

	"stowage/copier"
	"stowage/farm"
)

// How a shard's rows get to the target.
type How string

const (
	// ByCopier: our own copier reads rows by key and changes from the binary log.
	ByCopier How = "copier"
	// ByReplication: rows by the copier, and from then on changes by the target's
	// own replication, over a connection that is filtered to the shard.
	ByReplication How = "replication"
)

// carrier carries one database from a source into a target that serves others,
// beside its clients. Every method reads the truth first, may be run again
// after a kill at any moment, and returns when ctx ends.
type carrier interface {
	// refusals is everything that cannot be carried, with remedies; reads only.
	refusals(ctx context.Context) ([]farm.Finding, error)
	// prepare makes the database and its tables on the target, and the marks.
	prepare(ctx context.Context) error
	// carry copies all rows and applies all changes until the target is within
	// moments of the source. rest is asked before each piece.
	carry(ctx context.Context, rest func(context.Context) error) error
	// finish makes indexes, views, routines, triggers and events (disabled).
	finish(ctx context.Context) error
	// compare sums every row on both ends at one position. What differs is
	// described, not failed.
	compare(ctx context.Context) (differ []string, err error)
	// fence locks the source's tables against writers; fenceBack the target's,
	// on the way back. The latter is refused (farm.ErrRefused) when there is
	// nothing to bring back.
	fence(ctx context.Context) (shardFence, error)
	fenceBack(ctx context.Context) (shardFence, error)
	// unfence gives the source's tables their names and ends every lock, from
	// any state before the flip.
	unfence(ctx context.Context) error
	// back carries what is written on the target to the fenced source, until
	// ctx ends.
	back(ctx context.Context) error
	// backNow is back until the source has what is written there by now. Both,
	// and fenceBack and Reach of its fence, find that there is no way back
	// (copier.NoWayBack).
	backNow(ctx context.Context) error
	// canServe reports whether clients may be on the target.
	canServe(ctx context.Context) (bool, error)
	// settle removes the marks and the fenced tables: there is no way back.
	settle(ctx context.Context) error
	// discard removes from the target what this move made there.
	discard(ctx context.Context) error
}

// shardFence is a side whose tables are locked. Whoever gives up calls Unlock,
// whatever has been done.
type shardFence interface {
	Reach(ctx context.Context) error  // until the other side has all that was written before the lock
	Rename(ctx context.Context) error // queued behind the lock, before any writer
	Unlock(ctx context.Context) error // the RENAME is carried out, and the other side made ready for clients
}

// copying is the carrier ByCopier and, with a Native, ByReplication: they
// differ in who applies changes between finish and the fence.
type copying struct {
	*copier.Copy
	obstacles func(context.Context) ([]farm.Finding, error) // to the Native
}

func (c copying) refusals(ctx context.Context) ([]farm.Finding, error) {
	out, err := c.Refusals(ctx)
	if err != nil || c.Native == nil {
		return out, err
	}
	more, err := c.obstacles(ctx)
	return append(out, more...), err
}

func (c copying) prepare(ctx context.Context) error { return c.Prepare(ctx) }
func (c copying) finish(ctx context.Context) error  { return c.Finish(ctx) }
func (c copying) unfence(ctx context.Context) error { return c.Unfence(ctx) }
func (c copying) back(ctx context.Context) error    { return c.Back(ctx) }
func (c copying) backNow(ctx context.Context) error { return c.BackNow(ctx) }
func (c copying) settle(ctx context.Context) error  { return c.Settle(ctx) }
func (c copying) discard(ctx context.Context) error { return c.Discard(ctx) }

func (c copying) canServe(ctx context.Context) (bool, error) { return c.CanServe(ctx) }

func (c copying) carry(ctx context.Context, rest func(context.Context) error) error {
	c.Settings.Throttle = rest
	defer func() { c.Settings.Throttle = nil }() // behind a fence nobody rests
	return c.Carry(ctx)
}

func (c copying) fence(ctx context.Context) (shardFence, error) {
	return someFence(c.Fence(ctx))
}

func (c copying) fenceBack(ctx context.Context) (shardFence, error) {
	return someFence(c.FenceBack(ctx))
}

// someFence keeps a fence that is nil from becoming one that is not.
func someFence(f *copier.Fence, err error) (shardFence, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (c copying) compare(ctx context.Context) ([]string, error) {
	found, err := c.Compare(ctx)
	var out []string
	for _, d := range found {
		out = append(out, d.String())
	}
	return out, err
}

// newCarrier is the carrier that the order names.
func (s *shardMove) newCarrier() carrier {
	return copying{obstacles: s.nativeObstacles, Copy: &copier.Copy{
		Job: s.order.Job, Native: s.native(), From: s.from.main, To: s.to.main, Schema: s.schema(), ServerID: s.order.Reader,
		Settings: copier.Settings{LockWait: s.settings.Drain},
		Tell: func(kind farm.EventKind, text string, done, total int64) {
			s.Report(farm.Event{Kind: kind, Text: rowsText(text, done, total)})
		},
	}}
}

func rowsText(text string, done, total int64) string {
	if done == 0 {
		return text
	}
	return fmt.Sprintf("%s: %d of about %s", text, done, farm.Counted(total, "row"))
}
