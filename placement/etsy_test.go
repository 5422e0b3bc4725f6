package placement_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/placement"
	"stowage/placement/check"
)

// etsy is the farm of 2016 as the story tells it, with the host that the plan
// of the research note assumes.
func etsy() (*farm.Farm, placement.Goals) {
	f := &farm.Farm{
		Name: "etsy-2016", NextServerID: 1000,
		HostTypes: []farm.HostType{
			{Name: "old-2.2", Capacity: farm.Resources{farm.Disk: 2.2e12}, Watts: 200, Price: 4000},
			{Name: "old-1.1", Capacity: farm.Resources{farm.Disk: 1.1e12}, Watts: 200, Price: 4000},
			{Name: "dense", Capacity: farm.Resources{farm.Disk: 7680e9, farm.Memory: 512e9}, Watts: 267, Price: 14000, MaxInstances: 6},
		},
	}
	for i := range 60 {
		kind, shards, size := farm.HostTypeName("old-2.2"), 22, 2.2e12
		if i >= 30 {
			kind, shards, size = "old-1.1", 10, 1.1e12
		}
		p := farm.Pair{Name: farm.PairName(fmt.Sprintf("dbshard%03d", i+1)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{}}
		for n, side := range farm.SideNames {
			h := farm.Host{Name: farm.HostName(fmt.Sprintf("db%03d", 2*i+n+1)), Type: kind, Address: fmt.Sprintf("10.0.%d.%d", n, i+1)}
			f.Hosts = append(f.Hosts, h)
			p.Sides[side] = farm.Side{Host: h.Name, Port: 3306, Datadir: "/var/lib/mysql"}
		}
		for s := range shards {
			p.Shards = append(p.Shards, farm.Shard{Name: farm.ShardName(fmt.Sprintf("etsy_shard_%03d_%02d", i+1, s+1)), Needs: farm.Resources{farm.Disk: 0.7 * size / float64(shards), farm.Memory: 6e9}})
		}
		f.Pairs = append(f.Pairs, p)
	}
	g := placement.Defaults()
	g.Onto = []farm.HostTypeName{"dense"}
	g.Headroom = map[farm.ResourceName]float64{farm.Disk: .15, farm.Memory: .16}
	g.Overhead = farm.Resources{farm.Memory: 1.5e9}
	g.Buy = []placement.Purchase{{Type: "dense", Most: 40}}
	return f, g
}

func TestEtsy(t *testing.T) {
	f, g := etsy()
	for _, want := range []struct {
		unit  placement.Unit
		hosts int
	}{{placement.UnitInstance, 30}, {placement.UnitShard, 28}} {
		g.Unit = want.unit
		from := time.Now()
		p, err := placement.Solve(f, g)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.1f s, %s", want.unit, time.Since(from).Seconds(), p.BoundMethod)
		if p.HostsUsed != want.hosts || p.LowerBound != want.hosts {
			t.Errorf("%s: %d hosts, bound %d (%s), want %d proved", want.unit, p.HostsUsed, p.LowerBound, p.BoundMethod, want.hosts)
		}
		for _, finding := range check.Plan(f, p) {
			t.Error(finding)
		}
		if want.unit == placement.UnitInstance {
			freesAPair(t, f, p)
		}
	}
}

// What is said to free a pair of hosts does, and more memory is among it: of
// three large instances each lacks a little.
func freesAPair(t *testing.T, f *farm.Farm, p placement.Plan) {
	t.Helper()
	e, err := placement.Explain(f, p, string(p.Hosts[0].Name))
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, r := range e.Free {
		if r.Hosts == 0 {
			continue
		}
		said = append(said, r.Change)
		if q, err := placement.Solve(r.Apply(f, p.Goals)); err != nil || q.HostsUsed > r.Hosts || r.Hosts > 28 {
			t.Errorf("%s: %d hosts, said to be %d: %v", r.Change, q.HostsUsed, r.Hosts, err)
		}
	}
	if !slices.ContainsFunc(said, func(s string) bool { return strings.HasSuffix(s, "more memory in every dense") }) ||
		!slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "single shards") }) {
		t.Errorf("to free a host: %q", said)
	}
}
