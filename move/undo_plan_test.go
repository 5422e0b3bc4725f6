package move

import (
	"path/filepath"
	"slices"
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

// What undo asks people to remove is where old files lie and a new instance is to be made, and nothing else.
func TestInTheWayIsWhatWasThere(t *testing.T) {
	path := func(p string) string { return filepath.Join("/farm", p) }
	place := func(datadir string) placement.Place {
		return placement.Place{Host: "db1", Datadir: datadir}
	}
	back := []placement.Move{{To: place("stowage/shopa/data")}}
	for _, c := range []struct {
		name string
		from placement.Place
		want []string
	}{
		{"the same directory", place("stowage/shopa/data"), []string{"/farm/stowage/shopa"}},
		{"files elsewhere", place("db1"), nil},
		{"a name that begins alike", place("stowage/shopab/data"), nil},
		{"another host", placement.Place{Host: "db2", Datadir: "stowage/shopa/data"}, nil},
	} {
		if got := inTheWay(path, back, []placement.Move{{From: c.from}}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
