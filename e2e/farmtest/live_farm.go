package farmtest

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

// LiveFarm is a farm under load on servers of its own.
type LiveFarm struct {
	T         *testing.T
	Dir       string
	Load      *load.Load
	Rate      float64 // of its clients, transactions a second
	Column    string  // of receipts that clients write as soon as it is there
	starts    int64   // of clients
	plans     int
	Onto      string
	Lanes     int              // pairs that TurnAround has move at once; 0: one
	heldSince time.Time        // since when the moved shard is seen held
	goesAlone []farm.ShardName // shards that move while their neighbours must not notice
	people    *people          // who work on it meanwhile
	// Wanted is the host type both sides must be on; "anywhere" asks nothing.
	Wanted string
	// Servers is the PATH on which the program finds servers of another line.
	Servers string
	// Full says that clients may be told that a table is full: of a server that
	// serves them, and whose disk a test fills.
	Full bool
}

// StartFarm is one pair, with a plan named first.
func StartFarm(t *testing.T) *LiveFarm {
	t.Helper()
	return startFarmIn(t, func(string) {})
}

// startFarmIn starts it in a directory that was prepared for it.
func startFarmIn(t *testing.T, prepare func(dir string)) *LiveFarm {
	t.Helper()
	f := Raise(t, demo.Options{Pairs: 1, Shards: 2, Hosts: 2, Rows: 50}, 40, prepare)
	f.Must("plan", "--name", "first")
	return f
}

// StartOneWriter is a pair in which side A takes all writes, without a plan.
func StartOneWriter(t *testing.T, topology farm.Topology) *LiveFarm {
	t.Helper()
	o := demo.Options{Topology: topology, Pairs: 1, Shards: 2, Rows: 50}
	o.Hosts = o.Instances()
	return Raise(t, o, 40, nil)
}

// StartShardFarm is two pairs of two shards, any of which may be anywhere.
func StartShardFarm(t *testing.T) *LiveFarm {
	t.Helper()
	return StartShardFarmOf(t, farm.ActiveActive)
}

func StartShardFarmOf(t *testing.T, topology farm.Topology) *LiveFarm {
	t.Helper()
	o := demo.Defaults()
	o.Topology, o.Pairs, o.Shards, o.Hosts, o.Rows = topology, 2, 2, 2, 300
	f := Raise(t, o, 60, nil)
	f.Onto, f.Wanted = "", "anywhere"
	return f
}

// Raise starts the servers of a demo and clients that write to them. Tests may
// do so at the same time, and so may other programs: see demo's reserve.
func Raise(t *testing.T, o demo.Options, rate float64, prepare func(dir string)) *LiveFarm {
	t.Helper()
	f := EmptyFarm(t, "r630-ssd", rate)
	if prepare != nil {
		prepare(f.Dir)
	}
	t.Cleanup(f.Down)
	o.Dir, o.Tell = f.Dir, func(string) {}
	if err := demo.Up(t.Context(), o, QuietLog()); err != nil {
		t.Fatal(err)
	}
	if err := f.StartClients(); err != nil {
		t.Fatal(err)
	}
	return f
}

// EmptyFarm is a directory for one, open to the account that servers run as.
// FARMS= says where: in memory (/dev/shm) its servers wait for no disk.
func EmptyFarm(t *testing.T, onto string, rate float64) *LiveFarm {
	t.Helper()
	if os.Getenv("STOWAGE_SERVERS") == "none" { // make check
		t.Skip("SKIPPED: no servers are wanted")
	}
	dir, err := os.MkdirTemp(cmp.Or(os.Getenv("FARMS"), "/var/tmp"), "stowage-test-*")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return &LiveFarm{T: t, Dir: dir, Onto: onto, Rate: rate}
}

// StartClients lets clients write, others each time they are started.
func (f *LiveFarm) StartClients() error {
	_, fm, app, err := FarmAccess(f.Dir)
	if err != nil {
		return err
	}
	f.starts++
	f.Load, err = load.Start(f.T.Context(), load.Options{Routing: f.Dir + "/routing.json", Dir: ledgerDir(f.Dir), Shards: shardsByPair(fm),
		User: app.User, Password: app.Password, Clients: 4, Rate: f.Rate, Seed: f.starts, Column: f.Column})
	return err
}

// Down ends clients and servers and leaves nothing. Again is harmless.
func (f *LiveFarm) Down() {
	if f.Load != nil {
		f.Load.Stop()
	}
	if _, err := os.Stat(f.Dir); err != nil {
		return
	}
	if err := demo.Down(context.Background(), f.Dir, QuietLog()); err != nil { // the test's own context has ended
		f.T.Error(err)
	}
	os.RemoveAll(f.Dir)
}

// lostOrDoubled stops the clients and compares what they were told with the
// servers: what is not as it was promised.
func (f *LiveFarm) lostOrDoubled() []string {
	_, _, wrong := f.Settle()
	return wrong
}

// Settle does, and gives what the clients met and what the servers say besides.
func (f *LiveFarm) Settle() (s load.Summary, v load.Verdict, wrong []string) {
	s = f.Load.Stop()
	if f.Full { // MariaDB waits where the binary log does not fit, and answers where a table does not
		others := slices.DeleteFunc(slices.Clone(s.Failures), func(x load.Failure) bool { return strings.HasPrefix(x.Error, "Error 1114 ") })
		s.Failed -= int64(len(s.Failures) - len(others))
		s.Failures = others
	}
	if s.Failed+s.StaleReads+s.UnknownLeft != 0 || s.Acknowledged == 0 {
		wrong = append(wrong, fmt.Sprintf("clients met failed %d, stale %d, unknown %d, acknowledged %d: %v %v",
			s.Failed, s.StaleReads, s.UnknownLeft, s.Acknowledged, s.Failures, s.Stale))
	}
	if s.Retried > 0 {
		f.T.Logf("retried %d times (a client slept through a gate): %v", s.Retried, s.Retries)
	}
	var err error
	v, err = verdict(f.T.Context(), f.Dir)
	switch {
	case err != nil:
		wrong = append(wrong, "verify: "+err.Error())
	case !v.Whole():
		wrong = append(wrong, fmt.Sprintf("the ledger is not whole: %+v", v))
	}
	return s, v, wrong
}

// Path is a path of the workspace.
func (f *LiveFarm) Path(p string) string { return (&workspace.Workspace{Dir: f.Dir}).Path(p) }

// CheckLedger stops the clients; nothing they were told may be lost or doubled.
func (f *LiveFarm) CheckLedger() {
	f.T.Helper()
	for _, wrong := range f.lostOrDoubled() {
		f.T.Error(wrong)
	}
}

func QuietLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
