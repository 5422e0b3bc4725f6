package faults

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
)

// The lines of docs/reference/failures.md about servers and networks: each fault, at
// borders of the move. Without STOWAGE_FAULTS=all it is a sample of the borders
// of one runbook: all of all take an hour. RUNBOOK= takes one of them.
func TestFaultAtBorders(t *testing.T) {
	t.Parallel() // it mostly waits
	if testing.Short() {
		t.Skip("SKIPPED: faults at the steps of a move")
	}
	all := os.Getenv("STOWAGE_FAULTS") == "all"
	var rounds []atBorder
	for _, c := range scenes {
		if name := os.Getenv("RUNBOOK"); name == c.Name || name == "" && (all || c.Name == "replace" || c.Name == "alter" && name != "") {
			rounds = append(rounds, faultsAtBorders(c, all)...)
		}
	}
	series{
		name: "faults at borders",
		alone: func(n int) string {
			x := rounds[n-1]
			return fmt.Sprintf("RUNBOOK=%s FAULT='%s %s %s' go test ./e2e/long/faults -run TestOneFault -v", x.scene.Name, x.fault.What, x.fault.Whom, x.fault.At)
		},
		rounds: len(rounds),
		scene:  func(n int) farmtest.Scene { return rounds[n-1].scene },
		faults: func(n int) []farmtest.Fault { return []farmtest.Fault{rounds[n-1].fault} },
	}.carryOut(t)
}

// atBorder is one fault at one border of what is moved.
type atBorder struct {
	scene farmtest.Scene
	fault farmtest.Fault
}

// faultsAtBorders are all of one scene: a server of each role is killed before
// and after every step and at both ends of every phase, and is cut off or
// frozen before it; or a sample, one for each.
func faultsAtBorders(c farmtest.Scene, all bool) (out []atBorder) {
	var before []string // each step and each phase
	for _, p := range c.Points() {
		if strings.HasPrefix(p, "before ") {
			before = append(before, p)
		}
	}
	kinds, roles := []string{"kill", "cut", "freeze"}, c.Roles()
	for k, what := range kinds {
		for w, whom := range roles {
			points := before
			switch {
			case !all: // as many borders as there are faults, from the first steps to the last
				sample := 1 + (w*len(kinds)+k)*(len(before)-1)/(len(kinds)*len(roles))
				points = before[sample : sample+1]
			case what == "kill":
				points = c.Points()
			}
			for _, p := range points {
				out = append(out, atBorder{c, farmtest.Fault{What: what, Whom: whom, At: p, Long: 1500 * time.Millisecond}})
			}
		}
	}
	return out
}

// A new instance that is killed and started again by whoever looks after
// servers did not replicate any more (until it serves it starts with
// skip_slave_start), and its side was undone: "SQL thread stopped: no error
// given". It goes on.
func TestRestartedTargetGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: a new instance restarted in the middle of a move")
	}
	borders := map[string][]string{
		"replace":    {"before rewire", "before check#2", "before in/ready#2"},
		"switchover": {"before preload", "before gather", "before cutover"},
	}
	farmtest.SideBySide(t, func(run func(string, func(*testing.T))) {
		for name, at := range borders {
			run(name, func(t *testing.T) {
				c := farmtest.SceneNamed(t, name)
				f := c.Start(t)
				var faults []farmtest.Fault
				for _, p := range at {
					faults = append(faults, farmtest.Fault{What: "kill", Whom: farmtest.Target, At: p, Long: 500 * time.Millisecond})
				}
				r := f.WithFaults(f.Next(c), faults)
				if r.End() != "done" || len(r.Missed) > 0 {
					t.Errorf("%s, exits %v, missed %v, wrong %v\n%s\n%s", r.End(), r.Codes, r.Missed, r.Wrong, strings.Join(r.Log, "\n"), r.Said)
				}
			})
		}
	})
}

// One fault, for whoever looks into a line of the table:
//
//	RUNBOOK=replace FAULT="kill target before in/flip" LONG=1500ms go test ./e2e/long/faults -run TestOneFault -v
func TestOneFault(t *testing.T) {
	words := strings.SplitN(os.Getenv("FAULT"), " ", 3)
	if len(words) < 3 {
		t.Skip("no FAULT is given")
	}
	if !farmtest.Apart(t) {
		return
	}
	long, err := time.ParseDuration(os.Getenv("LONG"))
	if err != nil {
		long = 1500 * time.Millisecond
	}
	c := farmtest.Scenes[0]
	if name := os.Getenv("RUNBOOK"); name != "" {
		c = farmtest.SceneNamed(t, name)
	}
	f := c.Start(t)
	r := f.WithFaults(f.Next(c), []farmtest.Fault{{What: words[0], Whom: farmtest.Role(words[1]), At: words[2], Long: long}})
	fmt.Println(strings.Join(r.Log, "\n"))
	t.Logf("%s, exits %v, %.1f s\n%s", r.End(), r.Codes, r.Seconds, r.Said)
	if len(r.Wrong) > 0 {
		t.Errorf("  %s", strings.Join(r.Wrong, "\n  "))
	}
}
