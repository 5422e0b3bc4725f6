package replay

import (
	"math"
	"math/bits"
	"time"
)

// histogram counts durations in buckets an eighth of a power of two wide:
// quantiles are within 6 %, the greatest is exact.
type histogram struct {
	n      uint64
	sum    time.Duration
	most   time.Duration
	bucket [64 * 8]uint64
}

func (h *histogram) add(d time.Duration) {
	d = max(0, d)
	h.n++
	h.sum += d
	h.most = max(h.most, d)
	h.bucket[bucketOf(uint64(d))]++
}

func bucketOf(v uint64) int {
	if v < 8 {
		return int(v)
	}
	exp := bits.Len64(v) - 1
	return exp*8 + int(v>>(exp-3)&7)
}

// quantile is the middle of the bucket in which it lies; 0 for none.
func (h *histogram) quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	want := uint64(math.Ceil(q * float64(h.n)))
	var seen uint64
	for i, n := range h.bucket {
		if seen += n; seen >= max(1, want) {
			return min(h.most, middle(i))
		}
	}
	return h.most
}

func middle(i int) time.Duration {
	if i < 24 {
		return time.Duration(i) // only those below 8 occur
	}
	exp, part := i/8, uint64(i%8)
	low := uint64(1)<<exp + part<<(exp-3)
	return time.Duration(low + uint64(1)<<(exp-3)/2)
}

// Spread sums up durations, in seconds.
type Spread struct {
	Count uint64  `json:"count"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

func (h *histogram) spread() Spread {
	return Spread{h.n, h.quantile(0.5).Seconds(), h.quantile(0.95).Seconds(), h.quantile(0.99).Seconds(), h.most.Seconds()}
}
