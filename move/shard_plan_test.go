package move

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"stowage/act"

	"stowage/farm"
	"stowage/placement"
)

// shardFarmToPlan is two old pairs on four hosts, and two dense hosts.
func shardFarmToPlan() *farm.Farm {
	f := &farm.Farm{Name: "f", NextServerID: 100, HostTypes: []farm.HostType{
		{Name: "old", Capacity: farm.Resources{farm.Disk: 1e12}}, {Name: "dense", Capacity: farm.Resources{farm.Disk: 8e12}}}}
	for n := range 6 {
		kind := farm.HostTypeName("old")
		if n >= 4 {
			kind = "dense"
		}
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(fmt.Sprintf("h%d", n)), Type: kind, Address: fmt.Sprintf("10.0.0.%d", n+1), Dir: "/srv"})
	}
	for n := range 2 {
		p := farm.Pair{Name: farm.PairName(fmt.Sprintf("p%d", n)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{}}
		for i, side := range farm.SideNames {
			p.Sides[side] = farm.Side{Host: f.Hosts[2*n+i].Name, Port: 3306, Datadir: "/srv/" + string(p.Instance(side))}
		}
		for s := range 2 {
			p.Shards = append(p.Shards, farm.Shard{Name: farm.ShardName(fmt.Sprintf("s%d%d", n, s)), Needs: farm.Resources{farm.Disk: 1e9}})
		}
		f.Pairs = append(f.Pairs, p)
	}
	return f
}

// A plan of single shards says which pairs are to be made, after which models
// and with which numbers; it may be begun when some of them stand, go on when
// some shards have been moved and some old pairs retired, and is refused when
// anything else has changed.
func TestShardPlanMakesItsPairs(t *testing.T) {
	f := shardFarmToPlan()
	goals := placement.Defaults()
	goals.Unit, goals.Onto = placement.UnitShard, []farm.HostTypeName{"dense"}
	p, err := placement.Solve(f, goals)
	if err != nil {
		t.Fatal(err)
	}
	places := shardPlaces(p)
	if len(places) != 4 {
		t.Fatalf("the plan places %v", places)
	}
	fresh, err := newPairs(p, places, f)
	if err != nil || len(fresh) != 1 {
		t.Fatalf("pairs to be made: %+v %v", fresh, err)
	}
	o := fresh[0]
	a, b := o.Sides[farm.A], o.Sides[farm.B]
	if o.Pair != "shardset001" || o.Shards != 4 || o.Bytes != 4e9 || o.Topology != farm.ActiveActive || len(o.Accounts) != 2 || o.Accounts[0].Name != "p0a" {
		t.Errorf("order %+v", o)
	}
	if a.ServerID != 100 || b.ServerID != 101 || a.Domain != 100 || b.Domain != 101 || a.ModelInstance != "p0a" || b.ModelInstance != "p0b" {
		t.Errorf("sides %+v and %+v", a, b)
	}
	if want := "/srv/shardset001a/data"; a.Place.Datadir != want || a.Place.Host == b.Place.Host {
		t.Errorf("side A at %+v, want %s; side B at %+v", a.Place, want, b.Place)
	}
	gone := emptiedBy(p, places, f)
	if len(gone) != 2 || gone[0].Pair != "p0" || gone[1].Pair != "p1" {
		t.Errorf("pairs to be retired: %+v", gone)
	}
	f = withPairs(f, fresh)
	if f.NextServerID != 102 {
		t.Errorf("next server id %d, want 102", f.NextServerID)
	}
	if again, err := newPairs(p, places, f); err != nil || len(again) != 0 {
		t.Errorf("with its pairs: %+v %v", again, err)
	}
	may := func(f *farm.Farm) error { return errors.Join(pairsWherePlanned(p, f), shardsNotDrifted(p, places, f)) }
	if err := may(f); err != nil {
		t.Fatalf("with its pairs: %v", err)
	}
	// All shards of one pair have been moved, and the pair is gone.
	moved := f.Clone()
	to, _ := moved.Pair("shardset001")
	to.Shards = append(to.Shards, moved.Pairs[0].Shards...)
	moved.Pairs = moved.Pairs[1:]
	if err := may(moved); err != nil {
		t.Errorf("half done: %v", err)
	}
	// Anything else is drift.
	for name, change := range map[string]func(*farm.Farm){
		"a host has another address": func(f *farm.Farm) { f.Hosts[4].Address = "10.9.9.9" },
		"a shard went elsewhere": func(f *farm.Farm) {
			s := f.Pairs[0].Shards[0]
			f.Pairs[0].Shards = f.Pairs[0].Shards[1:]
			f.Pairs[1].Shards = append(f.Pairs[1].Shards, s)
		},
		"a new shard":              func(f *farm.Farm) { f.Pairs[0].Shards = append(f.Pairs[0].Shards, farm.Shard{Name: "s99"}) },
		"an old pair is elsewhere": func(f *farm.Farm) { s := f.Pairs[0].Sides[farm.A]; s.Port++; f.Pairs[0].Sides[farm.A] = s },
		"a new pair is elsewhere":  func(f *farm.Farm) { s := f.Pairs[2].Sides[farm.A]; s.Port++; f.Pairs[2].Sides[farm.A] = s },
	} {
		drifted := f.Clone()
		change(drifted)
		if err := may(drifted); !errors.Is(err, farm.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Pairs are made before shards come, and retired when all have gone; what was
// made in vain is taken back.
func TestRegroupingJob(t *testing.T) {
	f := shardFarmToPlan()
	goals := placement.Defaults()
	goals.Unit, goals.Onto, goals.ShardsPerInstance = placement.UnitShard, []farm.HostTypeName{"dense"}, 2
	p, err := placement.Solve(f, goals)
	if err != nil {
		t.Fatal(err)
	}
	places := shardPlaces(p)
	fresh, err := newPairs(p, places, f)
	if err != nil {
		t.Fatal(err)
	}
	planned := withPairs(f, fresh)
	var orders []shardOrder
	for n, s := range shardNames(f) {
		from, _, _ := pairOfShard(planned, farm.ShardName(s))
		to, _ := planned.Pair(places[farm.ShardName(s)])
		orders = append(orders, shardOrder{Runbook: Shard, Shard: farm.ShardName(s), From: newShardEnd(planned, from, farm.A), To: newShardEnd(planned, to, farm.A), How: ByCopier, Reader: uint32(200 + n)})
	}
	job, err := regroupingJob("move-x-1", fresh, orders, emptiedBy(p, places, f))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, stage := range act.Stages(job) {
		if err := stage.Validate(); err != nil {
			t.Error(err)
		}
		line := stage.ID + ":"
		for _, l := range stage.Lanes {
			line += " " + l.Name
			for _, part := range l.Parts {
				book, err := Kind(nil).RunbookOf(part.Args)
				if err != nil {
					t.Error(err)
				}
				if line += " " + book.Name; part.Back != "" {
					line += " back"
				}
			}
		}
		lines = append(lines, line)
	}
	want := []string{
		"move-x-1-1: shardset001 provision shardset002 provision",
		"move-x-1-2: shardset001 shard shard shardset002 shard shard",
		"move-x-1-3: p0 emptied p1 emptied",
		"move-x-1-4: shardset001 provision back shardset002 provision back",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("pieces\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// Shards that go into one pair go one after the other, and no two lanes touch
// one pair at once.
func TestShardJobTouchesAPairOnce(t *testing.T) {
	f := shardFarmToPlan()
	var orders []shardOrder
	for _, way := range [][3]string{{"s00", "p0", "p1"}, {"s01", "p0", "p1"}, {"s10", "p1", "p0"}} {
		from, _ := f.Pair(farm.PairName(way[1]))
		to, _ := f.Pair(farm.PairName(way[2]))
		orders = append(orders, shardOrder{Runbook: Shard, Job: "j", Shard: farm.ShardName(way[0]), From: newShardEnd(f, from, farm.A), To: newShardEnd(f, to, farm.A), How: ByCopier, Reader: 7})
	}
	job, err := newShardJob("move-shards-1", orders)
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Validate(); err != nil {
		t.Fatal(err)
	}
	if len(job.Lanes) != 2 || len(job.Lanes[0].Parts) != 2 {
		t.Fatalf("lanes %+v", job.Lanes)
	}
	for _, l := range job.Lanes {
		for _, hold := range []string{"pair p0", "pair p1"} {
			if !contains(l.Holds, hold) || job.Budgets[hold] != 1 {
				t.Errorf("lane %s holds %v with budgets %v, want %s for itself", l.Name, l.Holds, job.Budgets, hold)
			}
		}
	}
}
