package report

import (
	"math"
	"testing"
	"time"

	"stowage/farm"
)

func at(s float64) time.Time { return began.Add(time.Duration(s * float64(time.Second))) }

// TestLaneOfAKilledMove: the process died in "compare" and the move was
// resumed.
func TestLaneOfAKilledMove(t *testing.T) {
	event := func(s float64, k farm.EventKind, step string) farm.Event {
		return farm.Event{Time: at(s), Pair: "dbshard001", Side: farm.A, Kind: k, Step: step}
	}
	failed := event(9, farm.StepFailed, "check")
	failed.Text = "gone away"
	gate := event(8, farm.GateOpened, "out")
	gate.Millis = 41
	lanes := readLanes([]farm.Event{
		{Time: at(0), Kind: farm.StepStarted, Step: "whole run"}, // of no side
		event(0, farm.StepStarted, "seed"), event(3, farm.StepDone, "seed"),
		event(3, farm.StepStarted, "compare"), event(4, farm.StepProgress, "compare"),
		event(6, farm.StepStarted, "compare"), event(7, farm.StepDone, "compare"),
		event(7, farm.StepStarted, "out"), gate, event(8.1, farm.StepDone, "out"),
		event(8.1, farm.StepStarted, "check"), failed,
		event(10, farm.StepStarted, "check"), event(11, farm.StepDone, "check"),
		event(11, farm.StepStarted, "in"), event(13, farm.StepDone, "in"),
		event(13, farm.StepStarted, "retire"),
	})
	if len(lanes) != 1 {
		t.Fatalf("%d lanes, want 1", len(lanes))
	}
	l := lanes[0]
	want := []struct {
		step       string
		tone       tone
		start, end float64
		open       bool
	}{
		{"seed", beside, 0, 3, false}, {"compare", beside, 3, 4, true}, {"compare", beside, 6, 7, false},
		{"out", alone, 7, 8.1, false}, {"check", alone, 8.1, 9, false}, {"check", alone, 10, 11, false}, {"in", alone, 11, 13, false},
		{"retire", past, 13, 13, true},
	}
	if len(l.Segments) != len(want) {
		t.Fatalf("%d segments, want %d: %+v", len(l.Segments), len(want), l.Segments)
	}
	for i, w := range want {
		s := l.Segments[i]
		if s.Step != w.step || s.Tone != w.tone || !s.Start.Equal(at(w.start)) || !s.End.Equal(at(w.end)) || s.Open != w.open {
			t.Errorf("segment %d is %+v, want %+v", i, s, w)
		}
	}
	if l.aloneFor() != 6*time.Second || l.failures() != 1 || len(l.Gates) != 1 || l.Gates[0].Millis != 41 {
		t.Errorf("alone for %v, %d failures, gates %v", l.aloneFor(), l.failures(), l.Gates)
	}
	if l.isDone() {
		t.Error("done, although retire is still open")
	}
}

func TestUndoneOutGivesTheSideBack(t *testing.T) {
	e := func(s float64, k farm.EventKind, step string) farm.Event {
		return farm.Event{Time: at(s), Pair: "p", Side: farm.B, Kind: k, Step: step}
	}
	lanes := readLanes([]farm.Event{
		e(0, farm.StepStarted, "out"), e(1, farm.StepFailed, "out"), e(2, farm.StepUndone, "out"), e(3, farm.StepStarted, "seed"), e(4, farm.StepDone, "seed"),
	})
	l := lanes[0]
	if l.Segments[1].Tone != beside || !l.Undone || l.isDone() || l.state() != "undone" {
		t.Errorf("lane %+v: after an undone out both sides serve again, and an undone lane is not done", l)
	}
}

// A side that is between two steps is not done: its last event says that a step is.
func TestLaneBetweenTwoStepsIsNotDone(t *testing.T) {
	events := []farm.Event{{Pair: "p", Side: farm.A, Kind: farm.StepStarted, Step: "seed", Number: 1, Of: 2, Time: at(0)}, {Pair: "p", Side: farm.A, Kind: farm.StepDone, Step: "seed", Time: at(1)}}
	if l := readLanes(events)[0]; l.state() != "not finished" {
		t.Errorf("after the first of two steps: %s", l.state())
	}
	events = append(events, farm.Event{Pair: "p", Side: farm.A, Kind: farm.StepStarted, Step: "in", Number: 2, Of: 2, Time: at(1)}, farm.Event{Pair: "p", Side: farm.A, Kind: farm.StepDone, Step: "in", Time: at(2)})
	if l := readLanes(events)[0]; l.state() != "done" {
		t.Errorf("after both: %s", l.state())
	}
}

// TestSharesAddUpToTheFill holds for every host in both pictures.
func TestSharesAddUpToTheFill(t *testing.T) {
	facts := inventFacts(t, demoSize)
	for name, now := range map[string]*farm.Farm{"needs known": facts.Now, "needs not known": nil} {
		s := newStowage(facts.Plan, now)
		before, after := s.before(), s.after()
		if len(before) != facts.Plan.HostsBefore || len(after) != facts.Plan.HostsUsed {
			t.Errorf("%s: %d and %d hosts, want %d and %d", name, len(before), len(after), facts.Plan.HostsBefore, facts.Plan.HostsUsed)
		}
		sides := 0
		for _, l := range append(before, after...) {
			sum := 0.0
			for _, x := range l.Sides {
				sum += x.Share
			}
			sides += len(l.Sides)
			if math.Abs(sum-l.Fill) > 1e-9 {
				t.Errorf("%s: %s: shares add up to %v, fill is %v", name, l.Name, sum, l.Fill)
			}
		}
		if want := 2 * len(facts.Plan.Assignments); sides != want {
			t.Errorf("%s: %d sides in both pictures, want %d", name, sides, want)
		}
	}
}

// TestOldHostsShowWhatBinds: 1.0 TB of a 2.2 TB disk binds, not the memory.
func TestOldHostsShowWhatBinds(t *testing.T) {
	facts := inventFacts(t, demoSize)
	l := newStowage(facts.Plan, facts.Now).before()[0]
	needs := facts.Now.Pairs[0].Needs()
	if l.Binding != "disk" || math.Abs(l.Fill-needs[farm.Disk]/2.2e12) > 1e-9 || l.Limit != 0.8 {
		t.Errorf("%+v, want disk at %v with limit 0.8", l, needs[farm.Disk]/2.2e12)
	}
}

func TestSlabsStayInTheirBox(t *testing.T) {
	for _, size := range []farmSize{{1, 1, 2}, demoSize, etsySize} {
		facts := inventFacts(t, size)
		for i := range facts.Now.Pairs { // and the same for shards so small that slabs must be lifted
			for j := range facts.Now.Pairs[i].Shards {
				if i%2 == 0 {
					facts.Now.Pairs[i].Shards[j].Needs = farm.Resources{farm.Disk: 1 << 20}
				}
			}
		}
		p := newPacking(facts)
		if !p.IsLifted {
			t.Errorf("%v: does not say that slabs are lifted", size)
		}
		for _, panel := range []panel{p.Before, p.After} {
			slabs := 0
			for _, b := range panel.Boxes {
				slabs += len(b.Slabs)
			}
			if slabs != len(facts.Plan.Assignments) {
				t.Errorf("%v: %d slabs %s, want %d", size, slabs, panel.ID, len(facts.Plan.Assignments))
			}
			for _, b := range panel.Boxes {
				if b.X < 0 || b.X+b.W > panel.Width+0.2 || b.CapY > panel.Height+0.2 || b.H < 10 {
					t.Errorf("%v: box %s leaves its panel, or is too low: %+v", size, b.Name, b)
				}
				for _, s := range b.Slabs {
					if s.Y < b.Y-0.2 || s.Y+s.H > b.Y+b.H+0.2 || s.H <= 0 {
						t.Errorf("%v: slab %s leaves host %s", size, s.Label, b.Name)
					}
				}
			}
		}
	}
}

func TestLowSlabsAreLiftedOnlyIntoRoomThereIs(t *testing.T) {
	l := load{Binding: "disk", Sides: []stowed{{Share: 0.97}, {Share: 0.001}, {Share: 0.001}}}
	sum := 0.0
	for _, h := range heights(l, 60) {
		sum += h
	}
	if sum > 60.001 {
		t.Errorf("slabs are %v high in a box of 60", sum)
	}
	if h := heights(load{Binding: "disk", Sides: []stowed{{Share: 0.0001}}}, 60); h[0] != leastHeight {
		t.Errorf("a lone low slab is %v high, want %v", h[0], leastHeight)
	}
}

func TestPausesBinEveryValueOnce(t *testing.T) {
	facts := inventFacts(t, demoSize)
	p := newPauses(facts)
	if len(p.Groups) != 2 {
		t.Fatalf("%d groups, want gates and waits", len(p.Groups))
	}
	for _, g := range p.Groups {
		n := 0
		for _, b := range g.Bins {
			n += b.N
		}
		if n != g.Count || g.Count == 0 {
			t.Errorf("%s: %d values in bins, %d values", g.ID, n, g.Count)
		}
		last := g.Chart.Ecdf[len(g.Chart.Ecdf)-1]
		if last[1] != 1 {
			t.Errorf("%s: the cumulative share ends at %v", g.ID, last[1])
		}
	}
	if p.Groups[1].Max != millis(facts.Proof.MaxPauseMillis) {
		t.Errorf("longest wait shown as %s", p.Groups[1].Max)
	}
}

func TestPausesWithoutSamplesStillShowTheQuantiles(t *testing.T) {
	p := newPauses(Facts{Proof: &Proof{PauseP50: 20, PauseP95: 80, PauseP99: 120, MaxPauseMillis: 131}})
	if g := p.Groups[0]; g.Count != 0 || g.P99 != "120 ms" || g.Max != "131 ms" {
		t.Errorf("%+v", g)
	}
}

func TestQuantileIsNearestRank(t *testing.T) {
	v := []float64{10, 20, 30, 40, 50, 60, 70, 80, 90, 100}
	for q, want := range map[float64]float64{0: 10, 0.5: 50, 0.51: 60, 0.95: 100, 1: 100} {
		if got := quantile(v, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	cet := clock{time.FixedZone("CET", 3600)}
	noon := time.Date(2026, 11, 21, 23, 30, 0, 0, time.UTC)
	for _, c := range []struct{ got, want string }{
		{whole(1234567), "1,234,567"}, {whole(999), "999"}, {whole(-1234), "-1,234"},
		{digits(0.617), "0.62"}, {digits(12.34), "12.3"}, {digits(123.4), "123"}, {digits(12345), "12,345"},
		{millis(250), "250 ms"}, {millis(12_500), "12.5 s"}, {latency(0.00041), "410 \u00b5s"}, {latency(0.0061), "6.10 ms"},
		{span(3200 * time.Millisecond), "3.2 s"}, {span(161 * time.Second), "2 min 41 s"}, {span(63 * time.Minute), "1 h 3 min"},
		{size(13_900_000_000_000), "13.9 TB"}, {size(12), "12 B"},
		{percent(0.75), "75\u00a0%"}, {percent(0.05), "5\u00a0%"}, {percent(0.015), "1.5\u00a0%"}, {percent(0.0001), "<\u20090.1\u00a0%"}, {percent(0), "0\u00a0%"},
		{fewer(24, 6, "fewer", "more"), "75\u00a0% fewer"}, {fewer(5, 5, "less", "more"), "as before"}, {fewer(2, 3, "less", "more"), "50\u00a0% more"},
		{cet.stamp(began), "2026-11-21 21:05:11 UTC (22:05:11 CET)"},
		{cet.stamp(noon), "2026-11-21 23:30:00 UTC (2026-11-22 00:30:00 CET)"},
		{clock{time.UTC}.stamp(began), "2026-11-21 21:05:11 UTC"},
		{count(1, "host"), "1 host"}, {count(2000, "host"), "2,000 hosts"},
		{brief([]string{"dbshard017a", "dbshard003b"})("dbshard017a"), "017a"}, {brief([]string{"only"})("only"), "only"}, {brief([]string{"a", "a"})("a"), "a"},
		{columnEdge(0), "0"}, {columnEdge(1), "2 \u00b5s"}, {columnEdge(10), "1.05 ms"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestAxisSteps(t *testing.T) {
	for _, c := range []struct{ got, want float64 }{
		{step(160, 30), 10}, {step(31, 30), 2}, {step(0, 30), 1}, {step(7, 7), 1}, {clockStep(43, 10), 5}, {clockStep(216, 10), 30}, {clockStep(864_000, 10), 86400},
	} {
		if c.got != c.want {
			t.Errorf("step %v, want %v", c.got, c.want)
		}
	}
}
