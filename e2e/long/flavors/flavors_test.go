package flavors

import (
	"os"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
)

// TestMoveOnOtherFlavors: a pair is moved whole, side by side, under load, on
// servers of other lines; killed on the way at a few of the points where the
// flavors differ most; and the ledger is compared with both sides.
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
			f.Must("plan", "--name", "first")
			f.KilledAt(sample(test.kills[:2], test.kills...), "move", "first")
			f.CheckWhole()
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
			f.Must("plan", "--name", "first")
			f.KilledAt(sample([]string{"before cutover/flip"}, "after seed", "after cutover/lock", "before cutover/flip", "after cutover/flip"), "move", "first")
			f.CheckOneServes()
			// There is a way back until the end: what was written on the new
			// primary is on the old one again.
			f.Wanted = "anywhere"
			for _, point := range sample([]string{"before soak"}, "after cutover/barrier", "after cutover/open", "before soak") {
				before := f.Addresses()
				p := farmtest.RunWith(t, f.Env("step @ "+point), f.Instance(farm.A)...)
				if p.Code != farmtest.ExitFailed || !strings.Contains(p.Stderr, farmtest.MarkOfKill+point) {
					t.Fatalf("failed at %q: exit %d, want %d\n%s", point, p.Code, farmtest.ExitFailed, p.Stderr)
				}
				if now := f.Addresses(); now != before {
					t.Errorf("failed at %q: farm.yaml says %s, was %s", point, now, before)
				}
				f.CheckOneServes()
			}
			f.CheckOneWriter()
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
			f.Wanted = "anywhere"
			f.KilledAt([]string{"before cutover/open"}, f.Instance(farm.A)...)
			p := farmtest.RunWith(t, f.Env(""), f.Instance(farm.A)...)
			if p.Code != farmtest.ExitFine || !strings.Contains(p.Stdout, "writes paused for") {
				t.Fatalf("back again: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
			}
			f.CheckOneWriter()
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
			f.Wanted = "anywhere"
			// Taken back behind the flip, with what was written over there.
			point := "after soak"
			p := farmtest.RunWith(t, f.Env("step @ "+point), "move", "shard", farmtest.Goes, "--to", farmtest.Away, "-C", f.Dir)
			if p.Code != farmtest.ExitFailed || !strings.Contains(p.Stderr, farmtest.MarkOfKill+point) {
				t.Fatalf("failed at %q: exit %d, want %d\n%s", point, p.Code, farmtest.ExitFailed, p.Stderr)
			}
			f.ShardIsAt(farmtest.MovedShard, farmtest.HomePair)
			f.KilledAt(sample([]string{"after cutover/gather", "after cutover/rename"},
				"after prepare", "after copy", "after cutover/lock", "after cutover/gather", "after cutover/rename", "after cutover/unlock", "before cutover/flip", "before settle/remove"),
				"move", "shard", farmtest.Goes, "--to", farmtest.Away)
			f.ShardIsAt(farmtest.MovedShard, farmtest.AwayOne)
			f.Must("move", "shard", farmtest.Goes, "--to", farmtest.Home+"b")
			f.ShardIsAt(farmtest.MovedShard, farmtest.HomePair)
			f.CheckWhole()
			f.NeighboursNeverWaited()
		})
	}
}

// startOn starts a farm of servers of another line, under load.
func startOn(t *testing.T, line string, topology farm.Topology, pairs int) *farmtest.LiveFarm {
	t.Helper()
	return farmtest.StartFarmOn(t, line, topology, pairs, "")
}

// sample is a few points, unless all are asked for, which are in the order of
// the road.
func sample(few []string, all ...string) []string {
	if os.Getenv("STOWAGE_ALL_POINTS") != "" {
		return all
	}
	return few
}
