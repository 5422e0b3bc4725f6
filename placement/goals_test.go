package placement_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/placement"
)

// Goals also come from programs and old plans, not only from goals.yaml: Check
// alone must find what makes no sense. How each reads with file and line is
// in workspace/testdata.
func TestCheckOfGoalsFinds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		spoil func(*placement.Goals)
		path  string
		text  string
	}{
		{func(g *placement.Goals) { g.Unit = "pair" }, "unit", "it must be instance or shard"},
		{func(g *placement.Goals) { g.Minimise = []string{"moves", "money"} }, "minimise[1]", "hosts, cost, watts, moves, balance"},
		{func(g *placement.Goals) { g.RunwayDays = -1 }, "runway", "-1"},
		{func(g *placement.Goals) { g.RunwayDays = nan }, "runway", "NaN"},
		{func(g *placement.Goals) { g.Growth = inf }, "growth", "+Inf"},
		{func(g *placement.Goals) { g.Growth = 1e12 }, "growth", "more than can be counted"},
		{func(g *placement.Goals) { g.RunwayDays = 1e12 }, "runway", "more than can be counted"},
		{func(g *placement.Goals) { g.Overhead = farm.Resources{farm.Memory: nan} }, "overhead.memory", "NaN"},
		{func(g *placement.Goals) { g.Overhead = farm.Resources{"seats": 1} }, "overhead.seats", "no host type has it"},
		{func(g *placement.Goals) { g.Overhead = farm.Resources{farm.Memory: 1 << 62} }, "overhead", "more than can be counted"},
		{func(g *placement.Goals) { g.MaxInstances = -1 }, "max_instances", "-1"},
		{func(g *placement.Goals) { g.ShardsPerInstance = -5 }, "shards_per_instance", "-5"},
		{func(g *placement.Goals) { g.Surface.Shards = 1.5 }, "surface.shards", "150"},
		{func(g *placement.Goals) { g.Surface.Customer = nan }, "surface.customer", "NaN"},
		{func(g *placement.Goals) { g.Surface.Shards = 0.05 }, "surface.shards", "4 shards of pair dbshard001 out of 48 is 8.4%"},
		{func(g *placement.Goals) { g.Surface.Customer = 0.4 }, "surface.customer", "no shard in farm.yaml has a customer"},
		{func(g *placement.Goals) { g.MovedMost = inf }, "moved_most", "+Inf"},
		{func(g *placement.Goals) { g.Rates.Stream = -1 }, "rates.stream", "-1"},
		{func(g *placement.Goals) { g.Rates.Host = nan }, "rates.host", "NaN"},
		{func(g *placement.Goals) { g.Rates.Rack = 1 }, "rates", "no rack_label"},
		{func(g *placement.Goals) { g.Rates.RackLabel = "rack" }, "rates", "no rack:"},
		{func(g *placement.Goals) { g.Rates = placement.Rates{Rack: 1, RackLabel: "rack"} }, "rates.rack_label", `8 hosts without label "rack"`},
		{func(g *placement.Goals) { g.Buy = []placement.Purchase{{Type: "denser", Most: 1}} }, "buy.denser", "unknown host type"},
		{func(g *placement.Goals) { g.Buy = []placement.Purchase{{Type: "platter", Most: 1}} }, "buy.platter", "add it to onto"},
		{func(g *placement.Goals) { g.Buy = []placement.Purchase{{Type: "dense", Most: -1}} }, "buy.dense", "-1 times"},
		{func(g *placement.Goals) { g.Buy = []placement.Purchase{{Type: "dense", Most: math.MaxInt}} }, "buy.dense", "it must be 1 to 100000"},
		{func(g *placement.Goals) {
			g.Buy = []placement.Purchase{{Type: "dense", Most: 1}, {Type: "dense", Most: 1}}
		}, "buy.dense", "twice"},
		{func(g *placement.Goals) { g.Pins = []placement.Binding{{}} }, "pin[0]", "names no pair"},
		{func(g *placement.Goals) { g.Pins = []placement.Binding{{What: []string{"dbshard001"}}} }, "pin[0]", "names no host"},
		{func(g *placement.Goals) {
			g.Forbids = []placement.Binding{{What: []string{"dbshard099"}, Hosts: []farm.HostName{"ssd001"}}}
		}, "forbid[0]", `unknown pair or instance "dbshard099"`},
		{func(g *placement.Goals) {
			g.Forbids = []placement.Binding{{What: []string{"dbshard001a"}, Hosts: []farm.HostName{"ssd099"}}}
		}, "forbid[0]", `unknown host "ssd099"`},
		{func(g *placement.Goals) {
			g.Together = []placement.Group{{Name: "g", Pairs: []farm.PairName{"dbshard099"}}}
		}, "together[0]", `unknown pair "dbshard099" in group g`},
		{func(g *placement.Goals) { g.Apart = []placement.Group{{Name: "g", Pairs: []farm.PairName{"x"}}} }, "apart[0]", `unknown pair "x"`},
		{func(g *placement.Goals) { g.Frozen = []farm.PairName{"x"} }, "frozen", `unknown pair "x"`},
		{func(g *placement.Goals) {
			g.Pins = []placement.Binding{{What: []string{"dbshard001"}, Hosts: []farm.HostName{"ssd001"}}}
		}, "pin[0]", "bound to one host (ssd001) and need two"},
	}
	for _, test := range tests {
		f, g := demoFarm(12, 4, 8), demoGoals()
		f.Pairs[0].Shards[0].Growth = 40e6
		test.spoil(&g)
		ps := g.Check(f)
		found := slices.ContainsFunc(ps, func(p farm.Problem) bool { return p.Path == test.path && strings.Contains(p.Text, test.text) })
		if !found {
			t.Errorf("no %q at %s in %v", test.text, test.path, ps)
		}
		if _, err := placement.Solve(f, g); !errors.Is(err, farm.ErrInput) {
			t.Errorf("%s: planned nevertheless: %v", test.path, err)
		}
	}
}

// Rules that only look like contradictions.
func TestCheckOfGoalsAccepts(t *testing.T) {
	pairs := func(n ...int) (ps []farm.PairName) {
		for _, i := range n {
			ps = append(ps, farm.PairName(fmt.Sprintf("dbshard%03d", i)))
		}
		return ps
	}
	tests := map[string]func(*placement.Goals){
		"forbidden on some of the hosts it is pinned to": func(g *placement.Goals) {
			g.Pins = []placement.Binding{{What: []string{"dbshard001"}, Hosts: []farm.HostName{"ssd001", "ssd002", "ssd003"}}}
			g.Forbids = []placement.Binding{{What: []string{"dbshard001a"}, Hosts: []farm.HostName{"ssd001", "ssd002"}}}
		},
		"each side pinned to its own host": func(g *placement.Goals) {
			g.Pins = []placement.Binding{
				{What: []string{"dbshard001a"}, Hosts: []farm.HostName{"ssd001"}},
				{What: []string{"dbshard001b"}, Hosts: []farm.HostName{"ssd002"}},
			}
		},
		"pinned to a host that is to be bought": func(g *placement.Goals) {
			g.Buy = []placement.Purchase{{Type: "dense", Most: 2}}
			g.Pins = []placement.Binding{{What: []string{"dbshard001"}, Hosts: []farm.HostName{"dense-new-001", "dense-new-002"}}}
		},
		"frozen where it is pinned, although not packed onto": func(g *placement.Goals) {
			g.Frozen = pairs(1)
			g.Pins = []placement.Binding{{What: []string{"dbshard001"}, Hosts: []farm.HostName{"db001", "db002"}}}
		},
		"frozen pairs that belong together and stand apart": func(g *placement.Goals) {
			g.Frozen = pairs(1, 2)
			g.Together = []placement.Group{{Name: "g", Pairs: pairs(1, 2)}}
		},
		"as many together as a host may hold, as many apart as there are hosts": func(g *placement.Goals) {
			g.Together = []placement.Group{{Name: "t", Pairs: pairs(1, 2, 3, 4)}}
			g.Apart = []placement.Group{{Name: "a", Pairs: pairs(1, 5, 6, 7)}}
		},
		"apart with some frozen on other hosts": func(g *placement.Goals) {
			g.Frozen = pairs(1)
			g.Apart = []placement.Group{{Name: "a", Pairs: pairs(1, 5, 6, 7, 8)}}
		},
		"surface of exactly one pair": func(g *placement.Goals) { g.Surface.Shards = 4.0 / 48 },
		"surface of one shard": func(g *placement.Goals) {
			g.Unit, g.Surface.Shards = placement.UnitShard, 1.0/48
		},
	}
	for name, set := range tests {
		g := demoGoals()
		set(&g)
		if ps := g.Check(demoFarm(12, 4, 8)); len(ps) > 0 {
			t.Errorf("%s: %v", name, ps)
		}
	}
}

func TestSurface(t *testing.T) {
	tests := []struct {
		share          float64
		all            int
		shards, theirs int
	}{
		{0, 100, 100, 100}, {0.29, 100, 29, 29}, {0.1, 960, 96, 96}, {0.25, 3, 0, 1}, {0.5, 3, 1, 1}, {1, 7, 7, 7}, {0.5, 0, 0, 0},
	}
	for _, test := range tests {
		s := placement.Surface{Customer: test.share, Shards: test.share}
		if got := s.MostShards(test.all); got != test.shards {
			t.Errorf("%v of %d shards is %d, want %d", test.share, test.all, got, test.shards)
		}
		if got := s.MostOfCustomer(test.all); got != test.theirs {
			t.Errorf("%v of a customer's %d shards is %d, want %d", test.share, test.all, got, test.theirs)
		}
	}
}

// A customer with more shards in one pair than the limit allows is found; one
// with a single shard is not.
func TestSurfaceOfCustomers(t *testing.T) {
	f, g := demoFarm(4, 4, 8), demoGoals()
	for i := range f.Pairs {
		for j := range f.Pairs[i].Shards {
			f.Pairs[i].Shards[j].Customer = "acme"
		}
	}
	f.Pairs[0].Shards[0].Customer = "tiny"
	g.Surface.Customer = 0.2
	ps := g.Check(f)
	if len(ps) != 1 || !strings.Contains(ps[0].Text, "1 customer: one pair holds more: 4 shards of acme, of 15 in all, are 26.7%") {
		t.Errorf("problems: %v", ps)
	}
	for _, share := range []float64{0.267, 1} {
		g.Surface.Customer = share
		if ps := g.Check(f); len(ps) > 0 {
			t.Errorf("%v: %v", share, ps)
		}
	}
	g.Unit, g.Surface.Customer = placement.UnitShard, 0.07
	if ps := g.Check(f); len(ps) > 0 {
		t.Errorf("with unit shard: %v", ps)
	}
}

func TestNeedsAtTheEndOfTheRunway(t *testing.T) {
	s := farm.Shard{Needs: farm.Resources{farm.Disk: 48e9, farm.CPU: 0.5}, Growth: 40e6}
	tests := []struct{ runway, growth, disk, cpu float64 }{
		{0, 0, 48e9, 0.5}, {0, 1, 48e9, 0.5}, {540, 0, 69.6e9, 0.5}, {0, 2, 96e9, 1}, {540, 2, 139.2e9, 1},
	}
	for _, test := range tests {
		g := placement.Goals{RunwayDays: test.runway, Growth: test.growth}
		if got := g.Needs(s); got[farm.Disk] != test.disk || got[farm.CPU] != test.cpu {
			t.Errorf("%v days, x%v: %v, want disk %v and cpu %v", test.runway, test.growth, got, test.disk, test.cpu)
		}
	}
	if s.Needs[farm.Disk] != 48e9 {
		t.Error("the shard itself was changed")
	}
}

func TestHostsToBuy(t *testing.T) {
	f := demoFarm(1, 1, 1)
	f.Hosts[0].Name = "dense-new-002"
	p := placement.Purchase{Type: "dense", Most: 4, Labels: map[string][]string{"rack": {"r1", "r2", "r3"}, "power": {"a", "b"}}}
	var got []string
	for _, h := range p.Hosts(f) {
		got = append(got, fmt.Sprint(h.Name, " ", h.Type, " ", h.Labels["rack"], h.Labels["power"]))
	}
	want := []string{"dense-new-001 dense r1a", "dense-new-003 dense r2b", "dense-new-004 dense r3a", "dense-new-005 dense r1b"}
	if !slices.Equal(got, want) {
		t.Errorf("hosts to buy are %q, want %q", got, want)
	}
	p.Most = -1
	if hosts := p.Hosts(f); hosts != nil {
		t.Errorf("%d hosts of nothing to buy", len(hosts))
	}
}

func TestCopies(t *testing.T) {
	f := demoFarm(2, 1, 1)
	f.Pairs[1].Name = "dbshard001a" // a pair, and the instance of another
	got := placement.Copies(f)
	a, b := placement.Copy{Pair: "dbshard001", Side: farm.A}, placement.Copy{Pair: "dbshard001", Side: farm.B}
	x, y := placement.Copy{Pair: "dbshard001a", Side: farm.A}, placement.Copy{Pair: "dbshard001a", Side: farm.B}
	want := map[string][]placement.Copy{
		"dbshard001": {a, b}, "dbshard001b": {b}, "dbshard001a": {x, y}, "dbshard001aa": {x}, "dbshard001ab": {y},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("names stand for %v\nwant %v", got, want)
	}
}

// Goals as plans of earlier versions hold them read as they did, and goals
// that use nothing new are written as they were.
func TestGoalsInOldPlans(t *testing.T) {
	old := `{"onto":["dense"],"minimise":["hosts"],"headroom":{"disk":0.2,"memory":0.1},"parallel":4,"soak_ns":500000000}`
	var g placement.Goals
	if err := json.Unmarshal([]byte(old), &g); err != nil || !reflect.DeepEqual(g, demoGoals()) {
		t.Errorf("%v: read %+v, want %+v", err, g, demoGoals())
	}
	if out, err := json.Marshal(g); err != nil || string(out) != old {
		t.Errorf("%v: wrote %s\nwant %s", err, out, old)
	}
}

// What is reserved on a host is in the basis: without it no drift is seen.
func TestDriftSeesWhatIsReserved(t *testing.T) {
	f := demoFarm(2, 1, 2)
	f.Hosts[0].Reserved = farm.Resources{farm.Disk: 1e9}
	p, err := placement.Solve(f, demoGoals())
	if err != nil {
		t.Fatal(err)
	}
	if ds := placement.Drift(p, f, nil); len(ds) > 0 {
		t.Errorf("drift of what did not change: %v", ds)
	}
	now := f.Clone()
	now.Hosts[0].Reserved[farm.Disk] = 2e9
	if got := fmt.Sprint(placement.Drift(p, now, nil)); got != "[host db001 reserved disk: was 1GB, is 2GB]" {
		t.Errorf("drift is %s", got)
	}
}
