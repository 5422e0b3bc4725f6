package stat

import (
	"math"

	"stowage/internal/student"
)

// Confidence is that of every interval of a bench.
const Confidence = 0.95

// Interval holds the true value with the Confidence. Both ends are in the unit of what was measured.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// HalfWidth is how far the interval reaches to either side of its middle, as a part of it: 0.05 is 5 %.
func (i Interval) HalfWidth() float64 { return math.Sqrt(i.High/i.Low) - 1 }

// Mean is the geometric mean of values above 0, with its interval. Of fewer than two values there is none.
func Mean(values []float64) (mean float64, ci *Interval) {
	m := summarise(values)
	if m.n == 0 {
		return 0, nil
	}
	mean = math.Exp(m.mean)
	if m.n < 2 {
		return mean, nil
	}
	half := student.Quantile(1-Confidence, m.n-1) * math.Sqrt(m.variance/m.n)
	return mean, &Interval{Low: math.Exp(m.mean - half), High: math.Exp(m.mean + half)}
}

// RunsFor is how many values in all would make the interval of the mean reach half (0.05) to either side, judged by
// how much these differ. 0 where they are too few to tell.
func RunsFor(values []float64, half float64) int {
	m := summarise(values)
	if m.n < 2 {
		return 0
	}
	want := math.Log1p(half)
	return search(func(n float64) bool { return student.Quantile(1-Confidence, n-1)*math.Sqrt(m.variance/n) <= want })
}

// most is where a search for a number of runs ends: nobody runs more.
const most = 10000

// search is the least number of runs from 2 on that is enough, or most.
func search(enough func(n float64) bool) int {
	low, high := 2, most
	for low < high {
		middle := (low + high) / 2
		if enough(float64(middle)) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// logs is what logarithms of values come to.
type logs struct{ n, mean, variance float64 }

// summarise leaves out what has no logarithm: a run that did nothing is not a slow run, and its owner says so.
func summarise(values []float64) logs {
	var m logs
	var squares float64
	for _, v := range values {
		if !(v > 0) || math.IsInf(v, 0) {
			continue
		}
		m.n++
		delta := math.Log(v) - m.mean
		m.mean += delta / m.n
		squares += delta * (math.Log(v) - m.mean)
	}
	if m.n > 1 {
		m.variance = squares / (m.n - 1)
	}
	return m
}
