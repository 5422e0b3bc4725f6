package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/placement"
	"stowage/route"
	"stowage/swing"
)

// Mover carries out the steps of moves. It is safe for several goroutines; the
// engine never runs two steps of one side at once.
type Mover struct {
	Router route.Router
	// Host finds the machine an instance lives or will live on.
	Host func(farm.HostName) (host.Host, error)
	// Admin is what Stowage logs in to servers with; Replication what they log
	// in to each other with.
	Admin, Replication mysql.Account
	// Path makes a path of farm.yaml absolute.
	Path func(string) string
	// Record writes a side's new place into farm.yaml; again is harmless.
	Record func(farm.PairName, farm.SideName, farm.Side) error
	// Owner marks directories this run makes. It is the same after a resume.
	Owner    string
	Settings swing.Settings
	Sink     farm.Sink
	Log      *slog.Logger
	// Border is called before and after each step and phase; tests kill the
	// program there, or let the step fail. Nil in production.
	Border func(point string) error
}

var _ engine.Doer = (*Mover)(nil)

// order is what one part of a job says: which side, and where its twin lives
// when the part runs.
type order struct {
	Move         placement.Move    `json:"move"`
	TwinInstance farm.InstanceName `json:"twin_instance"`
	Twin         placement.Place   `json:"twin"`
}

// memory is what the steps of one side hand on to each other.
type memory struct {
	Scheduler bool           `json:"scheduler"` // the side's event scheduler was on
	Seed      host.SeedPoint `json:"seed"`
	Position  string         `json:"position"` // of the seed, as GTIDs
	// Apart is a moment before any client of the side was sent to the twin.
	Apart time.Time `json:"apart,omitzero"`
}

// Do carries out one step of one side, or its undo.
func (m *Mover) Do(ctx context.Context, c engine.Call, beat func(string)) (json.RawMessage, error) {
	step, ok := find(c.Step)
	if !ok {
		return nil, engine.Permanent(fmt.Errorf("this version of Stowage knows no step %q of a move", c.Step))
	}
	r, err := m.replacement(c, step, beat)
	if err != nil {
		return nil, engine.Permanent(err)
	}
	defer r.close()
	if c.Undo {
		return r.remember(), m.undo(ctx, r, step)
	}
	r.tell(farm.Event{Kind: farm.StepStarted, Text: attemptText(c.Attempt)})
	start := time.Now()
	if err := r.do(ctx, step); err != nil {
		r.tell(farm.Event{Kind: farm.StepFailed, Text: err.Error()})
		return nil, classify(withHint(err))
	}
	r.tell(farm.Event{Kind: farm.StepDone, Millis: float64(time.Since(start)) / float64(time.Millisecond)})
	return r.remember(), nil
}

// do is the step between its two borders.
func (r *replacement) do(ctx context.Context, step Step) error {
	if err := r.border("before " + step.Name); err != nil {
		return err
	}
	if err := step.Do(ctx, r); err != nil {
		return err
	}
	return r.border("after " + step.Name)
}

func (m *Mover) undo(ctx context.Context, r *replacement, step Step) error {
	if err := step.Undo(ctx, r); err != nil {
		r.tell(farm.Event{Kind: farm.StepFailed, Text: "undo: " + err.Error()})
		return classify(withHint(err))
	}
	r.tell(farm.Event{Kind: farm.StepUndone, Text: step.Undone})
	return nil
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

// classify tells the engine what to do about an error: a refusal will not
// become right by asking again, an unknown outcome needs a person.
func classify(err error) error {
	switch {
	case errors.Is(err, farm.ErrOutcomeUnknown):
		return engine.Unknown(err)
	case errors.Is(err, farm.ErrRefused), errors.Is(err, farm.ErrInput), errors.Is(err, swing.ErrWorse):
		return engine.Permanent(err)
	}
	return err
}
