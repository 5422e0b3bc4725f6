package swing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
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
				return errors.Join(err, s.retreat(ctx))
			}
			return err
		}
	}
	s.beginFirstMinute(ctx, felt)
	return nil
}

// retreat sends clients that a side serves badly to the twin again. On such a side every statement may be a long one: the gate is not kept open for
// that, and closed for longer with each attempt, 2, 4, 8 and then 16 s. Whoever waits at it fares no worse than behind it.
func (s *Swing) retreat(ctx context.Context) error {
	trying, cancel := s.persist(ctx)
	defer cancel()
	for hurry := s.Settings.Drain; ; hurry = min(2*hurry, 8*s.Settings.Drain) {
		err := s.undoIn(trying, hurry)
		if err == nil || !errors.As(err, new(workOpen)) {
			return err
		}
		s.tell(farm.StepWaiting, "retreat", fmt.Sprintf("clients are still served by %s, which does worse: %v", s.Returns.Name(), err), 0)
		if pause(trying, 100*time.Millisecond) != nil {
			return &farm.Error{Op: "retreat", Subject: string(s.Returns.Name()), Err: fmt.Errorf("its clients could not be sent to %s, and it still serves them: %w", s.Twin.Name(), err),
				Hint: "end the sessions that hold work open; the side is then watched, and its clients sent away, again"}
		}
	}
}

// UndoIn sends the side's clients to the twin again. The side stops taking
// writes, and the twin has everything it was ever acknowledged, before the
// gate opens.
func (s *Swing) UndoIn(ctx context.Context) error { return s.undoIn(ctx, 0) }

func (s *Swing) undoIn(ctx context.Context, hurry time.Duration) error {
	if err := s.mend(ctx); err != nil {
		return err
	}
	p, err := s.pair(ctx)
	if err != nil {
		return err
	}
	h := handover{step: "undo in", from: s.Returns, to: s.Twin, toSide: s.Side.Twin(), percent: 100, fence: true, undo: true, hurry: hurry}
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
