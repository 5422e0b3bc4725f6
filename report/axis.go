package report

import "math"

// tick is one mark on an axis.
type tick struct {
	At   float64 // in the picture's units
	Text string
}

// step is the roundest step (1, 2 or 5 times a power of ten) that divides
// upTo into at most parts.
func step(upTo float64, parts int) float64 {
	if upTo <= 0 || parts < 1 {
		return 1
	}
	raw := upTo / float64(parts)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*power >= raw*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// clockSteps are steps, in seconds, that people read times in.
var clockSteps = []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400}

func clockStep(upTo float64, parts int) float64 {
	for _, s := range clockSteps {
		if upTo/s <= float64(parts) {
			return s
		}
	}
	return 86400 * math.Ceil(upTo/86400/float64(parts))
}

// round1 keeps coordinates short in the file.
func round1(v float64) float64 { return math.Round(v*10) / 10 }

// logScale is an axis on which the same factor is the same length. Both its ends are marks.
type logScale struct{ low, high float64 }

// newLogScale reaches from a mark below the least value above 0 to one above the largest; from 1 to 10 where there is none.
func newLogScale(values ...float64) logScale {
	least, most := math.Inf(1), 0.0
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			least, most = min(least, v), max(most, v)
		}
	}
	if most == 0 {
		return logScale{1, 10}
	}
	s := logScale{roundMark(least, 0), roundMark(most, 0)}
	if s.high < most {
		s.high = roundMark(most, 1)
	}
	if s.low == s.high {
		s.high = roundMark(s.low, 1)
	}
	return s
}

// roundMark is the largest 1, 2 or 5 times a power of ten that is no larger than v, or so many marks above it.
func roundMark(v float64, above int) float64 {
	power := int(math.Floor(math.Log10(v) + 1e-9))
	marks := []float64{1, 2, 5}
	at := 0
	for i, m := range marks {
		if m*math.Pow10(power) <= v*(1+1e-9) {
			at = i
		}
	}
	at += above
	return marks[at%3] * math.Pow10(power+at/3)
}

// share is where a value is, from 0 at the lower end to 1 at the upper one. What is beyond an end is at it.
func (s logScale) share(v float64) float64 {
	if v <= 0 {
		return 0
	}
	return min(max(math.Log(v/s.low)/math.Log(s.high/s.low), 0), 1)
}

// marks are 1, 2 and 5 times the powers of ten from end to end, or where that were more than most the powers alone, every other of them and so on.
func (s logScale) marks(most int) []float64 {
	var all, powers []float64
	for v := s.low; v <= s.high*(1+1e-9); v = roundMark(v, 1) {
		all = append(all, v)
		if math.Abs(math.Log10(v)-math.Round(math.Log10(v))) < 1e-6 {
			powers = append(powers, v)
		}
	}
	if len(all) <= most || len(powers) < 2 {
		return all
	}
	for every := 1; ; every++ {
		var out []float64
		for i := 0; i < len(powers); i += every {
			out = append(out, powers[i])
		}
		if len(out) <= most {
			return out
		}
	}
}
