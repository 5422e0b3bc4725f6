package act

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/internal/nested"
	"stowage/store"
)

// Task is what the steps of every runbook know about the call they work on: whose it is, where its borders are, and how to tell of
// it. Work embeds it.
type Task struct {
	Conductor *Conductor
	Run       string // the engine's job
	Part      string
	Step      string
	About     farm.Event // its pair, side, shard and host are those of every event
	beat      func(string)
}

// Task reads what a call carries: its order, and what its steps hand on to each other, nil where that is nothing.
func (m *Conductor) Task(c engine.Call, step Step, beat func(string), order, memory any) (Task, error) {
	d := Task{Conductor: m, Run: c.Job, Part: c.Subject, Step: step.Name, beat: beat}
	if err := nested.Unmarshal(c.Args, order); err != nil {
		return d, fmt.Errorf("read order of %s: %w", c.Subject, err)
	}
	if memory != nil && len(c.State) > 0 {
		if err := nested.Unmarshal(c.State, memory); err != nil {
			return d, fmt.Errorf("read state of %s: %w", c.Subject, err)
		}
	}
	return d, nil
}

// Report completes an event and sends it on its way.
func (d *Task) Report(e farm.Event) {
	e.Time, e.Run, e.Step = time.Now(), d.Run, d.Step
	e.Pair, e.Side, e.Shard = cmp.Or(d.About.Pair, e.Pair), cmp.Or(d.About.Side, e.Side), cmp.Or(d.About.Shard, e.Shard)
	e.Host = cmp.Or(d.About.Host, e.Host)
	if e.Kind == farm.StepProgress || e.Kind == farm.StepWaiting || e.Kind == farm.WayBackLost {
		d.beat(e.Text)
	}
	if d.Conductor.Sink != nil {
		d.Conductor.Sink(e)
	}
}

// WriteDown adds a line to the run's trail: what was done beside statements, of which kind, and how it failed, if it did.
func (d *Task) WriteDown(kind, text, failed string) {
	t := d.Conductor.trail
	if t == nil {
		return
	}
	t.deeds.Add(store.Deed{Run: t.run, Kind: kind, Who: t.who, Why: t.why, Part: d.Part, Step: d.Step, Text: text, Error: failed})
}

// AtBorder is where a test lets the program die; see Conductor.Border.
func (d *Task) AtBorder(point string) error {
	if d.Conductor.Border == nil {
		return nil
	}
	return d.Conductor.Border(point)
}

// Phase runs one part of a step between two borders.
func (d *Task) Phase(ctx context.Context, name string, do func(context.Context) error) error {
	return d.PhaseOf(ctx, d.Step, name, do)
}

// PhaseOf is Phase for a part that another step owns.
func (d *Task) PhaseOf(ctx context.Context, step, name string, do func(context.Context) error) error {
	if err := d.AtBorder("before " + step + "/" + name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := do(ctx); err != nil {
		return err
	}
	return d.AtBorder("after " + step + "/" + name)
}
