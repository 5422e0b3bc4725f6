package digest

import (
	"math"
	"time"
)

// Probe is a witness of the host: the same small piece of work, which asks nothing of the database, timed again and again by the
// machine that recorded, while it recorded. Windows of machines of different speed differ in it, and so do those of a machine
// whose processors were busy, stolen or throttled. A disk that is slow does not show in it.
type Probe struct {
	Count  uint64  `json:"count"`  // how often the work was timed
	Median float64 `json:"median"` // seconds
}

// Probed notes what the machine's own work took while everything in the digest was recorded: the median of count times.
func (d *Digest) Probed(count uint64, median time.Duration) {
	if count == 0 || median <= 0 {
		return
	}
	for i := range d.inputs {
		d.inputs[i].probes, d.inputs[i].probe = count, uint64(median)
	}
}

// wantProbes is below how many times a side the median of a probe is no witness: as many as blocks of time that are wanted.
const wantProbes = wantBlocks

// probeRatio is the logarithm of by how much the work of the hosts took longer in the second of two digests. It is known only where
// every input with events was recorded with enough probes; of several, each counts by its events.
func probeRatio(before, after *Digest) (log float64, ok bool) {
	b, isB := before.probed()
	a, isA := after.probed()
	return a - b, isB && isA
}

func (d *Digest) probed() (log float64, ok bool) {
	events := 0.0
	for i := range d.inputs {
		in := &d.inputs[i]
		if in.events == 0 {
			continue
		}
		if in.probes < wantProbes {
			return 0, false
		}
		n := float64(in.events)
		events, log = events+n, log+n*math.Log(float64(in.probe))
	}
	return log / max(events, 1), events > 0
}

// probeAgrees says whether the work of the host took as much longer as what is in common, or as much less: by the measure that is used for
// a class that does no work of its own.
func (t *trial) probeAgrees(shift figures) bool {
	return t.isProbed && t.isNear(t.probe, shift[figMean])
}

// isNear says whether a witness moved as all did.
func (t *trial) isNear(witness, shift float64) bool {
	return math.Abs(witness-shift) <= max(math.Log1p(t.o.Margin), math.Abs(shift)/3)
}
