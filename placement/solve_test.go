package placement_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/placement"
	"stowage/placement/check"
)

var update = flag.Bool("update", false, "rewrite golden files")

// demoFarm is n pairs on 2n old hosts, and some new hosts to pack onto.
func demoFarm(pairs, shards, spare int) *farm.Farm {
	f := &farm.Farm{
		Name: "demo", NextServerID: 1025,
		HostTypes: []farm.HostType{
			{Name: "platter", Capacity: farm.Resources{farm.Disk: 2.2e12, farm.Memory: 96 << 30}, Watts: 200, Price: 4000},
			{Name: "dense", Capacity: farm.Resources{farm.Disk: 14e12, farm.Memory: 512 << 30}, MaxInstances: 4, Watts: 267, Price: 16000},
		},
	}
	for i := range 2 * pairs {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(fmt.Sprintf("db%03d", i+1)), Type: "platter", Address: fmt.Sprintf("127.0.10.%d", i+1), Dir: "/srv/mysql"})
	}
	for i := range spare {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(fmt.Sprintf("ssd%03d", i+1)), Type: "dense", Address: fmt.Sprintf("127.0.20.%d", i+1), Dir: "/srv/mysql"})
	}
	for i := range pairs {
		p := farm.Pair{Name: farm.PairName(fmt.Sprintf("dbshard%03d", i+1)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{}}
		for j := range shards {
			p.Shards = append(p.Shards, farm.Shard{Name: farm.ShardName(fmt.Sprintf("shard_%03d_%02d", i+1, j+1)), Needs: farm.Resources{farm.Disk: 400e9, farm.Memory: 20 << 30}})
		}
		for k, side := range farm.SideNames {
			p.Sides[side] = farm.Side{Host: f.Hosts[2*i+k].Name, Port: 3306, Datadir: "/var/lib/mysql"}
		}
		f.Pairs = append(f.Pairs, p)
	}
	return f
}

func demoGoals() placement.Goals {
	g := placement.Defaults()
	g.Onto = []farm.HostTypeName{"dense"}
	return g
}

func TestDemoFarmGoesFrom24HostsTo6(t *testing.T) {
	f := demoFarm(12, 4, 8)
	p, err := placement.Solve(f, demoGoals())
	if err != nil {
		t.Fatal(err)
	}
	if p.HostsBefore != 24 || p.HostsUsed != 6 || len(p.Moves) != 24 {
		t.Errorf("%d hosts -> %d hosts with %d moves, want 24 -> 6 with 24", p.HostsBefore, p.HostsUsed, len(p.Moves))
	}
	for _, finding := range check.Plan(f, p) {
		t.Error(finding)
	}
	golden(t, "demo.txt", p)
}

func golden(t *testing.T, name string, p placement.Plan) {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := len(strings.TrimRight(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("text differs from %s (rewrite with -update):\n%s", path, b.String())
	}
}

// Half of the pairs are already on dense hosts: they stay, and new instances
// get the ports that are free there.
func TestSettledInstancesStay(t *testing.T) {
	f := demoFarm(4, 4, 2)
	for i, port := range []int{3306, 3308} {
		f.Pairs[i].Sides[farm.A] = farm.Side{Host: "ssd001", Port: port, Datadir: fmt.Sprintf("/srv/%da", i)}
		f.Pairs[i].Sides[farm.B] = farm.Side{Host: "ssd002", Port: port, Datadir: fmt.Sprintf("/srv/%db", i)}
	}
	p, err := placement.Solve(f, demoGoals())
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Moves) != 4 || p.HostsUsed != 2 {
		t.Fatalf("%d moves onto %d hosts, want 4 onto 2", len(p.Moves), p.HostsUsed)
	}
	free := map[farm.HostName][]int{"ssd001": {3307, 3309}, "ssd002": {3307, 3309}}
	for i, want := range []string{"1 dbshard003b 1025", "1 dbshard004b 1026", "2 dbshard003a 1027", "2 dbshard004a 1028"} {
		m := p.Moves[i]
		if got := fmt.Sprintf("%d %s %d", m.Wave, m.Instance, m.ServerID); got != want {
			t.Errorf("move %d is %s, want %s", i, got, want)
		}
		if m.To.Port != free[m.To.Host][0] {
			t.Errorf("%s goes to port %d of %s, the lowest free one is %d", m.Instance, m.To.Port, m.To.Host, free[m.To.Host][0])
		}
		free[m.To.Host] = free[m.To.Host][1:]
	}
	if to := p.Moves[0].To; to.Datadir != "/srv/mysql/dbshard003b/data" || to.Config != "/srv/mysql/dbshard003b/my.cnf" {
		t.Errorf("new instance at %s with %s", to.Datadir, to.Config)
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(*farm.Farm, *placement.Goals)
		kind  error
		want  string
	}{
		{"instance larger than any host", func(f *farm.Farm, _ *placement.Goals) {
			f.Pairs[2].Shards[0].Needs = farm.Resources{farm.Disk: 12e12}
		}, farm.ErrRefused, "dbshard003a needs 13.2TB of disk and the roomiest host to pack onto offers 11.2TB after 20% headroom"},
		{"too few hosts in volume", func(f *farm.Farm, _ *placement.Goals) {
			f.Hosts = f.Hosts[:len(f.Hosts)-5]
		}, farm.ErrRefused, "3 hosts are not enough: 24 instances need 24 of max_instances together, the hosts offer 12"},
		{"one host for two sides", func(f *farm.Farm, _ *placement.Goals) {
			f.Hosts = f.Hosts[:len(f.Hosts)-7]
			f.HostTypes[1].MaxInstances = 0
		}, farm.ErrRefused, "the sides of a pair need two hosts"},
		{"pieces do not fit", func(f *farm.Farm, g *placement.Goals) {
			f.Pairs = f.Pairs[:4]
			for i := range f.Pairs {
				f.Pairs[i].Shards[0].Needs = farm.Resources{farm.Disk: 7e12}
			}
			f.Hosts = f.Hosts[:len(f.Hosts)-1]
			g.Headroom = nil
		}, farm.ErrRefused, "found no place for dbshard004b (disk 8.2TB, memory 64.4GB): of 7 hosts, 6 lacking disk, 1 holding its twin"},
		{"no dir to make instances in", func(f *farm.Farm, _ *placement.Goals) {
			for i := range f.Hosts {
				f.Hosts[i].Dir = ""
			}
		}, farm.ErrRefused, "of 8 hosts, 8 without dir in farm.yaml"},
		{"no host of the type", func(f *farm.Farm, _ *placement.Goals) {
			f.Hosts = f.Hosts[:24]
		}, farm.ErrInput, "no host of the types to pack onto (dense)"},
		{"unknown type", func(_ *farm.Farm, g *placement.Goals) {
			g.Onto = []farm.HostTypeName{"denser"}
		}, farm.ErrInput, `unknown host type "denser": farm.yaml has platter, dense`},
		{"hosts without the label", func(_ *farm.Farm, g *placement.Goals) {
			g.SpreadLabels = []string{"rack"}
		}, farm.ErrInput, `8 hosts without label "rack" (first ssd001)`},
		{"farm with a problem", func(f *farm.Farm, _ *placement.Goals) {
			f.Hosts[1].Name = f.Hosts[0].Name
		}, farm.ErrInput, "host db001 is there twice"},
		{"server ids used up", func(f *farm.Farm, _ *placement.Goals) {
			f.NextServerID = 1<<32 - 5
		}, farm.ErrRefused, "no server_id left"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, g := demoFarm(12, 4, 8), demoGoals()
			test.spoil(f, &g)
			_, err := placement.Solve(f, g)
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v\nwant %q and %v", err, test.want, test.kind)
			}
		})
	}
}

// 24 sides in 25 slots: filling hosts one after another would leave a last
// slot beside its own twin.
func TestTightSlots(t *testing.T) {
	f := demoFarm(12, 1, 8)
	f.HostTypes[1].MaxInstances = 5
	p, err := placement.Solve(f, demoGoals())
	if err != nil {
		t.Fatal(err)
	}
	if p.HostsUsed != 5 || p.LowerBound != 5 {
		t.Errorf("24 instances at 5 a host: %d hosts with bound %d, want 5 and 5", p.HostsUsed, p.LowerBound)
	}
}

func TestDriftNamesWhatChanged(t *testing.T) {
	f := demoFarm(2, 1, 2)
	p, err := placement.Solve(f, demoGoals())
	if err != nil {
		t.Fatal(err)
	}
	moved := p.Moves[0]
	only := func(pair farm.PairName, side farm.SideName) bool { return pair == moved.Pair && side == moved.Side }
	partly := f.Clone()
	target, _ := partly.Pair(moved.Pair)
	target.Sides[moved.Side] = farm.Side{Host: moved.To.Host, Port: moved.To.Port, Datadir: moved.To.Datadir, Config: moved.To.Config}
	partly.NextServerID = p.NextServerID

	grown := f.Clone()
	grown.Pairs[0].Shards = append([]farm.Shard(nil), grown.Pairs[0].Shards...)
	grown.Pairs[0].Shards[0].Needs = farm.Resources{farm.Disk: 1}

	readdressed := f.Clone()
	readdressed.Hosts[0].Address = "127.0.99.1"

	otherPlan := f.Clone()
	otherPlan.NextServerID += 4

	tests := []struct {
		name string
		now  *farm.Farm
		done func(farm.PairName, farm.SideName) bool
		want string
	}{
		{"nothing", f, nil, "[]"},
		{"measured growth", grown, nil, "[]"},
		{"own move, known", partly, only, "[]"},
		{"own move undone behind our back", f, only, "[dbshard001b config: gone, was /srv/mysql/dbshard001b/my.cnf dbshard001b datadir: was /srv/mysql/dbshard001b/data, is /var/lib/mysql dbshard001b host: was ssd002, is db002]"},
		{"address", readdressed, nil, "[host db001 address: was 127.0.10.1, is 127.0.99.1]"},
		{"ids given away by another plan", otherPlan, nil, "[farm next_server_id: was 1025, is 1029]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := fmt.Sprint(placement.Drift(p, test.now, test.done))
			if got != test.want {
				t.Errorf("drift is %s, want %s", got, test.want)
			}
		})
	}
}
