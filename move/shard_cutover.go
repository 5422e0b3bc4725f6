package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/feed"
	"stowage/mysql"
	"stowage/route"
	"stowage/swing"
)

// heldAtMost bounds how long the clients of a shard wait in one attempt. What
// takes longer is taken back and tried again.
const heldAtMost = 45 * time.Second

// serving is who serves the shard, as routing says.
type serving int

const (
	atFrom serving = iota
	atNone         // its clients wait
	atTo
)

func (s *shardMove) serving(ctx context.Context) (serving, error) {
	t, err := s.table(ctx)
	if err != nil {
		return atNone, err
	}
	pairs := t.Serves(s.order.Shard)
	switch {
	case len(pairs) == 0:
		return atNone, nil
	case len(pairs) == 1 && pairs[0] == s.order.From.Pair:
		return atFrom, nil
	case len(pairs) == 1 && pairs[0] == s.order.To.Pair:
		return atTo, nil
	}
	return atNone, &farm.Error{Op: "read routing", Subject: string(s.order.Shard),
		Err:  fmt.Errorf("%w: it is listed by %v, and is on its way from %s to %s", farm.ErrRefused, pairs, s.order.From.Pair, s.order.To.Pair),
		Hint: "routing was changed by hand; let only the pair list it that has served it, then: stowage resume"}
}

// cutover sends the shard's clients to the target. It does all of that, or
// nothing: until the flip every failure gives the tables their names back and
// the clients to the source. An attempt that was killed is begun anew from
// what routing says; once the target lists the shard there is no way but
// forward (or cutBack, which brings back what was written there).
func (s *shardMove) cutover(ctx context.Context) error {
	where, err := s.serving(ctx)
	if err != nil {
		return err
	}
	if where == atTo {
		return s.afterFlip(ctx)
	}
	if where == atNone {
		s.heldAt = time.Now() // an attempt that was killed holds them since
	}
	held := &holds{}
	defer held.release()
	var fence shardFence
	err = swing.Handover{
		Within: s.Phase,
		Ready: func(ctx context.Context) error {
			// What an attempt that was killed has left is taken back: nobody was sent
			// to the target yet, so nothing there can be lost by it.
			if err := s.giveNames(ctx, held); err != nil {
				return err
			}
			return s.Phase(ctx, "ready", func(ctx context.Context) error { return s.ready(ctx, s.from) })
		},
		Hold: heldAtMost + s.settings.Drain,
		Phases: []swing.Phase{
			{Name: "close", Do: func(ctx context.Context) error { return s.hold(ctx, s.order.From.Pair) }},
			{Name: "drain", Do: func(ctx context.Context) error { return s.drain(ctx, s.from) }},
			{Name: "lock", Do: func(ctx context.Context) (err error) { fence, err = s.carrier.fence(ctx); return err }},
			{Name: "gather", Do: func(ctx context.Context) error { return s.gather(ctx, s.from, held) }},
			{Name: "barrier", Do: func(ctx context.Context) error { return fence.Reach(ctx) }},
			{Name: "rename", Do: func(ctx context.Context) error { return fence.Rename(ctx) }},
			{Name: "unlock", Do: func(ctx context.Context) error {
				last := fence
				fence = nil // it is asked once, and ends the fence in any case
				return s.unlock(ctx, s.from, last, held)
			}},
			{Name: "arrive", Do: func(ctx context.Context) error { return s.arrive(ctx, s.to) }},
			{Name: "flip", Do: func(ctx context.Context) error {
				if err := s.note(ctx, s.from, s.to); err != nil {
					return err
				}
				return s.flipTo(ctx, s.order.To.Pair, "")
			}},
		},
		Back: func(ctx context.Context, _ error) error {
			// The fence ends before the names are given back.
			return errors.Join(unlockFence(ctx, fence), s.backOut(ctx, held))
		},
	}.Run(ctx)
	if err != nil {
		return err
	}
	return s.afterFlip(ctx)
}

// unlockFence ends a fence, if there is one, also when ctx has ended.
func unlockFence(ctx context.Context, fence shardFence) error {
	if fence == nil {
		return nil
	}
	clean, done := context.WithTimeout(context.WithoutCancel(ctx), heldAtMost)
	defer done()
	return fence.Unlock(clean)
}

// holds are the locks that an attempt has of its own, beside the carrier's.
type holds struct{ all []*mysql.Hold }

func (h *holds) release() {
	for _, x := range h.all {
		x.Release()
	}
	h.all = nil
}

// ready waits, while the shard is served as ever, until nothing is in sight
// that would keep its clients waiting for long.
func (s *shardMove) ready(ctx context.Context, e ends) error {
	told := func(text string) { s.Report(farm.Event{Kind: farm.StepWaiting, Phase: "ready", Text: text}) }
	if err := s.clients(e).AwaitNoLongWork(ctx, s.settings, told); err != nil {
		return err
	}
	return s.abreast(ctx, e)
}

// clients are those of the shard, and of its neighbours.
func (s *shardMove) clients(e ends) swing.Clients {
	return swing.Clients{On: e.writers(), Subject: string(s.order.Shard)}
}

// abreast waits until each side has what the other had written: behind the
// hold they wait for no more than the last moments.
func (s *shardMove) abreast(ctx context.Context, e ends) error {
	if e.twin == nil || !e.twinWrites {
		return nil
	}
	if err := s.bringUp(ctx, e.main, e.twin, s.settings.CatchUp); err != nil {
		return err
	}
	return s.bringUp(ctx, e.twin, e.main, s.settings.CatchUp)
}

// writers are the servers that clients of the shard write on.
func (e ends) writers() []*mysql.Server {
	if e.twinWrites {
		return e.all()
	}
	return []*mysql.Server{e.main}
}

// hold makes the shard's clients wait: no pair lists it.
func (s *shardMove) hold(ctx context.Context, pair farm.PairName) error {
	if s.heldAt.IsZero() {
		s.heldAt = time.Now()
	}
	s.Report(farm.Event{Kind: farm.GateClosed, Phase: "close"})
	return s.mover.Router.Change(ctx, pair, func(p *route.Pair) error {
		p.Drop(s.order.Shard)
		return nil
	})
}

// drain waits for the work that was open on both sides when the shard was
// held. Servers do not tell which shard a transaction is for, so those of
// neighbours are waited for too; theirs that begin later are not.
func (s *shardMove) drain(ctx context.Context, e ends) error {
	return s.clients(e).Drain(ctx, s.settings, max(s.settings.Settle, s.mover.Router.Guarantee().Settle))
}

// gather makes sure that the locked side has everything that was written on its
// twin, and lets no more be written there until the RENAME has come to the twin
// by replication: a client that slept since its look could write there in
// between, and its write would meet tables that are gone.
//
// The order matters. The main side is locked already, so the twin can get all
// of it; then the twin is locked, so that the next thing replication has for
// these tables there is the RENAME; and then the main side must have what the
// twin had written by then. Something that was written there behind the main
// side's lock cannot be applied under that lock: then all is taken back and
// tried again.
func (s *shardMove) gather(ctx context.Context, e ends, held *holds) error {
	if e.twin == nil || !e.twinWrites {
		return nil
	}
	if err := s.bringUp(ctx, e.main, e.twin, s.settings.Barrier); err != nil {
		return err
	}
	h, err := e.twin.HoldTables(ctx, s.schema(), s.settings.Drain)
	if err != nil {
		return err
	}
	held.all = append(held.all, h)
	err = e.main.WaitFor(ctx, h.At, s.settings.Barrier)
	if isBehind(err) {
		return &farm.Error{Op: "gather", Subject: string(s.order.Shard), Err: err,
			Hint: fmt.Sprintf("a client may write the shard on %s although routing holds it: which client does not follow docs/reference/routing.md?", e.twin.Name())}
	}
	return err
}

func (s *shardMove) bringUp(ctx context.Context, from, to *mysql.Server, budget time.Duration) error {
	goal, err := from.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	return to.WaitFor(ctx, goal, budget)
}

// unlock carries out the RENAME that waits behind the lock, here and, by
// replication, on the twin.
func (s *shardMove) unlock(ctx context.Context, e ends, fence shardFence, held *holds) error {
	if err := fence.Unlock(ctx); err != nil {
		return err
	}
	if e.twin == nil || !e.twinWrites {
		return nil
	}
	for _, h := range held.all {
		queued, err := h.AwaitQueued(ctx, s.settings.Barrier)
		if err != nil {
			return err
		}
		if !queued {
			return &farm.Error{Op: "unlock", Subject: string(e.twin.Name()), Err: fmt.Errorf("the RENAME has not come there within %v", s.settings.Barrier),
				Hint: "does it replicate from " + string(e.main.Name()) + "?"}
		}
	}
	held.release()
	return s.bringUp(ctx, e.main, e.twin, s.settings.Barrier)
}

// arrive waits until the twin of the new place has what the shard's clients
// were ever told: half of them are served there. (A replica serves no writes,
// and its readers know that it may be behind.)
func (s *shardMove) arrive(ctx context.Context, e ends) error {
	if e.twin == nil || !e.twinWrites {
		return nil
	}
	return s.bringUp(ctx, e.main, e.twin, s.settings.Barrier)
}

// note keeps where the shard leaves one pair and enters the other, for who reads
// its changes (stowage follow). Nobody writes it now.
func (s *shardMove) note(ctx context.Context, left, entered ends) error {
	if s.mover.Note == nil {
		return nil
	}
	out, err := left.main.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	in, err := entered.main.BinlogPosition(ctx)
	if err != nil {
		return err
	}
	h := feed.Handover{Shard: s.order.Shard, From: s.order.From.Pair, To: s.order.To.Pair, Left: out.String(), Entered: in.String(), Noted: time.Now()}
	if left.main == s.to.main {
		h.From, h.To = h.To, h.From
	}
	return s.mover.Note(h)
}

// flipTo lets a pair serve the shard: its clients go on.
func (s *shardMove) flipTo(ctx context.Context, pair farm.PairName, text string) error {
	err := s.mover.Router.Change(ctx, pair, func(p *route.Pair) error {
		p.List(s.order.Shard)
		return nil
	})
	if err == nil {
		if text == "" {
			text = fmt.Sprintf("served by %s", pair)
		}
		held := float64(0)
		if !s.heldAt.IsZero() {
			held = float64(time.Since(s.heldAt)) / float64(time.Millisecond)
		}
		s.Report(farm.Event{Kind: farm.GateOpened, Phase: "flip", Text: text, Millis: held})
	}
	return err
}

// backOut leaves nothing locked, renamed or held: the shard serves where it did.
func (s *shardMove) backOut(ctx context.Context, held *holds) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), heldAtMost)
	defer cancel()
	where, err := s.serving(ctx)
	if err != nil || where == atTo {
		return err // it failed after the flip; the next attempt finds it done
	}
	if err := s.giveNames(ctx, held); err != nil {
		return err
	}
	if where == atFrom {
		return nil
	}
	return s.flipTo(ctx, s.order.From.Pair, "backed out")
}

// giveNames takes the fence of the source away, on both sides. The twin's lock
// ends when the main side has its names: what is written on the twin from then
// on finds its tables.
func (s *shardMove) giveNames(ctx context.Context, held *holds) error {
	err := s.carrier.unfence(ctx)
	held.release()
	if err := errors.Join(err, s.endHolds(ctx, s.from)); err != nil {
		return err
	}
	return s.arrive(ctx, s.from)
}

// endHolds takes away what the lock of gather has left on a twin when the
// program was killed: on MySQL it does not end with its session.
func (s *shardMove) endHolds(ctx context.Context, e ends) error {
	if e.twin == nil || !e.twinWrites {
		return nil
	}
	return e.twin.EndHold(ctx, s.schema())
}

func pauseFor(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
