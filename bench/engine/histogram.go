package engine

import (
	"math/bits"
	"time"

	"stowage/bench/stat"
)

// histogram counts times in buckets that are a 64th of their value wide at most, as HDR histograms do: from a nanosecond to hours, no
// percentile is off by more than 1 %. It is for one goroutine.
type histogram struct {
	counts      [64 * 40]uint64
	n           uint64
	least, most time.Duration
	sum         time.Duration
}

const (
	subBits = 6
	subs    = 1 << subBits
)

func (h *histogram) add(d time.Duration) {
	h.counts[bucketOf(uint64(max(d, 0)))]++
	if h.n == 0 || d < h.least {
		h.least = d
	}
	h.n++
	h.most, h.sum = max(h.most, d), h.sum+d
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

// merge takes in another.
func (h *histogram) merge(o *histogram) {
	if o.n == 0 {
		return
	}
	for i, n := range o.counts {
		h.counts[i] += n
	}
	if h.n == 0 || o.least < h.least {
		h.least = o.least
	}
	h.n += o.n
	h.most, h.sum = max(h.most, o.most), h.sum+o.sum
}

// buckets are those that hold something.
func (h *histogram) buckets() stat.Histogram {
	var out stat.Histogram
	for i, n := range h.counts {
		if n > 0 {
			out = append(out, stat.Bucket{middleOf(i), n})
		}
	}
	return out
}
