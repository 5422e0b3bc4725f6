package shardload

import (
	"cmp"
	"math"
)

// Sureness is how far the ways to get a figure agree.
type Sureness string

const (
	Good Sureness = "good" // within a tenth
	Fair Sureness = "fair" // within a quarter
	Poor Sureness = "poor"
)

// Figure is one measured number, or the reason why there is none.
type Figure struct {
	Value *float64 `json:"value"` // null: not measured
	// Low and High are the least and the most that any way to get it gives.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Share is its part of what all shards of the instance use.
	Share *float64 `json:"share,omitempty"`
	How   string   `json:"how,omitempty"`
	Sure  Sureness `json:"sure,omitempty"`

	Missing string `json:"not_measured,omitempty"`
	Remedy  string `json:"remedy,omitempty"` // what would make it measurable
}

// Measured reports whether there is a number.
func (f Figure) Measured() bool { return f.Value != nil }

// Or is the number, or another where there is none.
func (f Figure) Or(other float64) float64 {
	if f.Value == nil {
		return other
	}
	return *f.Value
}

func missing(l Lack) Figure { return Figure{Missing: l.Why, Remedy: l.Remedy} }

// figure is a number with the interval of all ways to get it.
func figure(value float64, how string, others ...float64) Figure {
	low, high := value, value
	for _, o := range others {
		low, high = min(low, o), max(high, o)
	}
	f := Figure{Value: &value, Low: &low, High: &high, How: how}
	f.Sure = sureness(value, low, high)
	return f
}

func sureness(value, low, high float64) Sureness {
	if value <= 0 {
		if high <= 0 {
			return Good
		}
		return Poor
	}
	switch off := max(high-value, value-low) / value; {
	case off <= 0.10:
		return Good
	case off <= 0.25:
		return Fair
	}
	return Poor
}

// atMost lowers how sure a figure is.
func (f Figure) atMost(s Sureness) Figure {
	rank := map[Sureness]int{Good: 2, Fair: 1, Poor: 0}
	if f.Measured() && rank[f.Sure] > rank[s] {
		f.Sure = s
	}
	return f
}

// share gives a figure its part of a whole.
func (f Figure) share(whole float64) Figure {
	if f.Measured() && whole > 0 {
		part := *f.Value / whole
		f.Share = &part
	}
	return f
}

// per makes an amount a rate.
func (f Figure) per(seconds float64) Figure {
	for _, p := range []*float64{f.Value, f.Low, f.High} {
		if p != nil {
			*p /= seconds
		}
	}
	return f
}

// plus adds two figures: both sides of a pair. One that was not measured makes the sum that.
func (f Figure) plus(g Figure) Figure { return f.with(g, func(a, b float64) float64 { return a + b }) }

// most is the larger of two figures.
func (f Figure) most(g Figure) Figure { return f.with(g, math.Max) }

func (f Figure) with(g Figure, join func(a, b float64) float64) Figure {
	if !f.Measured() {
		return f
	}
	if !g.Measured() {
		return g
	}
	value, low, high := join(*f.Value, *g.Value), join(*f.Low, *g.Low), join(*f.High, *g.High)
	out := Figure{Value: &value, Low: &low, High: &high, How: f.How}
	if g.How != f.How {
		out.How += "; " + g.How
	}
	out.Sure = sureness(value, low, high)
	return out.atMost(f.Sure).atMost(g.Sure)
}

// weights are parts of a whole, by schema.
type weights map[string]float64

func (w weights) sum() float64 {
	s := 0.0
	for _, v := range w {
		s += v
	}
	return s
}

// part is a schema's part of the whole; 0 of nothing.
func (w weights) part(schema string) float64 {
	if s := w.sum(); s > 0 {
		return w[schema] / s
	}
	return 0
}

// first is the first of some weights that are of anything.
func first(all ...weights) weights {
	for _, w := range all {
		if w.sum() > 0 {
			return w
		}
	}
	return nil
}

func orElse(text, other string) string { return cmp.Or(text, other) }
