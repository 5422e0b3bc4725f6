package act

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/store"
	"stowage/workspace"
)

func threePairs() *farm.Farm {
	f := &farm.Farm{}
	for _, n := range []string{"1", "2", "3"} {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName("old" + n)}, farm.Host{Name: farm.HostName("new" + n)})
		f.Pairs = append(f.Pairs, farm.Pair{Name: farm.PairName("p" + n), Sides: map[farm.SideName]farm.Side{
			farm.A: {Host: farm.HostName("old" + n)}, farm.B: {Host: "both"}}})
	}
	return f
}

func laneOf(name string, holds ...string) engine.Lane {
	return engine.Lane{Name: name, Holds: append([]string{WholeFarm}, holds...)}
}

func TestClaimOf(t *testing.T) {
	f := threePairs()
	job := engine.Job{Budgets: map[string]int{WholeFarm: 2, "host new1": 2, "rack r1": 1, "pair p2": 1},
		Lanes: []engine.Lane{laneOf("p1", "host new1", "rack r1"), laneOf("p1", "pair p2", "rack r1"), laneOf("p1", "rack r1")}}
	c := claimOf(store.Run{ID: "r"}, job, f, "why")
	if !slices.Equal(c.Pairs, []farm.PairName{"p1", "p2"}) || !slices.Equal(c.Hosts, []farm.HostName{"both", "new1", "old1", "old2"}) || c.Whole {
		t.Errorf("claims %+v", c)
	}
	if want := map[string]int{WholeFarm: 2, "rack r1": 1}; !maps.Equal(c.Uses, want) {
		t.Errorf("uses %v, want %v", c.Uses, want)
	}
	job.Lanes = []engine.Lane{laneOf("new2", "pair p3")} // a host that is rolled
	if c := claimOf(store.Run{}, job, f, ""); c.Whole || !slices.Equal(c.Pairs, []farm.PairName{"p3"}) || !slices.Equal(c.Hosts, []farm.HostName{"both", "new2", "old3"}) {
		t.Errorf("a lane about a host claims %+v", c)
	}
	beside := laneOf("p1-restored", "host new1")
	beside.Beside = true
	job.Lanes = []engine.Lane{beside} // beside what is there
	if c := claimOf(store.Run{}, job, f, ""); c.Whole || len(c.Pairs) > 0 || !slices.Equal(c.Hosts, []farm.HostName{"new1"}) {
		t.Errorf("a lane that works beside the pairs claims %+v", c)
	}
	job.Lanes = append(job.Lanes, laneOf("still-to-be-made"))
	if c := claimOf(store.Run{}, job, f, ""); !c.Whole {
		t.Errorf("a lane about no pair of the farm: %+v", c)
	}
}

func TestOverlapIsRefused(t *testing.T) {
	mine := workspace.Claim{Run: "mine", Pairs: []farm.PairName{"p1"}, Hosts: []farm.HostName{"h1", "h2"}}
	for _, x := range []struct {
		other workspace.Claim
		free  bool
	}{
		{workspace.Claim{Pairs: []farm.PairName{"p2"}, Hosts: []farm.HostName{"h3"}}, true},
		{workspace.Claim{Pairs: []farm.PairName{"p2"}, Hosts: []farm.HostName{"h2"}}, false},
		{workspace.Claim{Pairs: []farm.PairName{"p1"}}, false},
		{workspace.Claim{Whole: true}, false},
	} {
		err := refuseOverlap(mine, []workspace.Claim{x.other}, "move", "s")
		if x.free != (err == nil) || err != nil && !errors.Is(err, farm.ErrRefused) {
			t.Errorf("%+v: %v", x.other, err)
		}
	}
}

// Two runs together never have more on their way than goals.yaml allows.
func TestBudgetsAreShared(t *testing.T) {
	for _, x := range []struct {
		own, parallel int
		used          []int
		want          int // 0: refused
	}{
		{1, 4, nil, 1}, {4, 4, []int{1}, 3}, {4, 4, []int{1, 2}, 1}, {4, 4, []int{4}, 0}, {1, 4, []int{3}, 1}, {1, 1, []int{1}, 0}, {3, 0, []int{1}, 2}, {2, 9, []int{3}, 2},
	} {
		job := engine.Job{Budgets: map[string]int{WholeFarm: x.own, "host h": 2}}
		var all []workspace.Claim
		for _, n := range x.used {
			all = append(all, workspace.Claim{Run: "other", Uses: map[string]int{WholeFarm: n}})
		}
		err := shareBudgets(&job, all, x.parallel, "move", "s")
		if (x.want == 0) != errors.Is(err, farm.ErrRefused) || err == nil && job.Budgets[WholeFarm] != x.want || job.Budgets["host h"] != 2 {
			t.Errorf("own %d of %d beside %v: %d, %v; want %d", x.own, x.parallel, x.used, job.Budgets[WholeFarm], err, x.want)
		}
	}
}

func TestChooseAsksWhichOfTwo(t *testing.T) {
	s, err := store.Open(t.TempDir() + "/store.db")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := Choose(s, "", "pause"); !errors.Is(err, store.ErrNone) {
		t.Errorf("of none: %v", err)
	}
	at := time.Now()
	put := func(id string, state store.RunState) {
		at = at.Add(time.Second)
		if err := s.PutRun(store.Run{ID: id, Kind: "move", State: state, Started: at}); err != nil {
			t.Fatal(err)
		}
	}
	chosen := func(name, want string) {
		t.Helper()
		if r, err := Choose(s, name, "pause"); r.ID != want || err != nil {
			t.Errorf("of %q: %q, %v; want %q", name, r.ID, err, want)
		}
	}
	put("one", store.Running)
	put("two", store.Done)
	chosen("", "one") // the newest has ended
	chosen("two", "two")
	put("three", store.Running)
	if _, err := Choose(s, "", "pause"); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("of two: %v", err)
	}
	chosen("one", "one")
	if _, err := Choose(s, "four", "pause"); !errors.Is(err, farm.ErrInput) {
		t.Errorf("of one that is not there: %v", err)
	}
	if r, open, err := Unsettled(s); r.ID != "three" || !open || err != nil {
		t.Errorf("unsettled: %v %v %v", r.ID, open, err)
	}
}

// A run is carried out by whom its claim says, whatever process has its old number by now. Where there is no claim the number is asked, and
// a process of another user is one.
func TestCarrierIsWhoHoldsTheClaim(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte("farm: small\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	mine := os.Getpid()
	run := func(pid int) store.Run {
		return store.Run{ID: "move-1", State: store.Running, PID: pid}
	}
	check := func(name string, r store.Run, want int) {
		t.Helper()
		if got := Carrier(ws, r); got != want {
			t.Errorf("%s: process %d, want %d", name, got, want)
		}
	}
	check("no claim, the number is our own", run(mine), 0)
	check("no claim, a process has the number", run(os.Getppid()), os.Getppid())
	check("no claim, a process of root has it", run(1), 1)
	check("no claim, no process has it", run(1<<30), 0)
	check("no claim and no number", run(0), 0)
	taken, err := ws.Take(workspace.Claim{Run: "move-1"})
	if err != nil {
		t.Fatal(err)
	}
	check("it is held", run(1<<30), mine)
	ended := run(mine)
	ended.State = store.Done
	check("it has ended", ended, 0)
	taken.Leave()
	check("it was left, and a process has the number", run(os.Getppid()), 0)
}
