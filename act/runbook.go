package act

import (
	"context"
	"encoding/json"

	"stowage/engine"
	"stowage/farm"
	"stowage/swing"
)

// Runbook is one way of doing something: its steps, in order, and how one part of a job becomes what they act on. A part says in
// its arguments which runbook it follows.
type Runbook struct {
	Name  string
	Steps []Step

	open func(c engine.Call, step Step, beat func(string)) (Work, error)
}

// Step is one step of a runbook.
type Step = swing.Step[Work]

// Work is what the steps of one part act on: a side that is replaced, a primary that hands over, a shard that goes elsewhere.
// Whoever embeds a Task has Report and AtBorder.
type Work interface {
	// Survey asks everything that has ever broken such an act, and changes nothing.
	Survey(ctx context.Context) ([]farm.Finding, error)
	// Report completes an event and sends it on its way.
	Report(e farm.Event)
	// AtBorder is met before and after each step and phase.
	AtBorder(point string) error
	// Remember is what the next step is to know.
	Remember() json.RawMessage
	Close()
}

// Opener makes what the steps of one part act on, of the call of one of them.
type Opener[T Work] func(c engine.Call, step Step, beat func(string)) (T, error)

// NewRunbook forgets of which type the work is that the steps act on.
func NewRunbook[T Work](name string, steps []swing.Step[T], open Opener[T]) Runbook {
	b := Runbook{Name: name, open: func(c engine.Call, s Step, beat func(string)) (Work, error) {
		w, err := open(c, s, beat)
		if err != nil {
			return nil, err // not a T that is nil
		}
		return w, nil
	}}
	for _, s := range steps {
		b.Steps = append(b.Steps, Step{
			Name: s.Name, Needs: s.Needs, Effect: s.Effect, Known: s.Known, Undone: s.Undone,
			NoReturn: s.NoReturn, Phases: s.Phases, Timeout: s.Timeout,
			Do: forget(s.Do), Undo: forget(s.Undo),
		})
	}
	return b
}

// Method makes a step's function of a method: the context comes first in both.
func Method[T any](m func(T, context.Context) error) func(context.Context, T) error {
	return func(ctx context.Context, w T) error { return m(w, ctx) }
}

func forget[T Work](f func(context.Context, T) error) func(context.Context, Work) error {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, w Work) error { return f(ctx, w.(T)) }
}

// Step is the step of that name and its number, from 1; 0 when there is none.
func (b Runbook) Step(name string) (Step, int) {
	for i, s := range b.Steps {
		if s.Name == name {
			return s, i + 1
		}
	}
	return Step{}, 0
}

// EngineSteps are the steps as the engine wants to know them.
func (b Runbook) EngineSteps() []engine.Step {
	var out []engine.Step
	for _, s := range b.Steps {
		out = append(out, engine.Step{Name: s.Name, Undoable: s.Undo != nil, NoReturn: s.NoReturn, Timeout: s.Timeout})
	}
	return out
}

// Points are all borders at which a kill can fall while one part is carried out by this runbook, in the order they are met:
// "before seed", "before out/close", ... Tests are generated from this list; a step added to a runbook is tested without more ado.
func (b Runbook) Points() []string {
	var out []string
	for _, s := range b.Steps {
		out = append(out, "before "+s.Name)
		for _, p := range s.Phases {
			out = append(out, "before "+s.Name+"/"+p, "after "+s.Name+"/"+p)
		}
		out = append(out, "after "+s.Name)
	}
	return out
}
