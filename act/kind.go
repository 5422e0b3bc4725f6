package act

import (
	"encoding/json"
	"fmt"

	"stowage/engine"
	"stowage/farm"
	"stowage/internal/nested"
)

// Kind is one kind of act: the name that its runs, jobs and ids bear, and its runbooks. A part of a job whose arguments name no
// runbook follows the first.
type Kind struct {
	Name     string
	Runbooks []Runbook
	// Part is what its runs are made of, one line each for people: a host, a table; "": a side.
	Part string
	// Again is what a person does after a part has failed and was undone; "": remedy the cause and plan again.
	Again string
	// Ungated: its steps close no gate, or hardly ever, so nothing is said of gates that were never closed.
	Ungated bool
	// Stuck is what a person does about a part that stopped behind its point of no return; "": a new instance serves, and resume goes on.
	Stuck string
}

// Runbook is the one of that name.
func (k Kind) Runbook(name string) (Runbook, bool) {
	for _, b := range k.Runbooks {
		if b.Name == name {
			return b, true
		}
	}
	return Runbook{}, false
}

// RunbookOf is the runbook that a part of a job follows.
func (k Kind) RunbookOf(args json.RawMessage) (Runbook, error) {
	var head struct {
		Runbook string `json:"runbook"`
	}
	if len(args) > 0 {
		if err := nested.Unmarshal(args, &head); err != nil {
			return Runbook{}, fmt.Errorf("read order: %w", err)
		}
	}
	if head.Runbook == "" && len(k.Runbooks) > 0 {
		return k.Runbooks[0], nil
	}
	if b, ok := k.Runbook(head.Runbook); ok {
		return b, nil
	}
	return Runbook{}, fmt.Errorf("%w: this version of Stowage knows no runbook %q", farm.ErrInput, head.Runbook)
}

// open makes what one step of a part acts on.
func (k Kind) open(c engine.Call, beat func(string)) (Runbook, Step, int, Work, error) {
	book, err := k.RunbookOf(c.Args)
	if err != nil {
		return book, Step{}, 0, nil, err
	}
	step, n := book.Step(c.Step)
	if n == 0 {
		return book, step, 0, nil, fmt.Errorf("this version of Stowage knows no step %q of runbook %s", c.Step, book.Name)
	}
	w, err := book.open(c, step, beat)
	return book, step, n, w, err
}

// Open makes what a part acts on, as its first step finds it: to ask its questions before a run begins.
func (k Kind) Open(c engine.Call) (Work, error) {
	book, err := k.RunbookOf(c.Args)
	if err != nil {
		return nil, err
	}
	return book.open(c, book.Steps[0], func(string) {})
}

// isBehindReturn reports whether a step of that name can only go forward.
func (k Kind) isBehindReturn(name string) bool {
	for _, b := range k.Runbooks {
		if s, n := b.Step(name); n > 0 && s.NoReturn {
			return true
		}
	}
	return false
}
