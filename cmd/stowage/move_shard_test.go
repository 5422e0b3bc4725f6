package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
	"stowage/move"
	"stowage/mysql"
	"stowage/route"
)

// nextID is what a move spends in farm.yaml, however it ends.
var nextID = regexp.MustCompile(`next_server_id: \d+`)

func pauseTest() { time.Sleep(50 * time.Millisecond) }

const (
	goes              = "etsy_shard_0001" // of dbshard001, beside etsy_shard_0002
	home, away        = "dbshard001", "dbshard002"
	movedShard        = farm.ShardName(goes)
	homePair, awayOne = farm.PairName(home), farm.PairName(away)
)

// A shard goes to another pair and back, under load; several are merged into
// one pair. Every acknowledged write is there once on both sides of the pair
// that has the shard now, and no client of a neighbour ever waited.
func TestMoveShardThereAndBack(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startShardFarm(t)
	before := f.farmFile()
	dry := runProgram(t, "", "move", "shard", goes, "--to", away, "--dry-run", "--json", "-C", f.dir)
	var answer shardAnswer
	if err := json.Unmarshal([]byte(dry.stdout), &answer); err != nil || dry.code != exitFine || answer.State != "can-begin" || len(answer.Ways) != 1 {
		t.Fatalf("dry run: exit %d %v\n%s%s", dry.code, err, dry.stdout, dry.stderr)
	}
	f.shardIsAt(movedShard, homePair)
	if f.farmFile() != before {
		t.Error("a dry run changed farm.yaml")
	}
	f.dryRunSays(goes, away, "", move.ByCopier, "it follows its twin")
	if p := runProgram(t, "", "move", "shard", goes, "--to", away, natively, "-C", f.dir); p.code != exitRefused || !strings.Contains(p.stderr, "1950") {
		t.Errorf("by replication into a ring: exit %d, want a refusal\n%s", p.code, p.stderr)
	}
	f.must("move", "shard", goes, "--to", away+"b") // an instance: it lands on side B
	f.shardIsAt(movedShard, awayOne)
	f.must("move", "shard", goes, "--to", away) // it is there: nothing to do
	f.must("move", "shard", goes, "--to", home)
	f.shardIsAt(movedShard, homePair)
	// The last shards of a pair go, too: all of them in one pair.
	f.must("move", "shard", goes, "etsy_shard_0002", "--to", away)
	f.shardIsAt(movedShard, awayOne)
	f.shardIsAt("etsy_shard_0002", awayOne)
	f.checkWhole()
	for shard, n := range f.load.Stop().GateShards {
		if shard != movedShard && shard != "etsy_shard_0002" {
			t.Errorf("%d transactions of %s, which nobody moved, waited", n, shard)
		}
	}
	waits := 0
	for _, e := range f.events() {
		if e.Kind == farm.GateOpened && e.Shard == movedShard {
			waits++
			t.Logf("clients of %s waited for at most %.0f ms", e.Shard, e.Millis)
		}
	}
	if waits == 0 {
		t.Error("no event says how long the shard was held")
	}
}

func (f *liveFarm) farmFile() string {
	f.t.Helper()
	raw, err := os.ReadFile(f.dir + "/farm.yaml")
	if err != nil {
		f.t.Fatal(err)
	}
	return string(raw)
}

// shardIsAt checks that farm.yaml, routing and the servers agree on where a
// shard is, and that nothing of it is left anywhere else.
func (f *liveFarm) shardIsAt(shard farm.ShardName, pair farm.PairName) {
	t := f.t
	t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	table, err := route.ReadFile(f.dir + "/routing.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Serves(shard); !slices.Equal(got, []farm.PairName{pair}) {
		t.Errorf("routing has %s at %v, want %s", shard, got, pair)
	}
	admin, err := mysql.ReadAccount(f.dir+"/accounts.cnf", "stowage")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range fm.Pairs {
		listed := slices.ContainsFunc(p.Shards, func(s farm.Shard) bool { return s.Name == shard })
		if listed != (p.Name == pair) {
			t.Errorf("farm.yaml lists %s under %s: %v", shard, p.Name, listed)
		}
		for side, place := range p.Sides {
			s := mysql.Open(p.Instance(side), fm.Address(place), admin, slog.New(slog.DiscardHandler))
			defer s.Close()
			f.awaitSchema(s, string(shard), p.Name == pair)
		}
	}
}

// awaitSchema gives replication a moment to bring a DROP DATABASE to the twin.
func (f *liveFarm) awaitSchema(s *mysql.Server, schema string, want bool) {
	f.t.Helper()
	for end := time.Now().Add(waitLimit); time.Now().Before(end); pauseTest() {
		there, err := s.HasSchema(f.t.Context(), schema)
		if err != nil {
			f.t.Fatal(err)
		}
		if there == want {
			return
		}
	}
	f.t.Errorf("%s has database %s: %v, want %v", s.Name(), schema, !want, want)
}

// The same where one side takes all writes, and where there is no other side;
// there a move that fails after the flip is taken back, too.
func TestMoveShardOfOneWriter(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, topology := range []farm.Topology{farm.PrimaryReplica, farm.Single} {
		t.Run(string(topology), func(t *testing.T) {
			t.Parallel()
			f := startShardFarmOf(t, topology)
			p := runProgram(t, "step @ after soak", "move", "shard", goes, "--to", away, "-C", f.dir)
			if p.code != exitFailed {
				t.Fatalf("failed after soak: exit %d\n%s", p.code, p.stderr)
			}
			f.shardIsAt(movedShard, homePair)
			f.must("move", "shard", goes, "--to", away+"a")
			f.shardIsAt(movedShard, awayOne)
			f.checkLedger()
			f.neighboursNeverWaited()
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
	f := startShardFarm(t)
	_, fm, app, err := demoAccess(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	pair, _ := fm.Pair(homePair)
	acked := map[farm.SideName]*int{farm.A: new(int), farm.B: new(int)}
	first := map[farm.SideName]int{farm.A: f.price(homePair, farm.A, 7), farm.B: f.price(homePair, farm.A, 8)}
	row := map[farm.SideName]int{farm.A: 7, farm.B: 8}
	var writers sync.WaitGroup
	for side, n := range acked {
		writers.Go(func() {
			late := func() bool { return side == farm.B && f.heldFor(250*time.Millisecond) }
			*n = rogue(t, app, fm.Address(pair.Sides[side]), row[side], late)
		})
	}
	f.must("move", "shard", goes, "--to", away)
	writers.Wait()
	f.shardIsAt(movedShard, awayOne)
	for side, n := range acked {
		if got := f.price(awayOne, farm.A, row[side]) - first[side]; got != *n || *n == 0 {
			t.Errorf("a client on side %s was acknowledged %d writes, the target has %d", side, *n, got)
		}
		t.Logf("side %s: %d writes acknowledged before the tables were gone", side, *n)
	}
	f.checkWhole()
}

// heldFor waits out the time when no pair lists the shard, and says whether it
// was so.
func (f *liveFarm) heldFor(d time.Duration) bool {
	table, err := route.ReadFile(f.dir + "/routing.json")
	if err != nil || len(table.Serves(movedShard)) > 0 {
		f.heldSince = time.Time{}
		return false
	}
	if f.heldSince.IsZero() {
		f.heldSince = time.Now()
	}
	return time.Since(f.heldSince) > d
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
		_, err := db.Exec(fmt.Sprintf("UPDATE `%s`.listings SET price = price + 1 WHERE id = %d", goes, row))
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

func (f *liveFarm) price(pair farm.PairName, side farm.SideName, row int) int {
	f.t.Helper()
	_, fm, app, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	p, _ := fm.Pair(pair)
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = app.User, app.Password, "tcp", fm.Address(p.Sides[side])
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var n int
	if err := db.QueryRow(fmt.Sprintf("SELECT price FROM `%s`.listings WHERE id = %d", goes, row)).Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}

// What cannot be done is refused with a sentence that says what to do, and
// nothing is touched.
func TestMoveShardRefused(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startShardFarm(t)
	before, table := f.farmFile(), f.routing()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"move", "shard", goes}, exitUsage, "--to is missing"},
		{[]string{"move", "shard", "etsy_shard_9999", "--to", away}, exitUsage, "no shard of that name"},
		{[]string{"move", "shard", goes, "--to", "dbshard009"}, exitUsage, "no pair or instance of that name"},
		{[]string{"move", "shard", goes, "--to", away, "--how", "pigeon"}, exitUsage, "copier or replication"},
		{[]string{"move", "shard", goes, goes, "--to", away}, exitRefused, "twice"},
	} {
		p := runProgram(t, "", append(c.args, "-C", f.dir)...)
		if p.code != c.code || !strings.Contains(p.stderr, c.says) {
			t.Errorf("%v: exit %d, want %d and %q\n%s", c.args, p.code, c.code, c.says, p.stderr)
		}
	}
	// A database of that name at the target: whose is it?
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := mysql.ReadAccount(f.dir+"/accounts.cnf", "stowage")
	if err != nil {
		t.Fatal(err)
	}
	pair, _ := fm.Pair(awayOne)
	s := mysql.Open(pair.Instance(farm.A), fm.Address(pair.Sides[farm.A]), admin, slog.New(slog.DiscardHandler))
	defer s.Close()
	if err := s.Build(t.Context(), []string{"CREATE DATABASE " + goes}); err != nil {
		t.Fatal(err)
	}
	p := runProgram(t, "", "move", "shard", goes, "--to", away, "-C", f.dir)
	if p.code != exitRefused || !strings.Contains(p.stderr, "has a database "+goes+" already") {
		t.Errorf("a database is in the way: exit %d\n%s", p.code, p.stderr)
	}
	if f.farmFile() != before || f.routing() != table {
		t.Error("a refused move changed farm.yaml or routing.json")
	}
	if err := s.Build(t.Context(), []string{"DROP DATABASE " + goes}); err != nil {
		t.Fatal(err)
	}
	f.checkWhole()
}

func (f *liveFarm) routing() string {
	f.t.Helper()
	raw, err := os.ReadFile(f.dir + "/routing.json")
	if err != nil {
		f.t.Fatal(err)
	}
	return string(raw)
}

// The program is killed at borders of the runbook; resume goes on. In `make
// test` each farm takes a part of them; STOWAGE_ALL_POINTS=1 takes all.
func TestKillShardAtPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at every step of a shard's move")
	}
	book, _ := move.ByName(move.Shard)
	points := sampleOf(book.Points(), 4)
	sideBySide(t, func(run func(name string, test func(*testing.T))) {
		for n, mine := range dealt(points, 3) {
			run(fmt.Sprintf("farm%d", n), func(t *testing.T) { killShardInTurn(t, startShardFarm(t), mine) })
		}
	})
}

func killShardInTurn(t *testing.T, f *liveFarm, points []string, how ...string) {
	args := append([]string{"move", "shard", goes, "--to", away, "-C", f.dir}, how...)
	for _, point := range points {
		p := runProgram(t, "stowage @ "+point, args...)
		if !strings.Contains(p.stderr, markOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.code, p.stderr)
		}
		args = []string{"move", "resume", "-C", f.dir}
	}
	if p := runProgram(t, "", args...); p.code != 0 {
		t.Fatalf("last resume: exit %d\n%s", p.code, p.stderr)
	}
	f.shardIsAt(movedShard, awayOne)
	f.checkEnd()
	f.neighboursNeverWaited()
	f.partedCleanly()
}

func (f *liveFarm) neighboursNeverWaited() {
	f.t.Helper()
	for shard, n := range f.load.Stop().GateShards {
		if shard != movedShard {
			f.t.Errorf("%d transactions of %s, which nobody moved, waited", n, shard)
		}
	}
}

// A move that fails for good at any point before it settles is taken back:
// exit 4, the shard serves from its old place with everything that was written
// at the new one, and the target is as before. Afterwards it can be moved.
func TestFailShardAtPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: failures at every step of a shard's move")
	}
	book, _ := move.ByName(move.Shard)
	points := inTurn(sampleOf(book.Points(), 3), turn())
	sideBySide(t, func(run func(name string, test func(*testing.T))) {
		for n, mine := range dealt(points, hands(2, 3)) {
			run(fmt.Sprintf("farm%d", n), func(t *testing.T) { failShardInTurn(t, startShardFarm(t), mine) })
		}
	})
}

func failShardInTurn(t *testing.T, f *liveFarm, points []string, how ...string) {
	before := f.farmFile()
	for _, point := range points {
		p := runProgram(t, "step @ "+point, append([]string{"move", "shard", goes, "--to", away, "-C", f.dir}, how...)...)
		if !strings.Contains(p.stderr, markOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.code, p.stderr)
		}
		if strings.Contains(point, " settle") {
			if p.code != exitUnknown {
				t.Fatalf("failed at %q behind the point of no return: exit %d\n%s", point, p.code, p.stderr)
			}
			f.must("move", "resume")
			f.shardIsAt(movedShard, awayOne)
			f.must("move", "shard", goes, "--to", home)
			before = f.farmFile()
			continue
		}
		if p.code != exitFailed {
			t.Fatalf("failed at %q: exit %d, want %d\n%s", point, p.code, exitFailed, p.stderr)
		}
		f.shardIsAt(movedShard, homePair)
		f.partedCleanly()
		if now := f.farmFile(); nextID.ReplaceAllString(now, "") != nextID.ReplaceAllString(before, "") {
			t.Errorf("failed at %q: farm.yaml was changed", point)
		}
		f.checkServes()
	}
	f.must(append([]string{"move", "shard", goes, "--to", away}, how...)...)
	f.shardIsAt(movedShard, awayOne)
	f.checkEnd()
	f.neighboursNeverWaited()
	f.partedCleanly()
}
