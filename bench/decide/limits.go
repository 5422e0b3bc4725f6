package decide

import (
	"fmt"
	"math"
)

// state is how a candidate stands to one hard limit.
type state int

const (
	noLimit  state = iota
	holds          // with its whole interval
	claims         // by a figure that nothing bounds
	notShown       // its figure is unknown, or its interval reaches beyond
	fails          // surely, or by a figure that nothing bounds
)

// states are those of all limits, in the order of the entries.
func (t *table) states(candidate int) []state {
	out := make([]state, len(t.entries))
	for k, e := range t.entries {
		out[k] = e.state(t.cells[candidate][k])
	}
	return out
}

func (e entry) state(c cell) state {
	limit := e.goal.Limit
	if limit == nil {
		return noLimit
	}
	if math.IsNaN(c.value) {
		return notShown
	}
	right := func(v float64) bool { return v >= *limit }
	if !e.kind.More {
		right = func(v float64) bool { return v <= *limit }
	}
	if math.IsNaN(c.low) {
		// Makers do not claim less than they can: a claim that fails is a failure, one that holds is a claim.
		if right(c.value) {
			return claims
		}
		return fails
	}
	low, high := right(c.low), right(c.high)
	switch {
	case low && high:
		return holds
	case low || high:
		return notShown
	}
	return fails
}

// failure says how far a candidate is from a limit.
func (t *table) failure(candidate, k int) Failure {
	e, c := t.entries[k], t.cells[candidate][k]
	f := Failure{Goal: e.goal.Name(), Limit: *e.goal.Limit}
	wants := "at least " + e.print(f.Limit, t.d.Currency)
	if !e.kind.More {
		wants = "at most " + e.print(f.Limit, t.d.Currency)
	}
	if math.IsNaN(c.value) {
		f.Text = fmt.Sprintf("%s, %s wanted: unknown (%s)", f.Goal, wants, c.view.why)
		return f
	}
	f.Value = &c.value
	is := e.print(c.value, t.d.Currency)
	if !math.IsNaN(c.low) && c.low != c.high {
		is += fmt.Sprintf(" (%s to %s)", e.print(c.low, t.d.Currency), e.print(c.high, t.d.Currency))
	}
	f.Text = fmt.Sprintf("%s is %s, %s wanted", f.Goal, is, wants)
	if c.value > 0 && f.Limit > 0 {
		f.By = max(c.value/f.Limit, f.Limit/c.value)
		if e.state(c) == fails {
			f.Text += ": " + off(c.value/f.Limit)
		}
	}
	return f
}

// off says a ratio to a limit in words.
func off(ratio float64) string {
	switch {
	case ratio >= 2:
		return short(ratio) + " times as much"
	case ratio > 1:
		return percent(ratio-1) + " too much"
	}
	return percent(1-ratio) + " too little"
}
