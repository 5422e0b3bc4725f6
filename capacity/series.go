// Package capacity says when a resource runs out, how sure that is, and what a farm costs to run.
//
// It is pure: it takes measured series and figures and returns numbers. It reads no clock; "now" is the last sample.
package capacity

import (
	"math"
	"slices"
	"time"
)

// Sample is the level of a resource at one moment: bytes on a disk, cores in use, operations a second.
type Sample struct {
	At    time.Time
	Value float64
}

// daily is a series with one value a day, from the first day that was measured to the last. Days without a sample are filled in
// along a straight line; seen says which were measured.
type daily struct {
	first int64 // days since 1970, UTC
	level []float64
	seen  []bool
}

// day is the number of whole days since 1970 in UTC.
func day(at time.Time) int64 {
	return int64(math.Floor(float64(at.Unix()) / 86400))
}

// sorted are the samples by time; values that are not numbers are left out, because they measure nothing.
func sorted(samples []Sample) []Sample {
	out := slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool {
		return math.IsNaN(s.Value) || math.IsInf(s.Value, 0)
	})
	slices.SortStableFunc(out, func(a, b Sample) int { return a.At.Compare(b.At) })
	return out
}

// byDay keeps the last sample of each day. The samples are sorted.
func byDay(samples []Sample) daily {
	if len(samples) == 0 {
		return daily{}
	}
	d := daily{first: day(samples[0].At)}
	n := int(day(samples[len(samples)-1].At)-d.first) + 1
	d.level, d.seen = make([]float64, n), make([]bool, n)
	for _, s := range samples {
		i := day(s.At) - d.first
		d.level[i], d.seen[i] = s.Value, true
	}
	last := 0
	for i := 1; i < n; i++ {
		if !d.seen[i] {
			continue
		}
		for j := last + 1; j < i; j++ {
			d.level[j] = d.level[last] + (d.level[i]-d.level[last])*float64(j-last)/float64(i-last)
		}
		last = i
	}
	return d
}

// growth is what was added on each day, and whether both ends of that day were measured.
func (d daily) growth() (added []float64, seen []bool) {
	for i := 1; i < len(d.level); i++ {
		added = append(added, d.level[i]-d.level[i-1])
		seen = append(seen, d.seen[i] && d.seen[i-1])
	}
	return added, seen
}

func (d daily) at(i int) time.Time {
	return time.Unix((d.first+int64(i))*86400, 0).UTC()
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(max(1, len(v)))
}

// deviation is the standard deviation of a sample; 0 for fewer than two values.
func deviation(v []float64) float64 {
	if len(v) < 2 {
		return 0
	}
	m, sum := mean(v), 0.0
	for _, x := range v {
		sum += (x - m) * (x - m)
	}
	return math.Sqrt(sum / float64(len(v)-1))
}

// median of v; 0 for none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// spread is the standard deviation that a normal distribution with the same median absolute deviation has. Where more than half
// of the values are equal it falls back to the mean absolute deviation, or it would be 0: files grow in extents, and on most days
// not at all.
func spread(v []float64) float64 {
	m := median(v)
	off, sum := make([]float64, len(v)), 0.0
	for i, x := range v {
		off[i] = math.Abs(x - m)
		sum += off[i]
	}
	if mad := median(off); mad > 0 {
		return 1.4826 * mad
	}
	return 1.2533 * sum / float64(max(1, len(v)))
}

// follows is how much a value tells of the next one: the correlation of neighbours, 0 to 0.6.
func follows(v []float64) float64 {
	if len(v) < 8 {
		return 0
	}
	m, both, each := mean(v), 0.0, 0.0
	for i, x := range v {
		each += (x - m) * (x - m)
		if i > 0 {
			both += (x - m) * (v[i-1] - m)
		}
	}
	if each == 0 {
		return 0
	}
	return min(0.6, max(0, both/each))
}
