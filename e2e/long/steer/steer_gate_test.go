package steer

import (
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// Killed behind a closed gate, paused there by somebody who was worried: the
// status says what is wrong, and going on opens the gate.
func TestPausedBehindAClosedGate(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	if p := farmtest.RunProgram(t, "stowage @ after in/close", "move", "first", "-C", f.Dir); p.Code != -1 {
		t.Fatalf("not killed: exit %d\n%s", p.Code, p.Stderr)
	}
	f.Must("pause", "--reason", "what is this")
	st := farmtest.RunProgram(t, "", "status", "-C", f.Dir)
	for _, want := range []string{"GATE CLOSED", "PAUSED by", "what is this", "next: stowage -C " + f.Dir + " resume"} {
		if !strings.Contains(st.Stdout+st.Stderr, want) {
			t.Errorf("the status lacks %q:\n%s", want, st.Stdout)
		}
	}
	// Killed again, at the same gate, after a pause that came while it went on.
	if p := farmtest.RunProgram(t, "stowage @ before in/flip", "resume", "-C", f.Dir); p.Code != -1 {
		t.Fatalf("not killed: exit %d\n%s", p.Code, p.Stderr)
	}
	b := f.Start("resume")
	f.Await(b, "the gate is open", func() bool { return len(f.Status().ClosedGates) == 0 })
	b.Ends(t, farmtest.ExitFine)
	f.CheckWhole()
}

// Killed behind a closed gate, abort and undo take the switch back by
// themselves.
func TestAbortBehindAClosedGate(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	f.Wanted = "anywhere"
	before := f.Places()
	for n, x := range []struct{ point, verb string }{{"after out/close", "abort"}, {"before out/flip", "undo"}, {"after in/open", "abort"}, {"after rewire/repoint", "undo"}} {
		plan := "try-" + string(rune('a'+n))
		f.Must("plan", "--name", plan)
		if p := farmtest.RunProgram(t, "stowage @ "+x.point, "move", plan, "-C", f.Dir); p.Code != -1 {
			t.Fatalf("not killed at %s: exit %d\n%s", x.point, p.Code, p.Stderr)
		}
		f.Must(x.verb)
		if now := f.Places(); now != before {
			t.Errorf("%s at %s: farm.yaml says %s, was %s", x.verb, x.point, now, before)
		}
		f.CheckNow()
	}
	// Behind the point of no return abort finishes what it finds.
	f.Must("plan", "--name", "last")
	if p := farmtest.RunProgram(t, "stowage @ after retire/record", "move", "last", "-C", f.Dir); p.Code != -1 {
		t.Fatalf("not killed: exit %d\n%s", p.Code, p.Stderr)
	}
	f.Must("abort")
	if now := f.Places(); now == before {
		t.Error("aborted behind the point of no return, the side is not moved")
	}
	f.CheckNow()
	f.CheckWhole()
}

// Lanes are undone one after the other, the one that began last first.
func TestUndoGoesBackwards(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartShardFarm(t)
	f.Wanted, f.Onto = "anywhere", "r630-ssd"
	f.Goals("soak: 50ms\nbudgets: {streams_per_host: 4}\n")
	f.Must("plan", "--name", "both")
	b := f.Start("move", "both", "--approve-before", "retire")
	f.Await(b, "a side of each pair waits", func() bool { return len(f.Status().Waiting) == 2 })
	f.Must("undo")
	b.Ends(t, farmtest.ExitFailed)
	var undone []string
	for _, e := range f.Events() {
		if e.Kind == farm.StepUndone && (len(undone) == 0 || undone[len(undone)-1] != string(e.Pair)) {
			undone = append(undone, string(e.Pair))
		}
	}
	if got := strings.Join(undone, " "); got != "dbshard002 dbshard001" {
		t.Errorf("undone in this order: %s", got)
	}
	f.CheckNow()
}
