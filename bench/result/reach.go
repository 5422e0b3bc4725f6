package result

import (
	"math"

	"stowage/bench/stat"
)

// The kinds of results that bench run has not measured.
const (
	// Entered: somebody published it, and somebody typed it in.
	Entered = "entered"
	// Imported: another program measured it (fio, DiskSpd, SQLIO), and its own output was read.
	Imported = "imported"
)

// IsSecondhand reports whether bench run has not measured it: then 0 is a figure that nobody gave, not one of nothing.
func (r *Result) IsSecondhand() bool { return r.Kind == Entered || r.Kind == Imported }

// Reach is how far, as a logarithm, a figure of a step may be off when it is compared with that of another storage: half the 95 % interval of its runs, and
// what drift, disturbance and foreign I/O add to it, as in Compare. values are the figure in each run, those of s.Samples. False where it
// cannot be said: of fewer than two runs, and of durable steps beside which others used the device.
func (r *Result) Reach(s *Step, values []float64) (float64, bool) {
	_, ci := stat.Mean(values)
	foreign := s.foreign()
	if ci == nil || s.Durable && foreign > limitForeign {
		return 0, false
	}
	return math.Hypot(math.Log(ci.High/ci.Low)/2, math.Hypot(r.drift(r), foreign)), true
}
