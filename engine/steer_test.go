package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// patient is a Doer that holds one step until it is let go, or ends there.
type patient struct {
	obeyer
	at   string
	free chan struct{} // closed: go on
	end  atomic.Bool   // then end instead
	hold atomic.Int32  // calls of Hold
}

func (p *patient) Do(ctx context.Context, c Call, beat func(string)) (json.RawMessage, error) {
	if c.Step == p.at && !c.Undo {
		select {
		case <-p.free:
			if p.end.Load() {
				return nil, Aborted(errors.New("somebody said so"))
			}
		default:
			return nil, Held("not yet")
		}
	}
	return p.obeyer.Do(ctx, c, beat)
}

func (p *patient) Hold(ctx context.Context, c Call, beat func(string)) error {
	p.hold.Add(1)
	select {
	case <-p.free:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// A step that is held has not begun; it waits without a time-out, through the
// end of the worker it waits in, and then runs once. Other lanes go on.
func TestHeldStepWaitsAndRunsOnce(t *testing.T) {
	t.Parallel() // it mostly waits
	_, c := startEngine(t)
	p := &patient{at: "two", free: make(chan struct{})}
	stop := serve(t, c, "", p, 4)
	job := oneLane("held", orders{}, "one?", "two?", "three!")
	job.Lanes[0].Parts[0].Steps[1].Timeout = time.Second // shorter than the wait
	job.Lanes = append(job.Lanes, Lane{Name: "other", Parts: []Part{{Subject: "o", Steps: steps("one")}}})
	ended := make(chan Result)
	go func() { ended <- run(t, c, job) }()
	waitFor(t, "the lane waits", func() bool { return p.hold.Load() > 0 })
	waitFor(t, "the other lane ends", func() bool {
		return phaseOf(t, c, "held", "other") == Ended
	})
	began := time.Now()
	stop()
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("a worker that only waits took %v to stop", took)
	}
	serve(t, c, "", p, 4)
	waitFor(t, "the next worker waits", func() bool { return p.hold.Load() > 1 })
	time.Sleep(1500 * time.Millisecond) // longer than the step's time-out
	if is := phaseOf(t, c, "held", "lane"); is != Running {
		t.Errorf("while it waits the lane is %s", is)
	}
	if got := p.names("s"); !slices.Equal(got, []string{"one"}) {
		t.Errorf("while it waits these steps ran: %v", got)
	}
	close(p.free)
	if r := <-ended; r.End() != EndDone {
		t.Fatalf("%+v", r)
	}
	if got := p.names("s"); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("steps ran: %v", got)
	}
}

// A part that is aborted before its step of no return is undone; behind it the
// same answer cannot take it back.
func TestAbortedPartIsUndone(t *testing.T) {
	_, c := startEngine(t)
	free := make(chan struct{})
	close(free)
	p := &patient{at: "last", free: free}
	p.end.Store(true)
	serve(t, c, "", p, 4)
	r := run(t, c, oneLane("aborted", orders{}, "one?", "two?", "last!"))
	if l := r.Lanes[0]; l.End != EndUndone || l.Kind != KindAborted || l.Error != "somebody said so" {
		t.Errorf("%+v", l)
	}
	if got := p.names("s"); !slices.Equal(got, []string{"one", "two", "undo two", "undo one"}) {
		t.Errorf("steps ran: %v", got)
	}
	behind := run(t, c, oneLane("behind", orders{}, "one?", "seal!", "last?"))
	if l := behind.Lanes[0]; l.End != EndStuck {
		t.Errorf("behind the point of no return: %+v", l)
	}
}
