package main

import (
	"strings"
	"testing"

	"stowage/farm"
)

// stuckUndoing lets a move fail at a point and its taking back at another,
// and has it go on being taken back afterwards.
func (f *liveFarm) stuckUndoing(point, undo string, args ...string) {
	t := f.t
	t.Helper()
	p := runProgram(t, "step @ "+point+"|"+undo, args...)
	if p.code != exitUnknown || !strings.Contains(p.stderr, "goes on taking it back") {
		t.Fatalf("failed at %q, and again at %q: exit %d, want %d and how to go on\n%s", point, undo, p.code, exitUnknown, p.stderr)
	}
	// Killed in the middle of going on, too.
	if p := runProgram(t, "stowage @ "+strings.Replace(undo, "before", "after", 1), "move", "resume", "-C", f.dir); p.code != -1 {
		t.Fatalf("not killed after %q: exit %d\n%s", undo, p.code, p.stderr)
	}
	if p := runProgram(t, "", "move", "resume", "-C", f.dir); p.code != exitFailed {
		t.Fatalf("taken back from %q: exit %d, want %d\n%s", undo, p.code, exitFailed, p.stderr)
	}
	again := runProgram(t, "", "move", "resume", "-C", f.dir)
	if again.code != exitFine || !strings.Contains(again.stderr, "has ended") {
		t.Errorf("resumed when it had been taken back: exit %d\n%s%s", again.code, again.stdout, again.stderr)
	}
}

// undoAt begins a move, waits until it stands at its last gate, and undoes it.
func (f *liveFarm) undoAt(args ...string) {
	t := f.t
	t.Helper()
	b := f.start(args...)
	f.await(b, "it stands at its gate", func() bool { return len(f.status().Waiting) == 1 })
	f.must("move", "undo", "--reason", "not today")
	b.ends(t, exitFailed)
}

// nothingLeft checks that no directory is there that farm.yaml does not know.
func (f *liveFarm) nothingLeft() {
	f.t.Helper()
	for _, d := range f.unknownDirs() {
		f.t.Errorf("left behind: %s", d)
	}
}

// A pair with one writer is undone whole: its replica at its gate; then its
// primary, which has handed over, while the replica has moved for good and gets
// a plan back; and a primary's move that got stuck on its way back.
func TestUndoOfAPrimaryReplicaPair(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startOneWriter(t, farm.PrimaryReplica)
	f.wanted = "anywhere"
	before := f.addresses()
	undone := func(what string) {
		t.Helper()
		if now := f.addresses(); now != before {
			t.Errorf("%s: farm.yaml says %s, was %s", what, now, before)
		}
		f.nothingLeft()
		f.checkOneServes()
	}
	f.must("plan", "--name", "first")
	f.undoAt("move", "first", "--gate", "before-retire")
	undone("the replica undone")
	f.stuckUndoing("after soak", "before undo gather", f.instance(farm.A)...)
	undone("the primary taken back from where it was stuck")

	f.must("plan", "--name", "half")
	b := f.start("move", "half", "--gate", "before-retire")
	f.await(b, "the replica waits", func() bool { return len(f.status().Waiting) == 1 })
	f.must("move", "approve")
	f.await(b, "the primary waits", func() bool { w := f.status().Waiting; return len(w) == 1 && w[0].Part == "dbshard001/A" })
	f.must("move", "undo")
	b.ends(t, exitFailed)
	if !strings.Contains(b.out.String(), "stowage move undo-half") {
		t.Fatalf("no way back:\n%s", &b.out)
	}
	f.checkOneServes()
	f.clearOld()
	f.must("move", "undo-half")
	if now := f.addresses(); !samePlaces(now, before) {
		t.Errorf("moved back: farm.yaml says %s, was %s", now, before)
	}
	f.checkOneWriter()
}

// A single instance is undone while its old place follows; got stuck on its way
// back, it goes on; moved for good, it gets a plan back.
func TestUndoOfASingleInstance(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startOneWriter(t, farm.Single)
	f.wanted = "anywhere"
	before := f.addresses()
	f.undoAt(append(f.instance(farm.A), "--gate", "before-retire")...)
	f.checkOneServes()
	f.stuckUndoing("after soak", "before undo seed", f.instance(farm.A)...)
	if now := f.addresses(); now != before {
		t.Errorf("undone: farm.yaml says %s, was %s", now, before)
	}
	f.nothingLeft()
	f.checkOneServes()
	f.must(f.instance(farm.A)[:5]...)
	p := runProgram(t, "", "move", "undo", "-C", f.dir)
	if p.code != exitFine || !strings.Contains(p.stdout, "stowage move undo-dbshard001a-to-ssd01") {
		t.Fatalf("the way back: exit %d\n%s%s", p.code, p.stdout, p.stderr)
	}
	f.clearOld()
	f.must("move", "undo-dbshard001a-to-ssd01")
	if now := f.addresses(); !samePlaces(now, before) {
		t.Errorf("moved back: farm.yaml says %s, was %s", now, before)
	}
	f.checkOneWriter()
}

// A shard is brought home with what was written at its new place; got stuck on
// its way back, it goes on; settled, it is told how it goes back.
func TestUndoOfAShard(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startShardFarm(t)
	there := []string{"move", "shard", goes, "--to", away}
	f.undoAt(append(there, "--gate", "before-settle")...)
	f.shardIsAt(movedShard, homePair)
	f.stuckUndoing("after soak", "before undo prepare", append(there, "-C", f.dir)...)
	f.shardIsAt(movedShard, homePair)
	f.must(there...)
	p := runProgram(t, "", "move", "undo", "-C", f.dir)
	if p.code != exitFine || !strings.Contains(p.stdout, "stowage move shard "+goes+" --to "+home) {
		t.Errorf("the way back: exit %d\n%s%s", p.code, p.stdout, p.stderr)
	}
	f.shardIsAt(movedShard, awayOne)
	f.checkWhole()
}
