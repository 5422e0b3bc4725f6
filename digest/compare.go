package digest

import (
	"bytes"
	"math"
	"slices"
	"sort"

	"stowage/internal/student"
)

// Verdict is what a comparison says about a class.
type Verdict string

const (
	VerdictFaster       Verdict = "faster"
	VerdictSlower       Verdict = "slower"
	VerdictUnchanged    Verdict = "unchanged"    // shown to be within the margin
	VerdictInconclusive Verdict = "inconclusive" // the captures cannot tell; Change.Reason says why
	VerdictNew          Verdict = "new"          // only in AFTER
	VerdictGone         Verdict = "gone"         // only in BEFORE
)

// CompareOptions say how sure a comparison must be. The zero value is what the command line does by default.
type CompareOptions struct {
	Alpha     float64 // share of false alarms that is accepted, over all classes (false discovery rate); default 0.05
	Margin    float64 // a change smaller than this is none; default 0.10
	Draws     int     // how often blocks are drawn again; default 400
	Seed      uint64  // of the generator: equal input and seed give equal output
	SelfCheck int     // how many A/A splits of BEFORE are judged for comparison; default 20, negative: none
}

func (o CompareOptions) withDefaults() CompareOptions {
	if o.Alpha <= 0 || o.Alpha >= 1 {
		o.Alpha = 0.05
	}
	if o.Margin <= 0 {
		o.Margin = 0.10
	}
	if o.Draws <= 0 {
		o.Draws = 400
	}
	if o.SelfCheck == 0 {
		o.SelfCheck = 20
	}
	return o
}

const (
	wantBlocks  = 20 // blocks a side, below which nothing is claimed
	wantEvents  = 50 // events of a class a side
	wantPresent = 10 // blocks of a side in which the class occurs
	tailEvents  = 5  // events beyond a quantile that is to be judged

	// clockStep is the resolution of the slow log, 1 microsecond on either side: a median that moves less has not moved.
	clockStep = 2e-6
)

// Compare says which classes changed between two digests, and how sure that is.
//
// What all classes have in common (another host, another load) is divided out first and reported as CommonFactor; a
// class is judged by what is left, its own change. The standard error of every figure comes from drawing blocks of time
// again (see resample); blocks are as long as the captures allow with at least 20 a side. A class is called slower or
// faster when its median, p95 or average moved by more than the margin, with false discoveries among all classes held at
// alpha (Benjamini and Hochberg 1995; intervals after Benjamini and Yekutieli 2005), and unchanged when the intervals lie
// within the margin. Everything else is inconclusive.
func Compare(before, after *Digest, o CompareOptions) Comparison {
	o = o.withDefaults()
	out := Comparison{
		FormatVersion: FormatVersion, RuleSet: before.rules, GroupBy: before.groupBy, CommonFactor: 1,
		Alpha: o.Alpha, Margin: o.Margin, Overall: Overall{Verdict: VerdictInconclusive, CI: Interval{}},
		Classes: []Change{}, Notes: []string{},
		Before: before.side(), After: after.side(),
	}
	if before.rules != after.rules || before.groupBy != after.groupBy {
		out.Overall.Reason = "the digests were made with different rules or groups"
		out.Notes = append(out.Notes, out.Overall.Reason)
		return out
	}
	out.Notes = append(out.Notes, caveats(out.Before, out.After)...)
	out.Notes = append(out.Notes, caveatsOfSums(before, after)...)
	pairs := pairUp(before, after)
	b, a := gather(pairs.before, before.level), gather(pairs.after, after.level)
	t := trial{o: o, before: b, after: a}
	t.judge(pairs)
	t.report(&out, pairs)
	if o.SelfCheck > 0 && t.seconds > 0 {
		out.SelfCheck = selfCheck(b, pairs, o)
	}
	return out
}

// caveats are reasons not to trust a comparison that lie in the captures themselves.
func caveats(before, after Side) (out []string) {
	for _, s := range []struct {
		name string
		side Side
	}{{"BEFORE", before}, {"AFTER", after}} {
		for _, in := range s.side.Inputs {
			for _, n := range in.Notes {
				if n.Reason == noteSampled {
					out = append(out, s.name+" was sampled by the server: calls and load are those of the sample")
				}
			}
		}
	}
	low, high := min(before.QueryTime.Min, after.QueryTime.Min), max(before.QueryTime.Min, after.QueryTime.Min)
	if high > 1e-3 && high > 20*low && before.Events > 1000 && after.Events > 1000 {
		out = append(out, "the shortest queries differ twentyfold: were the captures made with different long_query_time? What lies below it is not comparable")
	}
	return slices.Compact(out)
}

// pairing is the classes of both sides, those of the same fingerprint at the same place.
type pairing struct{ before, after []*class }

func pairUp(before, after *Digest) pairing {
	var p pairing
	for _, c := range before.byHash {
		p.before = append(p.before, c)
		p.after = append(p.after, after.find(c))
	}
	for _, c := range after.byHash {
		if before.find(c) == nil {
			p.before = append(p.before, nil)
			p.after = append(p.after, c)
		}
	}
	sort.Sort(&p)
	return p
}

func (p *pairing) Len() int { return len(p.before) }

func (p *pairing) Swap(i, j int) {
	p.before[i], p.before[j] = p.before[j], p.before[i]
	p.after[i], p.after[j] = p.after[j], p.after[i]
}

func (p *pairing) Less(i, j int) bool { return bytes.Compare(p.any(i).id[:], p.any(j).id[:]) < 0 }

func (p *pairing) any(i int) *class {
	if p.before[i] != nil {
		return p.before[i]
	}
	return p.after[i]
}

// trial is one judgement of two sides.
type trial struct {
	o             CompareOptions
	before, after *evidence
	seconds       int64    // length of the blocks that were drawn; 0: not enough
	judged        []bool   // classes with enough evidence
	reasons       []string // why not
	tests         []classTest
	common        figures
	spread        spread
	level         float64 // two-sided error of each Interval
}

// classTest is the outcome for one class.
type classTest struct {
	raw, own figures // logarithms of ratios
	tested   [figCount]bool
	p        float64 // of the most telling figure, corrected for looking at several
	figure   int     // that figure
	flagged  bool
}

// blockLengths are tried from the longest, in units of the blocks that both digests have: others would hold now one of those
// and now two.
var blockLengths = []int64{1, 2, 3, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400}

// chooseBlocks is the longest block length with enough blocks on both sides, or 0.
func chooseBlocks(before, after *evidence) int64 {
	floor := max(before.seconds, after.seconds)
	for _, s := range slices.Backward(blockLengths) {
		s *= floor
		if before.blocks(s) >= wantBlocks && after.blocks(s) >= wantBlocks {
			return s
		}
	}
	return 0
}

func (t *trial) judge(p pairing) {
	n := len(t.before.classes)
	t.judged, t.reasons, t.tests = make([]bool, n), make([]string, n), make([]classTest, n)
	t.level = t.o.Alpha
	t.seconds = chooseBlocks(t.before, t.after)
	if t.seconds == 0 {
		return
	}
	before, after := t.before.lengthened(t.seconds), t.after.lengthened(t.seconds)
	for i := range t.judged {
		t.reasons[i] = thin(before, after, i)
		t.judged[i] = t.reasons[i] == ""
	}
	t.spread = resample(before, after, t.judged, t.o.Draws, t.o.Seed)
	t.widen(t.before, t.after)
	t.measure(before, after)
	t.decide()
}

// thin says why a class cannot be judged, or nothing.
func thin(before, after *evidence, i int) string {
	nb, bb := before.totals(i)
	na, ba := after.totals(i)
	switch {
	case nb == 0 || na == 0:
		return "only on one side"
	case nb < wantEvents || na < wantEvents:
		return "too few events"
	case bb < wantPresent || ba < wantPresent:
		return "in too few blocks of time"
	}
	return ""
}

// widen makes up for blocks that still depend on their neighbours: standard errors from blocks twice as long should be
// the same, and where they are larger, the larger ones are right. One factor for all classes, as each alone is too noisy.
func (t *trial) widen(before, after *evidence) {
	long := 2 * t.seconds
	if before.blocks(long) < wantBlocks/2 || after.blocks(long) < wantBlocks/2 {
		return
	}
	twice := resample(before.lengthened(long), after.lengthened(long), t.judged, t.o.Draws/2, t.o.Seed+1)
	var ratios []float64
	for i := range t.judged {
		if !t.judged[i] {
			continue
		}
		for _, f := range []int{figP50, figP95, figMean} {
			if r := twice.own[i][f] / t.spread.own[i][f]; !math.IsNaN(r) && !math.IsInf(r, 0) {
				ratios = append(ratios, r)
			}
		}
	}
	if len(ratios) == 0 {
		return
	}
	slices.Sort(ratios)
	grow := min(max(ratios[len(ratios)/2], 1), 3)
	for i := range t.spread.own {
		for f := range t.spread.own[i] {
			t.spread.own[i][f] *= grow
			t.spread.raw[i][f] *= grow
		}
	}
	for f := range t.spread.common {
		t.spread.common[f] *= grow
	}
}

// measure takes the figures of the whole captures.
func (t *trial) measure(before, after *evidence) {
	b, a := newDrawer(before), newDrawer(after)
	b.all()
	a.all()
	logs := make([]figures, len(t.tests))
	for i := range t.tests {
		if !t.judged[i] {
			continue
		}
		fb, fa := b.figures(i), a.figures(i)
		logs[i] = difference(fb, fa)
		least := min(b.pools[i].single, a.pools[i].single)
		for f, q := range map[int]float64{figP50: 0.5, figP95: 0.95, figP99: 0.99} {
			moved := math.Abs(math.Exp(fa[f])-math.Exp(fb[f])) / 1e9
			t.tests[i].tested[f] = least*(1-q) >= tailEvents && (f != figP50 || moved >= clockStep)
		}
		t.tests[i].tested[figMean] = true
	}
	t.common = commonShift(logs, t.judged)
	for i := range t.tests {
		t.tests[i].raw, t.tests[i].own = logs[i], minus(logs[i], t.common)
	}
}

// decide flags classes: Benjamini-Hochberg over the classes, Bonferroni over the three figures of each.
func (t *trial) decide() {
	var order []int
	for i := range t.tests {
		if !t.judged[i] {
			continue
		}
		t.tests[i].p = 1
		looked := 0
		for _, f := range []int{figP95, figMean, figP50} {
			if !t.tests[i].tested[f] {
				continue
			}
			looked++
			if p := t.pValue(i, f); p < t.tests[i].p {
				t.tests[i].p, t.tests[i].figure = p, f
			}
		}
		t.tests[i].p = min(1, t.tests[i].p*float64(looked))
		order = append(order, i)
	}
	sort.Slice(order, func(x, y int) bool { return t.tests[order[x]].p < t.tests[order[y]].p })
	m := float64(len(order))
	found := 0
	for k, i := range order {
		if t.tests[i].p <= float64(k+1)*t.o.Alpha/m {
			found = k + 1
		}
	}
	for _, i := range order[:found] {
		t.tests[i].flagged = true
	}
	if m > 0 {
		t.level = float64(max(found, 1)) * t.o.Alpha / m / 3
	}
}

// pValue tests whether the class's own change is beyond the margin.
func (t *trial) pValue(i, f int) float64 {
	se := t.spread.own[i][f]
	beyond := math.Abs(t.tests[i].own[f]) - math.Log1p(t.o.Margin)
	if beyond <= 0 || math.IsInf(se, 0) || math.IsNaN(beyond) {
		return 1
	}
	if se == 0 {
		se = 1e-6
	}
	return student.TwoSided(beyond/se, t.spread.df)
}
