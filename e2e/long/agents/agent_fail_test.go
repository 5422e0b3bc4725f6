package agents

import (
	"os"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

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
	f := farmtest.StartNetFarm(t, farm.ActiveActive, 2, 2000)
	killed := 0
	p := f.Steps("first", func(farm.Event) {
		for _, h := range farmtest.NetHosts {
			f.KillAgent(h, 50*time.Millisecond)
		}
		killed++
	})
	f.MustEndWell(p)
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
			f := farmtest.StartNetFarm(t, farm.ActiveActive, 2, 20000)
			done := false
			p := f.Steps("first", func(e farm.Event) {
				if e.Step != c.step || done {
					return
				}
				done = true
				if c.step == "seed" {
					time.Sleep(300 * time.Millisecond) // in the middle of it
				}
				f.Cut(c.cut)
				time.Sleep(c.away)
				f.Heal(c.cut)
			})
			if !done {
				t.Fatalf("the move never came to %s", c.step)
			}
			f.MustEndWell(p)
		})
	}
}

// A target behind a slow line: everything takes longer, and nothing is lost.
func TestSlowLine(t *testing.T) {
	long(t)
	f := farmtest.StartNetFarm(t, farm.ActiveActive, 2, 2000)
	for _, h := range []farm.HostName{"new1", "new2", "old2"} {
		f.Did(f.Hosts[h].Slow("20mbit"))
	}
	f.MustEndWell(f.Steps("first", func(farm.Event) {}))
}
