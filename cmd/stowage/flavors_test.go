package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/internal/mariadbtest"
)

// TestMoveOnOtherFlavors: a pair is moved whole, side by side, under load, on
// servers of other lines; killed on the way at a few of the points where the
// flavors differ most; and the ledger is held against both sides.
func TestMoveOnOtherFlavors(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, test := range []struct {
		line  string
		kills []string
	}{
		{mariadbtest.MariaDB11, []string{"after seed", "before rewire/repoint"}},
		{mariadbtest.MySQL9, []string{"after seed", "after attach", "after compare", "after out/fence", "before rewire/repoint", "before in/flip"}},
	} {
		t.Run(test.line, func(t *testing.T) {
			t.Parallel() // it mostly waits
			f := startOn(t, test.line, farm.ActiveActive, 1)
			f.must("plan", "--name", "first")
			f.killedAt(sample(test.kills[:2], test.kills...), "move", "first")
			f.checkWhole()
		})
	}
}

// TestSwitchoverOnOtherFlavors: a plan moves the replica of a pair and then its
// primary, under load, killed around the decision; then a move of the primary
// fails when it is all but done, and what was written on the new one comes home.
func TestSwitchoverOnOtherFlavors(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, line := range []string{mariadbtest.MariaDB11, mariadbtest.MySQL9} {
		t.Run(line, func(t *testing.T) {
			t.Parallel() // it mostly waits
			f := startOn(t, line, farm.PrimaryReplica, 1)
			f.must("plan", "--name", "first")
			f.killedAt(sample([]string{"before cutover/flip"}, "after seed", "after cutover/lock", "before cutover/flip", "after cutover/flip"), "move", "first")
			f.checkOneServes()
			// There is a way back until the end: what was written on the new
			// primary is on the old one again.
			f.wanted = "anywhere"
			for _, point := range sample([]string{"before soak"}, "after cutover/catch-up", "after cutover/open", "before soak") {
				before := f.addresses()
				p := runWith(t, f.env("step @ "+point), f.instance(farm.A)...)
				if p.code != exitFailed || !strings.Contains(p.stderr, markOfKill+point) {
					t.Fatalf("failed at %q: exit %d, want %d\n%s", point, p.code, exitFailed, p.stderr)
				}
				if now := f.addresses(); now != before {
					t.Errorf("failed at %q: farm.yaml says %s, was %s", point, now, before)
				}
				f.checkOneServes()
			}
			f.checkOneWriter()
		})
	}
}

// TestSingleInstanceOnOtherFlavors moves an instance without a replica there
// and back.
func TestSingleInstanceOnOtherFlavors(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, line := range []string{mariadbtest.MariaDB11, mariadbtest.MySQL9} {
		t.Run(line, func(t *testing.T) {
			t.Parallel() // it mostly waits
			f := startOn(t, line, farm.Single, 1)
			f.wanted = "anywhere"
			f.killedAt([]string{"before cutover/open"}, f.instance(farm.A)...)
			p := runWith(t, f.env(""), f.instance(farm.A)...)
			if p.code != exitFine || !strings.Contains(p.stdout, "writes paused for") {
				t.Fatalf("back again: exit %d\n%s%s", p.code, p.stdout, p.stderr)
			}
			f.checkOneWriter()
		})
	}
}

// TestMoveShardOnOtherFlavors: one shard goes to another active-active pair,
// killed in the cutover, and home again, under load. A move that fails when it
// is all but done is taken back before.
func TestMoveShardOnOtherFlavors(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, line := range []string{mariadbtest.MariaDB11, mariadbtest.MySQL9} {
		t.Run(line, func(t *testing.T) {
			t.Parallel() // it mostly waits
			f := startOn(t, line, farm.ActiveActive, 2)
			f.wanted = "anywhere"
			// Taken back behind the flip, with what was written over there.
			point := "after soak"
			p := runWith(t, f.env("step @ "+point), "move", "shard", goes, "--to", away, "-C", f.dir)
			if p.code != exitFailed || !strings.Contains(p.stderr, markOfKill+point) {
				t.Fatalf("failed at %q: exit %d, want %d\n%s", point, p.code, exitFailed, p.stderr)
			}
			f.shardIsAt(movedShard, homePair)
			f.killedAt(sample([]string{"after cutover/gather", "after cutover/rename"},
				"after prepare", "after copy", "after cutover/lock", "after cutover/gather", "after cutover/rename", "after cutover/unlock", "before cutover/flip", "before settle/remove"),
				"move", "shard", goes, "--to", away)
			f.shardIsAt(movedShard, awayOne)
			f.must("move", "shard", goes, "--to", home+"b")
			f.shardIsAt(movedShard, homePair)
			f.checkWhole()
			f.neighboursNeverWaited()
		})
	}
}

// startOn starts a farm of servers of another line, under load. It is made by
// the program itself, whose PATH has that line's servers in front.
func startOn(t *testing.T, line string, topology farm.Topology, pairs int) *liveFarm {
	t.Helper()
	f := emptyFarm(t, "r630-ssd", 40)
	f.servers = mariadbtest.Named(t, line).Path()
	t.Cleanup(f.down)
	hosts := min(2, pairs*len(topology.Sides()))
	p := runWith(t, f.env(""), "demo", "up", "-C", f.dir, "--topology", string(topology), "--shards", "2", "--pairs", strconv.Itoa(pairs), "--hosts", strconv.Itoa(hosts))
	if p.code != exitFine {
		t.Fatalf("demo up: exit %d\n%s", p.code, p.stderr)
	}
	if err := f.startClients(); err != nil {
		t.Fatal(err)
	}
	return f
}

// env is what the program is run with on this farm: its servers, and where to
// be killed.
func (f *liveFarm) env(kill string) []string {
	if f.servers == "" {
		return []string{killAt + "=" + kill}
	}
	return []string{killAt + "=" + kill, "PATH=" + binDir(f.t) + string(os.PathListSeparator) + f.servers}
}

// sample is a few points, unless all are asked for, which are in the order of
// the road.
func sample(few []string, all ...string) []string {
	if os.Getenv("STOWAGE_ALL_POINTS") != "" {
		return all
	}
	return few
}

// killedAt runs the program, kills it and its engine at each of the points in
// turn, and resumes, to the end.
func (f *liveFarm) killedAt(points []string, args ...string) {
	t := f.t
	t.Helper()
	if args[len(args)-1] != f.dir {
		args = append(args, "-C", f.dir)
	}
	for _, point := range points {
		p := runWith(t, f.env("both @ "+point), args...)
		if !strings.Contains(p.stderr, markOfKill+point) || p.code != -1 {
			t.Fatalf("not killed at %q: exit %d\n%s", point, p.code, p.stderr)
		}
		args = []string{"move", "resume", "-C", f.dir}
	}
	if p := runWith(t, f.env(""), args...); p.code != exitFine {
		t.Fatalf("exit %d\n%s", p.code, p.stderr)
	}
}
