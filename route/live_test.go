package route_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/internal/turns"
	"stowage/route"
	"stowage/route/routetest"
	"stowage/swing"
)

// live is an active-active pair of real servers.
type live struct {
	a, b    *mariadbtest.Instance
	pairs   map[farm.PairName]*route.Pair
	clients []string
}

// way is one way of routing, and how its clients go by it.
type way struct {
	name   string
	router route.Router
	client func(key string, home farm.SideName) liveClient
	// May be met by clients that do as they are told.
	mayLose, mayBeRefused, mayBeStale bool
}

// TestLive swings a side out and in again and again, while clients count rows
// up through each adapter: what they meet is what its guarantee says. With
// ROUTING_CYCLES=24 it is the measurement of docs/reference/routing.md, which -v prints.
func TestLive(t *testing.T) {
	turns.One(t, 12)
	t.Parallel()
	cycles := 2
	if text := os.Getenv("ROUTING_CYCLES"); text != "" {
		var err error
		if cycles, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	// Transactions are applied one after the other, so that a batch of the twin
	// makes replication lag.
	one := "--slave-parallel-threads=0"
	l := &live{a: mariadbtest.Start(t, "dbshard001a", one), b: mariadbtest.Start(t, "dbshard001b", one), clients: keysOf(8)}
	mariadbtest.Ring(t, l.a, l.b)
	l.a.Exec(t, "CREATE DATABASE live", "CREATE TABLE live.counters (client VARCHAR(20) PRIMARY KEY, n BIGINT NOT NULL)",
		"CREATE TABLE live.bulk (id INT PRIMARY KEY, v INT NOT NULL)", "USE live", "INSERT INTO live.bulk SELECT seq, 0 FROM seq_1_to_12000")
	l.pairs = map[farm.PairName]*route.Pair{pairName: route.NewPair([]farm.ShardName{"live"}, l.a.Address, l.b.Address)}
	for _, open := range []func(*testing.T, *live) way{fileWay, etcdWay, sqlWay, haproxyWay, haproxyPoolWay, haproxyKeptWay, execWay} {
		w := open(t, l)
		t.Run(w.name, func(t *testing.T) { l.run(t, w, cycles) })
	}
}

// tableSteer looks into the table each time.
func tableSteer(read func(context.Context) (*route.Table, error)) steer {
	return func(ctx context.Context, key string) (string, bool) {
		table, err := read(ctx)
		if err != nil {
			return "", false // who cannot look waits
		}
		r, address := table.Pairs[pairName].Locate(key)
		return address, r.Gate == route.Open
	}
}

func following(s steer) func(string, farm.SideName) liveClient {
	return func(key string, _ farm.SideName) liveClient { return liveClient{key: key, steer: s, twice: true} }
}

func fileWay(t *testing.T, l *live) way {
	f := newFile(t, l.pairs)
	follower, err := route.Follow(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	return way{name: "file", router: f, client: following(func(_ context.Context, key string) (string, bool) {
		r, address, ok := follower.Lookup(pairName, key)
		return address, ok && r.Gate == route.Open
	})}
}

func etcdWay(t *testing.T, l *live) way {
	cluster := routetest.StartEtcd(t, 3)
	r := newEtcd(t, "/stowage/live/", cluster.Endpoints...)
	create(t, r, l.pairs)
	return way{name: "etcd", router: r, client: following(tableSteer(newEtcd(t, "/stowage/live/", cluster.Endpoints...).Read))}
}

func sqlWay(t *testing.T, l *live) way {
	db := mariadbtest.Start(t, "routing")
	db.Exec(t, "CREATE DATABASE routing")
	r := newSQL(t, db.Address, "routing")
	create(t, r, l.pairs)
	return way{name: "sql", router: r, client: following(tableSteer(newSQL(t, db.Address, "routing").Read))}
}

func haproxies(t *testing.T, l *live) (one, two *routetest.HAProxy) {
	var of []routetest.Backend
	for _, home := range farm.SideNames {
		of = append(of, routetest.Backend{Pair: pairName, Home: home, A: l.a.Address, B: l.b.Address})
	}
	return routetest.StartHAProxy(t, false, of...), routetest.StartHAProxy(t, false, of...)
}

// haproxyWay: a connection for every transaction, half of the clients through
// each of two processes.
func haproxyWay(t *testing.T, l *live) way {
	one, two := haproxies(t, l)
	r := newHAProxy(t.TempDir(), 0, one.Socket, two.Socket)
	create(t, r, l.pairs)
	return way{name: "haproxy", router: r, client: through(true, one, two)}
}

// haproxyPoolWay: pools with a fixed DSN whose connections live for 500 ms, and
// nothing that cuts them. The pool ends them between transactions, so that a
// gate drains, and no client meets a 2013.
func haproxyPoolWay(t *testing.T, l *live) way {
	one, two := haproxies(t, l)
	r := newHAProxy(t.TempDir(), 0, one.Socket, two.Socket)
	create(t, r, l.pairs)
	plain := through(false, one, two)
	return way{name: "haproxy, pool", router: r, client: func(key string, home farm.SideName) liveClient {
		c := plain(key, home)
		c.lifetime = 500 * time.Millisecond
		return c
	}}
}

// haproxyKeptWay: connections that are kept, and cut after half a second.
func haproxyKeptWay(t *testing.T, l *live) way {
	one, two := haproxies(t, l)
	r := newHAProxy(t.TempDir(), 500*time.Millisecond, one.Socket, two.Socket)
	create(t, r, l.pairs)
	return way{name: "haproxy, cut_after", router: r, client: through(false, one, two), mayLose: true}
}

func through(eachTime bool, processes ...*routetest.HAProxy) func(string, farm.SideName) liveClient {
	return func(key string, home farm.SideName) liveClient {
		p := processes[int(key[len(key)-1])%len(processes)]
		address := p.Listen[string(pairName)+"_"+string(home)]
		return liveClient{key: key, eachTime: eachTime, steer: func(context.Context, string) (string, bool) { return address, true }}
	}
}

// execWay: a program that hands the table to clients that ask every 100 ms and
// know no gate.
func execWay(t *testing.T, l *live) way {
	dir := t.TempDir()
	r := newExec(dir, 0)
	create(t, r, l.pairs)
	return way{name: "exec, polled", router: r, mayBeRefused: true, mayBeStale: true, client: func(key string, _ farm.SideName) liveClient {
		ask := tableSteer(func(context.Context) (*route.Table, error) { return route.ReadFile(filepath.Join(dir, "table.json")) })
		return liveClient{key: key, steer: polled(100*time.Millisecond, ask)}
	}}
}

func (l *live) run(t *testing.T, w way, cycles int) {
	l.a.Exec(t, "DELETE FROM live.counters")
	mariadbtest.AwaitApplied(t, l.b, l.a)
	var m met
	var clients []*liveClient
	for _, key := range l.clients {
		l.a.Exec(t, fmt.Sprintf("INSERT INTO live.counters VALUES ('%s', 0)", key))
		r, _ := l.pairs[pairName].Locate(key)
		c := w.client(key, r.Home)
		c.met = &m
		clients = append(clients, &c)
	}
	mariadbtest.AwaitApplied(t, l.b, l.a)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, c := range clients {
		running.Go(func() { c.run(ctx) })
	}
	running.Go(func() { l.batches(ctx, t) })
	gates := l.swings(t, w.router, cycles)
	stop()
	running.Wait()
	l.judge(t, w, &m, clients)
	slices.Sort(gates)
	slices.Sort(m.waits)
	g := w.router.Guarantee()
	if m.late > 0 {
		t.Logf("%d attempts of clients that were late were refused and made again", m.late)
	}
	t.Logf("| `%s` | %s | %d | %d | %d | %d | %d | %d | %.0f / %.0f | %.0f / %.0f |", w.name, g.Kind, len(gates), m.transactions,
		m.refused, m.lost, m.unknown, m.stale, ms(at(gates, 0.5)), ms(at(gates, 1)), ms(at(m.waits, 0.99)), ms(at(m.waits, 1)))
}

// batches is what makes replication lag: the twin's own batch work, a few
// thousand rows at once.
func (l *live) batches(ctx context.Context, t *testing.T) {
	db := l.b.DB(t, mariadbtest.App, "live")
	for ctx.Err() == nil {
		if _, err := db.Exec("UPDATE live.bulk SET v = v + 1"); err != nil && ctx.Err() == nil {
			t.Error(err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// swings takes side A out and in again so many times, as a move does.
func (l *live) swings(t *testing.T, r route.Router, cycles int) (gates []time.Duration) {
	t.Helper()
	settings := swing.Defaults()
	settings.Soak = 20 * time.Millisecond
	s := &swing.Swing{Pair: pairName, Side: farm.A, Router: r, Leaves: mysqltest.Open(t, l.a), Returns: mysqltest.Open(t, l.a), Twin: mysqltest.Open(t, l.b), Settings: settings,
		Tell: func(kind farm.EventKind, _, _ string, millis float64) {
			if kind == farm.GateOpened {
				gates = append(gates, time.Duration(millis*float64(time.Millisecond)))
			}
		}}
	for range cycles {
		for _, step := range []func(context.Context) error{s.Out, s.In} {
			err := step(t.Context())
			for tries := 1; err != nil && tries < 8; tries++ { // as the engine does
				t.Logf("again after: %v", err)
				err = step(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return gates
}

// judge compares what clients met with what they were promised, and what they
// were acknowledged with both servers.
func (l *live) judge(t *testing.T, w way, m *met, clients []*liveClient) {
	t.Helper()
	for _, x := range []struct {
		what string
		n    int64
		may  bool
	}{
		{"queries were refused", m.refused, w.mayBeRefused}, {"connections were lost", m.lost, w.mayLose},
		{"outcomes were unknown", m.unknown, w.mayLose}, {"reads were stale", m.stale, w.mayBeStale},
		{"reads found more than was written", m.ahead, false}, {"other errors", int64(len(m.other)), false},
	} {
		if x.n > 0 && !x.may {
			t.Errorf("%d %s: %v", x.n, x.what, m.other)
		}
	}
	if m.transactions == 0 {
		t.Error("no client got anything done")
	}
	mariadbtest.AwaitApplied(t, l.a, l.b)
	mariadbtest.AwaitApplied(t, l.b, l.a)
	for _, c := range clients {
		for _, i := range []*mariadbtest.Instance{l.a, l.b} {
			n := i.Value(t, "SELECT n FROM live.counters WHERE client = ?", c.key)
			if n != fmt.Sprint(c.acked) && !(c.uncertain && n == fmt.Sprint(c.acked+1)) {
				t.Errorf("%s was acknowledged %d, %s has %s", c.key, c.acked, i.Name, n)
			}
		}
	}
}

func at(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
