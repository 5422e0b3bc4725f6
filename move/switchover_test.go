package move

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"stowage/farm"
	"stowage/placement"
	"stowage/swing"
)

// The replica goes first, whatever the plan's waves say, and the primary is
// seeded from where the replica lives by then.
func TestJobOfAPairWithOneWriter(t *testing.T) {
	f := &farm.Farm{
		Hosts: []farm.Host{{Name: "h1", Address: "10.0.0.1"}, {Name: "h2", Address: "10.0.0.2"}, {Name: "h3", Address: "10.0.0.3"}, {Name: "h4", Address: "10.0.0.4"}},
		Pairs: []farm.Pair{
			{Name: "p", Topology: farm.PrimaryReplica, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "h1", Port: 3306, Datadir: "a"}, farm.B: {Host: "h2", Port: 3306, Datadir: "b"}}},
			{Name: "q", Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "h1", Port: 3307, Datadir: "c"}, farm.B: {Host: "h2", Port: 3307, Datadir: "d"}}},
			{Name: "r", Topology: farm.PrimaryReplica, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "h1", Port: 3309}, farm.B: {Host: "h2", Port: 3309}, "C": {Host: "h3", Port: 3309}}},
			{Name: "s", Topology: farm.Single, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "h1", Port: 3308, Datadir: "e"}}},
		},
	}
	to := func(host farm.HostName, address string) placement.Place {
		return placement.Place{Host: host, Address: address, Port: 3306, Datadir: "n"}
	}
	job, err := NewJob("j", []placement.Move{
		{Wave: 1, Stage: 1, Pair: "p", Side: farm.A, To: to("h3", "10.0.0.3")},
		{Wave: 2, Stage: 1, Pair: "p", Side: farm.B, To: to("h4", "10.0.0.4")},
		{Wave: 1, Stage: 1, Pair: "q", Side: farm.A, To: to("h3", "10.0.0.3")},
		{Wave: 1, Stage: 1, Pair: "s", Side: farm.A, To: to("h4", "10.0.0.4")},
		{Wave: 1, Stage: 1, Pair: "r", Side: farm.A, To: to("h4", "10.0.0.4")},
		{Wave: 1, Stage: 1, Pair: "r", Side: "C", To: to("h4", "10.0.0.5")},
	}, f, 2)
	if err != nil {
		t.Fatal(err)
	}
	type short struct{ subject, book, source, twin, other string }
	var got []short
	for _, l := range job.Lanes {
		for _, p := range l.Parts {
			var o successionOrder
			if err := json.Unmarshal(p.Args, &o); err != nil {
				t.Fatal(err)
			}
			x := short{p.Subject, o.Runbook, string(o.Source.Host), string(o.Twin.Host), ""}
			for _, other := range o.Others {
				x.other += other.Address + " "
			}
			got = append(got, x)
		}
	}
	want := []short{
		{"p/B", Replica, "h2", "h1", ""},
		{"p/A", Switchover, "h4", "h1", "10.0.0.4:3306 "},
		{"q/A", Replace, "", "h2", ""},
		{"s/A", Switchover, "h1", "h1", ""},
		{"r/C", Replica, "h3", "h1", ""},
		{"r/A", Switchover, "h2", "h1", "10.0.0.2:3309 10.0.0.5:3306 "},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("parts:\n%v\nwant\n%v", got, want)
	}
}

func TestSwitchoverHasThePhasesOfItsModel(t *testing.T) {
	book, _ := ByName(Switchover)
	step, n := book.Step("cutover")
	if n == 0 || !slices.Equal(step.Phases, swing.CutoverPhases) {
		t.Errorf("phases of cutover: %v", step.Phases)
	}
	for _, name := range []string{Switchover, Replica} {
		book, _ := ByName(name)
		for i, s := range book.Steps {
			if last := i == len(book.Steps)-1; s.NoReturn != last {
				t.Errorf("%s: step %s is behind the point of no return: %v", name, s.Name, s.NoReturn)
			}
		}
	}
}
