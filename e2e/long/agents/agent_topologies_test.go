package agents

import (
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// TestSwitchoverAcrossMachines: a primary and its replica move between machines
// while clients write. The line of the primary's new machine is cut while it is
// seeded.
func TestSwitchoverAcrossMachines(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartNetFarm(t, farm.PrimaryReplica, 2, 50)
	p := f.During("seed", func() {
		f.Cut("new1")
		time.Sleep(time.Second)
		f.Heal("new1")
	})
	if p.Code != farmtest.ExitFine {
		t.Fatalf("exit %d\n%s", p.Code, p.Stderr)
	}
	f.CheckOneWriter()
}

func TestLineCutInEveryStep(t *testing.T) {
	long(t)
	f := farmtest.StartNetFarm(t, farm.ActiveActive, 2, 2000)
	f.MustEndWell(f.CutInEveryStep("first", 12))
}

// A switchover is over before a line that was cut at one of its steps is healed,
// so each step has a move of its own, once with the line of the machine that is
// left and once with that of the machine it goes to.
func TestLineCutInEveryStepOfASwitchover(t *testing.T) {
	long(t)
	for _, topology := range []farm.Topology{farm.PrimaryReplica, farm.Single} {
		t.Run(string(topology), func(t *testing.T) {
			f := farmtest.StartNetFarm(t, topology, 2, 2000)
			f.Wanted = "anywhere" // hosts of any type will do
			cut := map[string]int{}
			for n := 0; ; n++ {
				step := f.MoveAndCut(n/2, n%2 == 0)
				if step == "" {
					break
				}
				cut[step]++
			}
			if len(cut) < 10 {
				t.Errorf("cut at %d steps only", len(cut))
			}
			t.Logf("both lines were cut at each of %d steps: %v", len(cut), cut)
			f.CheckOneWriter()
		})
	}
}

func TestLineCutInEveryStepWhileRegrouping(t *testing.T) {
	long(t)
	f := startNetRegrouping(t)
	p := f.CutInEveryStep("regroup", 12)
	if p.Code != farmtest.ExitFine || !strings.Contains(p.Stdout, "2 of 2 shards moved") {
		t.Fatalf("exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	f.CheckRegrouped(farm.ActiveActive)
}
