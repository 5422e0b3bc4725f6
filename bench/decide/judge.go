package decide

import (
	"maps"
	"math"
	"slices"
)

// Tolerance is the difference in worth that does not matter, as in comparisons of results.
const Tolerance = 0.05

var tolerance = math.Log1p(Tolerance)

// method is what an outcome's words rest on, for whoever reads them later.
const method = "worth is the product of all figures, each to the power of its share (less is better: of its inverse), cut off at enough; shares are weights within the aspect times the aspect's. " +
	"A lead is a ratio of worths; its bounds hold every figure at its worst for the one and at its best for the other. Measured figures are bounded by their 95 % interval, widened by drift and disturbance as in bench compare; " +
	"others by the stated doubt, or by nothing. A winner leads everybody that is left by more than 5 % at the lower bound, and is shown to hold every hard limit"

// cell is one goal of one candidate. Good is the logarithm of its worth, more is better, at each end.
type cell struct {
	value           float64 // NaN: unknown
	low, high       float64 // of the figure itself, NaN where nothing bounds it
	good, bad, fine float64 // as given, at worst, at best; of an unknown one NaN, -Inf, +Inf (or enough)
	raw             float64 // good without Enough
	view            *view
}

// entry is a goal with its place and its share.
type entry struct {
	aspect int
	goal   Goal
	kind   Kind
	share  float64
}

// table compares all candidates with all goals.
type table struct {
	d       Decision
	entries []entry
	cells   [][]cell // by candidate, by entry
	in      []int    // candidates that are on the right side of every limit, or may be
	common  []bool   // entries that are known of everybody that is left
}

func newTable(d Decision) *table {
	t := &table{d: d, entries: entries(d.Aspects)}
	for _, c := range d.Candidates {
		t.cells = append(t.cells, t.row(c))
	}
	t.settle()
	return t
}

// row is a candidate against all goals.
func (t *table) row(c Candidate) []cell {
	c = c.doubted(t.d.Doubt)
	out := make([]cell, len(t.entries))
	for k, e := range t.entries {
		out[k] = newCell(&c, t.d.Workload, e)
	}
	return out
}

// settle finds who is left, and what is known of all of them.
func (t *table) settle() {
	t.in, t.common = nil, make([]bool, len(t.entries))
	for i := range t.cells {
		if !slices.Contains(t.states(i), fails) {
			t.in = append(t.in, i)
		}
	}
	for k := range t.entries {
		t.common[k] = !slices.ContainsFunc(t.in, func(i int) bool { return math.IsNaN(t.cells[i][k].value) })
	}
}

// with is the table with another figure, taken to be exact, of one candidate.
func (t *table) with(i int, k Key, v float64) *table {
	c := t.d.Candidates[i]
	c.Figures = maps.Clone(c.Figures)
	if c.Figures == nil {
		c.Figures = map[Key]Figure{}
	}
	c.Figures[k] = Exactly(v, "")
	c = c.doubted(t.d.Doubt)
	next := *t
	next.cells = slices.Clone(t.cells)
	next.cells[i] = slices.Clone(t.cells[i])
	for at, e := range t.entries {
		if v := t.cells[i][at].view; slices.Contains(v.used, k) || slices.Contains(v.missing, k) {
			next.cells[i][at] = newCell(&c, t.d.Workload, e)
		}
	}
	next.settle()
	return &next
}

// entries gives every goal its share. An aspect without a goal that weighs anything has none.
func entries(aspects []Aspect) []entry {
	var all []entry
	total := 0.0
	for i, a := range aspects {
		sum := 0.0
		for _, g := range a.Goals {
			sum += g.Weight
		}
		for _, g := range a.Goals {
			kind, _ := KindOf(g.Figure)
			e := entry{aspect: i, goal: g, kind: kind}
			if sum > 0 {
				e.share = a.Weight * g.Weight / sum
			}
			total += e.share
			all = append(all, e)
		}
	}
	for i := range all {
		if total > 0 {
			all[i].share /= total
		}
	}
	return all
}

// doubted bounds what has no bounds, as far as somebody says how.
func (c Candidate) doubted(d Doubt) Candidate {
	if len(d) == 0 {
		return c
	}
	figures := make(map[Key]Figure, len(c.Figures))
	for k, f := range c.Figures {
		figures[k] = f.doubted(d[f.Basis])
	}
	c.Figures = figures
	return c
}

func newCell(c *Candidate, w Workload, e entry) cell {
	value, v := reckon(c, w, e.goal, asGiven)
	x := cell{value: value, low: math.NaN(), high: math.NaN(), good: e.worth(value), raw: e.raw(value), bad: math.Inf(-1), fine: e.most(), view: v}
	if math.IsNaN(value) {
		return x
	}
	bad, open := reckon(c, w, e.goal, worst)
	fine, _ := reckon(c, w, e.goal, best)
	if open.open {
		return x
	}
	x.low, x.high = min(bad, fine), max(bad, fine)
	x.bad, x.fine = e.worth(bad), e.worth(fine)
	return x
}

// raw is the logarithm of a value, the better the more.
func (e entry) raw(value float64) float64 {
	if e.kind.More {
		return math.Log(value)
	}
	return -math.Log(value)
}

// worth is raw, cut off at enough.
func (e entry) worth(value float64) float64 {
	if math.IsNaN(value) {
		return value
	}
	return min(e.raw(value), e.most())
}

// most is what enough is worth.
func (e entry) most() float64 {
	if e.goal.Enough == nil {
		return math.Inf(1)
	}
	return e.raw(*e.goal.Enough)
}

// scores is the worth of everybody that is left, as a logarithm, by what is known of all of them; and the same without Enough, which
// decides between those that have enough of everything.
func (t *table) scores() (score, raw []float64) {
	score, raw = make([]float64, len(t.cells)), make([]float64, len(t.cells))
	total := 0.0
	for k, e := range t.entries {
		if t.common[k] {
			total += e.share
		}
	}
	for _, i := range t.in {
		for k, e := range t.entries {
			if t.common[k] && e.share > 0 {
				score[i] += e.share / total * t.cells[i][k].good
				raw[i] += e.share / total * t.cells[i][k].raw
			}
		}
	}
	return score, raw
}

// order is who is left, the best first. Of equals the one with more beyond enough is first, then the one that was named first.
func (t *table) order() []int {
	score, raw := t.scores()
	out := slices.Clone(t.in)
	slices.SortStableFunc(out, func(a, b int) int {
		switch {
		case math.Abs(score[a]-score[b]) > 1e-12:
			return sign(score[b] - score[a])
		case math.Abs(raw[a]-raw[b]) > 1e-12:
			return sign(raw[b] - raw[a])
		}
		return 0
	})
	return out
}

func sign(v float64) int {
	if v > 0 {
		return 1
	}
	return -1
}

// lead is how much more a is worth than b, as a logarithm: as given by what is known of all, and its bounds over all goals.
func (t *table) lead(a, b int) (by, low, high float64) {
	score, _ := t.scores()
	by = score[a] - score[b]
	for k, e := range t.entries {
		if e.share > 0 {
			x, y := t.cells[a][k], t.cells[b][k]
			low += e.share * (x.bad - y.fine) // the worst end is never +Inf, the best never -Inf
			high += e.share * (x.fine - y.bad)
		}
	}
	return by, low, high
}

// verdict is what the bounds of a lead allow to be said.
func verdict(low, high float64) Verdict {
	switch {
	case low > tolerance:
		return Winner
	case low >= -tolerance && high <= tolerance:
		return Same
	}
	return Inconclusive
}
