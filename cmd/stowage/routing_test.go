package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
	"stowage/route/routetest"
)

// routeBy puts a routing key into farm.yaml.
func (f *liveFarm) routeBy(text string) {
	f.t.Helper()
	path := filepath.Join(f.dir, "farm.yaml")
	raw, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(raw), "\nhost_types:", "\nrouting: "+text+"\nhost_types:", 1)), 0o644)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// A whole move with clients behind two processes of HAProxy. It is killed behind
// a closed gate, and one HAProxy is restarted and forgets everything; whoever
// comes through the other notices nothing.
func TestMoveThroughHAProxy(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	_, fm, account, err := demoAccess(f.dir)
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
	f.routeBy(fmt.Sprintf("{kind: haproxy, sockets: [%q, %q]}", one.Socket, two.Socket))
	f.must("routing")

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
	p := runProgram(t, "stowage @ after out/close", "move", "first", "-C", f.dir)
	if p.code == 0 || !strings.Contains(p.stderr, markOfKill) {
		t.Fatalf("it was not killed: exit %d\n%s", p.code, p.stderr)
	}
	if !strings.Contains(p.stderr, "gated: new connections wait in HAProxy") {
		t.Errorf("preflight does not say what the router guarantees:\n%s", p.stderr)
	}
	one.Restart(t)
	f.must("move", "resume")
	stop()
	running.Wait()
	if failed > 0 || asked == 0 {
		t.Errorf("%d of %d queries through HAProxy failed", failed, asked)
	}
	f.must("routing") // which looks at both
	state, err := one.Ask("show servers state dbshard001_A")
	if _, fm, _, _ = demoAccess(f.dir); err != nil || !strings.Contains(state, " A "+strings.Split(fm.Address(fm.Pairs[0].Sides[farm.A]), ":")[0]+" ") {
		t.Errorf("the HAProxy that was restarted does not show the new place: %v\n%s", err, state)
	}
	f.checkWhole()
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

// A whole move with the table in etcd.
func TestMoveByEtcd(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startFarm(t)
	f.load.Stop() // its clients follow a file
	cluster := routetest.StartEtcd(t, 1)
	f.routeBy(fmt.Sprintf("{kind: etcd, endpoints: [%q]}", cluster.Endpoints[0]))
	f.must("routing", "init")
	f.must("move", "first")
	p := runProgram(t, "", "routing", "-C", f.dir)
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range farm.SideNames {
		if address := fm.Address(fm.Pairs[0].Sides[side]); !strings.Contains(p.stdout, address) {
			t.Errorf("routing does not show side %s at %s:\n%s", side, address, p.stdout)
		}
	}
}
