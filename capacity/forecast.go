package capacity

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"stowage/farm"
	"stowage/internal/student"
)

// Days is a time until a limit is reached: with 5, 50 and 95 % probability it is reached by then. Mid or High is nil where that
// probability is not reached within a hundred years.
type Days struct {
	Low  float64  `json:"low"`
	Mid  *float64 `json:"mid"`
	High *float64 `json:"high"`
}

// Forecast is the answer for one resource. Days is nil where nothing can be said; Reason says why.
type Forecast struct {
	Days    *Days   `json:"days"`
	Method  string  `json:"method"`
	Assumes string  `json:"assumes"` // the future that Days holds for
	Samples int     `json:"samples"`
	Level   float64 `json:"level"` // the last sample
	Limit   float64 `json:"limit"`
	// Growth is in units of the series a day, from the last change of slope on and without steps.
	Growth float64    `json:"growth_per_day"`
	Since  *time.Time `json:"growth_since"`
	Steps  []Step     `json:"steps"`
	// IfStepsGoOn is Days for a future in which steps come as often and as large as they did; nil with fewer than three.
	IfStepsGoOn *Days    `json:"if_steps_go_on"`
	Reason      string   `json:"reason"`
	Remarks     []string `json:"remarks"`
}

const (
	methodLevel = "steps out, last slope, weekly sums, first passage"
	methodRate  = "last level, weekly peaks, straight line"
	methodPeaks = "last level, weekly medians of daily peaks, straight line"

	assumesQuiet = "growth goes on as since its last change, without steps"

	// widen makes the interval cover what the model leaves out: weeks that follow one another, a slope that changes again. Tried on
	// generated series: TestIntervalsCoverTheTruth.
	widen = 1.35
	// fewest weeks that an interval can be made of: with three, a t value has two degrees of freedom.
	fewestWeeks = 3
)

// Level forecasts when a level that grows, such as the bytes on a file system, reaches its limit. Samples may be of any density
// and order; the last one of each day counts.
//
// A level is a sum of what came each day, so an error in it does not go away again: residuals around a fitted line follow one
// another, and a band around that line is several times too narrow. Level takes steps out, looks for the last change of slope,
// takes the mean and the deviation of whole weeks since then, and asks when a random walk with that drift first meets the limit.
func Level(samples []Sample, limit float64) Forecast {
	samples = sorted(samples)
	f := Forecast{Method: methodLevel, Assumes: assumesQuiet, Samples: len(samples), Limit: limit, Steps: []Step{}, Remarks: []string{}}
	if len(samples) == 0 {
		f.Reason = "no samples"
		return f
	}
	f.Level = samples[len(samples)-1].Value
	room := limit - f.Level
	if room <= 0 {
		zero := 0.0
		f.Days = &Days{0, &zero, &zero}
		f.Remarks = append(f.Remarks, "the limit is reached")
		return f
	}
	d := byDay(samples)
	added, seen := d.growth()
	clean, steps := takeSteps(added)
	for i, size := range steps {
		f.Steps = append(f.Steps, Step{d.at(i + 1), size})
	}
	slices.SortFunc(f.Steps, func(a, b Step) int { return a.At.Compare(b.At) })
	from := lastChange(clean)
	w := weeksOf(clean[from:], seen[from:])
	if measured := count(d.seen[from:]); w.n < fewestWeeks || measured < shortest {
		f.Reason = fmt.Sprintf("too few samples: %s and %s, needs %d days and %d weeks", farm.Counted(measured, "day"), farm.Counted(w.n, "whole week"), shortest, fewestWeeks)
		return f
	}
	since := d.at(from)
	f.Growth, f.Since = w.mean, &since
	f.Days = w.days(room, jumps{})
	if f.Days.Mid == nil {
		f.Remarks = append(f.Remarks, "the level does not grow enough to reach the limit: the low end is the worst case")
	}
	if j := jumpsOf(steps, len(added)); j.n >= 3 {
		f.IfStepsGoOn = w.days(room, j)
	}
	if f.Days.Mid != nil && *f.Days.Mid > 5*float64(len(d.level)) {
		f.Remarks = append(f.Remarks, fmt.Sprintf("more than five times as far ahead as was measured (%s)", farm.Counted(len(d.level), "day")))
	}
	return f
}

// weeks are what the growth since the last change looks like.
type weeks struct {
	mean float64 // a day
	s    float64 // deviation of a week's mean, wider where weeks follow one another
	n    int     // weeks of which at least four days were measured
}

func weeksOf(added []float64, seen []bool) weeks {
	var each []float64
	from := len(added) % 7
	for i := from; i+7 <= len(added); i += 7 {
		if count(seen[i:i+7]) >= 4 {
			each = append(each, mean(added[i:i+7]))
		}
	}
	r := follows(each)
	return weeks{mean: mean(added), s: deviation(each) * math.Sqrt((1+r)/(1-r)), n: len(each)}
}

// jumps are the steps of a history, as a compound Poisson process.
type jumps struct {
	n               int
	drift, variance float64 // a day
	doubt           float64 // the variance of drift
}

func jumpsOf(steps map[int]float64, days int) jumps {
	j := jumps{n: len(steps)}
	for _, size := range steps {
		j.drift += size / float64(days)
		j.variance += size * size / float64(days)
	}
	j.doubt = j.variance / float64(days)
	return j
}

// days are the quantiles of the first passage, over a drift that is known as well as the weeks tell it.
func (w weeks) days(room float64, j jumps) *Days {
	doubt := widen * math.Sqrt(w.s*w.s/float64(w.n)+j.doubt)
	variance := widen * widen * (7*w.s*w.s + j.variance)
	nodes := equallyLikely(float64(w.n - 1))
	by := func(days float64) float64 {
		sum := 0.0
		for _, t := range nodes {
			sum += reached(days, room, w.mean+j.drift+doubt*t, variance)
		}
		return sum / float64(len(nodes))
	}
	return daysOf(by)
}

func daysOf(by func(days float64) float64) *Days {
	d := &Days{Low: horizon, Mid: quantile(0.5, by), High: quantile(0.95, by)}
	if low := quantile(0.05, by); low != nil {
		d.Low = *low
	}
	return d
}

// likely remembers equallyLikely by degrees of freedom, of which there are as many as weeks: finding them takes as long as the rest of a forecast.
var likely sync.Map

// equallyLikely are 41 values of a t distribution, each for an equal share of its probability. They are only read.
func equallyLikely(df float64) []float64 {
	if nodes, ok := likely.Load(df); ok {
		return nodes.([]float64)
	}
	const n = 41
	nodes := make([]float64, n)
	for i := range n / 2 {
		t := student.Quantile(2*(float64(i)+0.5)/n, df)
		nodes[i], nodes[n-1-i] = -t, t
	}
	likely.Store(df, nodes)
	return nodes
}

// less is d when so many days have gone by.
func (d *Days) less(days float64) *Days {
	if d == nil {
		return nil
	}
	later := func(v *float64) *float64 {
		if v == nil {
			return nil
		}
		left := max(0, *v-days)
		return &left
	}
	return &Days{max(0, d.Low-days), later(d.Mid), later(d.High)}
}

func count(of []bool) int {
	n := 0
	for _, yes := range of {
		if yes {
			n++
		}
	}
	return n
}
