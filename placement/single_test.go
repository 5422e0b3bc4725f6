package placement_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"stowage/farm"
	"stowage/placement"
	"stowage/placement/check"
)

// allTopologies is a pair, a pair with one writer and a single instance that is
// on a host to pack onto already.
func allTopologies() (*farm.Farm, placement.Goals) {
	f := &farm.Farm{
		Name: "mixed", NextServerID: 100,
		HostTypes: []farm.HostType{
			{Name: "old", Capacity: farm.Resources{farm.Disk: 1e12}},
			{Name: "dense", Capacity: farm.Resources{farm.Disk: 1e12}, MaxInstances: 9},
		},
	}
	add := func(name string, kind farm.HostTypeName, n int) {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(name), Type: kind, Address: fmt.Sprintf("10.0.0.%d", n), Dir: "hosts/" + name})
	}
	for n := range 4 {
		add(fmt.Sprintf("old%d", n+1), "old", n+1)
	}
	for n := range 3 {
		add(fmt.Sprintf("dense%d", n+1), "dense", n+11)
	}
	side := func(host farm.HostName, name string) farm.Side {
		return farm.Side{Host: host, Port: 3306, Datadir: "hosts/" + string(host) + "/" + name + "/data", Config: "hosts/" + string(host) + "/" + name + "/my.cnf"}
	}
	shard := func(name string, gb float64) []farm.Shard {
		return []farm.Shard{{Name: farm.ShardName(name), Needs: farm.Resources{farm.Disk: gb * 1e9}}}
	}
	f.Pairs = []farm.Pair{
		{Name: "ring", Topology: farm.ActiveActive, Shards: shard("r", 300), Sides: map[farm.SideName]farm.Side{farm.A: side("old1", "ringa"), farm.B: side("old2", "ringb")}},
		{Name: "one", Topology: farm.PrimaryReplica, Shards: shard("o", 300), Sides: map[farm.SideName]farm.Side{farm.A: side("old3", "onea"), farm.B: side("old4", "oneb")}},
		{Name: "alone", Topology: farm.Single, Shards: shard("s", 600), Sides: map[farm.SideName]farm.Side{farm.A: side("dense1", "alonea")}},
	}
	g := placement.Defaults()
	g.Onto = []farm.HostTypeName{"dense"}
	return f, g
}

// A farm of all topologies is planned; a single instance on a host to pack onto
// stays, and takes its room.
func TestPlanOfAFarmWithSingles(t *testing.T) {
	f, g := allTopologies()
	plan, err := placement.Solve(f, g)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range check.Plan(f, plan) {
		t.Errorf("the plan does not pass: %s", x)
	}
	if len(plan.Moves) != 4 {
		t.Errorf("%d moves, want those of the two pairs", len(plan.Moves))
	}
	for _, m := range plan.Moves {
		if m.Pair == "alone" || m.To.Host == "dense1" {
			t.Errorf("%s goes to %s: the single instance there leaves no room for both", m.Instance, m.To.Host)
		}
	}
	if d := placement.Drift(plan, f, nil); len(d) > 0 {
		t.Errorf("drift right after planning: %v", d)
	}
	if plan.Other != nil {
		t.Errorf("compared with single shards, of which a single instance has none: %+v", plan.Other)
	}
	g.Frozen = []farm.PairName{"one"}
	if plan, err = placement.Solve(f, g); err != nil || len(check.Plan(f, plan)) > 0 {
		t.Errorf("with a frozen pair: %v, %v", err, check.Plan(f, plan))
	}
	g.Frozen, g.Onto = nil, nil // two of the old hosts are as good as any
	if plan, err = placement.Solve(f, g); err != nil || len(check.Plan(f, plan)) > 0 || plan.HostsUsed != 3 {
		t.Errorf("onto any host: %d hosts, %v, %v", plan.HostsUsed, err, check.Plan(f, plan))
	}
}

// A single instance moves like a side of a pair: off hosts that are not packed
// onto, and away from one that is emptied.
func TestSingleInstanceMoves(t *testing.T) {
	f, g := allTopologies()
	f.Pairs[2].Sides[farm.A] = f.Pairs[0].Sides[farm.A]
	f.Pairs = f.Pairs[2:]
	plan, err := placement.Solve(f, g)
	if err != nil || len(plan.Moves) != 1 || plan.HostsUsed != 1 || plan.LowerBound != 1 || len(check.Plan(f, plan)) > 0 {
		t.Fatalf("%d moves onto %d hosts: %v, %v", len(plan.Moves), plan.HostsUsed, err, check.Plan(f, plan))
	}
	m := plan.Moves[0]
	if m.Instance != "alonea" || m.Side != farm.A || m.To.Host != "dense1" || m.Bytes != 600e9 || m.Wave != 1 {
		t.Errorf("the move is %+v", m)
	}
	g.Without = []farm.HostName{"dense1"}
	after := plan.Apply(f)
	if plan, err = placement.Solve(after, g); err != nil || len(plan.Moves) != 1 || plan.Moves[0].To.Host != "dense2" {
		t.Errorf("off a host that is emptied: %+v, %v", plan.Moves, err)
	}
	for _, name := range []string{"alone", "alonea"} {
		e, err := placement.Explain(after, plan, name)
		if err != nil || e.Kind != "instance" || len(e.Facts) == 0 || e.Others["not needed at all"] != 1 {
			t.Errorf("explain %s: %+v, %v", name, e, err)
		}
	}
	g.Forbids = []placement.Binding{{What: []string{"alone"}, Hosts: []farm.HostName{"dense2"}}}
	if plan, err = placement.Solve(after, g); err != nil || len(plan.Moves) != 1 || plan.Moves[0].To.Host != "dense3" {
		t.Errorf("forbidden on dense2: %+v, %v", plan.Moves, err)
	}
	g.Forbids[0].What = []string{"aloneb"}
	if ps := g.Check(after); len(ps) != 1 || ps[0].Path != "forbid[0]" {
		t.Errorf("a rule for an instance that does not exist: %v", ps)
	}
}

// What belongs together with a single instance shares the host of its side A;
// what is apart from it does not.
func TestGroupsWithSingleInstances(t *testing.T) {
	f, g := allTopologies()
	f.Pairs[2].Shards[0].Needs[farm.Disk] = 100e9
	g.Together = []placement.Group{{Name: "both", Pairs: []farm.PairName{"alone", "one"}}}
	for _, frozen := range [][]farm.PairName{nil, {"alone"}} {
		g.Frozen = frozen
		plan, err := placement.Solve(f, g)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := check.Plan(f, plan); len(wrong) > 0 {
			t.Errorf("frozen %v: %v", frozen, wrong)
		}
	}
	g.Frozen, g.Together = nil, nil
	g.Apart = []placement.Group{{Name: "all", Pairs: []farm.PairName{"alone", "one"}}}
	plan, err := placement.Solve(f, g)
	if err != nil || plan.HostsUsed != 3 || len(check.Plan(f, plan)) > 0 {
		t.Errorf("apart: %d hosts, %v, %v", plan.HostsUsed, err, check.Plan(f, plan))
	}
	g.Apart[0].Pairs = append(g.Apart[0].Pairs, "ring")
	if ps := g.Check(f); len(ps) != 1 || ps[0].Text != "group all has 3 pairs to keep apart, with 5 instances, and there are 3 hosts for them" {
		t.Errorf("five instances on three hosts: %v", ps)
	}
}

// The unit shard regroups pairs: single instances stay where they are, and
// what they need is taken off their hosts.
func TestSingleInstancesAndTheUnitShard(t *testing.T) {
	f, g := allTopologies()
	g.Unit = placement.UnitShard
	plan, err := placement.Solve(f, g)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := check.Plan(f, plan); len(wrong) > 0 {
		t.Errorf("the plan does not pass: %v", wrong)
	}
	for _, a := range plan.Assignments {
		if a.Shard == "s" || a.Host == "dense1" {
			t.Errorf("%s is placed on %s", a.Shard, a.Host)
		}
	}
	if d := placement.Drift(plan, f, nil); len(d) > 0 {
		t.Errorf("drift right after planning: %v", d)
	}
	if _, err := placement.Explain(f, plan, "r"); err != nil {
		t.Error(err)
	}
	f.Pairs = f.Pairs[2:]
	if _, err := placement.Solve(f, g); !errors.Is(err, farm.ErrInput) {
		t.Errorf("a farm of single instances only, by shard: %v", err)
	}
}

// What the unit shard leaves where it is grows until the end of the runway, and
// its ports and its name are taken.
func TestSinglesGrowBesideTheUnitShard(t *testing.T) {
	f, g := allTopologies()
	g.Unit, g.Headroom, g.RunwayDays = placement.UnitShard, nil, 100
	alone := &f.Pairs[2]
	alone.Name, alone.Shards[0].Needs[farm.Disk] = "shardset001", 300e9
	f.Hosts = f.Hosts[:6] // dense1, where it is, and dense2
	plan, err := placement.Solve(f, g)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := check.Plan(f, plan); len(wrong) > 0 {
		t.Errorf("the plan does not pass: %v", wrong)
	}
	for _, a := range plan.Assignments {
		if a.Pair == "shardset001" || a.Host == "dense1" && a.Port == 3306 {
			t.Errorf("it takes what a single instance has: %+v", a)
		}
	}
	taken := plan
	taken.Assignments, taken.Moves = slices.Clone(plan.Assignments), slices.Clone(plan.Moves)
	for i, a := range taken.Assignments {
		if a.Host == "dense1" {
			taken.Assignments[i].Port = 3306
		}
	}
	for i, m := range taken.Moves {
		if m.To.Host == "dense1" {
			taken.Moves[i].To.Port = 3306
		}
	}
	if wrong := check.Plan(f, taken); !slices.ContainsFunc(wrong, func(x farm.Finding) bool { return x.Check == "port-unique" }) {
		t.Errorf("the port of a single instance: %v", wrong)
	}
	alone.Shards[0].Growth = 2e9 // 500 GB at the end
	if wrong := check.Standing(f, plan); !slices.ContainsFunc(wrong, func(x farm.Finding) bool { return x.Check == "host-load" && x.Subject == "dense1" }) {
		t.Errorf("600 GB beside 500 GB: %v", wrong)
	}
	if d := placement.Drift(plan, f, nil); len(d) > 0 {
		t.Errorf("growth is no drift: %v", d)
	}
	if _, err := placement.Solve(f, g); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("600 GB beside 500 GB: %v", err)
	}
	f.Hosts = append(f.Hosts, farm.Host{Name: "dense3", Type: "dense", Address: "10.0.0.13", Dir: "hosts/dense3"})
	plan, err = placement.Solve(f, g)
	if wrong := check.Plan(f, plan); err != nil || len(wrong) > 0 {
		t.Errorf("%v: %v", err, wrong)
	}
	if d := placement.Drift(plan, f, nil); len(d) > 0 {
		t.Errorf("drift right after planning: %v", d)
	}
	alone.Shards[0].Growth = 20e9 // more than the host has
	if plan, err = placement.Solve(f, g); err != nil || len(check.Plan(f, plan)) > 0 {
		t.Errorf("it outgrows its host: %v: %v", err, check.Plan(f, plan))
	}
}
