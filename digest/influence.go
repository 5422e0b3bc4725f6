package digest

import (
	"math"
	"slices"
	"sync"
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

// waved is one class on one side: its figures, and by how much each block of time moves each of them. The mean of moves is
// how far the figure is off; figP99 is shown and never judged, and has none.
type waved struct {
	logs  figures
	moves [figCount][]float64
}

// reach is how far around a quantile its density is measured, in ranks.
var reach = map[int]struct{ q, h float64 }{figP50: {0.50, 0.10}, figP95: {0.95, 0.025}}

// wavesOf measures one class on one side.
func (e *evidence) wavesOf(class int) waved {
	row := e.classes[class]
	var p pool
	p.span(row)
	weights := make([]float64, len(row))
	for i := range weights {
		weights[i] = 1
	}
	p.fill(row, weights)
	var w waved
	n := float64(len(row))
	w.logs = figures{p.logQuantile(0.50), p.logQuantile(0.95), p.logQuantile(0.99), p.logMean(), math.Log(p.n / (n * float64(e.seconds)))}
	mean, rate := make([]float64, len(row)), make([]float64, len(row))
	for i, b := range row {
		mean[i] = n * (b.sum*p.n/p.sum - b.n) / p.n
		rate[i] = n*b.n/p.n - 1
	}
	if p.sum > 0 {
		w.moves[figMean] = mean
	}
	w.moves[figRate] = rate
	for f, at := range reach {
		if !math.IsNaN(w.logs[f]) {
			w.moves[f] = p.quantileMoves(row, at.q, at.h)
		}
	}
	return w
}

// quantileMoves is what each block does to a quantile: more events above it than its rank says push it up.
func (p *pool) quantileMoves(row []blockCounts, q, h float64) []float64 {
	log := p.logQuantile(q)
	wide := max(p.logQuantile(q+h)-p.logQuantile(q-h), 1e-3)
	scale := float64(len(row)) * wide / (2 * h) / p.single
	out, logs := make([]float64, len(row)), coarseLogs()
	for i, b := range row {
		below := 0.0
		for _, c := range b.cells {
			lower, upper := logs[c.bucket], logs[c.bucket+1]
			below += float64(c.n) * min(max((log-lower)/(upper-lower), 0), 1)
		}
		out[i] = scale * (q*b.single - below)
	}
	return out
}

// coarseLogs are the logarithms of where the buckets of blocks begin, and of where the last one ends.
var coarseLogs = sync.OnceValue(func() []float64 {
	out := make([]float64, bucketCount>>coarseBits+1)
	for i := range out[1:] {
		b := i << coarseBits
		out[i] = math.Log(float64(bucketLower(b)) + 0.5)
		out[i+1] = math.Log(float64(bucketLower(b)) + float64(bucketWidth(b))*float64(int(1)<<coarseBits) + 0.5)
	}
	return out
})

func minus(a, b figures) figures {
	for i := range a {
		a[i] -= b[i]
	}
	return a
}

// without takes the moves of what is in common from those of a class.
func without(moves, common []float64) []float64 {
	if moves == nil || common == nil {
		return moves
	}
	out := slices.Clone(moves)
	for i := range out {
		out[i] -= common[i]
	}
	return out
}
