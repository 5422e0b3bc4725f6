package decide

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Judge makes the outcome of a decision. The same decision has the same outcome.
func Judge(d Decision) *Outcome {
	o, t, order := judge(d)
	if len(order) > 0 && t.weighs() {
		o.Sensitive = t.sensitivity(order)
	}
	return o
}

// judge is all but the sensitivity, which takes most of the time.
func judge(d Decision) (*Outcome, *table, []int) {
	t := newTable(d)
	o := &Outcome{FormatVersion: FormatVersion, Title: d.Title, Currency: d.Currency, Method: method, Why: []string{}, Assumed: assumed(d)}
	for k, e := range t.entries {
		o.Goals = append(o.Goals, Judged{
			Aspect: d.Aspects[e.aspect].Name, Goal: e.goal.Name(), Figure: e.goal.Figure, Step: e.goal.Step, Unit: e.kind.Unit, More: e.kind.More,
			Weight: e.goal.Weight, Share: e.share, Limit: e.goal.Limit, Enough: e.goal.Enough, LeftOut: e.share > 0 && !t.common[k] && len(t.in) > 0,
		})
	}
	order := t.order()
	score, _ := t.scores()
	for i, c := range d.Candidates {
		s := t.standing(i)
		if at := slices.Index(order, i); at >= 0 {
			worth := factor(score[i] - score[order[0]])
			s.Place, s.Worth = at+1, &worth
		}
		s.Title, s.Notes, s.Array = c.Title, c.Notes, t.loss(i)
		o.Candidates = append(o.Candidates, s)
	}
	t.decide(o, order)
	o.Dominance = t.dominance()
	o.Sensitive = Sensitivity{Weights: []Flip{}, Prices: []Turn{}, Figures: []Turn{}}
	return o, t, order
}

// weighs reports whether there is anything that counts, and is known of everybody.
func (t *table) weighs() bool { return len(t.counting()) > 0 }

// counting are the entries that decide who is ahead.
func (t *table) counting() []int {
	var out []int
	for k, e := range t.entries {
		if e.share > 0 && t.common[k] {
			out = append(out, k)
		}
	}
	return out
}

// decide finds the verdict, and says why it is no better.
func (t *table) decide(o *Outcome, order []int) {
	why := func(format string, args ...any) { o.Why = append(o.Why, fmt.Sprintf(format, args...)) }
	o.Verdict = Inconclusive
	if len(order) == 0 {
		o.Verdict = NobodyLeft
		why("no candidate holds all hard limits")
		return
	}
	first := order[0]
	name := t.d.Candidates[first].Name
	shown := !slices.Contains(t.states(first), notShown)
	if len(order) == 1 {
		o.Ahead = name
		if shown {
			o.Verdict, o.Winner = Alone, name
			why("%s is the only one that holds all hard limits", name)
			return
		}
		why("%s is the only one left, and cannot be shown to hold every hard limit", name)
		return
	}
	if !t.weighs() {
		why("there is no figure with a weight that is known of every candidate that is left")
		return
	}
	o.Ahead, o.Verdict = name, Winner
	for _, rival := range order[1:] {
		l := t.leadOver(first, rival)
		o.Leads = append(o.Leads, l)
		if l.Verdict != Winner && o.Verdict != Inconclusive {
			o.Verdict = l.Verdict
		}
	}
	if !shown {
		o.Verdict = Inconclusive
	}
	if o.Verdict == Winner {
		o.Winner = name
	}
	t.explain(o, first, shown)
}

// explain says what keeps the one ahead from being the winner.
func (t *table) explain(o *Outcome, first int, shown bool) {
	why := func(format string, args ...any) { o.Why = append(o.Why, fmt.Sprintf(format, args...)) }
	if !shown {
		why("%s cannot be shown to hold every hard limit", o.Ahead)
	}
	left := 0.0
	for _, g := range o.Goals {
		if g.LeftOut {
			left += g.Share
			why("%s is unknown of %s", g.Goal, strings.Join(t.without(g), ", "))
		}
	}
	if left > 0 {
		why("so %s of the weight does not count towards who is ahead", percent(left))
	}
	for _, l := range o.Leads {
		switch {
		case l.Verdict == Winner:
			why("%s is worth %s more than %s, at least %s", o.Ahead, times(l.By), l.Over, atLeast(l))
		case l.Verdict == Same:
			why("%s and %s differ by at most %s", o.Ahead, l.Over, percent(Tolerance))
		case left > 0 && l.By < 1.0005:
			why("%s and %s are worth the same in what is known of all", o.Ahead, l.Over)
		case left > 0:
			why("%s leads %s by %s in what is known of all", o.Ahead, l.Over, times(l.By))
		case l.OffBy != nil:
			why("%s leads %s by %s on figures without an interval: the lead is sure only if no figure is off by more than %s", o.Ahead, l.Over, times(l.By), times(*l.OffBy))
		case l.By < 1+Tolerance:
			why("%s and %s cannot be distinguished: %s between them%s", o.Ahead, l.Over, times(l.By), within(l))
		default:
			why("%s leads %s by %s, which may as well come from how unsure the figures are%s", o.Ahead, l.Over, times(l.By), within(l))
		}
	}
	if slices.ContainsFunc(o.Leads, func(l Lead) bool { return l.OffBy != nil }) {
		why("to say how far such figures may be off: doubt: {data_sheet: 20%%, entered: 10%%} in the decision")
	}
	if on := t.claimed(first); len(on) > 0 {
		why("%s holds %s by figures without an interval", o.Ahead, strings.Join(on, ", "))
	}
}

func atLeast(l Lead) string {
	if l.Low == nil {
		return "nothing known"
	}
	return times(*l.Low)
}

func within(l Lead) string {
	if l.Low == nil || l.High == nil {
		return ""
	}
	return fmt.Sprintf(" (a factor of %s to %s)", short(*l.Low), short(*l.High))
}

// without are those that are left and of whom a goal's figure is unknown.
func (t *table) without(g Judged) []string {
	var out []string
	for k, e := range t.entries {
		if e.goal.Name() != g.Goal || t.d.Aspects[e.aspect].Name != g.Aspect {
			continue
		}
		for _, i := range t.in {
			if name := t.d.Candidates[i].Name; math.IsNaN(t.cells[i][k].value) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

func (t *table) claimed(candidate int) []string {
	var out []string
	for k, s := range t.states(candidate) {
		if s == claims {
			out = append(out, t.entries[k].goal.Name())
		}
	}
	return out
}

// standing is a candidate without its place.
func (t *table) standing(i int) Standing {
	s := Standing{Name: t.d.Candidates[i].Name, OnClaim: t.claimed(i)}
	for k, state := range t.states(i) {
		c := t.cells[i][k]
		shown := Shown{Goal: t.entries[k].goal.Name(), Value: known(c.value), Low: known(c.low), High: known(c.high), Why: c.view.why}
		if shown.Value != nil {
			shown.Basis, shown.Source = c.view.basis, c.view.sources
		}
		s.Figures = append(s.Figures, shown)
		switch state {
		case fails:
			s.Failed, s.Out = append(s.Failed, t.failure(i, k)), true
		case notShown:
			s.NotShown = append(s.NotShown, t.failure(i, k))
		}
	}
	return s
}

func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// factor is the ratio that a logarithm stands for, and finite whatever was typed.
func factor(log float64) float64 { return math.Exp(max(-700, min(700, log))) }

// leadOver is the lead of one candidate over another, in words and factors.
func (t *table) leadOver(a, b int) Lead {
	by, low, high := t.lead(a, b)
	l := Lead{Over: t.d.Candidates[b].Name, By: factor(by), Verdict: verdict(low, high), ByAspect: map[string]float64{}}
	if !math.IsInf(low, 0) {
		l.Low = known(factor(low))
	}
	if !math.IsInf(high, 0) {
		l.High = known(factor(high))
	}
	total := 0.0
	for _, k := range t.counting() {
		total += t.entries[k].share
	}
	sums := map[string]float64{}
	for _, k := range t.counting() {
		sums[t.d.Aspects[t.entries[k].aspect].Name] += t.entries[k].share / total * (t.cells[a][k].good - t.cells[b][k].good)
	}
	for name, v := range sums {
		l.ByAspect[name] = factor(v)
	}
	if l.Verdict == Inconclusive {
		l.OffBy = t.mayBeOff(a, b)
	}
	return l
}

// mayBeOff is by which factor every figure that nothing bounds may be off before a no longer surely leads b.
func (t *table) mayBeOff(a, b int) *float64 {
	surely := func(factor float64) bool {
		d := t.d
		d.Doubt = Doubt{}
		for _, basis := range bases {
			d.Doubt[basis] = max(t.d.Doubt[basis], factor-1)
		}
		low := t.again(d, a, b)
		return low > tolerance
	}
	if !surely(1 + 1e-9) {
		return nil
	}
	low, high := 1+1e-9, 1e4
	if surely(high) {
		return nil // none of them matters
	}
	for range 40 {
		middle := math.Sqrt(low * high)
		if surely(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return &low
}

// again is the lower bound of a's lead over b in another decision about the same candidates.
func (t *table) again(d Decision, a, b int) float64 {
	next := &table{d: d, entries: t.entries, in: t.in, common: t.common, cells: make([][]cell, len(t.cells))}
	for _, i := range []int{a, b} {
		c := d.Candidates[i].doubted(d.Doubt)
		for _, e := range t.entries {
			next.cells[i] = append(next.cells[i], newCell(&c, d.Workload, e))
		}
	}
	sum := 0.0
	for k, e := range t.entries {
		if e.share > 0 {
			sum += e.share * (next.cells[a][k].bad - next.cells[b][k].fine)
		}
	}
	return sum
}

// assumed are what was taken to be so.
func assumed(d Decision) []string {
	out := []string{}
	if slices.ContainsFunc(d.Candidates, func(c Candidate) bool { return c.Figures[Key{What: "afr"}].Known() }) {
		out = append(out, "devices fail independently of each other, at a constant rate: probabilities of loss are that much at least")
	}
	for _, b := range bases {
		if v := d.Doubt[b]; v > 0 {
			out = append(out, fmt.Sprintf("figures that rest on %s are off by %s at most", basisWords(b), percent(v)))
		}
	}
	if d.Workload.Writes.Known() {
		text := UnitBytes.Print(d.Workload.Writes.Value, "") + " are written a day"
		if d.Workload.Amplification.Known() {
			text += fmt.Sprintf(", and devices write %s times as much as their endurance is rated for", short(d.Workload.Amplification.Value))
		}
		if w := d.Workload.Writes; w.Source != "" || w.Basis != Given {
			text += " (" + strings.TrimSuffix(basisWords(w.Basis)+": "+w.Source, ": ") + ")"
		}
		out = append(out, text)
	}
	return out
}

func basisWords(b Basis) string {
	switch b {
	case Unbounded:
		return "a measurement without an interval"
	case Entered:
		return "what others published"
	case Sheet:
		return "a data sheet"
	}
	return string(b)
}
