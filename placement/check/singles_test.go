package check_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/placement"
	"stowage/placement/check"
)

// drawings are tasks of pairs only, and of all topologies at once. By
// STOWAGE_SEED both begin anew.
func drawings(pairs, hosts int) map[string]func(seed int) task {
	drawn := tasks(pairs, hosts)
	return map[string]func(int) task{
		"pairs":      func(seed int) task { return drawn.Example(seed) },
		"topologies": func(seed int) task { return mixed(drawn.Example(seed), seed) },
	}
}

// mixed makes pairs with one writer, some with a second replica, and single
// instances of most of the pairs. It is about whole instances: single shards
// are of pairs.
func mixed(x task, seed int) task {
	dice := rand.New(rand.NewPCG(uint64(seed), 7))
	x.goals.Unit, x.goals.ShardsPerInstance = placement.UnitInstance, 0
	gone := map[string]bool{}
	for i := range x.farm.Pairs {
		p := &x.farm.Pairs[i]
		switch dice.IntN(4) {
		case 0:
			p.Topology = farm.PrimaryReplica
		case 1:
			p.Topology = farm.PrimaryReplica
			host := farm.Host{Name: farm.HostName("third" + string(p.Name)), Type: "old", Address: "10.0.2." + string(rune('1'+i%9)) + string(rune('0'+i/9)), Dir: "/srv/old",
				Labels: map[string]string{"rack": "r2", "power": "p0"}}
			if settled := x.farm.Hosts[dice.IntN(len(x.farm.Hosts))]; dice.IntN(2) == 0 && settled.Name != p.Sides[farm.A].Host && settled.Name != p.Sides[farm.B].Host {
				host = settled
			} else {
				x.farm.Hosts = append(x.farm.Hosts, host)
			}
			p.Sides["C"] = farm.Side{Host: host.Name, Port: 4000 + i, Datadir: "/var/lib/third" + string(p.Name)}
		case 2:
			p.Topology = farm.Single
			gone[string(p.Instance(farm.B))] = true
			delete(p.Sides, farm.B)
		}
	}
	speaks := func(b placement.Binding) bool { return gone[b.What[0]] }
	x.goals.Pins, x.goals.Forbids = slices.DeleteFunc(x.goals.Pins, speaks), slices.DeleteFunc(x.goals.Forbids, speaks)
	return x
}

// alone is one single instance and one pair with one writer on old hosts, and
// three hosts to pack onto of which each has room for both.
func alone() task {
	f := &farm.Farm{Name: "alone", NextServerID: 10, HostTypes: []farm.HostType{
		{Name: "old", Capacity: farm.Resources{farm.Disk: 10e9}, Price: 500, Watts: 200},
		{Name: "new", Capacity: farm.Resources{farm.Disk: 10e9}, MaxInstances: 2, Price: 1000, Watts: 100},
	}}
	side := func(name string) farm.Side {
		return farm.Side{Host: farm.HostName(name), Port: 3306, Datadir: "/d"}
	}
	for i, name := range []string{"old1", "old2", "old3", "new1", "new2", "new3"} {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(name), Type: farm.HostTypeName(name[:3]), Address: "10.0.0." + string(rune('1'+i)), Dir: "/srv"})
	}
	shards := func(name string) []farm.Shard {
		return []farm.Shard{{Name: farm.ShardName(name), Needs: farm.Resources{farm.Disk: 4e9}}}
	}
	f.Pairs = []farm.Pair{
		{Name: "one", Topology: farm.PrimaryReplica, Shards: shards("o"), Sides: map[farm.SideName]farm.Side{farm.A: side("old1"), farm.B: side("old2")}},
		{Name: "lone", Topology: farm.Single, Shards: shards("l"), Sides: map[farm.SideName]farm.Side{farm.A: side("old3")}},
	}
	g := placement.Defaults()
	g.Onto = []farm.HostTypeName{"new"}
	return task{f, g}
}

// The check finds what is wrong with a plan of a single instance.
func TestCheckOfASingleInstance(t *testing.T) {
	x := alone()
	good, err := placement.Solve(x.farm, x.goals)
	if err != nil {
		t.Fatal(err)
	}
	if fs := check.Plan(x.farm, good); len(fs) > 0 {
		t.Fatalf("the plan does not pass: %v", fs)
	}
	if len(good.Moves) != 3 || good.HostsUsed != 2 || good.LowerBound != 2 {
		t.Fatalf("%d moves, %d hosts, at least %d", len(good.Moves), good.HostsUsed, good.LowerBound)
	}
	at := slices.IndexFunc(good.Assignments, func(a placement.Assignment) bool { return a.Pair == "lone" })
	mv := slices.IndexFunc(good.Moves, func(m placement.Move) bool { return m.Pair == "lone" })
	for name, c := range map[string]struct {
		spoil func(p *placement.Plan)
		rule  string
	}{
		"left out":       {func(p *placement.Plan) { p.Assignments = slices.Delete(p.Assignments, at, at+1) }, "assignment-once"},
		"has a side B":   {func(p *placement.Plan) { p.Assignments[at].Side, p.Assignments[at].Instance = farm.B, "loneb" }, "assignment-known"},
		"there twice":    {func(p *placement.Plan) { p.Assignments = append(p.Assignments, p.Assignments[at]) }, "assignment-once"},
		"on an old host": {func(p *placement.Plan) { p.Assignments[at].Host = "old1" }, "host-type"},
		"without a move": {func(p *placement.Plan) { p.Moves = slices.Delete(p.Moves, mv, mv+1) }, "move-matches"},
		"moved as B":     {func(p *placement.Plan) { p.Moves[mv].Side = farm.B }, "move-known"},
		"not in the basis": {func(p *placement.Plan) {
			p.Basis.Pairs = slices.DeleteFunc(p.Basis.Pairs, func(b placement.BasisPair) bool { return b.Name == "lone" })
		}, "basis"},
		"a bound of three": {func(p *placement.Plan) { p.LowerBound, p.HostsUsed = 3, 3 }, "certificate"},
	} {
		p := good
		p.Assignments, p.Moves, p.Basis.Pairs = slices.Clone(good.Assignments), slices.Clone(good.Moves), slices.Clone(good.Basis.Pairs)
		c.spoil(&p)
		found := check.Plan(x.farm, p)
		if !slices.ContainsFunc(found, func(f farm.Finding) bool { return f.Check == c.rule }) {
			t.Errorf("%s: found %v, want %s", name, found, c.rule)
		}
	}
}

// One single instance needs one host, and no more is claimed.
func TestOneSingleInstanceNeedsOneHost(t *testing.T) {
	x := alone()
	x.farm.Pairs = x.farm.Pairs[1:]
	p, err := solve(t, 0, x)
	if err != nil || p.HostsUsed != 1 || p.LowerBound != 1 || len(p.Moves) != 1 {
		t.Fatalf("%d hosts, at least %d, %d moves: %v", p.HostsUsed, p.LowerBound, len(p.Moves), err)
	}
	for i, h := range x.farm.Hosts { // one host to pack onto is enough
		if h.Name > "new1" && strings.HasPrefix(string(h.Name), "new") {
			x.farm.Hosts[i].Type = "old"
		}
	}
	if p, err = solve(t, 0, x); err != nil || p.HostsUsed != 1 {
		t.Errorf("onto one host: %d hosts: %v", p.HostsUsed, err)
	}
	x.goals.Frozen = []farm.PairName{"lone"}
	if p, err = solve(t, 0, x); err != nil || len(p.Moves) != 0 || p.HostsUsed != 1 {
		t.Errorf("frozen: %d moves, %d hosts: %v", len(p.Moves), p.HostsUsed, err)
	}
}
