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
	// Greet returns when a machine answers, and an error when it does not:
	// what is asked before the first step is asked of machines that are there.
	// A step waits for its machine instead. Nil: all are there.
	Greet func(context.Context, farm.HostName) error
	// Admin is what Stowage logs in to servers with; Replication what they log
	// in to each other with.
	Admin, Replication mysql.Account
	// Path makes a path of farm.yaml absolute.
	Path func(string) string
	// Record writes a side's new place into farm.yaml; again is harmless.
	Record func(farm.PairName, farm.SideName, farm.Side) error
	// RecordShard puts a shard under another pair in farm.yaml; again is harmless.
	RecordShard func(farm.ShardName, farm.PairName) error
	// Farm is farm.yaml as it stands. AddPair and RemovePair put an empty pair
	// into it and take one away; again is harmless.
	Farm       func() (*farm.Farm, error)
	AddPair    func(farm.Pair) error
	RemovePair func(farm.PairName) error
	// Owner marks directories this run makes. It is the same after a resume.
	Owner    string
	Settings swing.Settings
	Sink     farm.Sink
	Log      *slog.Logger
	// Repair lets a copy whose rows differ from its source's be made equal, and compared once more. The servers that
	// serve are never touched.
	Repair bool
	// Border is called before and after each step and phase; tests kill the
	// program there, or let the step fail. Nil in production.
	Border func(point string) error
	// Steer is asked before each step begins; nil: nobody steers.
	Steer    *Steer
	throttle *Throttle
	trail    *trail
}

var _ engine.Doer = (*Mover)(nil)

// order is what one part of a job says: which side, and where its twin lives
// when the part runs.
type order struct {
	Runbook      string            `json:"runbook,omitempty"`
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
	Apart mysql.Moment `json:"parted,omitzero"`
}

// Do carries out one step of one part, or its undo.
func (m *Mover) Do(ctx context.Context, c engine.Call, beat func(string)) (json.RawMessage, error) {
	book, err := runbookOf(c.Args)
	if err != nil {
		return nil, engine.Permanent(err)
	}
	step, n := book.step(c.Step)
	if n == 0 {
		return nil, engine.Permanent(fmt.Errorf("this version of Stowage knows no step %q of runbook %s", c.Step, book.Name))
	}
	ctx = m.trail.follow(ctx, c)
	w, err := book.open(m, c, step, beat)
	if err != nil {
		return nil, engine.Permanent(err)
	}
	defer w.close()
	if err := m.mayBegin(ctx, c, step); err != nil {
		return nil, err
	}
	if c.Undo {
		return w.remember(), m.undo(ctx, c, w, step)
	}
	ctx, left := m.attend(ctx, c, step)
	defer left()
	w.tell(farm.Event{Kind: farm.StepStarted, Text: attemptText(c.Attempt), Number: n, Of: len(book.Steps)})
	start := time.Now()
	if err := do(ctx, w, step); err != nil {
		if held := m.waitLost(c, w, err); held != nil {
			return nil, held
		}
		w.tell(farm.Event{Kind: farm.StepFailed, Text: err.Error()})
		return nil, m.brokenOff(ctx, classify(withHint(err)))
	}
	w.tell(farm.Event{Kind: farm.StepDone, Millis: float64(time.Since(start)) / float64(time.Millisecond)})
	return w.remember(), nil
}

// do is the step between its two borders.
func do(ctx context.Context, w work, step Step) error {
	if err := w.border("before " + step.Name); err != nil {
		return err
	}
	if err := step.Do(ctx, w); err != nil {
		return err
	}
	return w.border("after " + step.Name)
}

func (m *Mover) undo(ctx context.Context, c engine.Call, w work, step Step) error {
	if err := undoBetweenBorders(ctx, w, step); err != nil {
		if held := m.waitLost(c, w, err); held != nil {
			return held
		}
		w.tell(farm.Event{Kind: farm.StepFailed, Text: "undo: " + err.Error()})
		return classify(withHint(err))
	}
	w.tell(farm.Event{Kind: farm.StepUndone, Text: step.Undone})
	return nil
}

func undoBetweenBorders(ctx context.Context, w work, step Step) error {
	if err := w.border("before undo " + step.Name); err != nil {
		return err
	}
	if err := step.Undo(ctx, w); err != nil {
		return err
	}
	return w.border("after undo " + step.Name)
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
