package farmtest

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"stowage/farm"
)

// cutter cuts the line of one machine, each in its turn, at the beginning of
// every step, and heals it some seconds later, while the step runs.
type cutter struct {
	f       *NetFarm
	cuts    int
	healing sync.WaitGroup
}

func (c *cutter) meet(farm.Event) {
	c.healing.Wait() // of the one before
	h := NetHosts[c.cuts%len(NetHosts)]
	c.cuts++
	c.f.Cut(h)
	c.healing.Go(func() {
		time.Sleep(3 * time.Second)
		c.f.Heal(h)
	})
}

// CutInEveryStep moves a plan with such a cutter. A step that is over before the line of the one before is healed is not cut: the faster
// the machine, the fewer are.
func (f *NetFarm) CutInEveryStep(plan string, least int) Program {
	f.T.Helper()
	c := cutter{f: f}
	p := f.Steps(plan, c.meet)
	c.healing.Wait()
	if c.cuts < least {
		f.T.Errorf("cut at %d steps only", c.cuts)
	}
	f.T.Logf("a line was cut at %d steps", c.cuts)
	return p
}

// MoveAndCut moves side A to the first machine that is free. When its n-th step
// begins, the line of one of the two machines is cut for three seconds. It
// returns the name of the step, or nothing when there was no n-th.
func (f *NetFarm) MoveAndCut(n int, cutSource bool) (step string) {
	f.T.Helper()
	fm, free := f.freeHosts()
	source, target := fm.Pairs[0].Sides[farm.A].Host, free[0]
	f.Did(os.RemoveAll(filepath.Join(target.Dir, string(Net001(farm.A))))) // what an instance that left has left there
	victim := target.Name
	if cutSource {
		victim = source
	}
	var healing sync.WaitGroup
	met := 0
	p := f.stepsOf([]string{"move", "instance", "net001/A", "--to", string(target.Name), "-C", f.Dir}, func(e farm.Event) {
		if met++; met != n+1 {
			return
		}
		step = e.Step
		f.Cut(victim)
		healing.Go(func() {
			time.Sleep(3 * time.Second)
			f.Heal(victim)
		})
	})
	healing.Wait()
	if p.Code != ExitFine {
		f.T.Fatalf("cut off %s at %s: exit %d\n%s", victim, step, p.Code, p.Stderr)
	}
	return step
}
