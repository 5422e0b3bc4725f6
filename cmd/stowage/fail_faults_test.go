package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The lines of docs/failures.md about servers and networks: each fault, at
// borders of the move. Without STOWAGE_FAULTS=all it is a sample of the borders
// of one runbook: all of all take hours. RUNBOOK= takes one of them.
func TestFaultAtBorders(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: faults at the steps of a move")
	}
	if !apart(t) {
		return
	}
	all := os.Getenv("STOWAGE_FAULTS") == "all"
	for _, c := range scenes {
		if name := os.Getenv("RUNBOOK"); name == c.name || name == "" && (all || c.name == "replace") {
			faultAtBorders(t, c, all)
		}
	}
}

func faultAtBorders(t *testing.T, c scene, all bool) {
	var points []string
	for _, p := range c.points() { // each step's beginning and each phase's
		if strings.HasPrefix(p, "before ") {
			points = append(points, p)
		}
	}
	kinds, roles := []string{"kill", "cut", "freeze"}, c.roles()
	f := c.start(t)
	for k, what := range kinds {
		for w, whom := range roles {
			// As many borders as there are faults, from the first steps to the last.
			sample := 1 + (w*len(kinds)+k)*(len(points)-1)/(len(kinds)*len(roles))
			for n, point := range points {
				if !all && n != sample {
					continue
				}
				x := fault{What: what, Whom: whom, At: point, Long: 1500 * time.Millisecond}
				r := f.withFaults(f.next(c), []fault{x})
				t.Logf("%s: %-60s %s, exits %v, %.1f s", c.name, x, r.end(), r.Codes, r.Seconds)
				if len(r.Wrong) > 0 {
					t.Errorf("%s: %s:\n  %s\n%s\n%s", c.name, x, strings.Join(r.Wrong, "\n  "), strings.Join(r.Log, "\n"), r.stderr)
					f.down()
					f = c.start(t)
				}
			}
		}
	}
	f.down()
}

// A new instance that is killed and started again by whoever looks after
// servers did not replicate any more (until it serves it starts with
// skip_slave_start), and its side was undone: "SQL thread stopped: no error
// given". It goes on.
func TestRestartedTargetGoesOn(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: a new instance restarted in the middle of a move")
	}
	f := startFarm(t)
	r := f.withFaults(f.planned("first"), []fault{
		{What: "kill", Whom: target, At: "before rewire", Long: 500 * time.Millisecond},
		{What: "kill", Whom: target, At: "before check#2", Long: 500 * time.Millisecond},
		{What: "kill", Whom: target, At: "before in/ready#2", Long: 500 * time.Millisecond},
	})
	if r.end() != "done" || len(r.Missed) > 0 {
		t.Errorf("%s, exits %v, missed %v, wrong %v\n%s\n%s", r.end(), r.Codes, r.Missed, r.Wrong, strings.Join(r.Log, "\n"), r.stderr)
	}
}

// One fault, for whoever looks into a line of the table:
//
//	RUNBOOK=replace FAULT="kill target before in/flip" LONG=1500ms go test ./cmd/stowage -run TestOneFault -v
func TestOneFault(t *testing.T) {
	words := strings.SplitN(os.Getenv("FAULT"), " ", 3)
	if len(words) < 3 {
		t.Skip("no FAULT is given")
	}
	if !apart(t) {
		return
	}
	long, err := time.ParseDuration(os.Getenv("LONG"))
	if err != nil {
		long = 1500 * time.Millisecond
	}
	c := scenes[0]
	if name := os.Getenv("RUNBOOK"); name != "" {
		c = sceneNamed(t, name)
	}
	f := c.start(t)
	r := f.withFaults(f.next(c), []fault{{What: words[0], Whom: role(words[1]), At: words[2], Long: long}})
	fmt.Println(strings.Join(r.Log, "\n"))
	t.Logf("%s, exits %v, %.1f s\n%s", r.end(), r.Codes, r.Seconds, r.stderr)
	if len(r.Wrong) > 0 {
		t.Errorf("  %s", strings.Join(r.Wrong, "\n  "))
	}
}
