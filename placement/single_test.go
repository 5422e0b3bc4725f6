package placement_test

import (
	"fmt"
	"testing"

	"stowage/farm"
	"stowage/placement"
	"stowage/placement/check"
)

// A farm of all topologies is planned; single instances stay, and their hosts
// have less room for others.
func TestPlanOfAFarmWithSingles(t *testing.T) {
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
	f.Pairs = f.Pairs[2:]
	if _, err := placement.Solve(f, g); err == nil {
		t.Error("a farm of single instances only was planned")
	}
}
