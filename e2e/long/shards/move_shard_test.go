package shards

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/move"
	"stowage/mysql"
)

// nextID is what a move spends in farm.yaml, however it ends.
var nextID = regexp.MustCompile(`next_server_id: \d+`)

// A shard goes to another pair and back, under load; several are merged into
// one pair. Every acknowledged write is there once on both sides of the pair
// that has the shard now, and no client of a neighbour ever waited.
func TestMoveShardThereAndBack(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartShardFarm(t)
	before := f.FarmFile()
	dry := farmtest.RunProgram(t, "", "move", "shard", farmtest.Goes, "--to", farmtest.Away, "--dry-run", "--json", "-C", f.Dir)
	var answer farmtest.ShardPreview
	if err := json.Unmarshal([]byte(dry.Stdout), &answer); err != nil || dry.Code != farmtest.ExitFine || answer.State != "can-begin" || len(answer.Ways) != 1 {
		t.Fatalf("dry run: exit %d %v\n%s%s", dry.Code, err, dry.Stdout, dry.Stderr)
	}
	f.ShardIsAt(farmtest.MovedShard, farmtest.HomePair)
	if f.FarmFile() != before {
		t.Error("a dry run changed farm.yaml")
	}
	f.DryRunSays(farmtest.Goes, farmtest.Away, "", move.ByCopier, "it follows its twin")
	if p := farmtest.RunProgram(t, "", "move", "shard", farmtest.Goes, "--to", farmtest.Away, natively, "-C", f.Dir); p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "1950") {
		t.Errorf("by replication into a ring: exit %d, want a refusal\n%s", p.Code, p.Stderr)
	}
	f.Must("move", "shard", farmtest.Goes, "--to", farmtest.Away+"b") // an instance: it lands on side B
	f.ShardIsAt(farmtest.MovedShard, farmtest.AwayOne)
	f.Must("move", "shard", farmtest.Goes, "--to", farmtest.Away) // it is there: nothing to do
	f.Must("move", "shard", farmtest.Goes, "--to", farmtest.Home)
	f.ShardIsAt(farmtest.MovedShard, farmtest.HomePair)
	// The last shards of a pair go, too: all of them in one pair.
	f.Must("move", "shard", farmtest.Goes, "etsy_shard_0002", "--to", farmtest.Away)
	f.ShardIsAt(farmtest.MovedShard, farmtest.AwayOne)
	f.ShardIsAt("etsy_shard_0002", farmtest.AwayOne)
	f.CheckWhole()
	for shard, n := range f.Load.Stop().GateShards {
		if shard != farmtest.MovedShard && shard != "etsy_shard_0002" {
			t.Errorf("%d transactions of %s, which nobody moved, waited", n, shard)
		}
	}
	waits := 0
	for _, e := range f.Events() {
		if e.Kind == farm.GateOpened && e.Shard == farmtest.MovedShard {
			waits++
			t.Logf("clients of %s waited for at most %.0f ms", e.Shard, e.Millis)
		}
	}
	if waits == 0 {
		t.Error("no event says how long the shard was held")
	}
}

// The same where one side takes all writes, and where there is no other side;
// there a move that fails after the flip is taken back, too.
func TestMoveShardOfOneWriter(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, topology := range []farm.Topology{farm.PrimaryReplica, farm.Single} {
		t.Run(string(topology), func(t *testing.T) {
			t.Parallel()
			f := farmtest.StartShardFarmOf(t, topology)
			p := farmtest.RunProgram(t, "step @ after soak", "move", "shard", farmtest.Goes, "--to", farmtest.Away, "-C", f.Dir)
			if p.Code != farmtest.ExitFailed {
				t.Fatalf("failed after soak: exit %d\n%s", p.Code, p.Stderr)
			}
			f.ShardIsAt(farmtest.MovedShard, farmtest.HomePair)
			f.Must("move", "shard", farmtest.Goes, "--to", farmtest.Away+"a")
			f.ShardIsAt(farmtest.MovedShard, farmtest.AwayOne)
			f.CheckLedger()
			f.NeighboursNeverWaited()
		})
	}
}

// A client that follows nothing writes on and on at the side that is copied
// from, statement by statement; another, at the other side, for a quarter of a
// second longer than it should. Everything they were acknowledged is at the
// target: the fence keeps them out, or the cutover is taken back and tried
// again with what they wrote.
func TestShardFenceHoldsWhoFollowsNothing(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartShardFarm(t)
	_, fm, app, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	pair, _ := fm.Pair(farmtest.HomePair)
	acked := map[farm.SideName]*int{farm.A: new(int), farm.B: new(int)}
	first := map[farm.SideName]int{farm.A: f.Price(farmtest.HomePair, farm.A, 7), farm.B: f.Price(farmtest.HomePair, farm.A, 8)}
	row := map[farm.SideName]int{farm.A: 7, farm.B: 8}
	var writers sync.WaitGroup
	for side, n := range acked {
		writers.Go(func() {
			late := func() bool { return side == farm.B && f.HeldFor(250*time.Millisecond) }
			*n = rogue(t, app, fm.Address(pair.Sides[side]), row[side], late)
		})
	}
	f.Must("move", "shard", farmtest.Goes, "--to", farmtest.Away)
	writers.Wait()
	f.ShardIsAt(farmtest.MovedShard, farmtest.AwayOne)
	for side, n := range acked {
		if got := f.Price(farmtest.AwayOne, farm.A, row[side]) - first[side]; got != *n || *n == 0 {
			t.Errorf("a client on side %s was acknowledged %d writes, the target has %d", side, *n, got)
		}
		t.Logf("side %s: %d writes acknowledged before the tables were gone", side, *n)
	}
	f.CheckWhole()
}

// rogue counts a row up on one server until the table is gone or it is enough,
// and tells how many times that was acknowledged.
func rogue(t *testing.T, app mysql.Account, address string, row int, enough func() bool) int {
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = app.User, app.Password, "tcp", address
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		t.Error(err)
		return 0
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	for n := 0; ; n++ {
		if enough() {
			return n
		}
		_, err := db.Exec(fmt.Sprintf("UPDATE `%s`.listings SET price = price + 1 WHERE id = %d", farmtest.Goes, row))
		var my *driver.MySQLError
		switch {
		case errors.As(err, &my) && (my.Number == 1146 || my.Number == 1049):
			return n
		case errors.As(err, &my) && (my.Number == 1205 || my.Number == 1213): // a lock: not applied
			n--
		case err != nil:
			t.Errorf("a client on %s: %v", address, err)
			return n
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// What cannot be done is refused with a sentence that says what to do, and
// nothing is touched.
func TestMoveShardRefused(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartShardFarm(t)
	before, table := f.FarmFile(), f.Routing()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"move", "shard", farmtest.Goes}, farmtest.ExitUsage, "--to is missing"},
		{[]string{"move", "shard", "etsy_shard_9999", "--to", farmtest.Away}, farmtest.ExitUsage, "no shard of that name"},
		{[]string{"move", "shard", farmtest.Goes, "--to", "dbshard009"}, farmtest.ExitUsage, "no pair or instance of that name"},
		{[]string{"move", "shard", farmtest.Goes, "--to", farmtest.Away, "--how", "pigeon"}, farmtest.ExitUsage, "copier or replication"},
		{[]string{"move", "shard", farmtest.Goes, farmtest.Goes, "--to", farmtest.Away}, farmtest.ExitRefused, "twice"},
	} {
		p := farmtest.RunProgram(t, "", append(c.args, "-C", f.Dir)...)
		if p.Code != c.code || !strings.Contains(p.Stderr, c.says) {
			t.Errorf("%v: exit %d, want %d and %q\n%s", c.args, p.Code, c.code, c.says, p.Stderr)
		}
	}
	// A database of that name at the target: whose is it?
	_, fm, _, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := mysql.ReadAccount(f.Dir+"/accounts.cnf", "stowage")
	if err != nil {
		t.Fatal(err)
	}
	pair, _ := fm.Pair(farmtest.AwayOne)
	s := mysql.Open(pair.Instance(farm.A), fm.Address(pair.Sides[farm.A]), admin, slog.New(slog.DiscardHandler))
	defer s.Close()
	if err := s.Build(t.Context(), []string{"CREATE DATABASE " + farmtest.Goes}); err != nil {
		t.Fatal(err)
	}
	p := farmtest.RunProgram(t, "", "move", "shard", farmtest.Goes, "--to", farmtest.Away, "-C", f.Dir)
	if p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "has a database "+farmtest.Goes+" already") {
		t.Errorf("a database is in the way: exit %d\n%s", p.Code, p.Stderr)
	}
	if f.FarmFile() != before || f.Routing() != table {
		t.Error("a refused move changed farm.yaml or routing.json")
	}
	if err := s.Build(t.Context(), []string{"DROP DATABASE " + farmtest.Goes}); err != nil {
		t.Fatal(err)
	}
	f.CheckWhole()
}

// The program is killed at borders of the runbook; resume goes on. In `make
// test-all` each farm takes a part of them; STOWAGE_ALL_POINTS=1 takes all.
func TestKillShardAtPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at every step of a shard's move")
	}
	book, _ := move.ByName(move.Shard)
	points := farmtest.SampleOf(book.Points(), 4)
	farmtest.SideBySide(t, func(run func(name string, test func(*testing.T))) {
		for n, mine := range farmtest.Dealt(points, 3) {
			run(fmt.Sprintf("farm%d", n), func(t *testing.T) { killShardInTurn(t, farmtest.StartShardFarm(t), mine) })
		}
	})
}

func killShardInTurn(t *testing.T, f *farmtest.LiveFarm, points []string, how ...string) {
	args := append([]string{"move", "shard", farmtest.Goes, "--to", farmtest.Away, "-C", f.Dir}, how...)
	for _, point := range points {
		p := farmtest.RunProgram(t, "stowage @ "+point, args...)
		if !strings.Contains(p.Stderr, farmtest.MarkOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.Code, p.Stderr)
		}
		args = []string{"resume", "-C", f.Dir}
	}
	if p := farmtest.RunProgram(t, "", args...); p.Code != 0 {
		t.Fatalf("last resume: exit %d\n%s", p.Code, p.Stderr)
	}
	f.ShardIsAt(farmtest.MovedShard, farmtest.AwayOne)
	f.CheckEnd()
	f.NeighboursNeverWaited()
	f.PartedCleanly()
}

// A move that fails for good at any point before it settles is taken back:
// exit 4, the shard serves from its old place with everything that was written
// at the new one, and the target is as before. Afterwards it can be moved.
func TestFailShardAtPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: failures at every step of a shard's move")
	}
	book, _ := move.ByName(move.Shard)
	points := farmtest.InTurn(farmtest.SampleOf(book.Points(), 3), farmtest.Turn())
	farmtest.SideBySide(t, func(run func(name string, test func(*testing.T))) {
		for n, mine := range farmtest.Dealt(points, farmtest.Hands(2, 3)) {
			run(fmt.Sprintf("farm%d", n), func(t *testing.T) { failShardInTurn(t, farmtest.StartShardFarm(t), mine) })
		}
	})
}

func failShardInTurn(t *testing.T, f *farmtest.LiveFarm, points []string, how ...string) {
	before := f.FarmFile()
	for _, point := range points {
		p := farmtest.RunProgram(t, "step @ "+point, append([]string{"move", "shard", farmtest.Goes, "--to", farmtest.Away, "-C", f.Dir}, how...)...)
		if !strings.Contains(p.Stderr, farmtest.MarkOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.Code, p.Stderr)
		}
		if strings.Contains(point, " settle") {
			if p.Code != farmtest.ExitUnknown {
				t.Fatalf("failed at %q behind the point of no return: exit %d\n%s", point, p.Code, p.Stderr)
			}
			f.Must("resume")
			f.ShardIsAt(farmtest.MovedShard, farmtest.AwayOne)
			f.Must("move", "shard", farmtest.Goes, "--to", farmtest.Home)
			before = f.FarmFile()
			continue
		}
		if p.Code != farmtest.ExitFailed {
			t.Fatalf("failed at %q: exit %d, want %d\n%s", point, p.Code, farmtest.ExitFailed, p.Stderr)
		}
		f.ShardIsAt(farmtest.MovedShard, farmtest.HomePair)
		f.PartedCleanly()
		if now := f.FarmFile(); nextID.ReplaceAllString(now, "") != nextID.ReplaceAllString(before, "") {
			t.Errorf("failed at %q: farm.yaml was changed", point)
		}
		f.CheckServes()
	}
	f.Must(append([]string{"move", "shard", farmtest.Goes, "--to", farmtest.Away}, how...)...)
	f.ShardIsAt(farmtest.MovedShard, farmtest.AwayOne)
	f.CheckEnd()
	f.NeighboursNeverWaited()
	f.PartedCleanly()
}
