package result

import (
	"fmt"
	"math"

	"stowage/bench/stat"
)

// Limits of the noise gate: beyond them a run was disturbed. An idle machine stays below a tenth of each; they are
// proposals until more machines have been seen.
const (
	limitPSI     = 0.10 // of the pause before the run
	limitSteal   = 0.02 // of the run
	limitForeign = 0.05 // of what the device moved
	limitAA      = 0.10 // first against last
	mostlyAlone  = 0.50 // requests that went out alone although more were asked for
)

// Add takes in one more run, with its histograms: of requests, or of a durable step's fdatasync and of its writes.
func (s *Step) Add(x Sample, latency, writes stat.Histogram, target float64) {
	s.Samples = append(s.Samples, x)
	s.Histogram, s.WriteHistogram = s.Histogram.Add(latency), s.WriteHistogram.Add(writes)
	s.settle(target)
}

// settle makes a step's figures from its runs.
func (s *Step) settle(target float64) {
	var iops, mbps, series []float64
	var lat, write Latency
	s.WriteLat, s.Valid = nil, len(s.Samples) > 0
	for _, x := range s.Samples {
		iops, mbps, series = append(iops, x.IOPS), append(mbps, x.MBps), append(series, x.Series...)
		lat.add(x.Lat, len(s.Samples))
		if x.WriteLat != nil {
			write.add(*x.WriteLat, len(s.Samples))
		}
		s.Valid = s.Valid && !x.Check.Short && x.IOPS > 0
	}
	s.Runs = len(s.Samples)
	s.IOPS, s.CI = stat.Mean(iops)
	s.MBps, _ = stat.Mean(mbps)
	s.Lat = lat.quantiles(s.Histogram)
	if len(s.WriteHistogram) > 0 {
		w := write.quantiles(s.WriteHistogram)
		s.WriteLat = &w
	}
	s.Settling = stat.Settled(series)
	s.Steady = s.Settling.Steady
	s.Series.Min, s.Series.P1, s.Series.Median = stat.Quantile(series, 0), stat.Quantile(series, 0.01), stat.Quantile(series, 0.5)
	s.Behind = 0
	if s.AskedIOPS > 0 {
		s.Behind = max(0, 1-s.IOPS/s.AskedIOPS)
	}
	s.MoreRuns = 0
	if !s.IsTight(target) {
		s.MoreRuns = max(stat.RunsFor(iops, target)-s.Runs, 1)
	}
}

// judgeFlushes holds the flushes that the device got against the fdatasyncs that were asked for. Several threads share
// flushes, and a device whose cache is written through needs none.
func (s *Step) judgeFlushes(d *Device) {
	s.Flushes, s.Undurable = nil, false
	if !s.Durable || s.Threads != 1 || d == nil || d.Queue["write_cache"] != "write back" {
		return
	}
	var flushes, syncs int64
	for _, x := range s.Samples {
		flushes, syncs = flushes+x.Check.Flushes, syncs+x.Check.Syncs
	}
	if syncs == 0 {
		return
	}
	each := float64(flushes) / float64(syncs)
	s.Flushes, s.Undurable = &each, each < 0.5
}

// IsTight says whether the interval reaches no farther than target to either side.
func (s *Step) IsTight(target float64) bool { return s.CI != nil && s.CI.HalfWidth() <= target }

// add takes in least, mean and maximum of one run of n. Runs last equally long; the mean is that of their means.
func (l *Latency) add(x Latency, n int) {
	l.Mean += x.Mean / float64(n)
	l.Max = max(l.Max, x.Max)
	if l.Min == 0 || x.Min < l.Min {
		l.Min = x.Min
	}
}

// quantiles fills in the percentiles of all runs together.
func (l Latency) quantiles(h stat.Histogram) Latency {
	us := func(q float64) float64 {
		v := math.Round(float64(h.Quantile(q))/10) / 100
		if l.Max > 0 {
			v = min(max(v, l.Min), l.Max) // a bucket's middle may be beyond what fell into it
		}
		return v
	}
	l.P50, l.P95, l.P99, l.P999 = us(0.5), us(0.95), us(0.99), us(0.999)
	return l
}

// LatencyOf makes a latency from a histogram and from the least, the mean and the longest time, all in nanoseconds.
func LatencyOf(h stat.Histogram, least, mean, most float64) Latency {
	return Latency{Min: least / 1000, Mean: mean / 1000, Max: most / 1000}.quantiles(h)
}

// Judge makes everything of the result that rests on all its runs: noise, validity, labels of the steps' behaviour.
func (r *Result) Judge() {
	for _, s := range r.Steps {
		s.settle(r.Settings.Target)
	}
	for _, s := range r.Steps {
		s.judgeFlushes(r.Environment.Device)
	}
	r.Noise.sum(r.Steps)
	r.Valid, r.InvalidBecause = true, nil
	invalid := func(format string, args ...any) {
		r.Valid, r.InvalidBecause = false, append(r.InvalidBecause, fmt.Sprintf(format, args...))
	}
	for _, s := range r.Steps {
		for _, x := range s.Samples {
			switch c := x.Check; {
			case c.Short:
				invalid("%s: fio read %d and wrote %d bytes, but %s counted %d and %d: a cache answered", s.ID, c.FioRead, c.FioWritten, c.Of, c.Read, c.Written)
			case s.Outstanding > 1 && s.AskedIOPS == 0 && x.Depth1 > mostlyAlone:
				invalid("%s: %.0f %% of the requests went out alone, and %d at a time were asked for", s.ID, 100*x.Depth1, s.Outstanding)
			case x.IOPS <= 0:
				invalid("%s: a run did nothing", s.ID)
			default:
				continue
			}
			break // once a step
		}
	}
	if d := r.Environment.Device; d != nil {
		for name, v := range d.Thermal {
			if v[1] > v[0] {
				invalid("the device became too hot meanwhile: %s rose from %d to %d", name, v[0], v[1])
			}
		}
	}
	if len(r.Steps) == 0 || !r.Complete {
		invalid("it was cut short before its end")
	}
}

// sum makes the noise of a result from that of its runs.
func (n *Noise) sum(steps []*Step) {
	var all []Disturbance
	seen := map[int]bool{} // two steps may be halves of one run
	for _, s := range steps {
		for _, x := range s.Samples {
			if !seen[x.Seq] {
				seen[x.Seq] = true
				all = append(all, x.Noise)
			}
		}
	}
	n.Sum(all)
}

// Sum makes the noise of a result from that of its runs, one each.
func (n *Noise) Sum(all []Disturbance) {
	n.Mean, n.Worst, n.Disturbed, n.Reasons = Disturbance{}, Disturbance{}, 0, nil
	n.Runs = len(all)
	part := float64(len(all))
	passed := make([]int, len(limits))
	for _, d := range all {
		n.Mean.CPU, n.Mean.IO, n.Mean.Steal, n.Mean.Foreign = n.Mean.CPU+d.CPU/part, n.Mean.IO+d.IO/part, n.Mean.Steal+d.Steal/part, n.Mean.Foreign+d.Foreign/part
		n.Worst.CPU, n.Worst.IO = max(n.Worst.CPU, d.CPU), max(n.Worst.IO, d.IO)
		n.Worst.Steal, n.Worst.Foreign = max(n.Worst.Steal, d.Steal), max(n.Worst.Foreign, d.Foreign)
		if d.note(passed) {
			n.Disturbed++
		}
	}
	for i, l := range limits {
		if passed[i] > 0 {
			n.Reasons = append(n.Reasons, fmt.Sprintf("%s in %d of %d runs", l.text, passed[i], n.Runs))
		}
	}
	if n.AA != nil && n.AA.Noisy {
		n.Reasons = append(n.Reasons, fmt.Sprintf("%s measured first and last differs from itself by a factor of %.2f", n.AA.Step, n.AA.Ratio))
	}
	n.Quiet = len(n.Reasons) == 0
}

// limits is the noise gate.
var limits = []struct {
	text  string
	value func(Disturbance) float64
	limit float64
}{
	{"others waited for a processor", func(d Disturbance) float64 { return d.CPU }, limitPSI},
	{"others waited for I/O", func(d Disturbance) float64 { return d.IO }, limitPSI},
	{"the hypervisor took processor time", func(d Disturbance) float64 { return d.Steal }, limitSteal},
	{"others used the device", func(d Disturbance) float64 { return d.Foreign }, limitForeign},
}

// note counts the limits that were passed, and says whether any was.
func (d Disturbance) note(passed []int) bool {
	was := false
	for i, l := range limits {
		if l.value(d) > l.limit {
			passed[i]++
			was = true
		}
	}
	return was
}

// SetAA notes the A/A pair.
func (n *Noise) SetAA(step string, first, last float64) {
	n.AA = &AA{Step: step, First: first, Last: last, Noisy: true}
	if first > 0 && last > 0 {
		n.AA.Ratio = last / first
		n.AA.Noisy = math.Abs(math.Log(n.AA.Ratio)) > math.Log1p(limitAA)
	}
}
