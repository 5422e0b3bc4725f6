package decide_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stowage/bench/decide"
)

const (
	reads  = "RND16K-R-Q8T4"
	writes = "RND16K-W-Q8T4"
)

// figures that drawn candidates have, by name and step.
var drawn = []decide.Key{{What: "iops", Step: reads}, {What: "iops", Step: writes}, {What: "p99", Step: reads}, {What: "commits", Step: decide.Commits}, {What: "price"}, {What: "watts"}, {What: "tbw"}, {What: "afr"}}

// drawDecision is a decision in which everything is known, without limits.
func drawDecision(t *rapid.T, candidates int) decide.Decision {
	weight := func(name string) float64 { return float64(rapid.IntRange(1, 9).Draw(t, "weight of "+name)) }
	goal := func(figure, step string) decide.Goal {
		return decide.Goal{Figure: figure, Step: step, Weight: weight(figure + step)}
	}
	d := decide.Decision{
		Title: "drawn", Workload: decide.Workload{Writes: decide.Exactly(2e11, ""), Amplification: decide.Exactly(1.2, "")},
		Aspects: []decide.Aspect{
			{Name: decide.Fast, Weight: weight("fast"), Goals: []decide.Goal{goal("iops", reads), goal("iops", writes), goal("p99", reads)}},
			{Name: decide.Priced, Weight: weight("priced"), Goals: []decide.Goal{goal("price", ""), goal("commits per price", decide.Commits), goal("price per GB", ""), goal("watts", "")}},
			{Name: decide.Safe, Weight: weight("safe"), Goals: []decide.Goal{goal("endurance", ""), goal("yearly loss", "")}},
		},
	}
	for i := range candidates {
		c := decide.Candidate{Name: string(rune('a' + i)), Figures: map[decide.Key]decide.Figure{
			{What: "capacity"}: decide.Exactly(1e12, ""), {What: "rebuild_rate"}: decide.Exactly(1e8, ""),
		}}
		c.Array = rapid.SampledFrom([]decide.Array{{decide.None, 1}, {decide.RAID1, 2}, {decide.RAID5, 4}, {decide.RAID6, 6}, {decide.RAID10, 4}}).Draw(t, "array")
		for _, k := range drawn {
			v := math.Exp(rapid.Float64Range(2, 8).Draw(t, k.String()))
			if k.What == "afr" {
				v = rapid.Float64Range(0.001, 0.1).Draw(t, "afr")
			}
			c.Figures[k] = decide.Claimed(v, decide.Sheet, "drawn")
		}
		d.Candidates = append(d.Candidates, c)
	}
	return d
}

// clone gives every candidate figures of its own.
func clone(d decide.Decision) decide.Decision {
	d.Candidates = slices.Clone(d.Candidates)
	for i := range d.Candidates {
		figures := map[decide.Key]decide.Figure{}
		for k, f := range d.Candidates[i].Figures {
			figures[k] = f
		}
		d.Candidates[i].Figures = figures
	}
	d.Aspects = slices.Clone(d.Aspects)
	for i := range d.Aspects {
		d.Aspects[i].Goals = slices.Clone(d.Aspects[i].Goals)
	}
	return d
}

// TestCurrencyDoesNotMatter: the same prices in another currency change neither order nor leads.
func TestCurrencyDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDecision(t, 4)
		other := clone(d)
		rate := rapid.Float64Range(0.01, 100).Draw(t, "rate")
		for i := range other.Candidates {
			f := other.Candidates[i].Figures[decide.Key{What: "price"}]
			f.Value *= rate
			other.Candidates[i].Figures[decide.Key{What: "price"}] = f
		}
		if a, b := decide.Order(d), decide.Order(other); !slices.Equal(a, b) {
			t.Fatalf("%v in one currency, %v in another", a, b)
		}
		if a, b := decide.By(d, 0, 1), decide.By(other, 0, 1); math.Abs(a/b-1) > 1e-9 {
			t.Fatalf("a lead is %v in one currency, %v in another", a, b)
		}
	})
}

// TestDominatedNeverWins, whatever the weights are, and whoever is named first.
func TestDominatedNeverWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDecision(t, 3)
		worse := clone(d).Candidates[0]
		worse.Name = "worse"
		k := rapid.SampledFrom(drawn).Draw(t, "worse in")
		f := worse.Figures[k]
		if factor := rapid.Float64Range(1.0001, 3).Draw(t, "by"); k.What == "iops" || k.What == "commits" || k.What == "tbw" {
			f.Value /= factor
		} else {
			f.Value *= factor
		}
		worse.Figures[k] = f
		if rapid.Bool().Draw(t, "enough") { // both may have enough, and be worth the same
			enough := 1.0
			d.Aspects[0].Goals[0].Enough = &enough
		}
		d.Candidates = append([]decide.Candidate{worse}, d.Candidates...)
		o := decide.Briefly(d)
		if o.Ahead == "worse" {
			t.Fatalf("ahead is the one that is worse than %s in %s and better in nothing", d.Candidates[1].Name, k)
		}
		// Named: worse in nothing than it, and better in something, unless both have the same of what differs (an array that needs no rebuild).
		if !slices.ContainsFunc(o.Dominance, func(x decide.Dominance) bool { return x.Better == "a" && x.Worse == "worse" }) {
			t.Fatalf("not said: a dominates worse (%v)", o.Dominance)
		}
	})
}

// TestFurtherCandidateReversesNothing: two stand to each other as they do, whoever else is there.
func TestFurtherCandidateReversesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDecision(t, 5)
		few := clone(d)
		few.Candidates = few.Candidates[:3]
		var kept []string
		for _, name := range decide.Order(d) {
			if name <= "c" {
				kept = append(kept, name)
			}
		}
		if got := decide.Order(few); !slices.Equal(got, kept) {
			t.Fatalf("%v alone, %v among others", got, kept)
		}
	})
}

// TestFlipsFlip: beyond the weight that it names, the one that it names is ahead; short of it, the one that was.
func TestFlipsFlip(t *testing.T) {
	flips := 0
	rapid.Check(t, func(t *rapid.T) {
		d := drawDecision(t, 3)
		o := decide.Judge(d)
		for _, f := range o.Sensitive.Weights {
			flips++
			beyond, short := f.At*(1+1e-7), f.At*(1-1e-7)
			if f.At < f.Weight {
				beyond, short = short, beyond
			}
			if got := decide.Ahead(withWeight(t, d, f.Of, beyond)); got != f.Winner {
				t.Fatalf("%s at %v: ahead is %s, said was %s", f.Of, beyond, got, f.Winner)
			}
			if got := decide.Ahead(withWeight(t, d, f.Of, short)); got != o.Ahead {
				t.Fatalf("%s at %v: ahead is %s, and was %s", f.Of, short, got, o.Ahead)
			}
		}
	})
	if flips == 0 {
		t.Error("no weight flipped anything: nothing was tested")
	}
}

func withWeight(t *rapid.T, d decide.Decision, of string, w float64) decide.Decision {
	d = clone(d)
	for i := range d.Aspects {
		a := &d.Aspects[i]
		if decide.AspectTitle(a.Name) == of {
			a.Weight = w
			return d
		}
		for k := range a.Goals {
			if decide.AspectTitle(a.Name)+": "+a.Goals[k].Name() == of {
				a.Goals[k].Weight = w
				return d
			}
		}
	}
	t.Fatalf("there is no weight of %s", of)
	return d
}

// TestTurnsTurn: at the value that it names, the one that it names is ahead; short of it, the one that was.
func TestTurnsTurn(t *testing.T) {
	turns := 0
	rapid.Check(t, func(t *rapid.T) {
		d := drawDecision(t, 3)
		o := decide.Judge(d)
		for _, x := range append(o.Sensitive.Prices, o.Sensitive.Figures...) {
			turns++
			set := func(v float64) string {
				next := clone(d)
				for _, c := range next.Candidates {
					if c.Name == x.Candidate {
						c.Figures[decide.Key{What: x.What, Step: x.Step}] = decide.Exactly(v, "")
					}
				}
				return decide.Ahead(next)
			}
			beyond, short := x.At*(1+1e-7), x.At*(1-1e-7)
			if x.Below {
				beyond, short = short, beyond
			}
			if got := set(beyond); got != x.Winner {
				t.Fatalf("%s of %s at %v: ahead is %s, said was %s", x.Figure, x.Candidate, beyond, got, x.Winner)
			}
			if got := set(short); got != o.Ahead {
				t.Fatalf("%s of %s at %v: ahead is %s, and was %s", x.Figure, x.Candidate, short, got, o.Ahead)
			}
		}
	})
	if turns == 0 {
		t.Error("no figure turned anything: nothing was tested")
	}
}

// TestMayBeOffIsWhatDoubtBears: with that much doubt, or a little less, there is a winner; with a little more there is none.
func TestMayBeOffIsWhatDoubtBears(t *testing.T) {
	leads := 0
	rapid.Check(t, func(t *rapid.T) {
		d := drawDecision(t, 2)
		o := decide.Briefly(d)
		if o.Verdict != decide.Inconclusive {
			t.Fatalf("%s by figures that nothing bounds", o.Verdict)
		}
		if len(o.Leads) != 1 || o.Leads[0].OffBy == nil {
			return
		}
		leads++
		for shift, want := range map[float64]decide.Verdict{0.9999: decide.Winner, 1.0001: decide.Inconclusive} {
			doubted := clone(d)
			doubted.Doubt = decide.Doubt{decide.Sheet: (*o.Leads[0].OffBy - 1) * shift}
			if got := decide.Briefly(doubted).Verdict; got != want {
				t.Fatalf("doubt of %v: %s, want %s", doubted.Doubt, got, want)
			}
		}
	})
	if leads == 0 {
		t.Error("nobody led: nothing was tested")
	}
}

// TestUnknownIsNotNothing: a figure that is missing is null, passes no limit, and keeps its owner from being overtaken or named.
func TestUnknownIsNotNothing(t *testing.T) {
	limit := 1000.0
	d := decide.Decision{
		Title:   "unknown",
		Aspects: []decide.Aspect{{Name: decide.Fast, Weight: 1, Goals: []decide.Goal{{Figure: "iops", Step: reads, Weight: 1}}}, {Name: decide.Priced, Weight: 1, Goals: []decide.Goal{{Figure: "price", Weight: 1, Limit: &limit}}}},
		Candidates: []decide.Candidate{
			{Name: "quick", Figures: map[decide.Key]decide.Figure{{What: "iops", Step: reads}: decide.Exactly(9000, "")}},
			{Name: "cheap", Figures: map[decide.Key]decide.Figure{{What: "iops", Step: reads}: decide.Exactly(3000, ""), {What: "price"}: decide.Exactly(500, "")}},
			{Name: "dear", Figures: map[decide.Key]decide.Figure{{What: "iops", Step: reads}: decide.Exactly(90000, ""), {What: "price"}: decide.Exactly(1500, "")}},
		},
	}
	o := decide.Judge(d)
	if o.Verdict != decide.Inconclusive || o.Ahead != "quick" || o.Winner != "" {
		t.Errorf("%s, ahead %q, winner %q: a price that nobody knows decides nothing", o.Verdict, o.Ahead, o.Winner)
	}
	quick, dear := o.Candidates[0], o.Candidates[2]
	if quick.Out || len(quick.NotShown) != 1 || quick.Figures[1].Value != nil || quick.Figures[1].Why == "" {
		t.Errorf("quick: %+v", quick)
	}
	if !dear.Out || len(dear.Failed) != 1 || dear.Failed[0].By != 1.5 || !strings.Contains(dear.Failed[0].Text, "50 % too much") || dear.Place != 0 {
		t.Errorf("dear: %+v", dear)
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `{"goal":"price","value":null,"low":null,"high":null,"why":"price is not known"}`) {
		t.Errorf("the unknown price is not null: %s", text)
	}
	// The price at which quick is overtaken: three times as fast is worth three times the price.
	if p := o.Sensitive.Prices; len(p) == 0 || p[0].Candidate != "quick" || p[0].Value != nil || math.Abs(p[0].At-1000) > 0.1 {
		t.Errorf("prices that turn it: %+v", p) // beyond 1000, the limit, it is out; beyond 1500 cheap would be ahead
	}
	// Known, and dear enough, and within the limit.
	d.Candidates[0].Figures[decide.Key{What: "price"}] = decide.Exactly(900, "")
	if o := decide.Judge(d); o.Verdict != decide.Winner || o.Winner != "quick" {
		t.Errorf("%s %s: quick is three times as fast for less than twice the price", o.Verdict, o.Winner)
	}
	// Nobody holds it.
	none := 100.0
	d.Aspects[1].Goals[0].Limit = &none
	if o := decide.Judge(d); o.Verdict != decide.NobodyLeft || o.Ahead != "" || len(o.Leads) != 0 {
		t.Errorf("%s, ahead %q", o.Verdict, o.Ahead)
	}
}

// TestIntervalsAreCarriedThrough: two that overlap are not distinguished, two that do not are; those that are surely near are the same.
func TestIntervalsAreCarriedThrough(t *testing.T) {
	judge := func(a, b, half float64) *decide.Outcome {
		figure := func(v float64) map[decide.Key]decide.Figure {
			return map[decide.Key]decide.Figure{{What: "iops", Step: reads}: {Value: v, Low: v * (1 - half), High: v * (1 + half), Basis: decide.Measured}}
		}
		return decide.Judge(decide.Decision{
			Aspects:    []decide.Aspect{{Name: decide.Fast, Weight: 1, Goals: []decide.Goal{{Figure: "iops", Step: reads, Weight: 1}}}},
			Candidates: []decide.Candidate{{Name: "a", Figures: figure(a)}, {Name: "b", Figures: figure(b)}},
		})
	}
	for _, tt := range []struct {
		a, b, half float64
		want       decide.Verdict
	}{
		{1000, 800, 0.02, decide.Winner}, {1000, 900, 0.05, decide.Inconclusive}, {1000, 940, 0.01, decide.Inconclusive},
		{1000, 990, 0.01, decide.Same}, {1000, 1000, 0.3, decide.Inconclusive},
	} {
		o := judge(tt.a, tt.b, tt.half)
		if o.Verdict != tt.want || (o.Winner != "") != (tt.want == decide.Winner) {
			t.Errorf("%v against %v, +-%v: %s %q, want %s", tt.a, tt.b, tt.half, o.Verdict, o.Winner, tt.want)
		}
		var b strings.Builder
		if err := o.WriteText(&b); err != nil || !strings.Contains(b.String(), o.Headline()) {
			t.Errorf("%v: the text is %q", err, b.String())
		}
	}
}

// TestClaimsAreMarked in the text, wherever they stand, and what is reckoned from them too.
func TestClaimsAreMarked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDecision(t, 2)
		for i := range d.Candidates {
			d.Candidates[i].Figures[decide.Key{What: "price"}] = decide.Exactly(1000, "")
		}
		o := decide.Briefly(d)
		for _, c := range o.Candidates {
			for k, f := range c.Figures {
				got, want := f.Basis, decide.Sheet
				if o.Goals[k].Figure == "price" || o.Goals[k].Figure == "price per GB" {
					want = decide.Given
				}
				if got != want || strings.Contains(o.Show(o.Goals[k], f), "[sheet]") != (want == decide.Sheet) {
					t.Fatalf("%s: %s is %s, shown as %q", c.Name, f.Goal, got, o.Show(o.Goals[k], f))
				}
			}
		}
	})
}

func ExampleOutcome_WriteText() {
	limit := 1.0
	figures := func(iops, price float64) map[decide.Key]decide.Figure {
		return map[decide.Key]decide.Figure{
			{What: "iops", Step: reads}: {Value: iops, Low: iops * 0.97, High: iops * 1.03, Basis: decide.Measured, Source: "result.json"},
			{What: "price"}:             decide.Exactly(price, ""), {What: "capacity"}: decide.Exactly(1e12, ""), {What: "rebuild_rate"}: decide.Exactly(1e8, ""),
			{What: "afr"}: decide.Claimed(0.01, decide.Sheet, "data sheet of the maker"),
		}
	}
	o := decide.Judge(decide.Decision{
		Title: "Which disks?", Currency: "EUR",
		Aspects: []decide.Aspect{
			{Name: decide.Fast, Weight: 2, Goals: []decide.Goal{{Figure: "iops", Step: reads, Weight: 1}}},
			{Name: decide.Priced, Weight: 1, Goals: []decide.Goal{{Figure: "price", Weight: 1}}},
			{Name: decide.Safe, Weight: 1, Goals: []decide.Goal{{Figure: "survives", Limit: &limit}}},
		},
		Candidates: []decide.Candidate{
			{Name: "mirror", Figures: figures(40000, 2000), Array: decide.Array{Level: decide.RAID1, Devices: 2}},
			{Name: "striped", Figures: figures(80000, 2000), Array: decide.Array{Level: decide.RAID0, Devices: 2}},
			{Name: "four", Figures: figures(70000, 4000), Array: decide.Array{Level: decide.RAID10, Devices: 4}},
		},
	})
	var b strings.Builder
	_ = o.WriteText(&b)
	fmt.Print(b.String())
	// Output:
	// Which disks?
	//
	// WINNER: four
	//   - four is worth 15 % more than mirror, at least 11 %
	//
	//                                         mirror         striped            four
	// fast
	//   iops of RND16K-R-Q8T4 (67 %)  40,000 +-3.1 %  80,000 +-3.1 %  70,000 +-3.1 %
	// reasonably priced
	//   price (33 %)                       2,000 EUR       2,000 EUR       4,000 EUR
	// reasonably safe
	//   survives, at least 1 (-)                   1               0               1
	// worth                                     0.87               -               1
	// hard limits                               hold             OUT            hold
	//
	// Out
	//   - striped: survives is 0, at least 1 wanted
	//
	// What one lost device costs
	//   - mirror: 2 devices, RAID 1; no data; 50 % of random reads and 100 % of small writes are left
	//     meanwhile; exposed for 2.78 h; data is lost in that time with 3e-04 % [sheet]; within a year
	//     with 6e-06 % [sheet]
	//   - striped: 2 devices, RAID 0; all data; within a year with 2 % [sheet]
	//   - four: 4 devices, RAID 10; no data; 50 % of random reads and 100 % of small writes are left
	//     meanwhile; exposed for 2.78 h; data is lost in that time with 3e-04 % [sheet]; within a year
	//     with 1e-05 % [sheet]
	//
	// What would change it
	//   - weight of fast, now 2: below 1.24 it is mirror
	//   - weight of reasonably priced, now 1: above 1.61 it is mirror
	//   - price of mirror, now 2,000 EUR: at 1,306 EUR or less it is mirror (35 % less)
	//   - price of four, now 4,000 EUR: at 6,125 EUR or more it is mirror (53 % more)
	//   - IOPS of RND16K-R-Q8T4 of mirror, now 40,000: at 49,497 or more it is mirror (24 % more)
	//   - IOPS of RND16K-R-Q8T4 of four, now 70,000: at 56,569 or less it is mirror (19 % less)
	//
	// Taken to be so
	//   - devices fail independently of each other, at a constant rate: probabilities of loss are that
	//     much at least
	//
	// Marks
	//   - [sheet] a data sheet claims it, or something that it is reckoned from
}
