package stat

import (
	"math"
	"math/bits"
	"time"
)

// Times counts durations in buckets that are a 64th of their value wide at most, as HDR histograms do: from a nanosecond to hours, no
// percentile is off by more than 1 %. It is for one goroutine. The zero value is empty.
type Times struct {
	counts      [64 * 40]uint64
	N           uint64
	Least, Most time.Duration
	Sum         time.Duration
}

const (
	subBits = 6
	subs    = 1 << subBits
)

// Add counts one; less than nothing is nothing.
func (h *Times) Add(d time.Duration) {
	d = max(d, 0)
	h.counts[bucketOf(uint64(d))]++
	if h.N == 0 || d < h.Least {
		h.Least = d
	}
	h.N++
	h.Most, h.Sum = max(h.Most, d), h.Sum+d
}

// bucketOf: values below 64 have a bucket each; then 64 buckets for every power of two.
func bucketOf(ns uint64) int {
	if ns < subs {
		return int(ns)
	}
	shift := bits.Len64(ns) - subBits - 1
	at := (shift+1)*subs + int(ns>>shift) - subs
	return min(at, 64*40-1)
}

// middleOf is the time that a bucket stands for.
func middleOf(at int) uint64 {
	if at < subs {
		return uint64(at)
	}
	shift := at/subs - 1
	return uint64(at%subs+subs)<<shift + 1<<shift/2
}

// Merge takes in another.
func (h *Times) Merge(o *Times) {
	if o.N == 0 {
		return
	}
	for i, n := range o.counts {
		h.counts[i] += n
	}
	if h.N == 0 || o.Least < h.Least {
		h.Least = o.Least
	}
	h.N += o.N
	h.Most, h.Sum = max(h.Most, o.Most), h.Sum+o.Sum
}

// Histogram has the buckets that hold something.
func (h *Times) Histogram() Histogram {
	var out Histogram
	for i, n := range h.counts {
		if n > 0 {
			out = append(out, Bucket{middleOf(i), n})
		}
	}
	return out
}

// Quantile is what a part q of the times do not exceed: the middle of its bucket, and the greatest time at most; 0 of none.
func (h *Times) Quantile(q float64) time.Duration {
	rank, seen := max(uint64(math.Ceil(q*float64(h.N))), 1), uint64(0)
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return min(h.Most, time.Duration(middleOf(i)))
		}
	}
	return h.Most
}
