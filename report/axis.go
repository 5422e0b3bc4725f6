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
