package swing

import "context"

// Out sends the side's clients to the twin and stops writes on the side.
func (s *Swing) Out(ctx context.Context) error {
	err := s.handOver(ctx, handover{
		step: "out", from: s.Leaves, to: s.Twin, toSide: s.Side.Twin(), percent: 100, fence: true,
	})
	if err != nil {
		return err
	}
	return s.keepPool(ctx)
}

// UndoOut sends the clients back to the side as it was. Leaves still
// replicates from the twin, so it has, or gets, what was written meanwhile.
func (s *Swing) UndoOut(ctx context.Context) error {
	err := s.handOver(ctx, handover{
		step: "undo out", from: s.Twin, to: s.Leaves, toSide: s.Side, percent: 100, open: true, undo: true,
	})
	if err != nil {
		return err
	}
	s.forgetPool(ctx)
	err = s.restoreScheduler(ctx, s.Leaves)
	if err != nil && s.willStartOpen(ctx, s.Leaves) {
		return nil // it is down, and its option file says how it comes back
	}
	return err
}
