package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/placement"
)

// TestNoTileIsAloneInItsRow: six tiles stood as five and one.
func TestNoTileIsAloneInItsRow(t *testing.T) {
	for n := 2; n <= 20; n++ {
		columns := StripColumns(n)
		if columns > 5 || n%columns == 1 {
			t.Errorf("%d tiles in %d columns", n, columns)
		}
	}
	if got := page(t, inventFacts(t, demoSize)); !strings.Contains(got, `<div class="strip of5"`) {
		t.Error("ten tiles are not two rows of five")
	}
}

// TestHostsHaveTheirNamesWhereThereIsRoom: pictures named hosts "1", "2" and "01".
func TestHostsHaveTheirNamesWhereThereIsRoom(t *testing.T) {
	f, g := planFarm()
	p, err := placement.Solve(f, g)
	if err != nil {
		t.Fatal(err)
	}
	c := newCensus(PlanFacts{Plan: p, Now: f})
	for _, panel := range []panel{c.picture(c.before, c.after).Before, c.picture(c.before, c.after).After} {
		for _, b := range panel.Boxes {
			if !strings.HasPrefix(b.Title, b.Name+" ") {
				t.Errorf("%s: a host is called %q in a box of %v", b.Title, b.Name, b.W)
			}
		}
	}
	chart := ruleChart([]*ruleRow{{rule: "DB-X", hosts: map[string]farm.Severity{}}}, f)
	if got := chart.XTicks[0].Text; got != string(f.Hosts[0].Name) {
		t.Errorf("the first host of the rules is called %q", got)
	}
	grid := RollFacts{Hosts: []RollHost{{Name: "db001", Stand: RollDone}, {Name: "db002", Stand: RollDone}}}.racks()
	if got := grid[0].Hosts[1].Short; got != "db002" {
		t.Errorf("a small cell calls the host %q", got)
	}
	if got := labels([]string{"dbshard-host-017", "dbshard-host-018"}, denseLetters)("dbshard-host-017"); got != "017" {
		t.Errorf("a name without room is cut to %q", got)
	}
}

// TestNamesOfMarksAreApart: p95 and p99 were printed over each other.
func TestNamesOfMarksAreApart(t *testing.T) {
	for name, waits := range map[string][]float64{
		"one place": {10, 20, 30, 100}, "near": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, "all alike": {5, 5, 5, 5}, "at the right end": {1, 1, 1, 1000},
		"at the left end": {1, 1.1, 1.2, 1000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
	} {
		p := newPauses(Facts{Proof: &Proof{Pauses: waits}}).Groups[0].Picture
		all := ""
		for i, m := range p.Marks {
			half := sharesLetter * float64(len(m.Text)) / 2
			if m.LX-half < p.X0-0.1 || m.LX+half > p.X1+0.1 || m.LY < 10 {
				t.Errorf("%s: %q leaves the picture at %v, %v", name, m.Text, m.LX, m.LY)
			}
			for _, o := range p.Marks[:i] {
				if o.LY == m.LY && math.Abs(o.LX-m.LX) < half+sharesLetter*float64(len(o.Text))/2 {
					t.Errorf("%s: %q at %v is printed over %q at %v", name, m.Text, m.LX, o.Text, o.LX)
				}
			}
			all += m.Text + " "
		}
		for _, q := range []string{"p50", "p95", "p99"} {
			if !strings.Contains(all, q) {
				t.Errorf("%s: %s has no name: %q", name, q, all)
			}
		}
	}
}

// TestPausesPictureHasEveryColumn: the bars add up to all pauses, and a pointer finds the figures of the table everywhere.
func TestPausesPictureHasEveryColumn(t *testing.T) {
	for _, g := range newPauses(inventFacts(t, demoSize)).Groups {
		p := g.Picture
		if len(p.Columns) != len(g.Bins) || p.Columns[0].X != p.X0 {
			t.Fatalf("%s: %d columns of %d", g.ID, len(p.Columns), len(g.Bins))
		}
		sum, end := 0.0, p.X0
		for i, c := range p.Columns {
			if b := g.Bins[i]; !strings.HasPrefix(c.Title, fmt.Sprintf("%s to %s ms: %d of ", b.From, b.To, b.N)) || math.Abs(c.X-end) > 0.2 {
				t.Errorf("%s: column %d at %v says %q", g.ID, i, c.X, c.Title)
			}
			end = c.X + c.W
		}
		top := 4 * quarter(most(g)/float64(g.Count))
		for _, b := range p.Bars {
			sum += b.H / (p.Y1 - p.Y0) * top
		}
		if math.Abs(sum-1) > 0.02 || math.Abs(end-p.X1) > 0.5 || !strings.HasSuffix(p.Path, fmt.Sprintf("V%gH%g", p.Y0, p.X1)) {
			t.Errorf("%s: bars add up to %v, columns end at %v of %v, the line ends %s", g.ID, sum, end, p.X1, p.Path[max(0, len(p.Path)-20):])
		}
	}
}

// TestAxesOfSharesEndAtRoundShares: where all calls stand in one column the axis ended at 200 %.
func TestAxesOfSharesEndAtRoundShares(t *testing.T) {
	for most, want := range map[float64]float64{1: 1, 0.9: 1, 0.4: 0.4, 0.41: 0.6, 0.05: 0.06, 0.0031: 0.004, 0: 1} {
		if got := 4 * quarter(most); math.Abs(got-want) > 1e-9 {
			t.Errorf("an axis for %v ends at %v, want %v", most, got, want)
		}
	}
}

func most(g pauseGroup) float64 {
	n := 0
	for _, b := range g.Bins {
		n = max(n, b.N)
	}
	return float64(n)
}

// TestAProvedPlanIsNotRed: beside a blocker among the risks, "Proved optimal. No plan for these goals uses fewer" was printed as an alarm.
func TestAProvedPlanIsNotRed(t *testing.T) {
	f, g := planFarm()
	p, err := placement.Solve(f, g)
	if err != nil {
		t.Fatal(err)
	}
	facts := PlanFacts{Plan: p, Now: f}
	d := NewPlanDocument(facts)
	for i := range d.Sections {
		if d.Sections[i].ID == "risks" {
			d.Sections[i].Findings = append(d.Sections[i].Findings, farm.Finding{Severity: farm.Blocker, Text: "no room for growth"})
		}
	}
	piece, err := d.Piece()
	if err != nil {
		t.Fatal(err)
	}
	text := paper(t, d.WriteHTML)
	if piece.IsBad || strings.Contains(text, "lead bad") || !strings.Contains(text, "no room for growth") {
		t.Errorf("the verdict %q %q is an alarm for what is among the risks", d.Verdict, d.Lead)
	}
	facts.Plan.HostsUsed-- // the checker refuses that
	wrong := NewPlanDocument(facts)
	if piece, err = wrong.Piece(); err != nil || !piece.IsBad || !strings.Contains(paper(t, wrong.WriteHTML), "lead bad") {
		t.Errorf("a wrong plan is no alarm: %q %v", wrong.Verdict, err)
	}
}

// TestStepsOfASingleServer: "both sides serve" stood beside every step of a pair that has one.
func TestStepsOfASingleServer(t *testing.T) {
	told := func(pair farm.PairName, shard farm.ShardName) []farm.Event {
		var out []farm.Event
		for i, step := range []string{"seed", "cutover", "soak"} {
			for j, kind := range []farm.EventKind{farm.StepStarted, farm.StepDone} {
				out = append(out, farm.Event{Pair: pair, Side: farm.A, Shard: shard, Kind: kind, Step: step, Number: i + 1, Of: 3, Time: at(float64(2*i + j))})
			}
		}
		return out
	}
	now := &farm.Farm{Pairs: []farm.Pair{{Name: "one", Topology: farm.Single}, {Name: "set", Topology: farm.PrimaryReplica}}}
	for _, c := range []struct {
		name  string
		f     Facts
		wants []string
	}{
		{"single", Facts{Now: now, Events: told("one", "")}, []string{"the one server serves", "held for a moment", "the one server serves, on its new host"}},
		{"primary", Facts{Now: now, Events: told("set", "")}, []string{"primary and replica serve", "writes held for a moment", "new side serves"}},
		{"shard", Facts{Now: now, Events: told("set", "orders")}, []string{"the old pair serves", "held for a moment", "the new pair serves"}},
		{"not known", Facts{Events: told("gone", "")}, []string{"served as before", "held for a moment", "new side serves"}},
		{"both", Facts{Now: now, Events: append(told("one", ""), told("set", "")...)}, []string{"the one server serves; primary and replica serve"}},
	} {
		tl := newTimeline(c.f, clock{at(0).Location()})
		for i, want := range c.wants {
			if got := tl.Steps[i].Clients; got != want {
				t.Errorf("%s: during %s %q, want %q", c.name, tl.Steps[i].Step, got, want)
			}
		}
		for _, k := range tl.Keys {
			if strings.Contains(k.Text, "both") || strings.Contains(k.Text, "twin") {
				t.Errorf("%s: the legend says %q", c.name, k.Text)
			}
		}
	}
	acts := newActs(Facts{Now: now, Acts: []Act{{Run: "backup-1", Kind: "backup", Events: told("one", "")}}}, clock{at(0).Location()})
	if got := acts[0].Steps[0].Clients; got != "the one server serves" {
		t.Errorf("a backup of a single server: %q", got)
	}
}
