package move

import (
	"context"
	"errors"
	"time"

	"stowage/farm"
	"stowage/swing"
)

// cutBack is the mirror image of the cutover: the shard serves from its old
// place again, with everything that was written at the new one. It finds out
// from routing and from the servers how far the cutover had come.
func (s *shardMove) cutBack(ctx context.Context) error {
	where, err := s.serving(ctx)
	if err != nil {
		return err
	}
	if where == atFrom {
		return errors.Join(s.giveNames(ctx, &holds{}), s.eventsBack(ctx))
	}
	if where == atTo {
		if err := s.ready(ctx, s.to); err != nil {
			return err
		}
		// Behind the hold only the last moments are to be waited for, and whether
		// there is a way back is found out before anybody waits.
		if err := s.persist(ctx, s.carrier.backNow); err != nil {
			return s.orLost(ctx, err)
		}
	}
	s.heldAt = time.Now()
	if err := s.bringHome(ctx, where); err != nil {
		return s.orLost(ctx, err)
	}
	return errors.Join(s.eventsBack(ctx), s.found())
}

// bringHome holds the clients, carries the last of what they wrote back to the
// source, gives it its names, and lets them go on there. Until the target's
// tables are renamed, a failure leaves the shard where it served; behind that
// the next attempt goes on.
func (s *shardMove) bringHome(ctx context.Context, where serving) (err error) {
	ctx, cancel := context.WithTimeout(ctx, heldAtMost+s.settings.Drain)
	defer cancel()
	held := &holds{}
	defer held.release()
	turning := where == atTo // what we hold we can let go on at the target
	var fence shardFence
	defer func() {
		if err == nil {
			return
		}
		clean, done := context.WithTimeout(context.WithoutCancel(ctx), heldAtMost)
		defer done()
		if fence != nil {
			err = errors.Join(err, fence.Unlock(clean))
		}
		held.release()
		switch {
		case turning:
			err = errors.Join(err, s.endHolds(clean, s.to), s.flipTo(clean, s.order.To.Pair, "backed out"))
		case isNoWayBack(err):
			err = errors.Join(err, s.stay(clean))
		}
	}()
	within := func(ctx context.Context, name string, do func(context.Context) error) error {
		return s.PhaseOf(ctx, "undo "+s.Step, name, do)
	}
	err = swing.Handover{Within: within, Phases: []swing.Phase{
		{Name: "close", Do: func(ctx context.Context) error { return s.hold(ctx, s.order.To.Pair) }},
		{Name: "drain", Do: func(ctx context.Context) error { return s.drain(ctx, s.to) }},
		{Name: "lock", Do: func(ctx context.Context) (err error) { fence, err = s.carrier.fenceBack(ctx); return err }},
	}}.Run(ctx)
	if where == atNone && errors.Is(err, farm.ErrRefused) && !isNoWayBack(err) {
		// The cutover had not come so far that a client could have been sent to
		// the target: there is nothing to bring back, only a fence to take away.
		return s.openAtHome(ctx, s.carrier.unfence)
	}
	if err != nil {
		return err
	}
	return swing.Handover{Within: within, Phases: []swing.Phase{
		{Name: "gather", Do: func(ctx context.Context) error { return s.gather(ctx, s.to, held) }},
		{Name: "barrier", Do: func(ctx context.Context) error { return fence.Reach(ctx) }},
		{Name: "rename", Do: func(ctx context.Context) error { turning = false; return fence.Rename(ctx) }},
		{Name: "unlock", Do: func(ctx context.Context) error {
			last := fence
			fence = nil // it is asked once, and ends the fence in any case
			return s.unlock(ctx, s.to, last, held)
		}},
		{Name: "flip", Do: func(ctx context.Context) error { return s.openAtHome(ctx, nil) }},
	}}.Run(ctx)
}

// openAtHome lets the clients go on at the source, once its twin is as far, too.
func (s *shardMove) openAtHome(ctx context.Context, first func(context.Context) error) error {
	if first != nil {
		if err := first(ctx); err != nil {
			return err
		}
	}
	for _, e := range []ends{s.from, s.to} {
		if err := s.endHolds(ctx, e); err != nil {
			return err
		}
	}
	if err := s.arrive(ctx, s.from); err != nil {
		return err
	}
	if first == nil { // it was served by the target
		if err := s.note(ctx, s.to, s.from); err != nil {
			return err
		}
	}
	return s.flipTo(ctx, s.order.From.Pair, "taken back")
}
