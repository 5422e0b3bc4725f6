package act

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/engine"
	"stowage/session"
	"stowage/store"
)

var (
	soakStep   = Step{Name: "soak"}
	settleStep = Step{Name: "settle", NoReturn: true, Phases: []string{"record"}}
)

// A part whose way back is lost waits for one word, whatever else was said and
// however much time has passed; after it only a pause holds it.
func TestJudgeLost(t *testing.T) {
	const part = "s1"
	lost, forward := order1(orderLost, part, "soak"), order1(orderForward, part, withoutWayBack)
	for _, x := range []struct {
		name string
		said []store.Order
		step Step
		may  answer
		note string
		text string
		undo answer
	}{
		{"lost", []store.Order{lost}, soakStep, mustWait, "", "approve --without-way-back", mustWait},
		{"of another part", []store.Order{order1(orderLost, "s2", "soak")}, soakStep, mayBegin, "", "", mayBegin},
		{"the soak is over", []store.Order{order1(orderSoak, "", "1ns"), order1(orderSoaking, part, "settle"), lost}, settleStep, mustWait, "", LostWords, mustWait},
		{"a plain approval", []store.Order{order1(orderAskBefore, "", "settle"), order1(orderAsked, part, "settle"), lost, order1(orderApprove, part, "settle")}, settleStep, mustWait, "", LostWords, mustWait},
		{"an approval ahead", []store.Order{order1(orderApprove, "", "settle"), lost}, settleStep, mustWait, "", LostWords, mustWait},
		{"undo was said before it was known", []store.Order{order1(orderUndo, "", ""), lost}, soakStep, mustWait, "", LostWords, mustWait},
		{"resume tries once more", []store.Order{lost, order1(orderResume, "", "")}, soakStep, mayBegin, "", "", mayBegin},
		{"and finds it lost again", []store.Order{lost, order1(orderResume, "", ""), lost}, soakStep, mustWait, "", LostWords, mustWait},
		{"or finds it open", []store.Order{lost, order1(orderResume, "", ""), order1(orderFound, part, "")}, settleStep, mayBegin, orderSealed, "", mayBegin},
		{"forward", []store.Order{lost, forward}, soakStep, mayBegin, "", "", mustTurn},
		{"forward is the point of no return's approval", []store.Order{order1(orderAskBefore, "", "settle"), order1(orderSoak, "", "9h"), lost, forward}, settleStep, mayBegin, orderSealed, "", mustTurn},
		{"forward during an undo", []store.Order{order1(orderUndo, "", ""), lost, forward}, settleStep, mayBegin, orderSealed, "", mustTurn},
		{"forward during a pause", []store.Order{lost, order1(orderPause, "", ""), forward}, settleStep, mustWait, "", "paused before", mustTurn},
		{"forward while nothing is lost", []store.Order{forward, lost}, soakStep, mustWait, "", LostWords, mustWait},
		{"resume does not take it back", []store.Order{lost, forward, order1(orderResume, "", "")}, settleStep, mayBegin, orderSealed, "", mustTurn},
	} {
		s := steeringOf(x.said)
		v := s.judge(part, x.step, 1, time.Unix(1e6, 0), "")
		if v.may != x.may || v.note != x.note || !strings.Contains(v.text, x.text) {
			t.Errorf("%s: %+v", x.name, v)
		}
		if v := s.judgeUndo(part); v.may != x.undo {
			t.Errorf("%s: its undo: %+v", x.name, v)
		}
	}
}

// Orders that would get a part stuck are not taken, and leave nothing behind;
// who decided is known to the run that goes on.
func TestOrdersAboutALostWay(t *testing.T) {
	s, err := store.Open(filepath.Join(t.TempDir(), "stowage.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := store.Run{ID: "r1", Kind: "move", State: store.Running, Started: time.Unix(1000, 0)}
	put := func(o store.Order) {
		t.Helper()
		o.Run = run.ID
		if err := s.PutOrder(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutRun(run); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Forward(s, "", "", ""); err == nil {
		t.Error("forward while nothing is lost")
	}
	put(order1(orderLost, "s1", "soak"))
	if _, err := Abort(s, "", ""); err == nil || !strings.Contains(err.Error(), "would lose what was written") {
		t.Errorf("abort: %v", err)
	}
	if err := Undo(s, run, ""); err == nil {
		t.Error("undo is taken")
	}
	if now, _ := SteeringOf(s, run.ID); now.Ending != nil {
		t.Errorf("a refused order holds: %+v", now)
	}
	if _, _, err := Forward(s, "", "s2", ""); err == nil {
		t.Error("forward for a part that is not lost")
	}
	if _, ways, err := Forward(s, "", "", "it has to stay"); err != nil || len(ways) != 1 {
		t.Fatalf("forward: %v %v", ways, err)
	}
	if _, err := Abort(s, "", ""); err != nil {
		t.Errorf("abort when it is decided: %v", err)
	}
	next := store.Run{ID: "r2"}
	if err := (&Act{Session: &session.Session{Store: s}}).handOn(run, next); err != nil {
		t.Fatal(err)
	}
	if now, _ := SteeringOf(s, next.ID); len(now.Lost) != 1 || now.Lost[0].Forward == nil || now.Lost[0].Forward.Why != "it has to stay" || now.Ending != nil {
		t.Errorf("the next run knows %+v", now)
	}
}

// What got stuck on its way back knows the steps that are left if it turns.
func TestRemainderKnowsWhatIsAhead(t *testing.T) {
	steps := []engine.Step{{Name: "copy", Undoable: true}, {Name: "cutover", Undoable: true}, {Name: "soak", Undoable: true}, {Name: "settle", NoReturn: true}}
	job := engine.Job{Lanes: []engine.Lane{{Name: "l", Parts: []engine.Part{{Subject: "s1", Steps: steps}}}}}
	names := func(steps []engine.Step) (out []string) {
		for _, s := range steps {
			out = append(out, s.Name)
		}
		return out
	}
	for range 2 { // stuck once, and stuck again
		rest := remainder(job, Outcome{Lanes: []engine.LaneResult{{Name: "l", End: engine.EndStuck, Part: "s1", Step: "soak", UndoStep: "cutover"}}}, false)
		if len(rest) != 1 {
			t.Fatalf("%+v", rest)
		}
		part := rest[0].Parts[0]
		if got := names(part.Ahead); !slices.Equal(got, []string{"soak", "settle"}) {
			t.Errorf("ahead: %v", got)
		}
		if got := names(part.Steps); got[len(got)-1] != "cutover" {
			t.Errorf("to be undone: %v", got)
		}
		job.Lanes = rest
	}
}
