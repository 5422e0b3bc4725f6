package undo

import (
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// TestNextStepAfterAFailedUndoWorks: a way back fails, in each kind of lane, and then
// gets stuck while that is taken back in turn. What `status` names next is typed as
// it stands, each time, and at its end the farm is where it was.
func TestNextStepAfterAFailedUndoWorks(t *testing.T) {
	farmtest.SideBySide(t, func(run func(name string, test func(*testing.T))) {
		run("both sides of a pair", func(t *testing.T) {
			f := farmtest.StartFarm(t)
			f.Wanted = "anywhere"
			before := f.Addresses()
			f.Must("move", "first")
			wayBackFails(f, "undo-first", "after in", "before undo out")
			backWhere(f, before)
			f.CheckWhole()
		})
		run("primary and replica", func(t *testing.T) {
			f := farmtest.StartOneWriter(t, farm.PrimaryReplica)
			f.Wanted = "anywhere"
			before := f.Addresses()
			f.Must("plan", "--name", "first")
			f.Must("move", "first")
			wayBackFails(f, "undo-first", "after soak", "before undo gather")
			backWhere(f, before)
			f.CheckOneWriter()
		})
		run("single instance", func(t *testing.T) {
			f := farmtest.StartOneWriter(t, farm.Single)
			f.Wanted = "anywhere"
			before := f.Addresses()
			f.Must(f.Instance(farm.A)[:5]...)
			wayBackFails(f, "undo-dbshard001a-to-ssd01", "after soak", "before undo seed")
			backWhere(f, before)
			f.CheckOneWriter()
		})
		run("shard", func(t *testing.T) {
			f := farmtest.StartShardFarm(t)
			f.Must("move", "shard", farmtest.Goes, "--to", farmtest.Away)
			f.Must("undo") // names the command
			back := []string{"move", "shard", farmtest.Goes, "--to", farmtest.Home}
			failsAt(f, "after soak", farmtest.ExitFailed, back)
			if next := f.Status().NextSteps; len(next) == 0 || !strings.HasPrefix(next[0], "stowage -C "+f.Dir+" log --run ") {
				t.Fatalf("next: %q", next)
			}
			failsAt(f, "after soak|before undo prepare", farmtest.ExitUnknown, back)
			f.TakeNext("stowage resume", farmtest.ExitFailed)
			f.Must(back...)
			f.ShardIsAt(farmtest.MovedShard, farmtest.HomePair)
			f.CheckWhole()
		})
	})
}

// wayBackFails undoes what has been moved for good, by the plan that undo writes:
// it fails at a point, and is taken back; it fails there again, and its undo at
// another. Each time the next step is taken.
func wayBackFails(f *farmtest.LiveFarm, plan, point, undo string) {
	f.T.Helper()
	f.Must("undo")
	f.ClearOld()
	back := []string{"move", plan}
	failsAt(f, point, farmtest.ExitFailed, back)
	f.TakesNext("stowage move " + plan)
	failsAt(f, point+"|"+undo, farmtest.ExitUnknown, back)
	f.TakeNext("stowage resume", farmtest.ExitFailed)
	f.ClearOld() // of the side that has gone back
	f.TakeNext("stowage move "+plan, farmtest.ExitFine)
}

func failsAt(f *farmtest.LiveFarm, points string, code int, args []string) {
	f.T.Helper()
	p := farmtest.RunProgram(f.T, "step @ "+points, append(args[:len(args):len(args)], "-C", f.Dir)...)
	if p.Code != code {
		f.T.Fatalf("failed at %q: exit %d, want %d\n%s%s", points, p.Code, code, p.Stdout, p.Stderr)
	}
}

func backWhere(f *farmtest.LiveFarm, before string) {
	f.T.Helper()
	if now := f.Addresses(); !farmtest.SamePlaces(now, before) {
		f.T.Errorf("moved back: farm.yaml says %s, was %s", now, before)
	}
}
