package act

import (
	"testing"
	"time"

	"stowage/farm"
)

func TestWritePausesAreThoseOfSwitchovers(t *testing.T) {
	b := NewBoard()
	for _, e := range []farm.Event{
		{Kind: farm.GateOpened, Step: "out", Millis: 500},
		{Kind: farm.GateOpened, Step: "cutover", Millis: 30},
		{Kind: farm.GateOpened, Step: "cutover", Millis: 40},
		{Kind: farm.GateOpened, Step: "cutover", Millis: 90},
	} {
		b.Apply(e)
	}
	if w := b.WritePauses(); w == nil || *w != (WritePauses{3, 40, 90, 90}) {
		t.Errorf("write pauses %+v", w)
	}
	if w := NewBoard().WritePauses(); w != nil {
		t.Errorf("of a run without switchovers: %+v", w)
	}
}

// What is counted has the name of its parts: a host that is rolled is no side.
func TestPartsAreCountedByTheirName(t *testing.T) {
	part := func(host farm.HostName, pair farm.PairName, side farm.SideName, shard farm.ShardName, done bool) []farm.Event {
		e := farm.Event{Host: host, Pair: pair, Side: side, Shard: shard, Kind: farm.StepStarted, Number: 1, Of: 1}
		if !done {
			return []farm.Event{e}
		}
		end := e
		end.Kind = farm.StepDone
		end.Time = time.Unix(1, 0)
		return []farm.Event{e, end}
	}
	for _, tt := range []struct {
		kind   Kind
		events [][]farm.Event
		done   string
		atWork int
	}{
		{Kind{Name: "roll", Part: "host"}, nil, "0 hosts", 0},
		{Kind{Name: "roll", Part: "host"}, [][]farm.Event{part("db1", "", "", "", true), part("db2", "p1", farm.A, "", false)}, "1 host", 1},
		{Kind{Name: "alter", Part: "change"}, [][]farm.Event{part("", "p1", farm.A, "", true), part("", "p2", farm.A, "", true)}, "2 changes", 0},
		{Kind{Name: "side"}, [][]farm.Event{part("", "p1", farm.A, "", true)}, "1 side", 0},
		{Kind{Name: "move"}, [][]farm.Event{part("", "p1", "", "", true), part("", "p2", "", "", false)}, "1 pair", 1},
		{Kind{Name: "move"}, [][]farm.Event{part("", "p1", "", "", true), part("", "", "", "s1", true), part("", "", "", "s2", false)}, "1 shard", 1},
	} {
		b := NewBoard()
		for _, events := range tt.events {
			for _, e := range events {
				b.Apply(e)
			}
		}
		if done, atWork := b.Counted(tt.kind); done != tt.done || atWork != tt.atWork {
			t.Errorf("%s: %s done, %d at work; want %s, %d", tt.kind.Name, done, atWork, tt.done, tt.atWork)
		}
	}
}
