package move

import (
	"testing"

	"stowage/farm"
	"stowage/placement"
)

// TestFailedWayBackIsRefusedForItsServerIDs: an attempt that failed had spent them, and
// the plan that status named next was refused.
func TestFailedWayBackIsRefusedForItsServerIDs(t *testing.T) {
	at := func(host farm.HostName) placement.Place {
		return placement.Place{Host: host, Port: 3306, Datadir: "/srv/x/data"}
	}
	now := &farm.Farm{NextServerID: 40, Pairs: []farm.Pair{{Name: "p", Sides: map[farm.SideName]farm.Side{
		farm.A: {Host: "old", Port: 3306, Datadir: "/srv/x/data"}, farm.B: {Host: "new", Port: 3306, Datadir: "/srv/x/data"}}}}}
	p := placement.Plan{Name: "undo-first", NextServerID: 32, Basis: placement.Basis{NextServerID: 30}, Moves: []placement.Move{
		{Pair: "p", Side: farm.A, To: at("old"), ServerID: 30}, {Pair: "p", Side: farm.B, To: at("old2"), ServerID: 31}}}
	got := withFreshIDs(p, now)
	if got.Moves[0].ServerID != 30 || got.Moves[1].ServerID != 40 || got.NextServerID != 41 || got.Basis.NextServerID != 40 {
		t.Errorf("a way back of which side A is done: %+v", got)
	}
	if p.Moves[1].ServerID != 31 {
		t.Error("the plan as it was read has changed")
	}
}
