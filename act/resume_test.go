package act

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"stowage/engine"
	"stowage/session"
	"stowage/store"
)

// A run that continues what a stuck one has left is begun on the same terms: what a person is asked, how long a side soaks, the limit on
// copies and the reason. The part that got stuck behind its point of no return goes on at once.
func TestResumedRunKeepsTheTermsOfTheStuckOne(t *testing.T) {
	s, err := store.Open(filepath.Join(t.TempDir(), "stowage.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const stuck, next = "p1/B", "p1/A"
	from, to := store.Run{ID: "move-x-1", Kind: "move"}, store.Run{ID: "move-x-2", Kind: "move", State: store.Running, Started: time.Unix(2000, 0)}
	for _, o := range []store.Order{
		order1(orderAskBefore, "", "out"), order1(orderAskBefore, "", "retire"), order1(orderSoak, "", "30m"), order1(orderMove, "", "x"), order1(orderThrottle, "", "5000000"),
		order1(orderAsked, stuck, "out"), order1(orderApprove, "", "out"), order1(orderAsked, stuck, "retire"), order1(orderApprove, stuck, "retire"),
		order1(orderSoaking, stuck, "retire"), order1(orderSealed, stuck, "retire"),
		order1(orderPause, "", ""), order1(orderAbort, "", ""),
	} {
		o.Run = from.ID
		if err := s.PutOrder(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := (&Act{Session: &session.Session{Store: s}}).handOn(from, to); err != nil {
		t.Fatal(err)
	}
	if runs, err := s.Runs("move"); err != nil || len(runs) != 1 || runs[0].ID != to.ID {
		t.Errorf("recorded: %+v, %v", runs, err)
	}
	now, err := SteeringOf(s, to.ID)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(now.ApproveBefore, []string{"out", "retire"}) || now.Soak != 30*time.Minute || now.Reason != "because" || now.Throttle == nil || *now.Throttle != 5e6 || now.ThrottleBy.Who != "ada" {
		t.Errorf("the next run has %+v", now)
	}
	if now.Paused != nil || now.Ending != nil || len(now.Waiting()) > 0 {
		t.Errorf("the next run heard what was said to the other one: %+v", now)
	}
	at := time.Unix(2000, 0)
	if v := now.judge(stuck, retireStep, 1, at, ""); v != (verdict{}) {
		t.Errorf("the step that got stuck: %+v", v)
	}
	if v := now.judge(next, outStep, 1, at, "", "seed"); v.may != mayBegin {
		t.Errorf("the next part, before a step approved ahead: %+v", v)
	}
	if v := now.judge(next, retireStep, 1, at, "", "seed", "out"); v.may != mustWait || v.note != orderAsked {
		t.Errorf("the next part, before its point of no return: %+v", v)
	}
	now.take(order1(orderApprove, next, "retire"))
	if v := now.judge(next, retireStep, 1, at, "", "seed", "out"); v.may != mustWait || v.note != orderSoaking {
		t.Errorf("the next part, approved: %+v", v)
	}
}

// A part that stopped at its point of no return before anybody was asked (its order could not be read) is asked about.
func TestStuckBeforeItWasAskedIsAsked(t *testing.T) {
	now := steeringOf(handedOn([]store.Order{order1(orderAskBefore, "", "retire")}, "move-x-2"))
	if v := now.judge("p1/B", retireStep, 1, time.Unix(2000, 0), ""); v.may != mustWait || v.note != orderAsked {
		t.Errorf("%+v", v)
	}
}

// A side that stopped on its return is brought back: the steps behind the one that was approved are not held.
func TestResumedReturnIsNotHeld(t *testing.T) {
	check := Step{Name: "check", NoReturn: true}
	job := engine.Job{Lanes: []engine.Lane{{Name: "p1", Parts: []engine.Part{{Subject: "p1/B", Steps: []engine.Step{{Name: "out", Undoable: true}, {Name: "return", NoReturn: true}, {Name: "check", NoReturn: true}}}}}}}
	rest := remainder(job, Outcome{Lanes: []engine.LaneResult{{Name: "p1", End: engine.EndStuck, Part: "p1/B", Step: "check"}}}, false)
	again := engine.Job{ID: "side-x-2", Lanes: rest}
	now := steeringOf(handedOn([]store.Order{order1(orderAskBefore, "", "return"), order1(orderApprove, "", "return"), order1(orderSealed, "p1/B", "return")}, again.ID))
	behind := bookOf(again).behind(engine.Call{Job: again.ID, Lane: "p1", Subject: "p1/B", Step: "check"})
	if v := now.judge("p1/B", check, 1, time.Unix(2000, 0), "", behind...); v != (verdict{}) {
		t.Errorf("%+v", v)
	}
}

// A person who has ended a run wants no other side begun: what continues it ends the side that is stuck, and no more.
func TestResumedAbortBeginsNoOtherSide(t *testing.T) {
	steps := []engine.Step{{Name: "out", Undoable: true}, {Name: "return", NoReturn: true}}
	job := engine.Job{Lanes: []engine.Lane{{Name: "p1", Parts: []engine.Part{{Subject: "p1/B", Steps: steps}, {Subject: "p1/A", Steps: steps}}}}}
	out := Outcome{Lanes: []engine.LaneResult{{Name: "p1", End: engine.EndStuck, Part: "p1/B", Step: "return"}}}
	for isEnded, want := range map[bool][]string{false: {"p1/B", "p1/A"}, true: {"p1/B"}} {
		rest, got := remainder(job, out, isEnded), []string(nil)
		for _, l := range rest {
			for _, p := range l.Parts {
				got = append(got, p.Subject)
			}
		}
		if len(rest) != 1 || !slices.Equal(got, want) {
			t.Errorf("ended %t: %v, want %v", isEnded, got, want)
		}
	}
}
