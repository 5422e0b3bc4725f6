package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
	"stowage/swing"
)

// Conductor carries out the steps of one run for the engine, and is what they see of it. It is safe for several goroutines; the
// engine never runs two steps of one subject at once.
type Conductor struct {
	Kind Kind
	// Owner marks directories this run makes. It is the same after a resume.
	Owner string
	Sink  farm.Sink
	Log   *slog.Logger
	// Border is called before and after each step and phase; tests kill the program there, or let the step fail. Nil in
	// production.
	Border func(point string) error
	// Steer is asked before each step begins; nil: nobody steers.
	Steer *Steer
	// Throttle shares out what copies may use; nil: nothing limits them.
	Throttle *Throttle

	known   book // what the store says is to be done; nil: anything
	trail   *trail
	minutes *minutes // nil: nobody keeps how clients fare on sides that came back
}

var (
	_ engine.Doer   = (*Conductor)(nil)
	_ engine.Holder = (*Conductor)(nil)
	_ engine.Knower = (*Conductor)(nil)
)

// Do carries out one step of one part, or its undo.
func (m *Conductor) Do(ctx context.Context, c engine.Call, beat func(string)) (json.RawMessage, error) {
	ctx = m.trail.follow(ctx, c)
	book, step, n, w, err := m.Kind.open(c, beat)
	if err != nil {
		return nil, engine.Permanent(err)
	}
	defer w.Close()
	if err := m.mayBegin(c, step); err != nil {
		return nil, err
	}
	if c.Undo {
		return w.Remember(), m.undo(ctx, c, w, step)
	}
	ctx, left := m.attend(ctx, c, step)
	defer left()
	w.Report(farm.Event{Kind: farm.StepStarted, Text: attemptText(c.Attempt), Number: n, Of: len(book.Steps)})
	start := time.Now()
	if err := do(ctx, w, step); err != nil {
		if held := m.waitLost(c, w, err); held != nil {
			return nil, held
		}
		w.Report(farm.Event{Kind: farm.StepFailed, Text: err.Error()})
		return nil, m.brokenOff(ctx, classify(withHint(err)))
	}
	w.Report(farm.Event{Kind: farm.StepDone, Millis: float64(time.Since(start)) / float64(time.Millisecond)})
	return w.Remember(), nil
}

// Hold keeps a lane waiting for a person, or for the end of a soak.
func (m *Conductor) Hold(ctx context.Context, c engine.Call, beat func(string)) error {
	if m.Steer == nil {
		return nil
	}
	_, step, _, w, err := m.Kind.open(c, beat)
	if err != nil {
		return err
	}
	defer w.Close()
	return m.Steer.hold(ctx, c, step, m.known.behind(c), func(text string) { w.Report(farm.Event{Kind: farm.StepWaiting, Text: text}) })
}

// mayBegin is nil when a step, or its undo, may begin.
func (m *Conductor) mayBegin(c engine.Call, step Step) error {
	if m.Steer == nil {
		return nil
	}
	v, err := m.Steer.ask(c, step, m.known.behind(c))
	switch {
	case err != nil:
		return err
	case v.may == mustWait:
		return engine.Held(v.text)
	case v.may == mustEnd:
		return engine.Aborted(errors.New(v.text))
	case v.may == mustTurn:
		return engine.Onward(v.text)
	}
	return nil
}

// attend is Steer.attend where there is somebody to steer.
func (m *Conductor) attend(ctx context.Context, c engine.Call, step Step) (context.Context, func()) {
	if m.Steer == nil || c.Undo {
		return ctx, func() {}
	}
	return m.Steer.attend(ctx, c, step)
}

// brokenOff tells an error of a step that was broken off because the run is to
// end from one of its own.
func (m *Conductor) brokenOff(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errEnding) || errors.Is(err, farm.ErrOutcomeUnknown) {
		return err
	}
	now, _ := m.Steer.Now()
	return engine.Aborted(fmt.Errorf("%s %s", now.endWord(), now.Ending))
}

// do is the step between its two borders.
func do(ctx context.Context, w Work, step Step) error {
	if err := w.AtBorder("before " + step.Name); err != nil {
		return err
	}
	if err := step.Do(ctx, w); err != nil {
		return err
	}
	return w.AtBorder("after " + step.Name)
}

func (m *Conductor) undo(ctx context.Context, c engine.Call, w Work, step Step) error {
	if err := undoBetweenBorders(ctx, w, step); err != nil {
		if held := m.waitLost(c, w, err); held != nil {
			return held
		}
		w.Report(farm.Event{Kind: farm.StepFailed, Text: "undo: " + err.Error()})
		return classify(withHint(err))
	}
	w.Report(farm.Event{Kind: farm.StepUndone, Text: step.Undone})
	return nil
}

func undoBetweenBorders(ctx context.Context, w Work, step Step) error {
	if err := w.AtBorder("before undo " + step.Name); err != nil {
		return err
	}
	if err := step.Undo(ctx, w); err != nil {
		return err
	}
	return w.AtBorder("after undo " + step.Name)
}

func attemptText(n int) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf("attempt %d", n)
}

// withHint puts the hint into the text: that is all of an error that comes back
// through the engine.
func withHint(err error) error {
	if hint := farm.Hint(err); hint != "" {
		return fmt.Errorf("%w\n  -> %s", err, hint)
	}
	return err
}

// ErrFarmFile marks a farm.yaml that a run cannot write into as it stands.
var ErrFarmFile = errors.New("farm.yaml is not written yet")

// ErrOptions marks a failure to read an option file.
var ErrOptions = errors.New("option file")

// isAboutOptions reports whether an option file is not there, or not for us:
// asking again does not make it so.
func isAboutOptions(err error) bool {
	return errors.Is(err, ErrOptions) && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission))
}

// classify tells the engine what to do about an error: a refusal will not
// become right by asking again, an unknown outcome needs a person. A routing
// table or a farm.yaml that cannot be read is waited for, as a server is that does
// not answer.
func classify(err error) error {
	switch {
	case errors.Is(err, farm.ErrOutcomeUnknown):
		return engine.Unknown(err)
	case errors.Is(err, route.ErrUnreadable), errors.Is(err, ErrFarmFile):
		return err
	case isAboutOptions(err), errors.Is(err, farm.ErrRefused), errors.Is(err, farm.ErrInput), errors.Is(err, swing.ErrWorse), mysql.WillStay(err):
		return engine.Permanent(err)
	}
	return err
}
