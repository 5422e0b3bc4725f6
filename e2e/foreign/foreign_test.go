package foreign

import (
	"slices"
	"strings"
	"testing"

	"stowage/demo"
	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/turns"
)

// TestNeighbourStartsReadOnly: two servers of one option file, of which one is
// moved under load. The other was never touched: it starts as ever, and nobody's
// file, owner, mode or link has changed. The one that has retired does not come up
// when somebody starts it by mistake.
func TestNeighbourStartsReadOnly(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	f := farmtest.RaiseForeign(t, demo.Options{Pairs: 2, Shards: 1, Hosts: 2, Rows: 50}, 40,
		farmtest.Machine{Name: "m1", Way: farmtest.ByMulti, Instances: []farm.InstanceName{"dbshard001a", "dbshard002a"}},
		farmtest.Machine{Name: "m2", Way: farmtest.BySuffix, Instances: []farm.InstanceName{"dbshard001b", "dbshard002b"}})
	if err := f.StartClients(); err != nil {
		t.Fatal(err)
	}
	settings := func(name farm.InstanceName) string {
		t.Helper()
		s := f.Server(name)
		defer s.Close()
		v, err := s.Variables(t.Context(), "read_only", "event_scheduler")
		if err != nil {
			t.Fatal(err)
		}
		return v["read_only"] + " " + v["event_scheduler"]
	}
	was := settings("dbshard002a")
	// Taken back from behind the fence: every byte, mode and link is as it was.
	p := farmtest.RunProgram(t, "step @ before warm", "move", "instance", "dbshard001/A", "--to", freeHost(t, f), "-C", f.Dir)
	if p.Code != farmtest.ExitFailed {
		t.Fatalf("exit %d, want a move that is taken back\n%s", p.Code, p.Stderr)
	}
	f.CheckFiles()
	f.Must("move", "instance", "dbshard001/B", "--to", freeHost(t, f))
	f.CheckFiles()
	s := f.Server("dbshard001b")
	defer s.Close()
	if s.Ping(t.Context()) == nil {
		t.Error("dbshard001b has retired, and answers at its old place")
	}
	f.StaysRetired("dbshard001b")
	for _, name := range []farm.InstanceName{"dbshard002a", "dbshard002b"} {
		f.RestartAsOwner(name)
		if got := settings(name); got != was || !strings.HasPrefix(got, "OFF") {
			t.Errorf("%s, which nobody touched, starts with read_only and event_scheduler %s, was %s", name, got, was)
		}
	}
	f.CheckFiles()
	f.CheckLedger()
}

func freeHost(t *testing.T, f *farmtest.Foreign) string {
	t.Helper()
	_, fm, _, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	used := fm.HostsInUse()
	for _, h := range fm.Hosts {
		if h.Type == "r630-ssd" && !slices.Contains(used, h.Name) {
			return string(h.Name)
		}
	}
	t.Fatal("no host is free")
	return ""
}

// TestSecondSideIsFoundHalfWay: of a pair of which both sides move, the second
// one's option file is asked about before the first is touched; a running value
// that its file does not have used to be found when the first had moved.
func TestSecondSideIsFoundHalfWay(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.RaiseForeign(t, demo.Options{Pairs: 1, Shards: 1, Hosts: 2, Rows: 50}, 40,
		farmtest.Machine{Name: "m1", Way: farmtest.BySuffix, Instances: []farm.InstanceName{"dbshard001a"}},
		farmtest.Machine{Name: "m2", Way: farmtest.AsDebian, Instances: []farm.InstanceName{"dbshard001b"}})
	f.Must("plan", "--name", "first")
	for _, name := range f.Names() {
		f.Do(name, "SET GLOBAL max_connections = 77")
		p := farmtest.RunProgram(t, "", "move", "first", "--dry-run", "-C", f.Dir)
		said := strings.Join(strings.Fields(p.Stdout+p.Stderr), " ")
		for _, want := range []string{string(name) + ": max_connections is \"77\", and it would start with", "write max_connections = 77 into [mysqld"} {
			if p.Code != farmtest.ExitRefused || !strings.Contains(said, want) {
				t.Errorf("%s: exit %d, it does not say %q:\n%s", name, p.Code, want, said)
			}
		}
		f.RestartAsOwner(name)
	}
	if p := farmtest.RunProgram(t, "", "move", "first", "--dry-run", "-C", f.Dir); p.Code != farmtest.ExitFine {
		t.Errorf("as the files say: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	f.Edit(`, group_suffix: ".dbshard001a"`, "")
	if p := farmtest.RunProgram(t, "", "move", "instance", "dbshard001/A", "--to", freeHost(t, f), "-C", f.Dir); p.Code != farmtest.ExitRefused || !strings.Contains(p.Stdout+p.Stderr, "farm.yaml has group_suffix none") {
		t.Errorf("without the suffix: exit %d\n%s", p.Code, p.Stdout)
	}
	f.CheckFiles()
}
