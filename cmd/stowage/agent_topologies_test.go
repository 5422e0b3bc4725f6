package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/farm"
)

// TestSwitchoverAcrossMachines: a primary and its replica move between machines
// while clients write. The line of the primary's new machine is cut while it is
// seeded.
func TestSwitchoverAcrossMachines(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startNetFarmOf(t, farm.PrimaryReplica, 2, 50)
	p := f.during("seed", func() {
		f.cut("new1")
		time.Sleep(time.Second)
		f.heal("new1")
	})
	if p.code != exitFine {
		t.Fatalf("exit %d\n%s", p.code, p.stderr)
	}
	f.checkOneWriter()
}

// cutter cuts the line of one machine, each in its turn, at the beginning of
// every step, and heals it some seconds later, while the step runs.
type cutter struct {
	f       *netFarm
	cuts    int
	healing sync.WaitGroup
}

func (c *cutter) meet(farm.Event) {
	c.healing.Wait() // of the one before
	h := netHosts[c.cuts%len(netHosts)]
	c.cuts++
	c.f.cut(h)
	c.healing.Go(func() {
		time.Sleep(3 * time.Second)
		c.f.heal(h)
	})
}

// cutInEveryStep moves a plan with such a cutter.
func (f *netFarm) cutInEveryStep(plan string, least int) program {
	f.t.Helper()
	c := cutter{f: f}
	p := f.steps(plan, c.meet)
	c.healing.Wait()
	if c.cuts < least {
		f.t.Errorf("cut at %d steps only", c.cuts)
	}
	f.t.Logf("a line was cut at %d steps", c.cuts)
	return p
}

func TestLineCutInEveryStep(t *testing.T) {
	long(t)
	f := startNetFarm(t, 2, 2000)
	f.mustEndWell(f.cutInEveryStep("first", 20))
}

// A switchover is over before a line that was cut at one of its steps is healed,
// so each step has a move of its own, once with the line of the machine that is
// left and once with that of the machine it goes to.
func TestLineCutInEveryStepOfASwitchover(t *testing.T) {
	long(t)
	for _, topology := range []farm.Topology{farm.PrimaryReplica, farm.Single} {
		t.Run(string(topology), func(t *testing.T) {
			f := startNetFarmOf(t, topology, 2, 2000)
			f.wanted = "anywhere" // hosts of any type will do
			cut := map[string]int{}
			for n := 0; ; n++ {
				step := f.moveAndCut(n/2, n%2 == 0)
				if step == "" {
					break
				}
				cut[step]++
			}
			if len(cut) < 10 {
				t.Errorf("cut at %d steps only", len(cut))
			}
			t.Logf("both lines were cut at each of %d steps: %v", len(cut), cut)
			f.checkOneWriter()
		})
	}
}

// moveAndCut moves side A to the first machine that is free. When its n-th step
// begins, the line of one of the two machines is cut for three seconds. It
// returns the name of the step, or nothing when there was no n-th.
func (f *netFarm) moveAndCut(n int, cutSource bool) (step string) {
	f.t.Helper()
	fm, free := f.freeHosts()
	source, target := fm.Pairs[0].Sides[farm.A].Host, free[0]
	f.did(os.RemoveAll(filepath.Join(target.Dir, string(net001(farm.A))))) // what an instance that left has left there
	victim := target.Name
	if cutSource {
		victim = source
	}
	var healing sync.WaitGroup
	met := 0
	p := f.stepsOf([]string{"move", "instance", "net001/A", "--to", string(target.Name), "-C", f.dir}, func(e farm.Event) {
		if met++; met != n+1 {
			return
		}
		step = e.Step
		f.cut(victim)
		healing.Go(func() {
			time.Sleep(3 * time.Second)
			f.heal(victim)
		})
	})
	healing.Wait()
	if p.code != exitFine {
		f.t.Fatalf("cut off %s at %s: exit %d\n%s", victim, step, p.code, p.stderr)
	}
	return step
}

func TestLineCutInEveryStepWhileRegrouping(t *testing.T) {
	long(t)
	f := startNetRegrouping(t)
	p := f.cutInEveryStep("regroup", 20)
	if p.code != exitFine || !strings.Contains(p.stdout, "2 of 2 shards moved") {
		t.Fatalf("exit %d\n%s%s", p.code, p.stdout, p.stderr)
	}
	f.checkRegrouped(farm.ActiveActive)
}
