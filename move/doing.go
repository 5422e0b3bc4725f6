package move

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"stowage/engine"
	"stowage/farm"
)

// doing is what every runbook knows about the call it works on: whose it is, where its borders are, and how to tell of it.
type doing struct {
	mover *Mover
	run   string
	part  string
	step  string
	beat  func(string)
	about farm.Event // its pair, side and shard are those of every event
}

// begin reads what a call carries: its order, and what its steps hand on to each other, nil where that is nothing.
func (m *Mover) begin(c engine.Call, step Step, beat func(string), order, memory any) (doing, error) {
	d := doing{mover: m, run: c.Job, part: c.Subject, step: step.Name, beat: beat}
	if err := json.Unmarshal(c.Args, order); err != nil {
		return d, fmt.Errorf("read order of %s: %w", c.Subject, err)
	}
	if memory != nil && len(c.State) > 0 {
		if err := json.Unmarshal(c.State, memory); err != nil {
			return d, fmt.Errorf("read state of %s: %w", c.Subject, err)
		}
	}
	return d, nil
}

// tell completes an event and sends it on its way.
func (d *doing) tell(e farm.Event) {
	e.Time, e.Run, e.Step = time.Now(), d.run, d.step
	e.Pair, e.Side, e.Shard = cmp.Or(d.about.Pair, e.Pair), cmp.Or(d.about.Side, e.Side), cmp.Or(d.about.Shard, e.Shard)
	if e.Kind == farm.StepProgress || e.Kind == farm.StepWaiting || e.Kind == farm.WayBackLost {
		d.beat(e.Text)
	}
	if d.mover.Sink != nil {
		d.mover.Sink(e)
	}
}

// border is where a test lets the program die; see Mover.Border.
func (d *doing) border(point string) error {
	if d.mover.Border == nil {
		return nil
	}
	return d.mover.Border(point)
}

// phase runs one part of a step between two borders.
func (d *doing) phase(ctx context.Context, name string, do func(context.Context) error) error {
	return d.phaseOf(ctx, d.step, name, do)
}

// phaseOf is phase for a part that another step owns.
func (d *doing) phaseOf(ctx context.Context, step, name string, do func(context.Context) error) error {
	if err := d.border("before " + step + "/" + name); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := do(ctx); err != nil {
		return err
	}
	return d.border("after " + step + "/" + name)
}
