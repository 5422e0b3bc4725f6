package stat

import (
	"math"
	"slices"
)

// The rule of SNIA's Performance Test Specification: over five windows the values stay within 20 % of their mean, and the
// line through them rises or falls by at most 10 % of it.
const (
	Windows   = 5
	excursion = 0.20
	slope     = 0.10
)

// Settling is what a series of speeds looks like.
type Settling struct {
	Steady bool `json:"steady"`
	// Excursion is the largest window less the smallest, Slope the rise of the fitted line from the first window to the
	// last, both as parts of the mean.
	Excursion float64 `json:"excursion"`
	Slope     float64 `json:"slope"`
}

// Settled looks at a series of speeds, cut into windows of equal length. With fewer values than windows it is not steady.
func Settled(series []float64) Settling {
	w := Means(series)
	if len(w) < Windows {
		return Settling{}
	}
	var mean, rise float64
	for i, v := range w {
		mean += v / Windows
		rise += v * (float64(i) - (Windows-1)/2.0)
	}
	if mean == 0 {
		return Settling{}
	}
	const spread = 10 // sum of (i-2)^2 over five windows
	s := Settling{
		Excursion: (slices.Max(w) - slices.Min(w)) / mean,
		Slope:     rise / spread * (Windows - 1) / mean,
	}
	s.Steady = s.Excursion <= excursion && math.Abs(s.Slope) <= slope
	return s
}

// Means are the means of the windows that the rule looks at; nil where there are fewer values than windows.
func Means(series []float64) []float64 {
	if len(series) < Windows {
		return nil
	}
	w := make([]float64, Windows)
	for i := range w {
		part := series[i*len(series)/Windows : (i+1)*len(series)/Windows]
		for _, v := range part {
			w[i] += v / float64(len(part))
		}
	}
	return w
}

// Quantile of values that need not be sorted, the nearest one; 0 of none.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	at := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}
