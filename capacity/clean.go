package capacity

import (
	"math"
	"time"
)

// Step is a jump of a level within a day that growth does not explain: an import or a purge.
type Step struct {
	At   time.Time `json:"at"`
	Size float64   `json:"size"` // in the unit of the series; negative for a purge
}

const (
	window   = 15 // days of the running median that a day is compared with
	farOff   = 6  // standard deviations from it that make a step
	shortest = 21 // days of growth that a forecast needs, and that are on each side of a change of slope
)

// takeSteps takes one-off jumps out of the growth of days: each is replaced by the median of the days around it.
// What is left is how the level grows by itself. The growth of one day after an import says nothing of the next.
func takeSteps(added []float64) (clean []float64, steps map[int]float64) {
	usual := make([]float64, len(added))
	for i := range added {
		usual[i] = median(added[max(0, i-window/2):min(len(added), i+window/2+1)])
	}
	off := make([]float64, len(added))
	for i := range added {
		off[i] = added[i] - usual[i]
	}
	limit := farOff * spread(off)
	clean, steps = append([]float64(nil), added...), map[int]float64{}
	if limit == 0 {
		return clean, steps
	}
	for i := range added {
		if math.Abs(off[i]) > limit {
			clean[i], steps[i] = usual[i], off[i]
		}
	}
	return clean, steps
}

// lastChange is the day after which the growth has not changed any more: 0 where it never did. It looks for the largest
// cumulative sum, cuts there when that is more than chance makes, and looks again at what is right of the cut. Chance is measured
// by whole weeks, for days of a week differ and days follow one another: judged by days every weekend is a change.
func lastChange(added []float64) int {
	from := 0
	for {
		cut := change(added[from:])
		if cut == 0 {
			return from
		}
		from += cut
	}
}

func change(added []float64) int {
	n := len(added)
	if n < 2*shortest {
		return 0
	}
	sigma := longRun(added)
	if sigma == 0 {
		return 0
	}
	m, sum, best, at := mean(added), 0.0, 0.0, 0
	for k := 1; k < n; k++ {
		sum += added[k-1] - m
		if k < shortest || n-k < shortest {
			continue
		}
		if z := math.Abs(sum) / (sigma * math.Sqrt(float64(k)*float64(n-k)/float64(n))); z > best {
			best, at = z, k
		}
	}
	if best > math.Sqrt(2*math.Log(float64(n)))+1.2 {
		return at
	}
	return 0
}

// longRun is the deviation of a day's growth as sums over long times show it: from the differences of neighbouring weeks, which a
// change of slope hardly touches.
func longRun(added []float64) float64 {
	weeks := weekly(added)
	var diff []float64
	for i := 1; i < len(weeks); i++ {
		diff = append(diff, weeks[i]-weeks[i-1])
	}
	return spread(diff) / math.Sqrt2 * math.Sqrt(7)
}

// weekly are the means of whole weeks, the last of which ends with the last day.
func weekly(v []float64) []float64 {
	var out []float64
	for i := len(v) % 7; i+7 <= len(v); i += 7 {
		out = append(out, mean(v[i:i+7]))
	}
	return out
}
