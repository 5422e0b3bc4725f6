package move

import (
	"context"
	"encoding/json"
	"fmt"

	"stowage/engine"
	"stowage/farm"
	"stowage/swing"
)

// Runbook is one way of moving something: its steps, in order, and how one part
// of a job becomes what they act on. A part says in its arguments which runbook
// it follows; one that was written before there were several says nothing and
// replaces a side.
type Runbook struct {
	Name  string
	Steps []Step

	open func(m *Mover, c engine.Call, step Step, beat func(string)) (work, error)
}

// Step is one step of a runbook.
type Step = swing.Step[work]

// work is what the steps of one part act on: a side that is replaced, a
// primary that hands over, a shard that goes elsewhere.
type work interface {
	// survey asks everything that has ever broken such a move, and changes
	// nothing.
	survey(ctx context.Context) ([]farm.Finding, error)
	// tell completes an event and sends it on its way.
	tell(e farm.Event)
	// border is met before and after each step and phase.
	border(point string) error
	// remember is what the next step is to know.
	remember() json.RawMessage
	close()
}

// Replace is the runbook that replaces one side of an active-active pair.
const Replace = "replace"

// Runbooks are all ways of moving there are.
func Runbooks() []Runbook {
	return []Runbook{
		newRunbook(Replace, replacementSteps(), (*Mover).replacement),
		newRunbook(Switchover, switchoverSteps(), successionOf(Switchover)),
		newRunbook(Replica, replicaSteps(), successionOf(Replica)),
		newRunbook(Shard, shardSteps(), (*Mover).shardMove),
		newRunbook(Provision, provisionSteps(), (*Mover).provision),
		newRunbook(Emptied, emptiedSteps(), (*Mover).emptied),
	}
}

// newRunbook forgets of which type the work is that the steps act on.
func newRunbook[T work](name string, steps []swing.Step[T], open func(*Mover, engine.Call, Step, func(string)) (T, error)) Runbook {
	b := Runbook{Name: name, open: func(m *Mover, c engine.Call, s Step, beat func(string)) (work, error) {
		w, err := open(m, c, s, beat)
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

// method makes a step's function of a method: the context comes first in both.
func method[T any](m func(T, context.Context) error) func(context.Context, T) error {
	return func(ctx context.Context, w T) error { return m(w, ctx) }
}

func forget[T work](f func(context.Context, T) error) func(context.Context, work) error {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, w work) error { return f(ctx, w.(T)) }
}

// runbookOf is the runbook that a part of a job follows.
func runbookOf(args json.RawMessage) (Runbook, error) {
	var head struct {
		Runbook string `json:"runbook"`
	}
	if len(args) > 0 {
		if err := json.Unmarshal(args, &head); err != nil {
			return Runbook{}, fmt.Errorf("read order: %w", err)
		}
	}
	if head.Runbook == "" {
		head.Runbook = Replace
	}
	for _, b := range Runbooks() {
		if b.Name == head.Runbook {
			return b, nil
		}
	}
	return Runbook{}, fmt.Errorf("%w: this version of Stowage knows no runbook %q", farm.ErrInput, head.Runbook)
}

// step is the step of that name and its number, from 1; 0 when there is none.
func (b Runbook) step(name string) (Step, int) {
	for i, s := range b.Steps {
		if s.Name == name {
			return s, i + 1
		}
	}
	return Step{}, 0
}

// engineSteps are the steps as the engine wants to know them.
func (b Runbook) engineSteps() []engine.Step {
	var out []engine.Step
	for _, s := range b.Steps {
		out = append(out, engine.Step{Name: s.Name, Undoable: s.Undo != nil, NoReturn: s.NoReturn, Timeout: s.Timeout})
	}
	return out
}

// Points are all borders at which a kill can fall while one part is moved by
// this runbook, in the order they are met: "before seed", "before out/close",
// ... Tests are generated from this list; a step added above is tested without
// more ado.
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

// ByName is the runbook of that name.
func ByName(name string) (Runbook, bool) {
	for _, b := range Runbooks() {
		if b.Name == name {
			return b, true
		}
	}
	return Runbook{}, false
}
