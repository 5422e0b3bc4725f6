package placement_test

import (
	"math"
	"testing"

	"stowage/farm"
	"stowage/placement"
	"stowage/placement/check"
)

// built is the farm after a plan, with the hosts it bought in place.
func built(f *farm.Farm, p placement.Plan) *farm.Farm {
	after := p.Apply(f)
	for _, h := range p.Hosts {
		if h.New {
			after.Hosts = append(after.Hosts, farm.Host{Name: h.Name, Type: h.Type, Address: "new-" + string(h.Name), Dir: "/srv/mysql"})
		}
	}
	return after
}

// mustMove is the data that no plan can leave where it is: what sits on hosts
// to be emptied, and the least that makes each overfull host fit again.
func mustMove(f *farm.Farm, g placement.Goals) float64 {
	type side struct {
		needs farm.Resources
		bytes float64
	}
	on := map[farm.HostName][]side{}
	for _, p := range f.Pairs {
		needs, bytes := farm.Resources{}, 0.0
		needs.Add(g.Overhead)
		for _, s := range p.Shards {
			needs.Add(g.Needs(s))
			bytes += s.Needs[farm.Disk]
		}
		for _, s := range p.Sides {
			on[s.Host] = append(on[s.Host], side{needs, bytes})
		}
	}
	sum := 0.0
	for _, h := range f.Hosts {
		t, _ := f.HostType(h.Type)
		least := math.Inf(1)
		for set := range 1 << len(on[h.Name]) { // which leave
			left, bytes := farm.Resources{}, 0.0
			for i, s := range on[h.Name] {
				if set>>i&1 == 1 {
					bytes += s.bytes
				} else {
					left.Add(s.needs)
				}
			}
			fits := true
			for n, c := range t.Capacity {
				fits = fits && left[n] <= c*(1-g.Headroom[n])*(1+1e-9)
			}
			for _, w := range g.Without {
				fits = fits && (w != h.Name || len(left) == 0)
			}
			if fits {
				least = min(least, bytes)
			}
		}
		sum += least
	}
	return sum
}

// A farm that was packed once, of which a twentieth has grown and one host is
// to be emptied, is planned anew with hardly more data to copy than has to go.
func TestPlanningAgainMovesLittle(t *testing.T) {
	for _, k := range scales(t) {
		planAgain(t, k)
	}
}

func planAgain(t *testing.T, k int) {
	t.Helper()
	f, g := generated(t, k, 20160101)
	first, err := placement.Solve(f, g)
	if err != nil {
		t.Fatal(err)
	}
	f = built(f, first)
	for i := 0; i < len(f.Pairs); i += 20 {
		for s := range f.Pairs[i].Shards {
			grown := farm.Resources{}
			for n, v := range f.Pairs[i].Shards[s].Needs {
				grown[n] = 1.25 * v
			}
			f.Pairs[i].Shards[s].Needs = grown
		}
	}
	g.Without = []farm.HostName{first.Hosts[0].Name}
	g.Minimise = []string{"moves", "hosts"}
	again, err := placement.Solve(f, g)
	if err != nil {
		t.Fatal(err)
	}
	for n, finding := range check.Plan(f, again) {
		if n < 3 {
			t.Error(finding)
		}
	}
	had := mustMove(f, g)
	ratio := float64(again.Bytes()) / had
	t.Logf("FIGURE planning again: %.4f of the %s that had to move, %d hosts instead of %d", ratio, farm.RoundQuantity(had, farm.KindBytes), again.HostsUsed, first.HostsUsed)
	if had <= 0 || ratio > 1.2 || ratio < 1 {
		t.Errorf("copies %.3f times what had to move", ratio)
	}
}
