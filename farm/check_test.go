package farm_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
)

func goodFarm() *farm.Farm {
	return &farm.Farm{
		Name: "etsy", NextServerID: 1025,
		HostTypes: []farm.HostType{{Name: "platter", Capacity: farm.Resources{farm.Disk: 2.2e12}}},
		Profiles:  []farm.Profile{{Name: "office", Hours: [24]float64{9: 1, 10: 0.5}}},
		Hosts: []farm.Host{
			{Name: "db001", Type: "platter", Address: "10.0.0.1", Labels: map[string]string{"rack": "r1"}, Reserved: farm.Resources{farm.Disk: 200e9}},
			{Name: "db002", Type: "platter", Address: "10.0.0.2"},
		},
		Pairs: []farm.Pair{{
			Name: "dbshard001", Topology: farm.ActiveActive,
			Sides: map[farm.SideName]farm.Side{
				farm.A: {Host: "db001", Port: 40000, Datadir: "/a"},
				farm.B: {Host: "db002", Port: 3306, Datadir: "/a"},
			},
			Shards: []farm.Shard{{Name: "s1", Needs: farm.Resources{farm.Disk: 48e9}, Growth: 40e6, Profile: "office", Customer: "acme"}},
		}},
	}
}

func TestCheckFindsNothingInAGoodFarm(t *testing.T) {
	if ps := goodFarm().Check(); len(ps) > 0 {
		t.Errorf("problems: %v", ps)
	}
}

func TestCheckFinds(t *testing.T) {
	side := func(f *farm.Farm, n farm.SideName, change func(*farm.Side)) {
		s := f.Pairs[0].Sides[n]
		change(&s)
		f.Pairs[0].Sides[n] = s
	}
	tests := []struct {
		spoil func(*farm.Farm)
		path  string
		text  string
	}{
		{func(f *farm.Farm) { f.Name = "" }, "farm", "has no name"},
		{func(f *farm.Farm) { f.NextServerID = 0 }, "next_server_id", "is missing"},
		{func(f *farm.Farm) { f.HostTypes = append(f.HostTypes, f.HostTypes[0]) }, "host_types.platter", "twice"},
		{func(f *farm.Farm) { f.HostTypes[0].Capacity[farm.Disk] = math.NaN() }, "host_types.platter.disk", "NaN"},
		{func(f *farm.Farm) { f.HostTypes[0].Price = -1 }, "host_types.platter.price", "-1"},
		{func(f *farm.Farm) { f.HostTypes[0].MaxInstances = -1 }, "host_types.platter.max_instances", "-1"},
		{func(f *farm.Farm) { f.Hosts[1].Name = "db001" }, "hosts[1].name", "host db001 is there twice"},
		{func(f *farm.Farm) { f.Hosts[0].Type = "ssd" }, "hosts[0].type", `unknown host type "ssd"`},
		{func(f *farm.Farm) { f.Hosts[0].Address = "10.0.0.1:3306" }, "hosts[0].address", "leave the port"},
		{func(f *farm.Farm) { f.Hosts[0].Address = "" }, "hosts[0].address", "no address"},
		{func(f *farm.Farm) { f.Pairs = append(f.Pairs, f.Pairs[0]) }, "pairs[1].name", "twice"},
		{func(f *farm.Farm) { f.Pairs[0].Name = "a b" }, "pairs[0].name", "characters"},
		{func(f *farm.Farm) { f.Pairs[0].Topology = "ring" }, "pairs[0].topology", `"ring"`},
		{func(f *farm.Farm) { delete(f.Pairs[0].Sides, farm.B) }, "pairs[0].sides", "no side B"},
		{func(f *farm.Farm) { f.Pairs[0].Sides["C"] = f.Pairs[0].Sides[farm.A] }, "pairs[0].sides", `side "C"`},
		{func(f *farm.Farm) { side(f, farm.B, func(s *farm.Side) { s.Host = "db001" }) }, "pairs[0].sides.B.host", "both sides"},
		{func(f *farm.Farm) { side(f, farm.B, func(s *farm.Side) { s.Host = "db003" }) }, "pairs[0].sides.B.host", `unknown host "db003"`},
		{func(f *farm.Farm) { side(f, farm.A, func(s *farm.Side) { s.Port = 65536 }) }, "pairs[0].sides.A.port", "65536"},
		{func(f *farm.Farm) { side(f, farm.A, func(s *farm.Side) { s.Port = 0 }) }, "pairs[0].sides.A.port", "no port"},
		{func(f *farm.Farm) { side(f, farm.A, func(s *farm.Side) { s.Datadir = "" }) }, "pairs[0].sides.A.datadir", "no datadir"},
		{func(f *farm.Farm) {
			f.Hosts[1].Address = "10.0.0.1"
			side(f, farm.A, func(s *farm.Side) { s.Port = 3306 })
		}, "pairs[0].sides.B.port", "would both listen on 10.0.0.1:3306"},
		{func(f *farm.Farm) {
			f.Hosts = append(f.Hosts, farm.Host{Name: "db003", Type: "platter", Address: "10.0.0.3"})
			f.Pairs = append(f.Pairs, farm.Pair{Name: "p2", Topology: farm.PrimaryReplica, Sides: map[farm.SideName]farm.Side{
				farm.A: {Host: "db001", Port: 3307, Datadir: "/x/../a"}, farm.B: {Host: "db003", Port: 3306, Datadir: "/a"},
			}})
		}, "pairs[1].sides.A.datadir", "would both own datadir"},
		{func(f *farm.Farm) { f.Pairs[0].Shards = append(f.Pairs[0].Shards, f.Pairs[0].Shards[0]) }, "pairs[0].shards[1].name", "already in pair dbshard001"},
		{func(f *farm.Farm) { f.Pairs[0].Shards[0].Needs[farm.CPU] = math.Inf(1) }, "pairs[0].shards[0].cpu", "+Inf"},
		{func(f *farm.Farm) { f.Pairs[0].Shards[0].Growth = -1 }, "pairs[0].shards[0].growth", "-1"},
		{func(f *farm.Farm) { f.Pairs[0].Shards[0].Profile = "ofice" }, "pairs[0].shards[0].profile", `unknown profile "ofice"`},
		{func(f *farm.Farm) { f.Pairs[0].Shards[0].Customer = "a b" }, "pairs[0].shards[0].customer", "characters"},
		{func(f *farm.Farm) { f.Profiles = append(f.Profiles, f.Profiles[0]) }, "profiles.office", "twice"},
		{func(f *farm.Farm) { f.Profiles[0].Hours = [24]float64{} }, "profiles.office", "nothing all day"},
		{func(f *farm.Farm) { f.Profiles[0].Hours[3] = 1.5 }, "profiles.office[3]", "1.5 of its peak at 3:00"},
		{func(f *farm.Farm) { f.Profiles[0].Hours[3] = math.NaN() }, "profiles.office[3]", "NaN"},
		{func(f *farm.Farm) { f.Profiles[0].Hours[3] = -0.1 }, "profiles.office[3]", "-0.1"},
		{func(f *farm.Farm) { f.Hosts[0].Reserved[farm.Disk] = 3e12 }, "hosts[0].reserved.disk", "3TB of disk is reserved on host db001, which has 2.2TB"},
		{func(f *farm.Farm) { f.Hosts[0].Reserved[farm.CPU] = -1 }, "hosts[0].reserved.cpu", "-1"},
		{func(f *farm.Farm) { f.HostTypes[0].Capacity[farm.Disk] = 0 }, "host_types.platter.disk", "has no disk (0), and shards need it (first s1)"},
		{func(f *farm.Farm) {
			f.HostTypes[0].Capacity[farm.CPU] = 0
			f.Pairs[0].Shards[0].Needs[farm.CPU] = 1
		}, "host_types.platter.cores", "has no cores (0)"},
		{func(f *farm.Farm) {
			f.HostTypes[0].Capacity["licences"] = 0
			f.Pairs[0].Shards[0].Needs["licences"] = 1
		}, "host_types.platter.licences", "has no licences (0)"},
		{func(f *farm.Farm) { f.Pairs[0].Shards[0].Needs[farm.Disk] = 1 << 62 }, "pairs", "disk of all shards, on two sides, is 9223PB: that is more than can be counted"},
		{func(f *farm.Farm) { f.Pairs[0].Shards[0].Growth = 1 << 62 }, "pairs", "growth of all shards"},
	}
	for _, test := range tests {
		f := goodFarm()
		test.spoil(f)
		ps := f.Check()
		found := slices.ContainsFunc(ps, func(p farm.Problem) bool { return p.Path == test.path && strings.Contains(p.Text, test.text) })
		if !found {
			t.Errorf("no %q at %s in %v", test.text, test.path, ps)
		}
	}
}

func TestCheckFindsAllAtOnce(t *testing.T) {
	f := goodFarm()
	f.NextServerID, f.Hosts[0].Type, f.Pairs[0].Topology = 0, "x", "y"
	if ps := f.Check(); len(ps) != 3 {
		t.Errorf("%d problems, want 3: %v", len(ps), ps)
	}
}

// A resource of the farm's own may be zero on some host types: that is how to
// say that they have none, because what is left out is not limited.
func TestOwnResourceMayBeZeroOnSomeTypes(t *testing.T) {
	f := goodFarm()
	f.HostTypes = append(f.HostTypes, farm.HostType{Name: "dense", Capacity: farm.Resources{"licences": 4}})
	f.HostTypes[0].Capacity["licences"] = 0
	f.Pairs[0].Shards[0].Needs["licences"] = 1
	if ps := f.Check(); len(ps) > 0 {
		t.Errorf("problems: %v", ps)
	}
}

func TestProfile(t *testing.T) {
	f := goodFarm()
	if p, ok := f.Profile("office"); !ok || p.Hours[9] != 1 || p.Hours[10] != 0.5 || p.Hours[11] != 0 {
		t.Errorf("office is %v, %v", p, ok)
	}
	none, ok := f.Profile("")
	for h, v := range none.Hours {
		if v != 1 || !ok {
			t.Errorf("without a profile %v of the peak is used at %d:00, want all of it", v, h)
		}
	}
	if _, ok := f.Profile("night"); ok {
		t.Error("there is no profile night")
	}
	var rates []farm.ResourceName
	for _, r := range []farm.ResourceName{farm.Disk, farm.Memory, farm.CPU, farm.IOPS, farm.Network, "licences"} {
		if r.IsRate() {
			rates = append(rates, r)
		}
	}
	if !slices.Equal(rates, []farm.ResourceName{farm.CPU, farm.IOPS, farm.Network}) {
		t.Errorf("rates are %v", rates)
	}
}

func TestAfterGrowsOnlyTheDisk(t *testing.T) {
	s := farm.Shard{Needs: farm.Resources{farm.Disk: 48e9, farm.CPU: 0.5}, Growth: 40e6}
	tests := []struct{ growth, days, want float64 }{
		{40e6, 0, 48e9}, {40e6, 540, 69.6e9}, {40e6, -10, 48e9}, {-1e6, 10, 48e9}, {math.NaN(), 10, 48e9}, {0, math.Inf(1), 48e9},
	}
	for _, test := range tests {
		s.Growth = test.growth
		after := s.After(test.days)
		if after[farm.Disk] != test.want || after[farm.CPU] != 0.5 {
			t.Errorf("%v bytes a day for %v days: %v, want disk %v", test.growth, test.days, after, test.want)
		}
		after[farm.CPU] = 7
	}
	if s.Needs[farm.CPU] != 0.5 {
		t.Error("what a shard needs was changed through After")
	}
}

func TestCloneSharesNothing(t *testing.T) {
	f := goodFarm()
	c := f.Clone()
	if !reflect.DeepEqual(f, c) {
		t.Fatalf("cloned %+v\nfrom %+v", c, f)
	}
	c.HostTypes[0].Capacity[farm.Disk] = 1
	c.Profiles[0].Hours[0] = 1
	c.Hosts[0].Labels["rack"] = "r9"
	c.Hosts[0].Reserved[farm.Disk] = 1
	c.Pairs[0].Sides[farm.A] = farm.Side{}
	c.Pairs[0].Shards[0].Name = "s9"
	c.Pairs[0].Shards[0].Needs[farm.Disk] = 1
	if !reflect.DeepEqual(f, goodFarm()) {
		t.Errorf("a change of the clone changed the farm: %+v", f)
	}
}

func TestDiff(t *testing.T) {
	tests := []struct {
		change func(*farm.Farm)
		want   string
	}{
		{func(*farm.Farm) {}, "[]"},
		{func(f *farm.Farm) { f.Pairs[0].Shards[0].Needs = farm.Resources{farm.Disk: 1} }, "[]"},
		{func(f *farm.Farm) { f.Hosts[0].Address = "10.0.0.9" }, "[host db001 address: was 10.0.0.1, is 10.0.0.9]"},
		{func(f *farm.Farm) {
			f.Pairs[0].Shards[0].Growth, f.Pairs[0].Shards[0].Profile, f.Pairs[0].Shards[0].Customer = 0, "", ""
		}, "[]"},
		{func(f *farm.Farm) { f.Hosts[0].Reserved = farm.Resources{farm.Disk: 1e12} }, "[host db001 reserved disk: was 200GB, is 1TB]"},
		{func(f *farm.Farm) { f.Hosts[0].Labels = nil }, "[host db001 label rack: gone, was r1]"},
		{func(f *farm.Farm) { f.HostTypes[0].Capacity = farm.Resources{farm.Disk: 1e12} }, "[host type platter disk: was 2.2TB, is 1TB]"},
		{func(f *farm.Farm) { f.HostTypes[0].MaxInstances = 4 }, "[host type platter max_instances: was 0, is 4]"},
		{func(f *farm.Farm) {
			f.Pairs[0].Sides[farm.A] = farm.Side{Host: "db001", Port: 3307, Datadir: "/a", Config: "/c"}
		}, "[dbshard001a config: new, /c dbshard001a port: was 40000, is 3307]"},
		{func(f *farm.Farm) { f.Pairs[0].Shards = nil }, "[shard s1 pair: gone, was dbshard001]"},
		{func(f *farm.Farm) { f.Hosts = append(f.Hosts, farm.Host{Name: "db009", Type: "platter"}) }, "[host db009: new, there]"},
		{func(f *farm.Farm) { f.Pairs = nil }, "[dbshard001a: gone, was there dbshard001b: gone, was there pair dbshard001: gone, was there shard s1 pair: gone, was dbshard001]"},
	}
	for _, test := range tests {
		is := goodFarm()
		test.change(is)
		if got := fmt.Sprint(farm.Diff(goodFarm(), is)); got != test.want {
			t.Errorf("difference is %s\nwant %s", got, test.want)
		}
	}
}
