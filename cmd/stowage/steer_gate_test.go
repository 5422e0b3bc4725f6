package main

import (
	"strings"
	"testing"

	"stowage/farm"
)

// Killed behind a closed gate, paused there by somebody who was worried: the
// status says what is wrong, and going on opens the gate.
func TestPausedBehindAClosedGate(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	if p := runProgram(t, "stowage @ after in/close", "move", "first", "-C", f.dir); p.code != -1 {
		t.Fatalf("not killed: exit %d\n%s", p.code, p.stderr)
	}
	f.must("move", "pause", "--reason", "what is this")
	st := runProgram(t, "", "move", "status", "-C", f.dir)
	for _, want := range []string{"GATE CLOSED", "PAUSED by", "what is this", "next: stowage move resume"} {
		if !strings.Contains(st.stdout, want) {
			t.Errorf("the status lacks %q:\n%s", want, st.stdout)
		}
	}
	// Killed again, at the same gate, after a pause that came while it went on.
	if p := runProgram(t, "stowage @ before in/flip", "move", "resume", "-C", f.dir); p.code != -1 {
		t.Fatalf("not killed: exit %d\n%s", p.code, p.stderr)
	}
	b := f.start("move", "resume")
	f.await(b, "the gate is open", func() bool { return len(f.status().ClosedGates) == 0 })
	b.ends(t, exitFine)
	f.checkWhole()
}

// Killed behind a closed gate, abort and undo take the switch back by
// themselves.
func TestAbortBehindAClosedGate(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	f.wanted = "anywhere"
	before := f.places()
	for n, x := range []struct{ point, verb string }{{"after out/close", "abort"}, {"before out/flip", "undo"}, {"after in/open", "abort"}, {"after rewire/repoint", "undo"}} {
		plan := "try-" + string(rune('a'+n))
		f.must("plan", "--name", plan)
		if p := runProgram(t, "stowage @ "+x.point, "move", plan, "-C", f.dir); p.code != -1 {
			t.Fatalf("not killed at %s: exit %d\n%s", x.point, p.code, p.stderr)
		}
		f.must("move", x.verb)
		if now := f.places(); now != before {
			t.Errorf("%s at %s: farm.yaml says %s, was %s", x.verb, x.point, now, before)
		}
		f.checkNow()
	}
	// Behind the point of no return abort finishes what it finds.
	f.must("plan", "--name", "last")
	if p := runProgram(t, "stowage @ after retire/record", "move", "last", "-C", f.dir); p.code != -1 {
		t.Fatalf("not killed: exit %d\n%s", p.code, p.stderr)
	}
	f.must("move", "abort")
	if now := f.places(); now == before {
		t.Error("aborted behind the point of no return, the side is not moved")
	}
	f.checkNow()
	f.checkWhole()
}

// Lanes are undone one after the other, the one that began last first.
func TestUndoGoesBackwards(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startShardFarm(t)
	f.wanted, f.onto = "anywhere", "r630-ssd"
	f.goals("soak: 50ms\nbudgets: {streams_per_host: 4}\n")
	f.must("plan", "--name", "both")
	b := f.start("move", "both", "--gate", "before-retire")
	f.await(b, "a side of each pair waits", func() bool { return len(f.status().Waiting) == 2 })
	f.must("move", "undo")
	b.ends(t, exitFailed)
	var undone []string
	for _, e := range f.events() {
		if e.Kind == farm.StepUndone && (len(undone) == 0 || undone[len(undone)-1] != string(e.Pair)) {
			undone = append(undone, string(e.Pair))
		}
	}
	if got := strings.Join(undone, " "); got != "dbshard002 dbshard001" {
		t.Errorf("undone in this order: %s", got)
	}
	f.checkNow()
}
