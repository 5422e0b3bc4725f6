package stat

import (
	"cmp"
	"math"
	"slices"
)

// Histogram counts latencies: pairs of nanoseconds (the middle of a bucket) and how many fell into it, by rising time.
type Histogram []Bucket

// Bucket is [nanoseconds, count] in JSON: a histogram has hundreds of them.
type Bucket [2]uint64

// Add is both together. Buckets of one time are one bucket.
func (h Histogram) Add(other Histogram) Histogram {
	all := slices.Concat(h, other)
	slices.SortFunc(all, func(a, b Bucket) int { return cmp.Compare(a[0], b[0]) })
	out := all[:0]
	for _, b := range all {
		if n := len(out); n > 0 && out[n-1][0] == b[0] {
			out[n-1][1] += b[1]
			continue
		}
		out = append(out, b)
	}
	return out
}

// Count is how many latencies were counted.
func (h Histogram) Count() uint64 {
	var n uint64
	for _, b := range h {
		n += b[1]
	}
	return n
}

// Quantile is the time, in nanoseconds, that a part q of all latencies do not exceed; 0 of an empty histogram.
func (h Histogram) Quantile(q float64) uint64 {
	rank, seen := uint64(math.Ceil(q*float64(h.Count()))), uint64(0)
	for _, b := range h {
		if seen += b[1]; seen >= max(rank, 1) {
			return b[0]
		}
	}
	return 0
}
