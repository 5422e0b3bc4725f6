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

// scattered is a farm that fills its hosts badly: 12 hosts with two sides each
// where six would do, some holding more data than others.
func scattered() (*farm.Farm, placement.Goals) {
	f := &farm.Farm{Name: "scattered", NextServerID: 100, HostTypes: []farm.HostType{
		{Name: "dense", Capacity: farm.Resources{farm.Disk: 10e12, farm.CPU: 32}, MaxInstances: 4, Watts: 267, Price: 16000},
	}}
	for i := range 12 {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(fmt.Sprintf("ssd%02d", i+1)), Type: "dense", Address: fmt.Sprintf("10.0.0.%d", i+1), Dir: "/srv/mysql"})
	}
	for i := range 12 {
		p := farm.Pair{Name: farm.PairName(fmt.Sprintf("db%02d", i+1)), Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{}}
		p.Shards = []farm.Shard{{Name: farm.ShardName(fmt.Sprintf("s%02d", i+1)), Needs: farm.Resources{farm.Disk: float64(i+1) * 100e9, farm.CPU: 1 + float64(i%5)}}}
		for k, side := range farm.SideNames {
			p.Sides[side] = farm.Side{Host: f.Hosts[(i+5*k+6*(i%2)*k)%12].Name, Port: 3306 + i, Datadir: fmt.Sprintf("/srv/mysql/%s", p.Instance(side))}
		}
		f.Pairs = append(f.Pairs, p)
	}
	g := placement.Defaults()
	g.Headroom = nil
	return f, g
}

func TestMovedMostIsALimit(t *testing.T) {
	f, g := scattered()
	free, err := placement.Solve(f, g)
	if err != nil {
		t.Fatal(err)
	}
	if free.HostsUsed != 6 || free.Bytes() == 0 {
		t.Fatalf("without a budget: %d hosts, %d bytes", free.HostsUsed, free.Bytes())
	}
	last := 13
	for _, share := range []float64{0.05, 0.3, 0.6, 1} {
		g.MovedMost = share * float64(free.Bytes())
		p, err := placement.Solve(f, g)
		if err != nil {
			t.Fatal(err)
		}
		if float64(p.Bytes()) > g.MovedMost {
			t.Errorf("copies %d of %v allowed bytes", p.Bytes(), g.MovedMost)
		}
		if p.HostsUsed > last {
			t.Errorf("with %.0f%% of the bytes %d hosts, with less %d", 100*share, p.HostsUsed, last)
		}
		last = p.HostsUsed
		for _, finding := range check.Plan(f, p) {
			t.Error(finding)
		}
	}
	if last != 6 {
		t.Errorf("the whole budget gives %d hosts, want 6", last)
	}
	// What has to move may be more than the budget.
	f.HostTypes = append(f.HostTypes, farm.HostType{Name: "new", Capacity: farm.Resources{farm.Disk: 20e12, farm.CPU: 64}})
	for i := range 4 {
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(fmt.Sprintf("new%d", i)), Type: "new", Address: fmt.Sprintf("10.0.1.%d", i+1), Dir: "/srv/mysql"})
	}
	g.Onto = []farm.HostTypeName{"new"}
	if _, err := placement.Solve(f, g); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "moved_most") {
		t.Errorf("got %v", err)
	}
}

func TestBalanceEvensOut(t *testing.T) {
	f, g := scattered()
	g.Onto = []farm.HostTypeName{"dense"}
	for i := range f.Pairs { // everything moves: from hosts of another type
		for k, side := range farm.SideNames {
			s := f.Pairs[i].Sides[side]
			s.Host = farm.HostName(fmt.Sprintf("old%d%d", i, k))
			f.Pairs[i].Sides[side] = s
			f.Hosts = append(f.Hosts, farm.Host{Name: s.Host, Type: "old", Address: fmt.Sprintf("10.1.%d.%d", k, i)})
		}
	}
	f.HostTypes = append(f.HostTypes, farm.HostType{Name: "old", Capacity: farm.Resources{farm.Disk: 10e12}})
	fullest := func(minimise ...string) float64 {
		g.Minimise = minimise
		p, err := placement.Solve(f, g)
		if err != nil {
			t.Fatal(err)
		}
		if p.HostsUsed != 6 {
			t.Fatalf("%v: %d hosts", minimise, p.HostsUsed)
		}
		for _, finding := range check.Plan(f, p) {
			t.Error(finding)
		}
		most := 0.0
		for _, h := range p.Hosts {
			for _, u := range h.Use {
				most = max(most, u)
			}
		}
		return most
	}
	plain, even := fullest("hosts"), fullest("hosts", "balance")
	if even > plain {
		t.Errorf("balanced the fullest host is at %.3f, without at %.3f", even, plain)
	}
	// 34 cores of 12 sides on three couples: 11.33 a host at best, and pieces of 1 to 5.
	if even > 12.0/32+1e-9 {
		t.Errorf("the fullest host is at %.3f", even)
	}
}
