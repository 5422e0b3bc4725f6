package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/move"
	"stowage/mysql"
)

const natively = "--how=replication"

// A shard goes by the target's own replication, there and back and there again,
// between the same two pairs, and every server's positions are as if it never had.
func TestMoveShardNatively(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startShardFarmOf(t, farm.PrimaryReplica)
	f.dryRunSays(goes, away, "", move.ByCopier, "keeps up")
	f.dryRunSays(goes, away, natively, move.ByReplication, "asked for")
	for _, to := range []farm.PairName{awayOne, homePair, awayOne} {
		f.must("move", "shard", goes, "--to", string(to), natively)
		f.shardIsAt(movedShard, to)
		f.partedCleanly()
	}
	followed := false
	for _, e := range f.events() { // of the last move
		followed = followed || strings.Contains(e.Text, "follows by its own replication")
		if e.Kind == farm.GateOpened && e.Shard == movedShard {
			t.Logf("clients of %s waited for at most %.0f ms", e.Shard, e.Millis)
		}
	}
	if !followed {
		t.Error("no event says that the target followed by itself")
	}
	f.checkEnd()
}

// checkEnd is checkWhole for every topology.
func (f *liveFarm) checkEnd() {
	f.t.Helper()
	if !f.hasOneWriter() {
		f.checkWhole()
		return
	}
	f.checkLedger()
}

// checkServes is checkNow for every topology; of one writer, shardIsAt says it.
func (f *liveFarm) checkServes() {
	if !f.hasOneWriter() {
		f.checkNow()
	}
}

func (f *liveFarm) hasOneWriter() bool {
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	return fm.Pairs[0].Topology.HasOneWriter()
}

// What keeps the target's own replication from it is refused when it is asked
// for, with all reasons, and the copier is chosen, with the reason, when not.
func TestMoveShardNativelyRefused(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startShardFarmOf(t, farm.PrimaryReplica)
	servers, done := f.serversOf(awayOne)
	defer done()
	source, done := f.serversOf(homePair)
	defer done()
	a := servers[farm.A]
	for _, c := range []struct {
		do, undo string
		on       *mysql.Server
		says     string
	}{
		{"SET GLOBAL slave_exec_mode = IDEMPOTENT", "SET GLOBAL slave_exec_mode = STRICT", a, "slave_exec_mode is IDEMPOTENT"},
		{"SET GLOBAL gtid_domain_id = 1", "SET GLOBAL gtid_domain_id = 3", a, "GTID domain 1"},
		{"CREATE VIEW " + goes + ".outside AS SELECT * FROM etsy_shard_0002.listings", "DROP VIEW " + goes + ".outside", source[farm.A], "reaches into other databases: view outside names etsy_shard_0002"},
	} {
		change := func(statement string) {
			t.Helper()
			if err := c.on.Build(t.Context(), []string{statement}); err != nil {
				t.Fatal(err)
			}
		}
		change(c.do)
		p := runProgram(t, "", "move", "shard", goes, "--to", away, natively, "--dry-run", "-C", f.dir)
		if p.code != exitRefused || !strings.Contains(p.stdout+p.stderr, c.says) {
			t.Errorf("%s: exit %d, want %q\n%s%s", c.do, p.code, c.says, p.stdout, p.stderr)
		}
		f.dryRunSays(goes, away, "", move.ByCopier, c.says)
		change(c.undo)
	}
	f.shardIsAt(movedShard, homePair)
}

// dryRunSays checks which carrier is chosen, and why.
func (f *liveFarm) dryRunSays(shard, to, how string, want move.How, why string) {
	f.t.Helper()
	args := []string{"move", "shard", shard, "--to", to, "--dry-run", "--json", "-C", f.dir}
	if how != "" {
		args = append(args, how)
	}
	p := runProgram(f.t, "", args...)
	var answer shardAnswer
	if err := json.Unmarshal([]byte(p.stdout), &answer); err != nil || len(answer.Ways) != 1 {
		f.t.Fatalf("dry run: exit %d %v\n%s%s", p.code, err, p.stdout, p.stderr)
	}
	if way := answer.Ways[0]; way.How != want || !strings.Contains(way.Why, why) {
		f.t.Errorf("chosen: %s, because %s; want %s and %q", way.How, way.Why, want, why)
	}
}

// serversOf are the sides of a pair.
func (f *liveFarm) serversOf(pair farm.PairName) (map[farm.SideName]*mysql.Server, func()) {
	f.t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	admin, err := mysql.ReadAccount(f.dir+"/accounts.cnf", "stowage")
	if err != nil {
		f.t.Fatal(err)
	}
	p, _ := fm.Pair(pair)
	out := map[farm.SideName]*mysql.Server{}
	for side, place := range p.Sides {
		out[side] = mysql.Open(p.Instance(side), fm.Address(place), admin, quietLog())
	}
	return out, func() {
		for _, s := range out {
			_ = s.Close()
		}
	}
}

// partedCleanly checks that no server has a connection of Stowage's left, nor
// filters in its option file, nor a position noted that its own binary log or
// its twin lacks.
func (f *liveFarm) partedCleanly() {
	t := f.t
	t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range fm.Pairs {
		servers, done := f.serversOf(p.Name)
		for side, s := range servers {
			if links, err := s.Links(t.Context()); err != nil || len(links) > 0 {
				t.Errorf("%s has connections %v (%v)", s.Name(), links, err)
			}
			f.awaitClosed(s)
			if twin := servers[side.Twin()]; twin != nil && !p.Topology.HasOneWriter() {
				goal, err := s.AppliedPosition(t.Context())
				if err == nil {
					err = twin.WaitFor(t.Context(), goal, time.Minute)
				}
				if err != nil {
					t.Errorf("%s never gets what %s has noted as applied: %v", twin.Name(), s.Name(), err)
				}
			}
			config := p.Sides[side].Config
			if config == "" {
				config = strings.TrimSuffix(p.Sides[side].Datadir, "data") + "my.cnf"
			}
			if !strings.HasPrefix(config, "/") {
				config = f.dir + "/" + config
			}
			if text, err := os.ReadFile(config); err != nil || strings.Contains(string(text), mysql.LinkPrefix) {
				t.Errorf("the option file of %s: %v\n%s", s.Name(), err, text)
			}
		}
		done()
	}
}

// awaitClosed: what is noted as applied is in the server's own binary log.
func (f *liveFarm) awaitClosed(s *mysql.Server) {
	f.t.Helper()
	applied, err := s.AppliedPosition(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	for range 100 {
		written, err := s.BinlogPosition(f.t.Context())
		if err != nil {
			f.t.Fatal(err)
		}
		if written.Reached(applied) {
			return
		}
		pauseTest()
	}
	f.t.Errorf("%s has noted %s as applied, its binary log is behind", s.Name(), applied)
}

// TestKillShardNatively and TestFailShardNatively are the tests of the copier's
// borders for the other carrier. `make test` takes few of them: where they
// differ.
func TestKillShardNatively(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at the steps of a shard's move by replication")
	}
	sideBySide(t, func(run func(name string, test func(*testing.T))) {
		for n, mine := range dealt(nativeSample("after finish", "before cutover/lock", "after cutover/reach", "before cutover/arrive", "after settle/record"), 2) {
			run(fmt.Sprintf("farm%d", n), func(t *testing.T) { killShardInTurn(t, startShardFarmOf(t, farm.PrimaryReplica), mine, natively) })
		}
	})
}

func TestFailShardNatively(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: failures at the steps of a shard's move by replication")
	}
	sideBySide(t, func(run func(name string, test func(*testing.T))) {
		for n, mine := range dealt(nativeSample("after compare", "before cutover/unlock", "after soak"), 2) {
			run(fmt.Sprintf("farm%d", n), func(t *testing.T) { failShardInTurn(t, startShardFarmOf(t, farm.PrimaryReplica), mine, natively) })
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
