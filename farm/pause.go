package farm

import (
	"math"
	"slices"
	"strconv"
)

// Rank is a quantile of values, q from 0 to 1, by the nearest rank, counted from
// 1: a value that was measured, never one between two. Of two values the median
// is the smaller. 0 when there are none. Every page that shows how long gates
// were closed asks here, so that they show one figure.
func Rank(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Digits prints about three significant digits without an exponent, and
// thousands with commas.
func Digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 999.5:
		return Whole(v)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// Whole prints a number with commas: 24,310.
func Whole(v float64) string {
	text := strconv.FormatFloat(math.Abs(math.Round(v)), 'f', 0, 64)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	if math.Round(v) < 0 {
		return "-" + text
	}
	return text
}

// Millis prints milliseconds, in seconds from 10 seconds on.
func Millis(v float64) string {
	if v >= 10_000 {
		return Digits(v/1000) + " s"
	}
	return Digits(v) + " ms"
}
