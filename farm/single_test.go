package farm

import (
	"reflect"
	"strings"
	"testing"
)

func singleFarm() *Farm {
	return &Farm{
		Name: "f", NextServerID: 9, HostTypes: []HostType{{Name: "t", Capacity: Resources{Disk: 100}}},
		Hosts: []Host{{Name: "h1", Type: "t", Address: "10.0.0.1", Reserved: Resources{Disk: 5}}, {Name: "h2", Type: "t", Address: "10.0.0.2"}},
		Pairs: []Pair{
			{Name: "s", Topology: Single, Sides: map[SideName]Side{A: {Host: "h1", Port: 1, Datadir: "s"}}, Shards: []Shard{{Name: "x", Needs: Resources{Disk: 7}}}},
			{Name: "p", Topology: PrimaryReplica, Sides: map[SideName]Side{A: {Host: "h1", Port: 2, Datadir: "a"}, B: {Host: "h2", Port: 2, Datadir: "b"}}},
		},
	}
}

func TestSingleInstanceIsAPairOfOne(t *testing.T) {
	f := singleFarm()
	if ps := f.Check(); len(ps) != 0 {
		t.Fatalf("a farm with a single instance: %v", ps)
	}
	f.Pairs[0].Sides[B] = Side{Host: "h2", Port: 3, Datadir: "z"}
	if ps := f.Check(); len(ps) != 1 || !strings.Contains(ps[0].Text, "has a side B") {
		t.Errorf("a single instance with a side B: %v", ps)
	}
	delete(f.Pairs[1].Sides, B)
	if ps := f.Check(); len(ps) != 2 {
		t.Errorf("a primary-replica pair without its replica: %v", ps)
	}
}

// A primary may have further replicas, each on a host of its own; they come
// after A and B wherever sides are walked.
func TestFurtherReplicas(t *testing.T) {
	f := singleFarm()
	f.Hosts = append(f.Hosts, Host{Name: "h3", Type: "t", Address: "10.0.0.3"})
	p := &f.Pairs[1]
	p.Sides["C"] = Side{Host: "h3", Port: 2, Datadir: "c"}
	if ps := f.Check(); len(ps) != 0 {
		t.Fatalf("a primary with two replicas: %v", ps)
	}
	if got := p.SideNames(); !reflect.DeepEqual(got, []SideName{A, B, "C"}) {
		t.Errorf("sides %v", got)
	}
	if is := f.TwosOnly(); len(is.Pairs) != 0 || is.Hosts[2].Reserved == nil && len(p.Shards) > 0 {
		t.Errorf("pairs of two instances: %v", is.Pairs)
	}
	p.Sides["C"] = Side{Host: "h2", Port: 3, Datadir: "c"}
	if ps := f.Check(); len(ps) != 1 || ps[0].Path != "pairs[1].sides.C.host" {
		t.Errorf("two replicas on one host: %v", ps)
	}
	p.Sides["C"] = Side{Host: "h3", Port: 2, Datadir: "c"}
	p.Topology = ActiveActive
	if ps := f.Check(); len(ps) != 1 || !strings.Contains(ps[0].Text, `a side "C"`) {
		t.Errorf("an active-active pair with a replica: %v", ps)
	}
	delete(p.Sides, "C")
	p.Topology, p.Sides["CC"] = PrimaryReplica, Side{Host: "h3", Port: 2, Datadir: "c"}
	if ps := f.Check(); len(ps) != 1 || !strings.Contains(ps[0].Text, `a side "CC"`) {
		t.Errorf("a side that is not a letter: %v", ps)
	}
}

func TestTwosOnly(t *testing.T) {
	f := singleFarm()
	is := f.TwosOnly()
	if len(is.Pairs) != 1 || is.Pairs[0].Name != "p" {
		t.Errorf("pairs %v", is.Pairs)
	}
	if !reflect.DeepEqual(is.Hosts[0].Reserved, Resources{Disk: 12}) || is.Hosts[1].Reserved != nil {
		t.Errorf("reserved %v, %v", is.Hosts[0].Reserved, is.Hosts[1].Reserved)
	}
	if !reflect.DeepEqual(f, singleFarm()) {
		t.Error("the farm itself was changed")
	}
	later := f.TwosOnlyWhen(func(s Shard) Resources { return Resources{Disk: 10 * s.Needs[Disk]} })
	if !reflect.DeepEqual(later.Hosts[0].Reserved, Resources{Disk: 75}) {
		t.Errorf("reserved later %v", later.Hosts[0].Reserved)
	}
	later = f.TwosOnlyWhen(func(s Shard) Resources { return Resources{Disk: 1000} })
	if !reflect.DeepEqual(later.Hosts[0].Reserved, Resources{Disk: 100}) || len(later.Check()) > 0 {
		t.Errorf("outgrown: reserved %v, %v", later.Hosts[0].Reserved, later.Check())
	}
	if again := is.TwosOnly(); again != is {
		t.Error("a farm without singles was copied")
	}
}
