package sources

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/inventory/claims"
	"stowage/mysql"
)

// TestLiveServers asks a primary, its replica and one that hangs.
func TestLiveServers(t *testing.T) {
	t.Parallel()
	a, b := mariadbtest.Start(t, "a"), mariadbtest.Start(t, "b")
	a.Exec(t, "CREATE DATABASE shard1", "CREATE TABLE shard1.t (id INT PRIMARY KEY) ENGINE=InnoDB")
	mariadbtest.Replicate(t, b, a)
	mariadbtest.AwaitApplied(t, b, a)
	hang, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer hang.Close()

	f := &farm.Farm{Name: "test", Pairs: []farm.Pair{{Name: "p", Topology: farm.PrimaryReplica, Sides: map[farm.SideName]farm.Side{}, Shards: []farm.Shard{{Name: "shard1"}}}}}
	for i, address := range []string{a.Address, b.Address, hang.Addr().String()} {
		host, port, err := net.SplitHostPort(address)
		must(t, err)
		n, err := strconv.Atoi(port)
		must(t, err)
		name := farm.HostName(fmt.Sprintf("db%d", i+1))
		f.Hosts = append(f.Hosts, farm.Host{Name: name, Address: host})
		f.Pairs[0].Sides[[]farm.SideName{"A", "B", "C"}[i]] = farm.Side{Host: name, Port: n}
	}
	check := func() string {
		world := World{Dir: t.TempDir(), Farm: f, Line: func(string) int { return 1 }, Open: func(n farm.InstanceName, address string) *mysql.Server {
			account := mysqltest.Account(mariadbtest.Stowage)
			return mysql.Open(n, address, account, slog.New(slog.DiscardHandler))
		}}
		set, _, err := Collect(t.Context(), world, []claims.Spec{{Name: "live", Kind: "live", Timeout: 3 * time.Second}})
		must(t, err)
		r := claims.Reconcile(set, claims.Rules{}, time.Now())
		if len(r.Stale) > 0 {
			t.Errorf("stale: %v, %+v", r.Stale, r.Sources)
		}
		var out []string
		for _, c := range r.Conflicts {
			out = append(out, fmt.Sprintf("%s %s.%s %v", c.Check, c.Subject, c.Attribute, c.Culprits))
		}
		slices.Sort(out)
		return strings.Join(out, "\n")
	}
	// The replica that hangs says nothing of itself, and that is not a conflict.
	if got := check(); got != "" {
		t.Errorf("a farm that is as it should be has\n%s", got)
	}
	b.Exec(t, "INSERT INTO shard1.t VALUES (7)")
	if got := check(); got != "errant pb.errant []" {
		t.Errorf("a row that only the replica has: %s", got)
	}
	f.Pairs[0].Shards[0].Name = "shard2"
	f.Pairs[0].Sides["B"], f.Pairs[0].Sides["A"] = f.Pairs[0].Sides["A"], f.Pairs[0].Sides["B"]
	got := check()
	if !strings.Contains(got, "conflict pa.replicates_from [farm]") && !strings.Contains(got, "conflict pb.replicates_from [farm]") {
		t.Errorf("sides that are the other way round: %s", got)
	}
	if !strings.Contains(got, "missing shard1.listed [farm]") {
		t.Errorf("a database that farm.yaml does not know: %s", got)
	}
}

// TestAPrimaryThatLetsNobodyInIsNotDead: a wrong password is no reason to promote a
// replica, and sizes that take long cost only the sizes.
func TestAPrimaryThatLetsNobodyInIsNotDead(t *testing.T) {
	t.Parallel()
	a, b, c := mariadbtest.Start(t, "a"), mariadbtest.Start(t, "b"), mariadbtest.Start(t, "c")
	mariadbtest.Replicate(t, b, a)
	c.Exec(t, "CREATE DATABASE shard2")
	f := &farm.Farm{Name: "test"}
	for i, s := range []*mariadbtest.Instance{a, b, c} {
		name := farm.HostName(fmt.Sprintf("db%d", i+1))
		f.Hosts = append(f.Hosts, farm.Host{Name: name, Address: s.Host})
	}
	f.Pairs = []farm.Pair{
		{Name: "p", Topology: farm.PrimaryReplica, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "db1", Port: a.Port}, farm.B: {Host: "db2", Port: b.Port}}},
		{Name: "q", Topology: farm.Single, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "db3", Port: c.Port}}, Shards: []farm.Shard{{Name: "shard2"}}},
	}
	world := World{Dir: t.TempDir(), Farm: f, Line: func(string) int { return 1 }, Open: func(n farm.InstanceName, address string) *mysql.Server {
		account := mysqltest.Account(mariadbtest.Stowage)
		if address == a.Address {
			account.Password = "wrong"
		}
		return mysql.Open(n, address, account, slog.New(slog.DiscardHandler))
	}}
	// A table that is being created with its rows cannot be opened by anybody else.
	busy, end := context.WithCancel(t.Context())
	var making sync.WaitGroup
	making.Go(func() {
		_, _ = c.DB(t, mariadbtest.Stowage, "shard2").ExecContext(busy, "CREATE TABLE slow ENGINE=InnoDB SELECT SLEEP(60)")
	})
	defer making.Wait()
	defer end()
	for c.Value(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep'") != "1" {
		time.Sleep(10 * time.Millisecond)
	}
	set, faults, err := Collect(t.Context(), world, []claims.Spec{{Name: "live", Kind: "live", Timeout: 500 * time.Millisecond}})
	must(t, err)
	if len(faults) != 1 || faults[0].Source != "live" || faults[0].Place != a.Address || !strings.Contains(faults[0].Text, "Access denied") {
		t.Errorf("faults %+v, want one: access denied at %s", faults, a.Address)
	}
	r := claims.Reconcile(set, claims.Rules{}, time.Now())
	for _, c := range r.Conflicts {
		t.Errorf("%s %s.%s %v: %s -> %s", c.Check, c.Subject, c.Attribute, c.Culprits, c.Reason, c.Remedy)
	}
	if live := r.Sources[1]; !live.IsPart || live.IsStale || live.Claims < 10 {
		t.Errorf("source %+v", live)
	}
	world.Open = func(n farm.InstanceName, address string) *mysql.Server {
		return mysql.Open(n, address, mysqltest.Account(mariadbtest.Stowage), slog.New(slog.DiscardHandler))
	}
	if set, faults, err = Collect(t.Context(), world, []claims.Spec{{Name: "live", Kind: "live", Timeout: 500 * time.Millisecond}}); err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	if live := claims.Reconcile(set, claims.Rules{}, time.Now()).Sources[1]; !strings.HasPrefix(live.Why, "no sizes of shards from 1 server; the last: ") {
		t.Errorf("sizes that take long: %+v", live)
	}
}

// TestAShardInTwoPlaces: servers of two pairs have one database, and nobody is wrong about it.
func TestAShardInTwoPlaces(t *testing.T) {
	t.Parallel()
	f := &farm.Farm{Name: "test"}
	for i, name := range []farm.PairName{"p", "q"} {
		s := mariadbtest.Start(t, string(name))
		s.Exec(t, "CREATE DATABASE shard1", "CREATE TABLE shard1.t (id INT PRIMARY KEY) ENGINE=InnoDB", fmt.Sprintf("SET GLOBAL server_id = %d", 70+i))
		host, port, err := net.SplitHostPort(s.Address)
		must(t, err)
		n, err := strconv.Atoi(port)
		must(t, err)
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName("db" + name), Address: host})
		f.Pairs = append(f.Pairs, farm.Pair{Name: name, Topology: farm.Single, Sides: map[farm.SideName]farm.Side{farm.A: {Host: farm.HostName("db" + name), Port: n}}})
	}
	f.Pairs[0].Shards = []farm.Shard{{Name: "shard1"}}
	world := World{Dir: t.TempDir(), Farm: f, Line: func(string) int { return 1 }, Open: func(n farm.InstanceName, address string) *mysql.Server {
		return mysql.Open(n, address, mysqltest.Account(mariadbtest.Stowage), slog.New(slog.DiscardHandler))
	}}
	set, _, err := Collect(t.Context(), world, []claims.Spec{{Name: "live", Kind: "live", Timeout: 3 * time.Second}})
	must(t, err)
	r := claims.Reconcile(set, claims.Rules{}, time.Now())
	i := slices.IndexFunc(r.Conflicts, func(c claims.Conflict) bool { return c.Check == "two-places" })
	if i < 0 || r.Conflicts[i].Subject != "shard1" || len(r.Conflicts[i].Culprits) != 0 || len(r.Conflicts[i].Claims) < 3 {
		t.Errorf("conflicts %+v", r.Conflicts)
	}
}
