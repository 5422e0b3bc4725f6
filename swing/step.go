package swing

import (
	"context"
	"time"
)

// Step is one step of an act on a side. T is what the act knows of it.
//
// The four texts are what an operator reads before approving and after a
// failure; they are part of the plan a person reviews.
type Step[T any] struct {
	Name   string
	Needs  string // precondition
	Effect string
	Known  string // how it is known to be done
	Undone string // how it is taken back; empty: there is nothing to take back

	// NoReturn: once begun, undo means doing the whole act backwards.
	NoReturn bool
	// Phases are the parts of the step, in order, at whose borders a crash
	// can fall; tests kill at every one.
	Phases []string
	// Timeout bounds one attempt.
	Timeout time.Duration

	Do   func(context.Context, T) error
	Undo func(context.Context, T) error
}

// Swinger is an act's context that carries a Swing, or a Group of them.
type Swinger interface{ TheSwing() Dance }

// Steps is the whole dance around act. An act that replaces the side runs its
// long work in steps of its own before these.
func Steps[T Swinger](act Step[T]) []Step[T] { return StepsWith(act, OutPhases, InPhases) }

// StepsWith is Steps for a dance that has other phases: Stepdown, Follower and Alone have.
func StepsWith[T Swinger](act Step[T], out, in []string) []Step[T] {
	return []Step[T]{
		{
			Name:    "out",
			Needs:   "the twin serves and replicates; both gates open",
			Effect:  "the side's clients are served by the twin; the side takes no writes",
			Known:   "routing shows the twin for all of the side's slots",
			Undone:  "the side takes writes again and its clients are sent back",
			Phases:  out,
			Timeout: time.Hour,
			Do:      func(ctx context.Context, t T) error { return t.TheSwing().Out(ctx) },
			Undo:    func(ctx context.Context, t T) error { return t.TheSwing().UndoOut(ctx) },
		},
		act,
		{
			Name:    "catch-up",
			Needs:   "replication runs both ways",
			Effect:  "none",
			Known:   "each side has applied what the other had written when the step began",
			Timeout: 30 * time.Minute,
			Do:      func(ctx context.Context, t T) error { return t.TheSwing().CatchUp(ctx) },
		},
		{
			Name:    "check",
			Needs:   "caught up",
			Effect:  "none",
			Known:   "replication healthy both ways; identity, variables and tables as they must be",
			Timeout: 10 * time.Minute,
			Do:      func(ctx context.Context, t T) error { return t.TheSwing().Check(ctx) },
		},
		{
			Name:    "warm",
			Needs:   "checked",
			Effect:  "pages are read into the returning side's buffer pool",
			Known:   "recorded reads take no longer than on the twin; where there are too few of them, it holds the share of the twin's pages that was asked for; or its time is over",
			Timeout: 30 * time.Minute,
			Do:      func(ctx context.Context, t T) error { return t.TheSwing().Warm(ctx) },
		},
		{
			Name:    "in",
			Needs:   "warm, and within a few transactions of the twin",
			Effect:  "the side takes writes; its clients come back in steps, each watched",
			Known:   "routing shows the side for all of its slots",
			Undone:  "its clients are sent to the twin again and the side takes no writes",
			Phases:  in,
			Timeout: 3 * time.Hour,
			Do:      func(ctx context.Context, t T) error { return t.TheSwing().In(ctx) },
			Undo:    func(ctx context.Context, t T) error { return t.TheSwing().UndoIn(ctx) },
		},
	}
}
