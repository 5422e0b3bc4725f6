package digest

import (
	"math"
	"math/bits"
	"slices"
	"sync"
)

// Buckets of the latency histogram: values below 256 ns one by one, then 128 buckets for every power of two. A bucket is
// at most 1/128 of its lower edge wide, so whatever value inside a bucket stands for it is off by less than 0.8 %.
// The layout (linear within a power of two) is that of HdrHistogram; counts are integers, so merging is addition.
const (
	octaveBits  = 7
	octave      = 1 << octaveBits
	octaves     = 64 - octaveBits + 1
	bucketCount = octaves * octave

	// smallBuckets is how many different buckets a class may use before it gets whole octaves: most classes of a
	// capture with very many classes are seen a few times only, and must stay small.
	smallBuckets = 48

	fewShift = 48 // a bucket number takes 13 bits
	fewMost  = 1<<fewShift - 1
)

// bucketOf is the bucket of a value in nanoseconds.
func bucketOf(ns uint64) int {
	if ns < octave {
		return int(ns)
	}
	shift := bits.Len64(ns) - (octaveBits + 1)
	return shift<<octaveBits + int(ns>>uint(shift))
}

// bucketLower is the smallest value of a bucket, and bucketWidth how many values it holds.
func bucketLower(b int) uint64 {
	if b < 2*octave {
		return uint64(b)
	}
	shift := b>>octaveBits - 1
	return uint64(b-shift<<octaveBits) << uint(shift)
}

func bucketWidth(b int) uint64 {
	if b < 2*octave {
		return 1
	}
	return 1 << uint(b>>octaveBits-1)
}

// bucketValue is the value that stands for a bucket: the middle, moved to a whole microsecond where the bucket holds one.
// Slow logs print whole microseconds, so this makes quantiles of short queries exact instead of 0.4 % off.
func bucketValue(b int) uint64 {
	lower, width := bucketLower(b), bucketWidth(b)
	middle := lower + width/2
	whole := (middle + 500) / 1000 * 1000
	if whole < lower {
		whole += 1000
	}
	if whole >= lower && whole-lower < width {
		return whole
	}
	if whole >= 1000 && whole-1000 >= lower && whole-1000-lower < width {
		return whole - 1000
	}
	return middle
}

// histogram counts values by bucket. Few different buckets are kept as a sorted list, more as whole octaves; which of
// the two is a matter of memory only and never shows in a result.
type histogram struct {
	few  []uint64 // bucket<<fewShift + count
	many *[octaves]*[octave]uint64
}

func (h *histogram) add(bucket int, n uint64) {
	if h.many != nil {
		o := h.many[bucket>>octaveBits]
		if o == nil {
			o = octavePool.Get().(*[octave]uint64)
			h.many[bucket>>octaveBits] = o
		}
		o[bucket&(octave-1)] += n
		return
	}
	h.addFew(bucket, n)
}

func (h *histogram) addFew(bucket int, n uint64) {
	i, _ := slices.BinarySearch(h.few, uint64(bucket)<<fewShift)
	there := i < len(h.few) && int(h.few[i]>>fewShift) == bucket
	switch {
	case there && n <= fewMost-h.few[i]&fewMost:
		h.few[i] += n
		return
	case !there && n <= fewMost && len(h.few) < smallBuckets:
		h.few = insertTight(h.few, i, uint64(bucket)<<fewShift|n)
		return
	}
	h.spread()
	h.add(bucket, n)
}

// spread turns the list into octaves, which are larger and faster.
func (h *histogram) spread() {
	few := h.few
	h.few, h.many = nil, new([octaves]*[octave]uint64)
	for _, b := range few {
		h.add(int(b>>fewShift), b&fewMost)
	}
}

// each calls f for every bucket that holds something, in ascending order, until f returns false.
func (h *histogram) each(f func(bucket int, n uint64) bool) {
	for _, b := range h.few {
		if !f(int(b>>fewShift), b&fewMost) {
			return
		}
	}
	if h.many == nil {
		return
	}
	for i, o := range h.many {
		if o == nil {
			continue
		}
		for j, n := range o {
			if n != 0 && !f(i<<octaveBits+j, n) {
				return
			}
		}
	}
}

func (h *histogram) merge(from *histogram) {
	from.each(func(b int, n uint64) bool { h.add(b, n); return true })
}

// octavePool keeps the octaves of parts that were merged: the next part needs as many.
var octavePool = sync.Pool{New: func() any { return new([octave]uint64) }}

// take is merge with a histogram that is not used afterwards.
func (h *histogram) take(from *histogram) {
	if from.many == nil {
		h.merge(from)
		return
	}
	if h.many == nil {
		h.few, h.many, from.few, from.many = from.few, from.many, h.few, h.many // the other way round is the same sum
		h.merge(&histogram{few: from.few})
		return
	}
	for i, o := range from.many {
		switch mine := h.many[i]; {
		case o == nil:
		case mine == nil:
			h.many[i] = o
		default:
			for j, n := range o {
				mine[j] += n
			}
			*o = [octave]uint64{}
			octavePool.Put(o)
		}
	}
	from.many = nil
}

// quantile is the value at rank ceil(q*total) of total values, in nanoseconds, kept within [lowest, highest].
func (h *histogram) quantile(q float64, total, lowest, highest uint64) uint64 {
	if total == 0 {
		return 0
	}
	rank := uint64(q * float64(total))
	if float64(rank) < q*float64(total) {
		rank++
	}
	rank = min(max(rank, 1), total)
	if rank == total {
		return highest
	}
	var seen uint64
	value := highest
	h.each(func(b int, n uint64) bool {
		seen += n
		if seen >= rank {
			value = bucketValue(b)
			return false
		}
		return true
	})
	return min(max(value, lowest), highest)
}

// stddev is the standard deviation of the values, in nanoseconds. Each stands for its bucket, so values that are all in one
// have none.
func (h *histogram) stddev() float64 {
	mean, squares, total := 0.0, 0.0, 0.0
	h.each(func(b int, n uint64) bool { // after Welford
		v, w := float64(bucketValue(b)), float64(n)
		total += w
		off := v - mean
		mean += off * w / total
		squares += w * off * (v - mean)
		return true
	})
	if total < 2 {
		return 0
	}
	return math.Sqrt(max(squares, 0) / (total - 1))
}
