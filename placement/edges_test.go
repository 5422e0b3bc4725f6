package placement_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/placement"
	"stowage/placement/check"
)

// planned solves, and has the plan checked.
func planned(t *testing.T, f *farm.Farm, g placement.Goals) placement.Plan {
	t.Helper()
	p, err := placement.Solve(f, g)
	if err != nil {
		t.Fatal(err)
	}
	for n, finding := range check.Plan(f, p) {
		if n < 5 {
			t.Error(finding)
		}
	}
	return p
}

// plain is n pairs of one shard each with these needs, and hosts that have this
// capacity.
func plain(pairs, hosts int, needs, capacity farm.Resources) (*farm.Farm, placement.Goals) {
	f := demoFarm(pairs, 1, hosts)
	for i := range f.Pairs {
		f.Pairs[i].Shards[0].Needs = farm.Resources{}
		f.Pairs[i].Shards[0].Needs.Add(needs)
	}
	f.HostTypes[0].Capacity, f.HostTypes[1].Capacity, f.HostTypes[1].MaxInstances = nil, capacity, 0
	g := demoGoals()
	g.Headroom = nil
	return f, g
}

// Parts of a host that add up to a whole fit on it, whatever they are parts of
// and however the parts round.
func TestPartsAddUpToAWhole(t *testing.T) {
	for _, whole := range []float64{1, 0.1, 3, 14e12, 1e17 / 3} {
		for parts := 1; parts <= 49; parts += 1 + parts/5 {
			f, g := plain(2*parts, 6, farm.Resources{farm.Disk: whole / float64(parts), farm.CPU: whole / float64(parts)}, farm.Resources{farm.Disk: whole, farm.CPU: whole})
			if p := planned(t, f, g); p.HostsUsed != 4 || p.LowerBound != 4 {
				t.Errorf("%d parts of %v: %d hosts and a bound of %d for %d instances, want 4", parts, whole, p.HostsUsed, p.LowerBound, 4*parts)
			}
		}
	}
	f, g := plain(3, 4, farm.Resources{farm.Disk: 0.333 * 14e12}, farm.Resources{farm.Disk: 14e12})
	if p := planned(t, f, g); p.HostsUsed != 2 {
		t.Errorf("three times 0.333 of a host: %d hosts", p.HostsUsed)
	}
	f, g = plain(3, 6, farm.Resources{farm.Disk: 0.33334 * 14e12}, farm.Resources{farm.Disk: 14e12})
	if p := planned(t, f, g); p.HostsUsed == 2 {
		t.Error("three times 0.33334 of a host are more than one")
	}
}

func TestNeedsOfNothing(t *testing.T) {
	f, g := plain(5, 3, farm.Resources{farm.Disk: 0, farm.CPU: 0}, farm.Resources{farm.Disk: 1e12, "licences": 0})
	if p := planned(t, f, g); p.HostsUsed != 2 || p.LowerBound != 2 {
		t.Errorf("%d hosts, bound %d, for what needs nothing", p.HostsUsed, p.LowerBound)
	}
	for i := range f.Pairs {
		f.Pairs[i].Shards = nil
	}
	if p := planned(t, f, g); p.HostsUsed != 2 {
		t.Errorf("%d hosts for pairs without shards", p.HostsUsed)
	}
	f.Pairs = nil
	if p := planned(t, f, g); p.HostsUsed != 0 || p.LowerBound != 0 || len(p.Moves) != 0 {
		t.Errorf("%d hosts and %d moves for nothing", p.HostsUsed, len(p.Moves))
	}
}

// Of a pair without shards nothing is left when shards are regrouped.
func TestPairsWithoutShards(t *testing.T) {
	f, g := plain(3, 3, farm.Resources{farm.Disk: 1e12}, farm.Resources{farm.Disk: 4e12})
	f.Pairs[1].Shards = nil
	g.Unit = placement.UnitShard
	g.Frozen = []farm.PairName{f.Pairs[1].Name}
	p := planned(t, f, g)
	if p.HostsUsed != 2 || len(p.Assignments) != 4 {
		t.Errorf("%d hosts and %d assignments, want 2 and 4", p.HostsUsed, len(p.Assignments))
	}
}

func TestNoneOfWhatIsNeeded(t *testing.T) {
	tests := map[string]func(f *farm.Farm, g *placement.Goals){
		"everything is reserved": func(f *farm.Farm, _ *placement.Goals) {
			for i := range f.Hosts {
				if f.Hosts[i].Type == "dense" {
					f.Hosts[i].Reserved = farm.Resources{farm.Disk: 4e12}
				}
			}
		},
		"a type has none of a resource, and the other is not packed onto": func(f *farm.Farm, _ *placement.Goals) {
			f.HostTypes[0].Capacity = farm.Resources{"licences": 9}
			f.HostTypes[1].Capacity = farm.Resources{farm.Disk: 4e12, "licences": 0}
			for i := range f.Pairs {
				f.Pairs[i].Shards[0].Needs["licences"] = 1e-9
			}
		},
		"one instance is larger than all hosts together": func(f *farm.Farm, _ *placement.Goals) {
			f.Pairs[2].Shards[0].Needs[farm.Disk] = 1e18
		},
	}
	for name, spoil := range tests {
		f, g := plain(3, 4, farm.Resources{farm.Disk: 1e9}, farm.Resources{farm.Disk: 4e12})
		spoil(f, &g)
		if p, err := placement.Solve(f, g); !errors.Is(err, farm.ErrRefused) && !errors.Is(err, farm.ErrInput) {
			t.Errorf("%s: planned on %d hosts: %v", name, p.HostsUsed, err)
		}
	}
}

// A need that is a speck beside the largest host is none on a host that has
// none of it.
func TestSpecksNeedRoomToo(t *testing.T) {
	f, g := plain(2, 4, farm.Resources{"licences": 1}, farm.Resources{"licences": 1e15})
	f.HostTypes = append(f.HostTypes, farm.HostType{Name: "bare", Capacity: farm.Resources{"licences": 0}})
	for i := range f.Hosts[len(f.Hosts)-2:] {
		f.Hosts[len(f.Hosts)-2+i].Type = "bare"
	}
	g.Onto = []farm.HostTypeName{"dense", "bare"}
	for _, u := range planned(t, f, g).Hosts {
		if u.Type == "bare" {
			t.Errorf("%s has no licences, and holds %v", u.Name, u.Instances)
		}
	}
}

// What the goals call unlimited is: a need far beyond what the limited hosts
// have fits on the others any number of times.
func TestUnlimitedHosts(t *testing.T) {
	f, g := plain(40, 4, farm.Resources{farm.Disk: 1e15}, farm.Resources{})
	f.HostTypes = append(f.HostTypes, farm.HostType{Name: "tiny", Capacity: farm.Resources{farm.Disk: 1}})
	f.Hosts[len(f.Hosts)-1].Type = "tiny"
	g.Onto = []farm.HostTypeName{"dense", "tiny"}
	if p := planned(t, f, g); p.HostsUsed != 2 {
		t.Errorf("%d hosts, want the 2 that have no limit", p.HostsUsed)
	}
}

// Package pack tells 64 types of bins apart; a farm may have as many kinds of
// hosts as it has hosts.
func TestEveryHostIsDifferent(t *testing.T) {
	f, g := plain(60, 100, farm.Resources{farm.Disk: 1e12}, farm.Resources{farm.Disk: 14e12})
	n := 0
	for i := range f.Hosts {
		if f.Hosts[i].Type == "dense" {
			n++
			f.Hosts[i].Reserved = farm.Resources{farm.Disk: float64(n) * 1e9}
		}
	}
	if p := planned(t, f, g); p.HostsUsed > 12 || p.LowerBound < 9 {
		t.Errorf("%d hosts, bound %d, for 120 instances of which 13 fit on one", p.HostsUsed, p.LowerBound)
	}
}

// Two sides that have to change places would need a third host on the way.
func TestNobodyChangesPlacesInOneStep(t *testing.T) {
	f, g := plain(1, 2, farm.Resources{farm.Disk: 1}, farm.Resources{farm.Disk: 14e12})
	f.Hosts = f.Hosts[2:]
	f.Pairs[0].Sides = map[farm.SideName]farm.Side{farm.A: {Host: "ssd001", Port: 3306, Datadir: "/a"}, farm.B: {Host: "ssd002", Port: 3306, Datadir: "/b"}}
	g.Pins = []placement.Binding{{What: []string{"dbshard001a"}, Hosts: []farm.HostName{"ssd002"}}}
	_, err := placement.Solve(f, g)
	if !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "wait for each other's room") {
		t.Errorf("error is %v", err)
	}
}

// The A side may have to make room for its own twin.
func TestASideMovesFirstWhereItMust(t *testing.T) {
	f, g := plain(1, 2, farm.Resources{farm.Disk: 1}, farm.Resources{farm.Disk: 14e12})
	f.Pairs[0].Sides[farm.A] = farm.Side{Host: "ssd001", Port: 3306, Datadir: "/a"}
	g.Pins = []placement.Binding{{What: []string{"dbshard001b"}, Hosts: []farm.HostName{"ssd001"}}}
	p := planned(t, f, g)
	if len(p.Moves) != 2 || p.Moves[0].Side != farm.A || p.Moves[1].To.Host != "ssd001" {
		t.Errorf("moves %v", p.Moves)
	}
}

// What is frozen stays, on hosts that are not packed onto as well, and counts:
// a host that it overfills takes nothing else.
func TestFrozenStays(t *testing.T) {
	for _, unit := range []placement.Unit{placement.UnitInstance, placement.UnitShard} {
		f, g := plain(6, 4, farm.Resources{farm.Disk: 1e12}, farm.Resources{farm.Disk: 6e12})
		g.Unit = unit
		f.Pairs[1].Sides[farm.A] = farm.Side{Host: "ssd001", Port: 3306, Datadir: "/a"}
		f.Pairs[1].Shards[0].Needs[farm.Disk] = 7e12
		g.Frozen = []farm.PairName{"dbshard001", "dbshard002"}
		p := planned(t, f, g)
		on := map[farm.HostName]int{}
		for _, u := range p.Hosts {
			on[u.Name] = len(u.Instances)
		}
		// Both sides of the first, one of the second on old hosts; the other alone on its new one; and two for the rest.
		if p.HostsUsed != 6 || on["db001"] != 1 || on["db002"] != 1 || on["db004"] != 1 || on["ssd001"] != 1 {
			t.Errorf("%s: %d hosts, instances %v", unit, p.HostsUsed, on)
		}
		if p.LowerBound != 6 {
			t.Errorf("%s: bound %d (%s), want 6", unit, p.LowerBound, p.BoundMethod)
		}
	}
}

// Every instance needs something for itself: with few shards in each there are
// more of them, and the bound counts no more than there must be.
func TestOverheadOfNewInstances(t *testing.T) {
	for _, test := range []struct{ each, hosts int }{{0, 2}, {6, 2}, {3, 2}, {2, 2}, {1, 4}} {
		f, g := plain(6, 4, farm.Resources{farm.Memory: 1e9}, farm.Resources{farm.Memory: 10e9})
		g.Unit, g.ShardsPerInstance = placement.UnitShard, test.each
		g.Overhead = farm.Resources{farm.Memory: 1e9}
		p := planned(t, f, g)
		if p.HostsUsed != test.hosts || p.LowerBound > test.hosts {
			t.Errorf("%d shards in an instance: %d hosts, bound %d, want %d", test.each, p.HostsUsed, p.LowerBound, test.hosts)
		}
		held := map[farm.InstanceName]int{}
		for _, a := range p.Assignments {
			held[a.Instance]++
		}
		for name, n := range held {
			if test.each > 0 && n > test.each {
				t.Errorf("%s holds %d shards, at most %d", name, n, test.each)
			}
		}
	}
}

// Groups that have a pair in common are one, also when some of their pairs have
// nothing to place.
func TestGroupsWithAPairInCommon(t *testing.T) {
	for _, unit := range []placement.Unit{placement.UnitInstance, placement.UnitShard} {
		f, g := plain(6, 6, farm.Resources{farm.Disk: 1e12}, farm.Resources{farm.Disk: 3e12})
		f.Pairs[0].Shards = nil
		g.Unit = unit
		name := func(n int) farm.PairName { return f.Pairs[n].Name }
		g.Together = []placement.Group{{Name: "x", Pairs: []farm.PairName{name(0), name(1)}}, {Name: "y", Pairs: []farm.PairName{name(0), name(2)}}}
		g.Apart = []placement.Group{{Name: "z", Pairs: []farm.PairName{name(2), name(3)}}}
		p := planned(t, f, g)
		at := map[string]farm.HostName{}
		for _, a := range p.Assignments {
			at[fmt.Sprint(a.Pair, a.Shard, a.Side)] = a.Host
		}
		if p.HostsUsed != 4 {
			t.Errorf("%s: %d hosts, want 4: %v", unit, p.HostsUsed, at)
		}
	}
}

// What is reserved takes memory from the options that a host type gives each
// of its servers: a plan puts no more on a host than fit beside it.
func TestOptionsFitBesideWhatIsReserved(t *testing.T) {
	f, g := plain(8, 4, farm.Resources{farm.Disk: 1e9}, farm.Resources{farm.Disk: 1e12, farm.Memory: 512 << 30})
	f.HostTypes[1].Options = []farm.HostOption{{Name: "innodb_buffer_pool_size", Value: "64G"}}
	if p := planned(t, f, g); p.HostsUsed != 2 {
		t.Errorf("8 pairs, 8 instances a host: %d hosts", p.HostsUsed)
	}
	reserve := func(host int, memory float64) { f.Hosts[16+host].Reserved = farm.Resources{farm.Memory: memory} }
	for i := range 4 {
		reserve(i, 8<<30)
	}
	if p := planned(t, f, g); p.HostsUsed != 3 || p.LowerBound != 3 {
		t.Errorf("8 pairs, 7 instances a host: %d hosts, bound %d", p.HostsUsed, p.LowerBound)
	}
	f.HostTypes[1].Options = append(f.HostTypes[1].Options, farm.HostOption{Name: "key_buffer_size", Share: 0.1})
	planned(t, f, g)
	reserve(0, 480<<30) // not even one
	reserve(1, 480<<30)
	f.Pairs = f.Pairs[:7]
	if p := planned(t, f, g); p.HostsUsed != 2 || p.Hosts[0].Name != "ssd003" {
		t.Errorf("two hosts hold none: %v", p.Hosts)
	}
	f.Pairs[0].Sides[farm.B] = farm.Side{Host: "ssd001", Port: 3306, Datadir: "/var/lib/mysql"}
	planned(t, f, g) // leaves it
	g.Frozen = []farm.PairName{f.Pairs[0].Name}
	planned(t, f, g)
	reserve(2, 480<<30)
	reserve(3, 480<<30)
	g.Frozen = nil
	if _, err := placement.Solve(f, g); err == nil || !strings.Contains(err.Error(), "more memory than is left on host ssd001 after reserved") {
		t.Errorf("no host holds any: %v", err)
	}
}

// A bound is never above what a plan costs or draws, however fine the figures
// are, and prices by the hour count.
func TestPricesFinerThanHundredths(t *testing.T) {
	for _, price := range []float64{0.126, 0.0045, 1666.667, 1.0 / 3, 0.0049 / 7, 12345678.905, 2e10 / 3, 5e12, 0.29} {
		for _, objective := range []string{"hosts", "cost", "watts"} {
			f, g := plain(8, 8, farm.Resources{farm.Disk: 1e9}, farm.Resources{farm.Disk: 4e9})
			f.HostTypes[1].Price, f.HostTypes[1].Watts, g.Minimise = price, price/3, []string{objective}
			f.HostTypes[0].Price, f.HostTypes[0].Watts = price/10, price/10
			p := planned(t, f, g)
			if p.HostsUsed != 4 || p.CostBound < 4*price*(1-1e-5) || p.WattsBound < 4*price/3*(1-1e-5) {
				t.Errorf("%d hosts of %v, at least %v, and %v watts, at least %v", p.HostsUsed, price, p.CostBound, p.Watts, p.WattsBound)
			}
			if p.CostBound > p.Cost*(1+1e-9) || p.WattsBound > p.Watts*(1+1e-9) {
				t.Errorf("price %v: at least %v and %v, and it is %v and %v", price, p.CostBound, p.WattsBound, p.Cost, p.Watts)
			}
		}
	}
	f, g := plain(4, 4, farm.Resources{farm.Disk: 1e9}, farm.Resources{farm.Disk: 4e9})
	f.HostTypes = append(f.HostTypes, f.HostTypes[1])
	f.HostTypes[1].Price, f.HostTypes[2].Name, f.HostTypes[2].Price = 0.004, "cheap", 0.003
	f.Hosts[10].Type, f.Hosts[11].Type = "cheap", "cheap"
	g.Onto, g.Minimise = append(g.Onto, "cheap"), []string{"cost"}
	if p := planned(t, f, g); p.Cost != 0.006 || p.CostBound != 0.006 {
		t.Errorf("two hosts of 0.003 are enough: %v, at least %v", p.Cost, p.CostBound)
	}
}

// Old hosts without the rack label are in no rack, and not all in one: the
// budget of a rack does not count what leaves them.
func TestHostsWithoutARackLabelAreInNoRack(t *testing.T) {
	f, g := plain(8, 4, farm.Resources{farm.Disk: 1e12}, farm.Resources{farm.Disk: 4e12})
	for i := range 4 {
		f.Hosts[16+i].Labels = map[string]string{"rack": fmt.Sprint("r", i)}
	}
	g.Rates = placement.Rates{Stream: 100e6, Rack: 200e6, RackLabel: "rack"}
	g.Parallel = 8
	if p := planned(t, f, g); len(p.Moves) != 16 {
		t.Errorf("%d moves", len(p.Moves))
	}
}
