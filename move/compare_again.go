package move

import (
	"context"

	"stowage/farm"
	"stowage/swing"
)

// A new instance that crashes after its rows were compared may not have them any
// more: of one that was killed with -9, recovery has lost half of a transaction
// (once in some 500 kills of MariaDB 10.11). So until its first client it is
// compared again whenever its server was restarted.

// dance is the swing of a replacement, which sends no client to rows that were
// not compared since their server was started.
type dance struct {
	*swing.Swing
	r *replacement
}

// Out compares beforehand, where that takes no side away.
func (d dance) Out(ctx context.Context) error {
	if err := d.r.comparedSinceItsStart(ctx, d.r.compare); err != nil {
		return err
	}
	return d.Swing.Out(ctx)
}

// Check is that of the swing, and the rows.
func (d dance) Check(ctx context.Context) error {
	if err := d.r.comparedSinceItsStart(ctx, d.r.compare); err != nil {
		return err
	}
	return d.Swing.Check(ctx)
}

// In compares only what never served: a server that has taken writes has rows of
// its own, and crashes as any other does.
func (d dance) In(ctx context.Context) error {
	if err := d.r.comparedSinceItsStart(ctx, d.r.compare); err != nil {
		return err
	}
	return d.Swing.In(ctx)
}

// comparedSinceItsStart compares rows where the new instance has no client yet and
// its server was restarted since they were found equal.
func (r *replacement) comparedSinceItsStart(ctx context.Context, compare func(context.Context) error) error {
	if err := r.Await(ctx, r.Settings.Answer, r.Returns); err != nil {
		return err
	}
	never, err := r.Lasting.NeverOpened(ctx, r.Returns)
	if err != nil || !never {
		return err
	}
	kept, err := r.readCompared(ctx)
	if err != nil || kept.Equal {
		return err
	}
	r.Report(farm.Event{Kind: farm.StepProgress, Text: "the new instance was restarted since its rows were compared; comparing them again"})
	if err := r.rejoin(ctx); err != nil {
		return err
	}
	return compare(ctx)
}
