package digest

import (
	"math"
	"math/rand/v2"
	"slices"
)

// The figures a comparison tests, each as the logarithm of AFTER divided by BEFORE.
const (
	figP50 = iota
	figP95
	figP99
	figMean
	figRate
	figCount
)

var figureNames = [figCount]string{"p50", "p95", "p99", "avg", "calls_per_second"}

type figures [figCount]float64

// spread is how far the figures scatter when the blocks of both sides are drawn again: standard errors.
type spread struct {
	raw    []figures // by class
	own    []figures // by class, against the common factor of the same draw
	common figures
	df     float64 // degrees of freedom these standard errors have
}

// resample draws the blocks of both sides again and again, with replacement, the same blocks for all classes at once
// (what happens to a host in a second happens to all its queries), and looks how the figures scatter. This is the block
// bootstrap of Künsch (1989) with blocks that do not overlap.
func resample(before, after *evidence, judged []bool, draws int, seed uint64) spread {
	r := rand.New(rand.NewPCG(seed, uint64(len(before.numbers))<<32|uint64(len(after.numbers))))
	a, b := newDrawer(before), newDrawer(after)
	classes := len(before.classes)
	raw, own, common := newScatter(classes), newScatter(classes), newScatter(1)
	logs := make([]figures, classes)
	for range draws {
		a.draw(r)
		b.draw(r)
		for i := range logs {
			if judged[i] {
				logs[i] = difference(a.figures(i), b.figures(i))
			}
		}
		shift := commonShift(logs, judged)
		common.add(0, shift)
		for i := range logs {
			if judged[i] {
				raw.add(i, logs[i])
				own.add(i, minus(logs[i], shift))
			}
		}
	}
	// A bootstrap of n blocks underestimates the variance by (n-1)/n.
	n := float64(min(len(before.numbers), len(after.numbers)))
	grow := math.Sqrt(n / (n - 1))
	return spread{
		raw: raw.errors(grow), own: own.errors(grow), common: common.errors(grow)[0],
		df: float64(len(before.numbers) + len(after.numbers) - 2),
	}
}

// drawer draws blocks of one side.
type drawer struct {
	e       *evidence
	weights []float64 // how often each block was drawn
	pools   []pool
}

func newDrawer(e *evidence) *drawer {
	d := &drawer{e: e, weights: make([]float64, len(e.numbers)), pools: make([]pool, len(e.classes))}
	for i := range d.pools {
		d.pools[i].span(e.classes[i])
	}
	return d
}

func (d *drawer) draw(r *rand.Rand) {
	clear(d.weights)
	for range d.weights {
		d.weights[r.IntN(len(d.weights))]++
	}
}

func (d *drawer) all() {
	for i := range d.weights {
		d.weights[i] = 1
	}
}

func (d *drawer) figures(class int) (f figures) {
	p := &d.pools[class]
	p.fill(d.e.classes[class], d.weights)
	if p.n == 0 {
		for i := range f {
			f[i] = math.NaN()
		}
		return f
	}
	f[figP50], f[figP95], f[figP99] = p.logQuantile(0.50), p.logQuantile(0.95), p.logQuantile(0.99)
	f[figMean] = p.logMean()
	f[figRate] = math.Log(p.n / float64(int64(len(d.weights))*d.e.seconds))
	return f
}

func difference(before, after figures) figures { return minus(after, before) }

func minus(a, b figures) figures {
	for i := range a {
		a[i] -= b[i]
	}
	return a
}

// commonShift is what all classes have in common: the median of the judged ones. Of two middle values it takes the one
// nearer to no change, so that one of two classes cannot pass half of its own change on to the other. A single class has
// nothing in common with anything.
func commonShift(logs []figures, judged []bool) (shift figures) {
	values := make([]float64, 0, len(logs))
	for f := range shift {
		if f == figRate {
			continue // calls per second are set by the clients, each class has its own
		}
		values = values[:0]
		for i := range logs {
			if judged[i] && !math.IsNaN(logs[i][f]) {
				values = append(values, logs[i][f])
			}
		}
		if len(values) < 2 {
			continue
		}
		slices.Sort(values)
		lower, upper := values[(len(values)-1)/2], values[len(values)/2]
		shift[f] = lower
		if math.Abs(upper) < math.Abs(lower) {
			shift[f] = upper
		}
	}
	return shift
}

// scatter adds up values and squares.
type scatter struct {
	n, sum, squares []figures
}

func newScatter(n int) *scatter {
	return &scatter{make([]figures, n), make([]figures, n), make([]figures, n)}
}

func (s *scatter) add(i int, f figures) {
	for j, v := range f {
		if !math.IsNaN(v) {
			s.n[i][j]++
			s.sum[i][j] += v
			s.squares[i][j] += v * v
		}
	}
}

// errors is the standard deviation of what was added, times grow; infinite where hardly anything was.
func (s *scatter) errors(grow float64) []figures {
	out := make([]figures, len(s.n))
	for i := range out {
		for j := range out[i] {
			n := s.n[i][j]
			if n < 10 {
				out[i][j] = math.Inf(1)
				continue
			}
			mean := s.sum[i][j] / n
			out[i][j] = grow * math.Sqrt(max(0, s.squares[i][j]/n-mean*mean)*n/(n-1))
		}
	}
	return out
}
