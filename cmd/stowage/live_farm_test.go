package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/demo"
	"stowage/demo/load"
	"stowage/farm"
	"stowage/workspace"
)

// liveFarm is a farm under load on servers of its own.
type liveFarm struct {
	t         *testing.T
	dir       string
	load      *load.Load
	rate      float64 // of its clients, transactions a second
	starts    int64   // of clients
	plans     int
	onto      string
	heldSince time.Time        // since when the moved shard is seen held
	goesAlone []farm.ShardName // shards that move while their neighbours must not notice
	people    *people          // who work on it meanwhile
	// wanted is the host type both sides must be on; "anywhere" asks nothing.
	wanted string
	// servers is the PATH on which the program finds servers of another line.
	servers string
	// full says that clients may be told that a table is full: of a server that
	// serves them, and whose disk a test fills.
	full bool
}

// startFarm is one pair, with a plan named first.
func startFarm(t *testing.T) *liveFarm {
	t.Helper()
	return startFarmIn(t, func(string) {})
}

// startFarmIn starts it in a directory that was prepared for it.
func startFarmIn(t *testing.T, prepare func(dir string)) *liveFarm {
	t.Helper()
	f := raise(t, demo.Options{Pairs: 1, Shards: 2, Hosts: 2, Rows: 50}, 40, prepare)
	f.must("plan", "--name", "first")
	return f
}

// startOneWriter is a pair in which side A takes all writes, without a plan.
func startOneWriter(t *testing.T, topology farm.Topology) *liveFarm {
	t.Helper()
	o := demo.Options{Topology: topology, Pairs: 1, Shards: 2, Rows: 50}
	o.Hosts = o.Instances()
	return raise(t, o, 40, nil)
}

// startShardFarm is two pairs of two shards, any of which may be anywhere.
func startShardFarm(t *testing.T) *liveFarm {
	t.Helper()
	return startShardFarmOf(t, farm.ActiveActive)
}

func startShardFarmOf(t *testing.T, topology farm.Topology) *liveFarm {
	t.Helper()
	o := demo.Defaults()
	o.Topology, o.Pairs, o.Shards, o.Hosts, o.Rows = topology, 2, 2, 2, 300
	f := raise(t, o, 60, nil)
	f.onto, f.wanted = "", "anywhere"
	return f
}

// raise starts the servers of a demo and clients that write to them. Tests may
// do so at the same time, and so may other programs: see demo's reserve.
func raise(t *testing.T, o demo.Options, rate float64, prepare func(dir string)) *liveFarm {
	t.Helper()
	f := emptyFarm(t, "r630-ssd", rate)
	if prepare != nil {
		prepare(f.dir)
	}
	t.Cleanup(f.down)
	o.Dir, o.Tell = f.dir, func(string) {}
	if err := demo.Up(t.Context(), o, quietLog()); err != nil {
		t.Fatal(err)
	}
	if err := f.startClients(); err != nil {
		t.Fatal(err)
	}
	return f
}

// emptyFarm is a directory for one, open to the account that servers run as.
// FARMS= says where: in memory (/dev/shm) its servers wait for no disk.
func emptyFarm(t *testing.T, onto string, rate float64) *liveFarm {
	t.Helper()
	dir, err := os.MkdirTemp(cmp.Or(os.Getenv("FARMS"), "/var/tmp"), "stowage-test-*")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return &liveFarm{t: t, dir: dir, onto: onto, rate: rate}
}

// startClients lets clients write, others each time they are started.
func (f *liveFarm) startClients() error {
	_, fm, app, err := demoAccess(f.dir)
	if err != nil {
		return err
	}
	f.starts++
	f.load, err = load.Start(f.t.Context(), load.Options{Routing: f.dir + "/routing.json", Dir: loadDir(f.dir), Shards: shardsOf(fm),
		User: app.User, Password: app.Password, Clients: 4, Rate: f.rate, Seed: f.starts})
	return err
}

// down ends clients and servers and leaves nothing. Again is harmless.
func (f *liveFarm) down() {
	if f.load != nil {
		f.load.Stop()
	}
	if _, err := os.Stat(f.dir); err != nil {
		return
	}
	if err := demo.Down(context.Background(), f.dir, quietLog()); err != nil { // the test's own context has ended
		f.t.Error(err)
	}
	os.RemoveAll(f.dir)
}

// lostOrDoubled stops the clients and holds what they were told against the
// servers: what is not as it was promised.
func (f *liveFarm) lostOrDoubled() []string {
	_, _, wrong := f.settle()
	return wrong
}

// settle does, and gives what the clients met and what the servers say besides.
func (f *liveFarm) settle() (s load.Summary, v load.Verdict, wrong []string) {
	s = f.load.Stop()
	if f.full { // MariaDB waits where the binary log does not fit, and answers where a table does not
		others := slices.DeleteFunc(slices.Clone(s.Failures), func(x load.Failure) bool { return strings.HasPrefix(x.Error, "Error 1114 ") })
		s.Failed -= int64(len(s.Failures) - len(others))
		s.Failures = others
	}
	if s.Failed+s.StaleReads+s.UnknownLeft != 0 || s.Acknowledged == 0 {
		wrong = append(wrong, fmt.Sprintf("clients met failed %d, stale %d, unknown %d, acknowledged %d: %v %v",
			s.Failed, s.StaleReads, s.UnknownLeft, s.Acknowledged, s.Failures, s.Stale))
	}
	if s.Retried > 0 {
		f.t.Logf("retried %d times (a client slept through a gate): %v", s.Retried, s.Retries)
	}
	a := &app{stdout: os.Stdout, stderr: os.Stderr, dir: f.dir, log: quietLog()}
	var err error
	v, err = a.verify(f.t.Context(), f.dir)
	switch {
	case err != nil:
		wrong = append(wrong, "verify: "+err.Error())
	case !v.Whole():
		wrong = append(wrong, fmt.Sprintf("the ledger is not whole: %+v", v))
	}
	return s, v, wrong
}

// path is a path of the workspace.
func (f *liveFarm) path(p string) string { return (&workspace.Workspace{Dir: f.dir}).Path(p) }

// checkLedger stops the clients; nothing they were told may be lost or doubled.
func (f *liveFarm) checkLedger() {
	f.t.Helper()
	for _, wrong := range f.lostOrDoubled() {
		f.t.Error(wrong)
	}
}

func quietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
