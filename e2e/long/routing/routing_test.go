package routing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/demo"
	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/route/routetest"
)

// A whole move with clients behind two processes of HAProxy. It is killed behind
// a closed gate, and one HAProxy is restarted and forgets everything; whoever
// comes through the other notices nothing.
func TestMoveThroughHAProxy(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	_, fm, account, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var backends []routetest.Backend
	for _, p := range fm.Pairs {
		for _, home := range farm.SideNames {
			backends = append(backends, routetest.Backend{Pair: p.Name, Home: home, A: fm.Address(p.Sides[farm.A]), B: fm.Address(p.Sides[farm.B])})
		}
	}
	one, two := routetest.StartHAProxy(t, false, backends...), routetest.StartHAProxy(t, false, backends...)
	f.RouteBy(fmt.Sprintf("{kind: haproxy, sockets: [%q, %q]}", one.Socket, two.Socket))
	f.Must("routing")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	var asked, failed int
	running.Go(func() {
		for ; ctx.Err() == nil; asked++ {
			if err := askOnce(two.Listen["dbshard001_A"], account.User, account.Password); err != nil {
				failed++
				t.Errorf("a query through HAProxy failed: %v", err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	p := farmtest.RunProgram(t, "stowage @ after out/close", "move", "first", "-C", f.Dir)
	if p.Code == 0 || !strings.Contains(p.Stderr, farmtest.MarkOfKill) {
		t.Fatalf("it was not killed: exit %d\n%s", p.Code, p.Stderr)
	}
	if !strings.Contains(p.Stderr, "gated: new connections wait in HAProxy") {
		t.Errorf("preflight does not say what the router guarantees:\n%s", p.Stderr)
	}
	one.Restart(t)
	f.Must("resume")
	stop()
	running.Wait()
	if failed > 0 || asked == 0 {
		t.Errorf("%d of %d queries through HAProxy failed", failed, asked)
	}
	f.Must("routing") // which looks at both
	state, err := one.Ask("show servers state dbshard001_A")
	if _, fm, _, _ = farmtest.FarmAccess(f.Dir); err != nil || !strings.Contains(state, " A "+strings.Split(fm.Address(fm.Pairs[0].Sides[farm.A]), ":")[0]+" ") {
		t.Errorf("the HAProxy that was restarted does not show the new place: %v\n%s", err, state)
	}
	f.CheckWhole()
}

func askOnce(address, user, password string) error {
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.Logger = user, password, "tcp", address, &driver.NopLogger{}
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var n int
	return db.QueryRow("SELECT 1").Scan(&n)
}

// hasColour is one query over a connection of its own: whether receipts have the column.
func hasColour(address, user, password, shard string) (bool, error) {
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.DBName, cfg.Logger = user, password, "tcp", address, shard, &driver.NopLogger{}
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return false, err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	rows, err := db.Query("SELECT * FROM receipts LIMIT 1")
	if err != nil {
		return false, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	return slices.Contains(names, "colour"), errors.Join(err, rows.Err())
}

// A whole move with the table in etcd.
func TestMoveByEtcd(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	f.Load.Stop() // its clients follow a file
	cluster := routetest.StartEtcd(t, 1)
	f.RouteBy(fmt.Sprintf("{kind: etcd, endpoints: [%q]}", cluster.Endpoints[0]))
	f.Must("routing", "init")
	f.Must("move", "first")
	p := farmtest.RunProgram(t, "", "routing", "-C", f.Dir)
	_, fm, _, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range farm.SideNames {
		if address := fm.Address(fm.Pairs[0].Sides[side]); !strings.Contains(p.Stdout, address) {
			t.Errorf("routing does not show side %s at %s:\n%s", side, address, p.Stdout)
		}
	}
}

// Hosts are rolled while clients come through HAProxy, each query with a connection of its own: none fails, of pairs that serve on both sides and of pairs with one writer.
func TestRollThroughHAProxy(t *testing.T) {
	for _, topology := range []farm.Topology{farm.ActiveActive, farm.PrimaryReplica} {
		t.Run(string(topology), func(t *testing.T) {
			t.Parallel() // it mostly waits
			f := farmtest.Raise(t, demo.Options{Topology: topology, Pairs: 1, Shards: 1, Hosts: 2, Rows: 50}, 40, nil)
			_, fm, account, err := farmtest.FarmAccess(f.Dir)
			if err != nil {
				t.Fatal(err)
			}
			p := fm.Pairs[0]
			backends := []routetest.Backend{{Pair: p.Name, Home: farm.A, A: fm.Address(p.Sides[farm.A]), B: fm.Address(p.Sides[farm.B])}}
			if topology == farm.ActiveActive {
				backends = append(backends, routetest.Backend{Pair: p.Name, Home: farm.B, A: fm.Address(p.Sides[farm.A]), B: fm.Address(p.Sides[farm.B])})
			}
			proxy := routetest.StartHAProxy(t, false, backends...)
			f.RouteBy(fmt.Sprintf("{kind: haproxy, sockets: [%q]}", proxy.Socket))
			f.Must("routing")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var running sync.WaitGroup
			asked := 0
			running.Go(func() {
				for ; ctx.Err() == nil; asked++ {
					if err := askOnce(proxy.Listen[string(p.Name)+"_A"], account.User, account.Password); err != nil {
						t.Errorf("a query through HAProxy failed: %v", err)
					}
					time.Sleep(5 * time.Millisecond)
				}
			})
			f.Must("roll", "--hosts", "db*", "--restart", "--name", "all")
			f.Must("roll", "all")
			stop()
			running.Wait()
			if asked < 100 {
				t.Errorf("only %d queries", asked)
			}
			f.Must("routing")
		})
	}
}

// Tables change while clients come through HAProxy, each query with a connection of its own: none fails, and none meets the old table after the new one.
func TestAlterThroughHAProxy(t *testing.T) {
	for _, topology := range []farm.Topology{farm.ActiveActive, farm.PrimaryReplica} {
		t.Run(string(topology), func(t *testing.T) {
			t.Parallel() // it mostly waits
			f := farmtest.Raise(t, demo.Options{Topology: topology, Pairs: 1, Shards: 1, Hosts: 2, Rows: 50}, 40, nil)
			_, fm, account, err := farmtest.FarmAccess(f.Dir)
			if err != nil {
				t.Fatal(err)
			}
			f.Load.Stop() // its clients follow a file
			p := fm.Pairs[0]
			homes := []farm.SideName{farm.A}
			if topology == farm.ActiveActive {
				homes = append(homes, farm.B)
			}
			var backends []routetest.Backend
			for _, home := range homes {
				backends = append(backends, routetest.Backend{Pair: p.Name, Home: home, A: fm.Address(p.Sides[farm.A]), B: fm.Address(p.Sides[farm.B])})
			}
			proxy := routetest.StartHAProxy(t, false, backends...)
			f.RouteBy(fmt.Sprintf("{kind: haproxy, sockets: [%q]}", proxy.Socket))
			f.Must("routing")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var running sync.WaitGroup
			for _, home := range homes {
				running.Go(func() {
					seen := false
					for ctx.Err() == nil {
						has, err := hasColour(proxy.Listen[string(p.Name)+"_"+string(home)], account.User, account.Password, string(p.Shards[0].Name))
						if err != nil {
							t.Errorf("a query through HAProxy failed: %v", err)
						}
						if seen && !has {
							t.Errorf("a client of side %s met the old table after the new one", home)
							return
						}
						seen = seen || has
						time.Sleep(5 * time.Millisecond)
					}
					if !seen {
						t.Errorf("no client of side %s met the new table", home)
					}
				})
			}
			script := filepath.Join(t.TempDir(), "change.sql")
			if err := os.WriteFile(script, []byte(farmtest.AddBoth), 0o644); err != nil {
				t.Fatal(err)
			}
			f.Must("alter", script, "--yes")
			time.Sleep(100 * time.Millisecond) // a query more of each
			stop()
			running.Wait()
			f.Must("routing")
		})
	}
}
