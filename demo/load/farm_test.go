package load_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/demo/load"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/route"
)

const pairName farm.PairName = "dbshard001"

// pairUnderTest is one active-active pair of real servers with its routing.
type pairUnderTest struct {
	sides  map[farm.SideName]*mariadbtest.Instance
	shards map[farm.PairName][]farm.ShardName
	router *route.File
	dir    string
}

func newPair(t *testing.T, shards int) *pairUnderTest {
	t.Helper()
	p := &pairUnderTest{
		sides:  map[farm.SideName]*mariadbtest.Instance{farm.A: mariadbtest.Start(t, "dbshard001a"), farm.B: mariadbtest.Start(t, "dbshard001b")},
		shards: map[farm.PairName][]farm.ShardName{},
		dir:    t.TempDir(),
	}
	a, b := p.sides[farm.A], p.sides[farm.B]
	mariadbtest.Ring(t, a, b)
	for n := 1; n <= shards; n++ {
		s := farm.ShardName(fmt.Sprintf("etsy_shard_%04d", n))
		a.Exec(t, load.Schema(s)...)
		a.Exec(t, load.Seed(s, 100)...)
		p.shards[pairName] = append(p.shards[pairName], s)
	}
	mariadbtest.AwaitApplied(t, b, a)
	p.router = route.NewFile(filepath.Join(p.dir, "routing.json"))
	pairs := map[farm.PairName]*route.Pair{pairName: route.NewPair(p.shards[pairName], a.Address, b.Address)}
	if err := p.router.Create(pairs); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pairUnderTest) options(clients int, rate float64) load.Options {
	return load.Options{
		Routing: p.router.Path(), Dir: filepath.Join(p.dir, "load"), Shards: p.shards,
		User: string(mariadbtest.App), Password: mariadbtest.App.Password(),
		Clients: clients, Rate: rate, Seed: 7, Log: slog.New(slog.DiscardHandler),
	}
}

func (p *pairUnderTest) start(t *testing.T, o load.Options) *load.Load {
	t.Helper()
	l, err := load.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Stop() })
	return l
}

func (p *pairUnderTest) verify(t *testing.T, settle time.Duration) load.Verdict {
	t.Helper()
	v, err := load.Verify(t.Context(), load.VerifyOptions{
		Dir: filepath.Join(p.dir, "load"), Shards: p.shards, Settle: settle,
		Addresses: map[farm.PairName]map[farm.SideName]string{
			pairName: {farm.A: p.sides[farm.A].Address, farm.B: p.sides[farm.B].Address}},
		User: string(mariadbtest.App), Password: mariadbtest.App.Password(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (p *pairUnderTest) change(t *testing.T, edit func(*route.Pair)) {
	t.Helper()
	if err := p.router.Change(t.Context(), pairName, func(pair *route.Pair) error { edit(pair); return nil }); err != nil {
		t.Fatal(err)
	}
}

// swing moves the clients of a home from one side to the other as
// docs/reference/routing.md promises: gate, running transactions, GTID wait, switch.
func (p *pairUnderTest) swing(t *testing.T, home, from, to farm.SideName) {
	t.Helper()
	p.change(t, func(pair *route.Pair) { pair.CloseGate(home) })
	awaitTransactions(t, p.sides[from])
	mariadbtest.AwaitApplied(t, p.sides[to], p.sides[from])
	p.change(t, func(pair *route.Pair) {
		pair.Serve(home, to, p.sides[to].Address, 100)
		pair.OpenGate(home)
	})
}

// awaitTransactions waits for the transactions that are open now. InnoDB
// keeps its answer until nobody has asked for 100 ms, hence the sleep.
func awaitTransactions(t *testing.T, i *mariadbtest.Instance) {
	t.Helper()
	const q = "SELECT COALESCE(GROUP_CONCAT(trx_id), '') FROM information_schema.INNODB_TRX t " +
		"JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id WHERE p.USER = 'app'"
	time.Sleep(120 * time.Millisecond)
	first := i.Value(t, q)
	for first != "" {
		time.Sleep(120 * time.Millisecond)
		open := i.Value(t, q)
		still := false
		for _, id := range strings.Split(first, ",") {
			still = still || strings.Contains(","+open+",", ","+id+",")
		}
		if !still {
			return
		}
	}
}

// awaitAcks waits until the load has been acknowledged so many more writes, and has read.
func awaitAcks(t *testing.T, l *load.Load, more int64) {
	t.Helper()
	want := l.Now().Acknowledged + more
	// Clients draw what they do next: a few writes may be all there was, and wantClean asks for reads, too.
	for end := time.Now().Add(time.Minute); l.Now().Acknowledged < want || l.Now().Reads == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %d more writes, and a read, within a minute: %+v", more, l.Now())
		}
	}
}

// wantClean fails the test for anything a client must never meet.
func wantClean(t *testing.T, s load.Summary) {
	t.Helper()
	if s.Failed != 0 || s.StaleReads != 0 {
		t.Errorf("failed %d, stale reads %d: %+v %+v", s.Failed, s.StaleReads, s.Failures, s.Stale)
	}
	if s.Acknowledged == 0 || s.Reads == 0 {
		t.Errorf("nothing was done: %+v", s)
	}
}

func wantWhole(t *testing.T, v load.Verdict, acknowledged int64) {
	t.Helper()
	if !v.Whole() || v.Acknowledged != acknowledged {
		t.Errorf("verdict %+v, want %d acknowledged and nothing lost, duplicated or different", v, acknowledged)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// awaitWaiting waits until no client writes any more, because none can look.
func awaitWaiting(t *testing.T, l *load.Load) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		was := l.Now().Acknowledged
		time.Sleep(300 * time.Millisecond)
		if l.Now().Acknowledged == was {
			return
		}
		if time.Now().After(end) {
			t.Fatal("clients go on without a table")
		}
	}
}
