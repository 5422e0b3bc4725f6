package digest

import (
	"math"
	"sort"
)

// trial is one judgement of two sides.
type trial struct {
	o             CompareOptions
	before, after *evidence
	seconds       int64    // length of the blocks; 0: not enough of them
	judged        []bool   // classes with enough evidence
	reasons       []string // why not
	cut           string   // why no time can be judged: two thresholds cut them
	tests         []classTest
	shared        shared
	probe         float64 // logarithm of by how much the hosts' own work took longer
	isProbed      bool
	window        float64 // seconds of the shorter side; the blocks are those of them in which anything happened
	isQuiet       bool    // that is not nearly all of them
	level         float64 // two-sided error of the intervals of what is called faster or slower
}

// classTest is the outcome for one class.
type classTest struct {
	raw, own             figures // logarithms of ratios
	rawBelief, ownBelief [figCount]*belief
	tested               [figCount]bool
	p                    float64 // of the most telling figure, corrected for looking at several
	figure               int     // that figure
	flagged              bool
	witness              bool // does no work of its own, see common.go
}

// judgedFigures are those a verdict may rest on.
var judgedFigures = []int{figP95, figMean, figP50}

// chooseBlocks is the length of blocks: the shortest of which no side has more than mostBlocks; 0 where a side has too few.
func chooseBlocks(before, after *evidence) int64 {
	seconds := max(before.seconds, after.seconds)
	for before.blocks(seconds) > mostBlocks || after.blocks(seconds) > mostBlocks {
		seconds *= 2
	}
	if before.blocks(seconds) < wantBlocks || after.blocks(seconds) < wantBlocks {
		return 0
	}
	return seconds
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
		t.tests[i].witness = isWitness(p.any(i).fingerprint)
	}
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

// measure takes the figures of the whole captures, and how far they may be off.
func (t *trial) measure(before, after *evidence) {
	b, a := make([]waved, len(t.tests)), make([]waved, len(t.tests))
	for i := range t.tests {
		if !t.judged[i] {
			continue
		}
		b[i], a[i] = before.wavesOf(i), after.wavesOf(i)
		t.tests[i].raw = minus(a[i].logs, b[i].logs)
		least := min(before.singles(i), after.singles(i))
		for f, q := range map[int]float64{figP50: 0.5, figP95: 0.95} {
			moved := math.Abs(math.Exp(a[i].logs[f])-math.Exp(b[i].logs[f])) / 1e9
			t.tests[i].tested[f] = least*(1-q) >= tailEvents && (f != figP50 || moved >= clockStep)
		}
		t.tests[i].tested[figMean] = true
	}
	s := newOutlines(before, after)
	fits := make([]*fit, len(t.tests))
	for f := range figureNames {
		if f == figP99 {
			continue
		}
		for i := range t.tests {
			if fits[i] = nil; t.judged[i] {
				fits[i] = s.fit(b[i].moves[f], a[i].moves[f])
			}
		}
		all := hearAll(fits)
		for i := range t.tests {
			t.tests[i].rawBelief[f] = fits[i].believe(all, s)
		}
	}
	t.share(b, a, s)
}

// decide flags classes: Benjamini-Hochberg over the classes, the figures of each taken together (Bonferroni, where what is
// common is not divided out).
func (t *trial) decide() {
	var order []int
	for i := range t.tests {
		if !t.judged[i] {
			continue
		}
		ct := &t.tests[i]
		ct.p = 1
		var ps []float64
		best := 1.0
		for _, f := range judgedFigures {
			if !ct.tested[f] || ct.ownBelief[f] == nil {
				continue
			}
			p := t.pValue(i, f)
			if ps = append(ps, p); p < best {
				best, ct.figure = p, f
			}
		}
		ct.p = together(ps)
		if !t.shared.divided { // by plain ratios a drift of the host would count in full: be as careful as can be
			ct.p = min(1, best*float64(len(ps)))
		}
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
	slower := 0
	for _, i := range order[:found] {
		t.tests[i].flagged = true
		if t.tests[i].own[t.tests[i].figure] > 0 {
			slower++
		}
	}
	if !t.shared.divided {
		t.doubtMinority(order[:found], 2*slower > found, m)
	}
	if m > 0 {
		t.level = float64(max(found, 1)) * t.o.Alpha / m
		if !t.shared.divided {
			t.level /= float64(len(judgedFigures))
		}
	}
}

// doubtMinority takes back what moved against most others on no better evidence than that many moved: the share of false
// discoveries allows one in twenty, and where seven classes became slower that one must not be another that became faster.
func (t *trial) doubtMinority(found []int, mostSlower bool, m float64) {
	for _, i := range found {
		ct := &t.tests[i]
		if isSlower := ct.own[ct.figure] > 0; isSlower != mostSlower && ct.p > t.o.Alpha/m {
			ct.flagged = false
		}
	}
}

// pValue tests whether the class's own change is beyond the margin, and its plain ratio on the same side (see chance). Where what is in
// common is itself beyond the margin, the other way, the plain ratio must be so by the same evidence: a class that stood still
// while others moved did not move. One that moved the way of the others, and farther, moved.
func (t *trial) pValue(i, f int) float64 {
	ct := &t.tests[i]
	margin := math.Log1p(t.o.Margin)
	own, raw := ct.own[f], ct.raw[f]
	if math.IsNaN(own) || own*raw <= 0 || math.Abs(own) <= margin || math.Abs(raw) <= margin {
		return 1
	}
	p, shift := t.chance(ct.ownBelief[f], math.Abs(own), margin), t.shared.shift[f]
	isAgainst := shift*own < 0
	if isAgainst && math.Abs(shift) > margin/2 { // nine of twelve that became slower by themselves look like this to the other three
		p = ct.ownBelief[f].beyond(math.Abs(own) - margin)
	}
	if isAgainst && math.Abs(shift) > margin && ct.rawBelief[f] != nil {
		still := ct.rawBelief[f].beyond(math.Abs(raw) - margin)
		if far := math.Abs(raw) - math.Abs(shift); far > 0 { // farther its own way than all went theirs: no host's drift does that
			still = min(still, ct.ownBelief[f].beyond(far))
		}
		p = max(p, still)
	}
	return p
}

// chance is how probable it is that nothing moved a figure so far. What is asked of all classes together, so that at most so many
// verdicts are false, is whether the class changed at all; whether it changed by more than the margin is asked of each class by
// itself, as surely as an unchanged one is within it. Asking for both of all together finds a change of 1.3 times half as
// often. By plain ratios a drift of the host would count as a change of every class: there the margin is asked of all.
func (t *trial) chance(b *belief, off, margin float64) float64 {
	beyond := b.beyond(off - margin)
	switch {
	case !t.shared.divided:
		return beyond
	case beyond > t.each():
		return 1
	}
	return b.beyond(off)
}

// each is the level of what is asked of each class by itself: two one-sided tests.
func (t *trial) each() float64 { return 2 * t.o.Alpha }

// together is one p of those of several figures, as large as their Cauchy mean (Liu and Xie 2020), which holds for figures that
// depend on each other as p50, p95 and average do: three that say the same count once. It is never less than the least. A figure
// that says nothing (p above a half) does not speak against the others: of a p near 1 the Cauchy mean would make certainty.
func together(ps []float64) float64 {
	if len(ps) == 0 {
		return 1
	}
	sum, least := 0.0, 1.0
	for _, p := range ps {
		if p < 1e-15 {
			return min(1, p*float64(len(ps)))
		}
		sum += 1 / math.Tan(math.Pi*min(p, 0.5))
		least = min(least, p)
	}
	mean := math.Atan2(1, sum/float64(len(ps))) / math.Pi
	return min(1, max(mean, least))
}
