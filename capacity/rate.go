package capacity

import (
	"fmt"
	"math"
	"slices"

	"stowage/farm"
	"stowage/internal/student"
)

// Rate forecasts when a rate, such as cores in use or operations a second, reaches its limit in the busy hours of a week. It takes
// the 95th percentile of each week's samples and a straight line through those since the last change: unlike a level, a rate
// does not carry yesterday's error into today.
func Rate(samples []Sample, limit float64) Forecast {
	return rate(samples, limit, methodRate, 0.95)
}

// DailyPeaks is Rate for samples that are each the peak of a day. It takes the median of each week: the 95th percentile of a week's
// hours is about as high, and one odd hour changes neither.
func DailyPeaks(samples []Sample, limit float64) Forecast {
	return rate(samples, limit, methodPeaks, 0.5)
}

func rate(samples []Sample, limit float64, method string, share float64) Forecast {
	samples = sorted(samples)
	f := Forecast{Method: method, Assumes: assumesQuiet, Samples: len(samples), Limit: limit, Steps: []Step{}, Remarks: []string{}}
	if len(samples) == 0 {
		f.Reason = "no samples"
		return f
	}
	peaks, ends := weeklyPeaks(samples, share)
	from := lastShift(peaks)
	peaks, ends = peaks[from:], ends[from:]
	if len(peaks) < fewestWeeks+1 {
		f.Level = samples[len(samples)-1].Value
		f.Reason = fmt.Sprintf("too few samples: %s since the last change, needs %d", farm.Counted(len(peaks), "whole week"), fewestWeeks+1)
		return f
	}
	f.Level = peaks[len(peaks)-1]
	l := fit(ends, peaks)
	f.Growth = l.slope
	since := samples[0].At
	for _, s := range samples {
		if float64(s.At.Unix())/86400 <= ends[0] {
			since = s.At
		}
	}
	f.Since = &since
	if f.Level >= limit {
		zero := 0.0
		f.Days = &Days{0, &zero, &zero}
		f.Remarks = append(f.Remarks, "the limit is reached in the busy hours")
		return f
	}
	f.Days = daysOf(func(days float64) float64 { return l.above(limit, ends[len(ends)-1]+days) })
	return f
}

// weeklyPeaks has one quantile (share, 0 to 1) of the samples of each whole week, counted back from the last sample, and when the week
// ended, in days. A week counts when it has at least half of the samples that the fullest has.
func weeklyPeaks(samples []Sample, share float64) (peaks, ends []float64) {
	last := samples[len(samples)-1].At
	byWeek := map[int][]float64{}
	most, oldest := 0, 0
	for _, s := range samples {
		k := int(last.Sub(s.At).Hours() / (24 * 7))
		byWeek[k] = append(byWeek[k], s.Value)
		most, oldest = max(most, len(byWeek[k])), max(oldest, k)
	}
	for k := oldest; k >= 0; k-- {
		v := byWeek[k]
		if 2*len(v) < most || len(v) == 0 {
			continue
		}
		slices.Sort(v)
		peaks = append(peaks, v[min(len(v)-1, int(share*float64(len(v))))])
		ends = append(ends, float64(last.Unix())/86400-7*float64(k))
	}
	return peaks, ends
}

// lastShift is the week from which on peaks stand on one line: after a shard came or went the weeks before say nothing. It holds
// the medians of three weeks before and behind against each other, with the usual growth taken out. Of few weeks the spread is
// hardly known, so a shift is also a fifth of the height.
func lastShift(peaks []float64) int {
	var diff []float64
	for i := 1; i < len(peaks); i++ {
		diff = append(diff, peaks[i]-peaks[i-1])
	}
	level, m := make([]float64, len(peaks)), median(diff)
	for i, p := range peaks {
		level[i] = p - m*float64(i)
	}
	limit := max(farOff/2*spread(diff), median(peaks)/5)
	best, from := limit, 0
	for i := 3; i+3 <= len(level); i++ {
		if by := math.Abs(median(level[i:i+3]) - median(level[i-3:i])); by > best {
			best, from = by, i
		}
	}
	if from == 0 {
		return 0
	}
	return from + lastShift(peaks[from:])
}

type line struct {
	slope, middle, at float64 // height middle at day at
	s, spreadX, n, df float64
}

func fit(x, y []float64) line {
	l := line{at: mean(x), middle: mean(y), n: float64(len(x)), df: float64(len(x) - 2)}
	both := 0.0
	for i := range x {
		l.spreadX += (x[i] - l.at) * (x[i] - l.at)
		both += (x[i] - l.at) * (y[i] - l.middle)
	}
	l.slope = both / l.spreadX
	rest := make([]float64, len(x))
	sum := 0.0
	for i := range x {
		rest[i] = y[i] - l.middle - l.slope*(x[i]-l.at)
		sum += rest[i] * rest[i]
	}
	r := follows(rest)
	l.s = widen * math.Sqrt(sum/l.df*(1+r)/(1-r))
	return l
}

// above is the probability that the line is above limit at day x: Fieller's interval, read the other way round.
func (l line) above(limit, x float64) float64 {
	height := l.middle + l.slope*(x-l.at) - limit
	se := l.s * math.Sqrt(1/l.n+(x-l.at)*(x-l.at)/l.spreadX)
	if se == 0 {
		if height >= 0 {
			return 1
		}
		return 0
	}
	p := student.TwoSided(height/se, l.df) / 2
	if height > 0 {
		return 1 - p
	}
	return p
}
