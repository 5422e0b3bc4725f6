package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"stowage/demo"
	"stowage/farm"
	"stowage/route"
	"stowage/workspace"
)

// One plan moves a pair with one writer and a single instance onto two hosts
// while clients write, the replica before its primary; undone afterwards, one
// plan brings them all back.
func TestPlanOfAllThatHasOneWriter(t *testing.T) {
	t.Parallel() // it mostly waits
	f := raise(t, demo.Options{Topology: farm.PrimaryReplica, Pairs: 2, Shards: 1, Hosts: 2, Rows: 50}, 40, nil)
	f.becomesSingle(1)
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
	if used := fm.HostsInUse(); len(used) != 2 {
		t.Errorf("it uses %v, want two hosts", used)
	}
	f.checkOneServes()
	done := map[string]int{}
	for n, e := range f.events() {
		if e.Kind == farm.StepDone && e.Step == "retire" {
			done[string(e.Pair)+"/"+string(e.Side)] = n + 1
		}
	}
	if len(done) != 3 || done["dbshard001/B"] > done["dbshard001/A"] || done["dbshard002/A"] == 0 {
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
