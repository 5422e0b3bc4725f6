package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

// onwards is a Doer whose undo of one step waits for a person, who then wants the part to go on.
type onwards struct {
	obeyer
	at   string // the step that cannot be undone
	free chan struct{}
	held atomic.Int32
	fail atomic.Int32 // how many times the step `three` fails
}

func (o *onwards) Do(ctx context.Context, c Call, beat func(string)) (json.RawMessage, error) {
	if c.Step == "three" && !c.Undo && o.fail.Add(-1) >= 0 {
		return nil, Permanent(errors.New("no"))
	}
	if c.Step != o.at || !c.Undo {
		return o.obeyer.Do(ctx, c, beat)
	}
	select {
	case <-o.free:
		return nil, Onward("somebody said so")
	default:
		return nil, Held("not yet")
	}
}

func (o *onwards) Hold(ctx context.Context, c Call, beat func(string)) error {
	if !c.Undo {
		return errors.New("the hold of an undo is told of as one of a step")
	}
	o.held.Add(1)
	select {
	case <-o.free:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func onwardJob(id string, back bool) Job {
	job := oneLane(id, orders{}, "one?", "two?", "three", "four!")
	if part := &job.Lanes[0].Parts[0]; back {
		part.Back, part.Ahead, part.Steps = "it had failed", part.Steps[2:], part.Steps[:2]
	}
	return job
}

// An undo may wait, through the end of its worker; what then cannot be undone goes on from the step that had failed, and every
// step is done once. So does a part that is begun on its way back.
func TestUndoWaitsAndTurns(t *testing.T) {
	for _, back := range []bool{false, true} {
		_, c := startEngine(t)
		o := &onwards{at: "two", free: make(chan struct{})}
		if !back {
			o.fail.Store(1)
		}
		stop := serve(t, c, "", o, 4)
		ended := make(chan Result)
		go func() { ended <- run(t, c, onwardJob("turns", back)) }()
		waitFor(t, "the undo waits", func() bool { return o.held.Load() > 0 })
		stop()
		serve(t, c, "", o, 4)
		waitFor(t, "the next worker waits", func() bool { return o.held.Load() > 1 })
		close(o.free)
		r := <-ended
		if want := (LaneResult{Name: "lane", End: EndDone}); r.Lanes[0] != want {
			t.Errorf("back %v: ended %+v", back, r.Lanes[0])
		}
		want := []string{"one", "two", "three", "four"}
		if back {
			want = want[2:]
		}
		if got := o.names("s"); !slices.Equal(got, want) {
			t.Errorf("back %v: steps ran: %v", back, got)
		}
	}
}

// Nobody can go on from where something has been undone, nor for ever from the same step.
func TestOnwardHasAnEnd(t *testing.T) {
	_, c := startEngine(t)
	o := &onwards{at: "one", free: make(chan struct{})}
	close(o.free)
	o.fail.Store(1)
	serve(t, c, "", o, 4)
	if l := run(t, c, onwardJob("behind", false)).Lanes[0]; l.End != EndStuck || l.UndoStep != "one" || l.UndoError != "somebody said so" {
		t.Errorf("behind a step that was undone: %+v", l)
	}
	o.at = "two"
	o.fail.Store(100)
	if l := run(t, c, onwardJob("again", false)).Lanes[0]; l.End != EndStuck || l.Step != "three" {
		t.Errorf("a step that fails again and again: %+v", l)
	}
	if tried := 100 - o.fail.Load(); tried != 2 {
		t.Errorf("it was tried %d times, want 2", tried)
	}
}
