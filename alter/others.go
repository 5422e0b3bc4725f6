package alter

import (
	"context"
	"slices"
	"time"

	"stowage/act"
	"stowage/swing"
)

// withOthers are the steps of a pair whose second side is held, with those of its further replicas.
func withOthers(steps []swing.Step[*work]) []swing.Step[*work] {
	steps = slices.Insert(steps, 1, swing.Step[*work]{ // behind preflight
		Name:    StepOthers,
		Needs:   "the further replicas follow the primary",
		Effect:  "they leave routing's list, one after the other, and their tables are changed, outside of the binary log",
		Known:   "each defines its tables as the plan wants them, and has caught up with the primary",
		Undone:  "each has its tables as before, and is on the list again",
		Phases:  slices.Concat(swing.FollowerOut, AlterPhases),
		Timeout: 15 * 24 * time.Hour,
		Do:      act.Method((*work).othersOut),
		Undo:    act.Method((*work).othersBack),
	})
	return append(steps, swing.Step[*work]{
		Name:     StepOthersIn,
		Needs:    "the primary has the new tables and takes the writes",
		Effect:   "the further replicas are on routing's list again",
		Known:    "each has caught up, its rows are those of the primary, and it is warm",
		NoReturn: true,
		Phases:   swing.FollowerIn,
		Timeout:  15 * 24 * time.Hour,
		Do:       act.Method((*work).othersIn),
	})
}

// othersOut takes out and changes the further replicas. They follow the primary, whose rows have the old shape.
func (w *work) othersOut(ctx context.Context) error {
	for _, s := range w.others {
		if err := s.Dance.Out(ctx); err != nil {
			return err
		}
		if err := w.alter(ctx, s); err != nil {
			return err
		}
		if err := s.Dance.CatchUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) othersBack(ctx context.Context) error {
	for _, s := range slices.Backward(w.others) {
		if err := w.alterBack(ctx, s); err != nil {
			return err
		}
		if err := s.Dance.UndoOut(ctx); err != nil {
			return err
		}
	}
	return nil
}

// othersIn brings the further replicas back. What the primary has received while it was held, it has applied and hands on.
func (w *work) othersIn(ctx context.Context) error {
	for _, s := range w.others {
		if err := s.Dance.CatchUp(ctx); err != nil {
			return err
		}
		s.hasNew = true
		if err := w.resetConversions(ctx, s); err != nil {
			return err
		}
		if err := w.compareTo(ctx, s); err != nil {
			return err
		}
		for _, do := range []func(context.Context) error{s.Dance.Check, s.Dance.Warm, s.Dance.In} {
			if err := do(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
