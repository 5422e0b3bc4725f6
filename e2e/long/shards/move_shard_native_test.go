package shards

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/move"
	"stowage/mysql"
)

const natively = "--how=replication"

// A shard goes by the target's own replication, there and back and there again,
// between the same two pairs, and every server's positions are as if it never had.
func TestMoveShardNatively(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartShardFarmOf(t, farm.PrimaryReplica)
	f.DryRunSays(farmtest.Goes, farmtest.Away, "", move.ByCopier, "keeps up")
	f.DryRunSays(farmtest.Goes, farmtest.Away, natively, move.ByReplication, "asked for")
	for _, to := range []farm.PairName{farmtest.AwayOne, farmtest.HomePair, farmtest.AwayOne} {
		f.Must("move", "shard", farmtest.Goes, "--to", string(to), natively)
		f.ShardIsAt(farmtest.MovedShard, to)
		f.PartedCleanly()
	}
	followed := false
	for _, e := range f.Events() { // of the last move
		followed = followed || strings.Contains(e.Text, "follows by its own replication")
		if e.Kind == farm.GateOpened && e.Shard == farmtest.MovedShard {
			t.Logf("clients of %s waited for at most %.0f ms", e.Shard, e.Millis)
		}
	}
	if !followed {
		t.Error("no event says that the target followed by itself")
	}
	f.CheckEnd()
}

// What keeps the target's own replication from it is refused when it is asked
// for, with all reasons, and the copier is chosen, with the reason, when not.
func TestMoveShardNativelyRefused(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartShardFarmOf(t, farm.PrimaryReplica)
	servers, done := f.ServersOf(farmtest.AwayOne)
	defer done()
	source, done := f.ServersOf(farmtest.HomePair)
	defer done()
	a := servers[farm.A]
	for _, c := range []struct {
		do, undo string
		on       *mysql.Server
		says     string
	}{
		{"SET GLOBAL slave_exec_mode = IDEMPOTENT", "SET GLOBAL slave_exec_mode = STRICT", a, "slave_exec_mode is IDEMPOTENT"},
		{"SET GLOBAL gtid_domain_id = 1", "SET GLOBAL gtid_domain_id = 3", a, "GTID domain 1"},
		{"CREATE VIEW " + farmtest.Goes + ".outside AS SELECT * FROM etsy_shard_0002.listings", "DROP VIEW " + farmtest.Goes + ".outside", source[farm.A], "reaches into other databases: view outside names etsy_shard_0002"},
	} {
		change := func(statement string) {
			t.Helper()
			if err := c.on.Build(t.Context(), []string{statement}); err != nil {
				t.Fatal(err)
			}
		}
		change(c.do)
		p := farmtest.RunProgram(t, "", "move", "shard", farmtest.Goes, "--to", farmtest.Away, natively, "--dry-run", "-C", f.Dir)
		if p.Code != farmtest.ExitRefused || !strings.Contains(p.Stdout+p.Stderr, c.says) {
			t.Errorf("%s: exit %d, want %q\n%s%s", c.do, p.Code, c.says, p.Stdout, p.Stderr)
		}
		f.DryRunSays(farmtest.Goes, farmtest.Away, "", move.ByCopier, c.says)
		change(c.undo)
	}
	f.ShardIsAt(farmtest.MovedShard, farmtest.HomePair)
}

// TestKillShardNatively and TestFailShardNatively are the tests of the copier's
// borders for the other carrier. `make test-all` takes few of them: where they
// differ.
func TestKillShardNatively(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at the steps of a shard's move by replication")
	}
	farmtest.SideBySide(t, func(run func(name string, test func(*testing.T))) {
		for n, mine := range farmtest.Dealt(nativeSample("after finish", "before cutover/lock", "after cutover/barrier", "before cutover/arrive", "after settle/record"), 2) {
			run(fmt.Sprintf("farm%d", n), func(t *testing.T) {
				killShardInTurn(t, farmtest.StartShardFarmOf(t, farm.PrimaryReplica), mine, natively)
			})
		}
	})
}

func TestFailShardNatively(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: failures at the steps of a shard's move by replication")
	}
	farmtest.SideBySide(t, func(run func(name string, test func(*testing.T))) {
		for n, mine := range farmtest.Dealt(nativeSample("after compare", "before cutover/unlock", "after soak"), 2) {
			run(fmt.Sprintf("farm%d", n), func(t *testing.T) {
				failShardInTurn(t, farmtest.StartShardFarmOf(t, farm.PrimaryReplica), mine, natively)
			})
		}
	})
}

// nativeSample are those borders that are named, or all.
func nativeSample(ends ...string) []string {
	book, _ := move.ByName(move.Shard)
	if os.Getenv("STOWAGE_ALL_POINTS") != "" {
		return book.Points()
	}
	var out []string
	for _, p := range book.Points() {
		for _, e := range ends {
			if strings.HasSuffix(p, e) {
				out = append(out, p)
			}
		}
	}
	return out
}
