package main

import (
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"stowage/farm"
)

// steps tells of every step that has begun, once for each side or shard, until
// the move of a plan ends.
func (f *netFarm) steps(plan string, met func(e farm.Event)) program {
	f.t.Helper()
	return f.stepsOf([]string{"move", plan, "-C", f.dir}, met)
}

// stepsOf is steps of any command that moves.
func (f *netFarm) stepsOf(args []string, met func(e farm.Event)) program {
	f.t.Helper()
	a := &app{dir: f.dir, log: slog.New(slog.DiscardHandler)}
	before, _ := runSoFar(a)
	ended := make(chan program, 1)
	go func() { ended <- runProgram(f.t, "", args...) }()
	seen := map[string]bool{}
	// Some forty steps, each of which may wait for a machine that is away.
	for limit := time.Now().Add(20 * time.Minute); time.Now().Before(limit); {
		select {
		case p := <-ended:
			return p
		case <-time.After(30 * time.Millisecond):
		}
		run, events := runSoFar(a)
		if run == before {
			continue
		}
		for _, e := range events {
			key := fmt.Sprint(e.Pair, e.Shard, e.Side, e.Step)
			if e.Kind == farm.StepStarted && !seen[key] {
				seen[key] = true
				met(e)
			}
		}
	}
	_, last := runSoFar(a)
	for _, e := range last[max(0, len(last)-20):] {
		f.t.Logf("%s %s %s %s %s", e.Time.Format(time.TimeOnly), e.Side, e.Step, e.Kind, e.Text)
	}
	f.t.Fatal("the move does not end; above is what it said last")
	return program{}
}

// runSoFar is the newest move and what it has told.
func runSoFar(a *app) (id string, events []farm.Event) {
	d, err := a.open()
	if err != nil {
		return "", nil
	}
	defer d.close()
	run, err := d.store.LatestRun("move")
	if err != nil {
		return "", nil
	}
	if events, _, err = d.store.Events(run.ID, 0); err != nil {
		return "", nil
	}
	return run.ID, events
}

// mustEndWell: the move has come to its end and the ledger is whole.
func (f *netFarm) mustEndWell(p program) {
	f.t.Helper()
	if p.code != exitFine {
		f.t.Fatalf("exit %d\n%s", p.code, p.stderr)
	}
	f.checkWhole()
}

func long(t *testing.T) {
	t.Helper()
	if testing.Short() || os.Getenv("STOWAGE_AGENT_FAULTS") == "" {
		t.Skip("SKIPPED: faults of agents and their network; STOWAGE_AGENT_FAULTS=1 runs them (make agents)")
	}
}

// Every agent is killed with kill -9 at the beginning of every step of both
// sides, and started again a moment later.
func TestAgentsKilledInEveryStep(t *testing.T) {
	long(t)
	f := startNetFarm(t, 2, 2000)
	killed := 0
	p := f.steps("first", func(farm.Event) {
		for _, h := range netHosts {
			f.killAgent(h, 50*time.Millisecond)
		}
		killed++
	})
	f.mustEndWell(p)
	if killed < 20 {
		t.Errorf("killed at %d steps only", killed)
	}
	t.Logf("all four agents were killed at %d steps", killed)
}

// A line is cut in the middle of a step and healed after a while: a new host's
// or the copied one's during seed, so that copy and calls break off; a new one's
// during out.
func TestLineCutAndHealed(t *testing.T) {
	long(t)
	for _, c := range []struct {
		step string
		cut  farm.HostName
		away time.Duration
	}{
		{"seed", "new1", 20 * time.Second}, {"seed", "old2", 12 * time.Second}, {"out", "new1", 8 * time.Second},
	} {
		t.Run(c.step+" "+string(c.cut), func(t *testing.T) {
			f := startNetFarm(t, 2, 20000)
			done := false
			p := f.steps("first", func(e farm.Event) {
				if e.Step != c.step || done {
					return
				}
				done = true
				if c.step == "seed" {
					time.Sleep(300 * time.Millisecond) // in the middle of it
				}
				f.cut(c.cut)
				time.Sleep(c.away)
				f.heal(c.cut)
			})
			if !done {
				t.Fatalf("the move never came to %s", c.step)
			}
			f.mustEndWell(p)
		})
	}
}

// A target behind a slow line: everything takes longer, and nothing is lost.
func TestSlowLine(t *testing.T) {
	long(t)
	f := startNetFarm(t, 2, 2000)
	for _, h := range []farm.HostName{"new1", "new2", "old2"} {
		f.did(f.hosts[h].Slow("20mbit"))
	}
	f.mustEndWell(f.steps("first", func(farm.Event) {}))
}
