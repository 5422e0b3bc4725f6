package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"stowage/demo"
	"stowage/farm"
	"stowage/host"
	"stowage/mysql"
	"stowage/route"
	"stowage/workspace"
)

// One plan moves a primary with two replicas and a single instance onto three
// hosts while clients write, replicas before their primary; undone afterwards,
// one plan brings them all back.
func TestPlanOfAllThatHasOneWriter(t *testing.T) {
	t.Parallel() // it mostly waits
	f := raise(t, demo.Options{Topology: farm.PrimaryReplica, Pairs: 2, Shards: 1, Hosts: 3, Rows: 50}, 40, nil)
	f.becomesSingle(1)
	f.getsAnotherReplica()
	before := f.addresses()
	f.must("plan", "--name", "first")
	p := runProgram(t, "", "move", "first", "-C", f.dir)
	if p.code != exitFine || !strings.Contains(p.stdout, "writes paused for") {
		t.Fatalf("exit %d\n%s%s", p.code, p.stdout, p.stderr)
	}
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	if used := fm.HostsInUse(); len(used) != 3 {
		t.Errorf("it uses %v, want three hosts", used)
	}
	f.checkOneServes()
	done := map[string]int{}
	for n, e := range f.events() {
		if e.Kind == farm.StepDone && e.Step == "retire" {
			done[string(e.Pair)+"/"+string(e.Side)] = n + 1
		}
	}
	if len(done) != 3 || done["dbshard001/C"] == 0 || done["dbshard001/C"] > done["dbshard001/A"] || done["dbshard002/A"] == 0 {
		t.Errorf("moved, by the event that ended it: %v", done)
	}
	f.must("move", "undo")
	f.clearOld()
	f.wanted = "anywhere"
	f.must("move", "undo-first")
	if now := f.addresses(); !samePlaces(now, before) {
		t.Errorf("moved back: farm.yaml says %s, was %s", now, before)
	}
	f.checkOneWriter()
	at, err := f.server(farm.A).BinlogPosition(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.server("C").WaitFor(t.Context(), at, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	query := "SELECT CONCAT(COUNT(*), ' ', COALESCE(SUM(CRC32(CONCAT_WS('#', client, seq))), 0)) FROM etsy_shard_0001.receipts"
	if has, want := f.value("C", query), f.value(farm.A, query); has != want {
		t.Errorf("receipts on the second replica: %s, on the primary %s", has, want)
	}
}

// getsAnotherReplica moves the replica of the first pair to a host it will stay
// on, and makes a second one of what that has left.
func (f *liveFarm) getsAnotherReplica() {
	t := f.t
	t.Helper()
	_, was, _, err := demoAccess(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	left := was.Pairs[0].Sides[farm.B]
	f.must("move", "instance", "dbshard001/B", "--to", "ssd03")
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &fm.Pairs[0]
	p.Sides["C"] = left
	local, err := host.NewLocal(quietLog())
	if err != nil {
		t.Fatal(err)
	}
	at, _ := fm.Host(left.Host)
	in := host.Instance{Name: p.Instance("C"), Address: at.Address, Port: left.Port, Datadir: f.path(left.Datadir), Config: f.path(left.Config)}
	if err := local.Start(t.Context(), in, time.Minute); err != nil {
		t.Fatal(err)
	}
	repl, err := mysql.ReadAccount(f.dir+"/accounts.cnf", "replication")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.open(p.Instance("C"), fm.Address(left)).Follow(t.Context(), fm.Address(p.Sides[farm.A]), repl, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := workspace.WriteFarm(f.dir+"/farm.yaml", fm); err != nil {
		t.Fatal(err)
	}
	routes := route.NewFile(f.dir + "/routing.json")
	if err := routes.Change(t.Context(), p.Name, func(r *route.Pair) error { r.Replicas = append(r.Replicas, fm.Address(left)); return nil }); err != nil {
		t.Fatal(err)
	}
	goals, err := os.ReadFile(f.dir + "/goals.yaml")
	if err != nil {
		t.Fatal(err)
	}
	two := strings.Replace(string(goals), "spread_labels: [rack]", "spread_labels: []", 1) // there are two racks, and three sides
	if err := os.WriteFile(f.dir+"/goals.yaml", []byte(two), 0o644); err != nil {
		t.Fatal(err)
	}
}

// becomesSingle takes the replica away from a pair with one writer, for good,
// between two loads.
func (f *liveFarm) becomesSingle(n int) {
	t := f.t
	t.Helper()
	f.load.Stop()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &fm.Pairs[n]
	socket := f.path(p.Sides[farm.B].Datadir) + "/mysqld.sock"
	if _, err := f.dial("unix", socket, "root", "").Exec("SHUTDOWN"); err != nil {
		t.Fatal(err)
	}
	for gone := false; !gone; time.Sleep(20 * time.Millisecond) {
		_, err := os.Stat(socket)
		gone = os.IsNotExist(err)
	}
	p.Topology = farm.Single
	delete(p.Sides, farm.B)
	if err := workspace.WriteFarm(f.dir+"/farm.yaml", fm); err != nil {
		t.Fatal(err)
	}
	routes := route.NewFile(f.dir + "/routing.json")
	if err := routes.Change(t.Context(), p.Name, func(r *route.Pair) error { r.Replicas = nil; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := f.startClients(); err != nil {
		t.Fatal(err)
	}
}
