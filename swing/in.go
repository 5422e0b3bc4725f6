package swing

import (
	"context"
	"errors"
)

// In brings the side's clients back in the shares of the ramp and watches each.
// When the side does worse than it may, its clients are sent out again.
func (s *Swing) In(ctx context.Context) error {
	var felt *feeling
	for i, percent := range s.ramp() {
		err := s.handOver(ctx, handover{
			step: "in", from: s.Twin, to: s.Returns, toSide: s.Side, percent: percent, open: true,
		})
		if err != nil {
			return err
		}
		if i == 0 {
			if err := s.restoreScheduler(ctx, s.Returns); err != nil {
				return err
			}
		}
		felt = &feeling{swing: s, percent: percent}
		if err := s.Phase(ctx, "in", "watch", func(ctx context.Context) error { return s.watch(ctx, felt) }); err != nil {
			if errors.Is(err, ErrWorse) {
				back, cancel := cleanup(ctx)
				defer cancel()
				return errors.Join(err, s.UndoIn(back))
			}
			return err
		}
	}
	s.beginFirstMinute(ctx, felt)
	return nil
}

// UndoIn sends the side's clients to the twin again. The side stops taking
// writes, and the twin has everything it was ever acknowledged, before the
// gate opens.
func (s *Swing) UndoIn(ctx context.Context) error {
	if err := s.mend(ctx); err != nil {
		return err
	}
	p, err := s.pair(ctx)
	if err != nil {
		return err
	}
	h := handover{step: "undo in", from: s.Returns, to: s.Twin, toSide: s.Side.Twin(), percent: 100, fence: true, undo: true}
	if p.GateIsClosed(s.Side) || p.Share(s.Side, s.Side) > 0 {
		return s.handOver(ctx, h)
	}
	// It serves nobody. It may have been opened all the same, and have taken
	// a write of a client that slept through the gate: the twin must get that
	// before it is pointed elsewhere.
	if s.neverOpened(ctx) {
		return nil
	}
	if err := s.Await(ctx, s.patience(h), s.Returns, s.Twin); err != nil {
		return err
	}
	if err := s.fence(ctx, s.Returns); err != nil {
		return err
	}
	return s.barrier(ctx, h)
}

// neverOpened reports whether the side has certainly not taken a write yet: it
// still starts with the options of an instance that nobody knows.
func (s *Swing) neverOpened(ctx context.Context) bool {
	if s.Lasting == nil {
		return false
	}
	never, err := s.Lasting.NeverOpened(ctx, s.Returns)
	return err == nil && never
}
