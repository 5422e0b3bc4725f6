package undo

import (
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// A pair with one writer is undone whole: its replica, which waits for an approval; then its
// primary, which has handed over, while the replica has moved for good and gets
// a plan back; and a primary's move that got stuck on its way back.
func TestUndoOfAPrimaryReplicaPair(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartOneWriter(t, farm.PrimaryReplica)
	f.Wanted = "anywhere"
	before := f.Addresses()
	undone := func(what string) {
		t.Helper()
		if now := f.Addresses(); now != before {
			t.Errorf("%s: farm.yaml says %s, was %s", what, now, before)
		}
		f.NothingLeft()
		f.CheckOneServes()
	}
	f.Must("plan", "--name", "first")
	f.UndoAt("move", "first", "--approve-before", "retire")
	undone("the replica undone")
	f.StuckUndoing("after soak", "before undo gather", f.Instance(farm.A)...)
	undone("the primary taken back from where it was stuck")

	f.Must("plan", "--name", "half")
	b := f.Start("move", "half", "--approve-before", "retire")
	f.Await(b, "the replica waits", func() bool { return len(f.Status().Waiting) == 1 })
	f.Must("approve")
	f.Await(b, "the primary waits", func() bool { w := f.Status().Waiting; return len(w) == 1 && w[0].Part == "dbshard001/A" })
	f.Must("undo")
	b.Ends(t, farmtest.ExitFailed)
	if !strings.Contains(b.Out.String(), " move undo-half") {
		t.Fatalf("no way back:\n%s", &b.Out)
	}
	f.CheckOneServes()
	f.ClearOld()
	f.Must("move", "undo-half")
	if now := f.Addresses(); !farmtest.SamePlaces(now, before) {
		t.Errorf("moved back: farm.yaml says %s, was %s", now, before)
	}
	f.CheckOneWriter()
}

// A single instance is undone while its old place follows; got stuck on its way
// back, it goes on; moved for good, it gets a plan back.
func TestUndoOfASingleInstance(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartOneWriter(t, farm.Single)
	f.Wanted = "anywhere"
	before := f.Addresses()
	f.UndoAt(append(f.Instance(farm.A), "--approve-before", "retire")...)
	f.CheckOneServes()
	f.StuckUndoing("after soak", "before undo seed", f.Instance(farm.A)...)
	if now := f.Addresses(); now != before {
		t.Errorf("undone: farm.yaml says %s, was %s", now, before)
	}
	f.NothingLeft()
	f.CheckOneServes()
	f.Must(f.Instance(farm.A)[:5]...)
	p := farmtest.RunProgram(t, "", "undo", "-C", f.Dir)
	if p.Code != farmtest.ExitFine || !strings.Contains(p.Stderr, " move undo-dbshard001a-to-ssd01") {
		t.Fatalf("the way back: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	f.ClearOld()
	f.Must("move", "undo-dbshard001a-to-ssd01")
	if now := f.Addresses(); !farmtest.SamePlaces(now, before) {
		t.Errorf("moved back: farm.yaml says %s, was %s", now, before)
	}
	f.CheckOneWriter()
}

// A shard is brought home with what was written at its new place; got stuck on
// its way back, it goes on; settled, it is told how it goes back.
func TestUndoOfAShard(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartShardFarm(t)
	there := []string{"move", "shard", farmtest.Goes, "--to", farmtest.Away}
	f.UndoAt(append(there, "--approve-before", "settle")...)
	f.ShardIsAt(farmtest.MovedShard, farmtest.HomePair)
	f.StuckUndoing("after soak", "before undo prepare", append(there, "-C", f.Dir)...)
	f.ShardIsAt(farmtest.MovedShard, farmtest.HomePair)
	f.Must(there...)
	p := farmtest.RunProgram(t, "", "undo", "-C", f.Dir)
	if p.Code != farmtest.ExitFine || !strings.Contains(p.Stdout, "stowage move shard "+farmtest.Goes+" --to "+farmtest.Home) {
		t.Errorf("the way back: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	f.ShardIsAt(farmtest.MovedShard, farmtest.AwayOne)
	f.CheckWhole()
}
