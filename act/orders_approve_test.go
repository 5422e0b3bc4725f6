package act

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/store"
)

// An approval ahead of one lane lets that lane pass, and no other; a lane that the run does not have is refused.
func TestApproveAheadIsForItsLane(t *testing.T) {
	for lane, passes := range map[string]map[string]bool{
		"p1":   {"p1/A": true, "p1/B": true, "p10/A": false},
		"p1/B": {"p1/A": false, "p1/B": true, "p10/A": false},
		"":     {"p1/A": true, "p1/B": true, "p10/A": true},
	} {
		s := approving(t)
		if _, _, err := Approve(s, "", "out", lane, true, ""); err != nil {
			t.Fatal(err)
		}
		now, err := SteeringOf(s, "r1")
		if err != nil {
			t.Fatal(err)
		}
		for part, passes := range passes {
			if v := now.judge(part, outStep, 1, time.Unix(2000, 0), ""); (v.may == mayBegin) != passes {
				t.Errorf("approved ahead for %q: %s: %+v", lane, part, v)
			}
			if v := now.judge(part, retireStep, 1, time.Unix(2000, 0), "", "out"); (v.may == mayBegin) != passes {
				t.Errorf("approved ahead for %q: %s behind it: %+v", lane, part, v)
			}
		}
	}
	s := approving(t)
	for _, ahead := range []bool{true, false} {
		if _, _, err := Approve(s, "", "out", "p2", ahead, ""); !errors.Is(err, farm.ErrInput) {
			t.Errorf("a lane that is not there, ahead %v: %v", ahead, err)
		}
	}
	if orders, err := s.Orders("r1", 0); err != nil || len(orders) != 1 {
		t.Errorf("what was refused left %+v, %v", orders, err)
	}
}

// approving is the store of a run of two pairs that waits before out.
func approving(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "stowage.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	ask := order1(orderAskBefore, "", "out")
	ask.Run = "r1"
	run := store.Run{ID: "r1", Kind: "move", State: store.Running, Started: time.Unix(1000, 0)}
	job := engine.Job{ID: "r1", Lanes: []engine.Lane{
		{Name: "p1", Parts: []engine.Part{{Subject: "p1/B"}, {Subject: "p1/A"}}}, {Name: "p10", Parts: []engine.Part{{Subject: "p10/A"}}}}}
	if err := errors.Join(s.PutDocument("job", "r1", run.Started, job), s.BeginRun(run, []store.Order{ask})); err != nil {
		t.Fatal(err)
	}
	return s
}
