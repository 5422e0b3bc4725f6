package digest

import (
	"math"
	"math/bits"
)

// wide is an unsigned 128-bit integer. Sums of nanoseconds need it: hundreds of busy hosts pass 2^64 ns (584 years of
// query time) within a day, and one server bug prints a Query_time of 18446744073708.796870 seconds by itself.
type wide struct{ hi, lo uint64 }

func narrow(v uint64) wide { return wide{lo: v} }

func (w *wide) add(v wide) {
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, v.lo, 0)
	w.hi, _ = bits.Add64(w.hi, v.hi, carry)
}

// addSmall is add for the common case, small enough to be inlined.
func (w *wide) addSmall(v uint64) {
	lo := w.lo + v
	if lo < v {
		w.hi++
	}
	w.lo = lo
}

func (w wide) isZero() bool { return w.hi == 0 && w.lo == 0 }

func (w wide) less(v wide) bool { return w.hi < v.hi || w.hi == v.hi && w.lo < v.lo }

// saturated is the value as one word, the largest word when it does not fit.
func (w wide) saturated() uint64 {
	if w.hi != 0 {
		return math.MaxUint64
	}
	return w.lo
}

func (w wide) float() float64 { return float64(w.hi)*0x1p64 + float64(w.lo) }

// seconds turns a sum of nanoseconds into seconds. Below 2^53 ns (104 days) both operands are exact, so the result is
// the double nearest to the true value: 762080000 ns prints as 0.76208.
func (w wide) seconds() float64 { return w.float() / 1e9 }

// addSaturated is addition that stops at the largest word. For values that never decrease it is associative and
// commutative, hence safe in anything that is merged.
func addSaturated(a, b uint64) uint64 {
	s := a + b
	if s < a {
		return math.MaxUint64
	}
	return s
}
