package act

import (
	"slices"
	"testing"

	"stowage/engine"
	"stowage/farm"
	"stowage/workspace"
)

// What another run has claimed, by its pair or by its host, does not keep the rest.
func TestClaimedLanesAreLeftOut(t *testing.T) {
	f := threePairs()
	for n, p := range f.Pairs {
		p.Sides[farm.B] = farm.Side{Host: farm.HostName("twin" + p.Name[1:])}
		f.Pairs[n] = p
	}
	job := engine.Job{Lanes: []engine.Lane{laneOf("p1", "host old1"), laneOf("p2", "host old2"), laneOf("p3", "host old3")}}
	all := []workspace.Claim{{Run: "move", Pairs: []farm.PairName{"p2"}}, {Run: "roll", Hosts: []farm.HostName{"twin3"}}}
	free, left := apart(job, all, f)
	if len(free) != 1 || free[0].Name != "p1" {
		t.Errorf("free: %v", free)
	}
	if !slices.Equal(left, []Left{{"p2", "move"}, {"p3", "roll"}}) {
		t.Errorf("left out: %v", left)
	}
	if free, left := apart(job, []workspace.Claim{{Run: "all", Whole: true}}, f); len(free) != 0 || len(left) != 3 {
		t.Errorf("of a farm that is claimed: %v, %v", free, left)
	}
}
