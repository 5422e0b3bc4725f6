package sheet

import (
	"fmt"
	"math"
	"slices"

	"stowage/bench/result"
	"stowage/bench/stat"
)

// debt is the part of a run's own writes beyond which what settling wrote counts as a debt.
const debt = 0.10

// Add takes in one more run with its histogram.
func (r *Row) Add(x Sample, latency stat.Histogram, target float64) {
	r.Samples = append(r.Samples, x)
	r.Histogram = r.Histogram.Add(latency)
	r.figure(target)
}

// figure makes a row's figures from its runs.
func (r *Row) figure(target float64) {
	var sum Sample
	var least, most, mean float64
	var worst []float64
	r.RSS, r.Unsettled = 0, false
	for _, x := range r.Samples {
		sum.Transactions += x.Transactions
		sum.ServerCPU += x.ServerCPU
		sum.Changed += x.Changed
		sum.During.add(x.During)
		sum.Settling.add(x.Settling)
		r.RSS = max(r.RSS, x.RSS)
		r.Size = x.Size
		r.Unsettled = r.Unsettled || !x.IsSettled
		mean += x.Lat.Mean / float64(len(r.Samples))
		most = max(most, x.Lat.Max)
		if least == 0 || x.Lat.Min < least {
			least = x.Lat.Min
		}
		p99 := 0.0
		for _, i := range x.Instances {
			p99 = max(p99, i.P99)
		}
		worst = append(worst, p99)
	}
	r.Runs = len(r.Samples)
	r.TPS = metric(r.values(Sample.tps))
	r.PerCPU = metric(r.values(Sample.perCPU))
	r.Lat = result.LatencyOf(r.Histogram, least*1000, mean*1000, most*1000)
	r.WorstP99 = 0
	if r.Instances > 1 {
		r.WorstP99 = stat.Quantile(worst, 0.5)
	}
	if n := float64(sum.Transactions); n > 0 {
		r.CPUPerTx = sum.ServerCPU / n * 1e6
		r.Written = Phases{float64(sum.During.Written) / n, float64(sum.During.Written+sum.Settling.Written) / n}
		r.Read = float64(sum.During.Read) / n
		r.Flushes = float64(sum.During.Flushes) / n
		r.Operations = float64(sum.During.Operations) / n
	}
	if r.Amplification = nil; sum.Changed > 0 {
		c := float64(sum.Changed)
		r.Amplification = &Phases{float64(sum.During.Written) / c, float64(sum.During.Written+sum.Settling.Written) / c}
	}
	if r.PrimaryTPS = nil; r.Threads > 0 || r.Parallel != "" {
		m := metric(r.values(func(x Sample) float64 { return x.PrimaryTPS }))
		r.PrimaryTPS = &m
		if m.Mean > 0 {
			r.Keeps = r.TPS.Mean / m.Mean
		}
	}
	r.DebtUnpaid = float64(sum.Settling.Written) > debt*float64(sum.During.Written) && sum.Changed > 0
	r.MoreRuns = 0
	if !r.IsTight(target) {
		r.MoreRuns = max(stat.RunsFor(r.values(Sample.tps), target)-r.Runs, 1)
	}
}

// IsTight says whether the interval of tps reaches no farther than target to either side.
func (r *Row) IsTight(target float64) bool { return r.TPS.CI != nil && r.TPS.CI.HalfWidth() <= target }

func (m *Moved) add(x Moved) {
	m.Written, m.Read, m.Flushes = m.Written+x.Written, m.Read+x.Read, m.Flushes+x.Flushes
	m.Operations += x.Operations
}

func metric(values []float64) Metric {
	m, ci := stat.Mean(values)
	return Metric{m, ci}
}

func (r *Row) values(of func(Sample) float64) []float64 {
	var out []float64
	for _, x := range r.Samples {
		out = append(out, of(x))
	}
	return out
}

func (x Sample) tps() float64 { return x.TPS }

func (x Sample) perCPU() float64 { return ratio(float64(x.Transactions), x.ServerCPU) }

// written is what a transaction wrote, settling among it.
func (x Sample) written() float64 {
	return ratio(float64(x.During.Written+x.Settling.Written), float64(x.Transactions))
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// inverse makes less to be more, for judgements in which more is better.
func inverse(values []float64) []float64 {
	var out []float64
	for _, v := range values {
		if v > 0 {
			out = append(out, 1/v)
		}
	}
	return out
}

// judgeLess judges two series of which less is better; the ratio stays that of the values.
func judgeLess(a, b []float64, rule stat.Rule) *stat.Judgement {
	a, b = inverse(a), inverse(b)
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	j := stat.Judge(a, b, rule)
	j.Ratio = 1 / j.Ratio
	if j.CI != nil {
		j.CI = &stat.Interval{Low: 1 / j.CI.High, High: 1 / j.CI.Low}
	}
	return &j
}

// rules are what each figure is judged by. Times suffer from all that others do. Processor time by transaction suffers from who shares the
// processors, and not from who uses the disk; bytes by transaction from nobody but who writes to a device whose counts are taken.
type rules struct{ times, cpu, bytes stat.Rule }

// versus compares b with a.
func versus(a, b *Row, rule rules) *Versus {
	v := &Versus{
		Base: a.ID,
		TPS:  stat.Judge(a.values(Sample.tps), b.values(Sample.tps), rule.times), PerCPU: stat.Judge(a.values(Sample.perCPU), b.values(Sample.perCPU), rule.cpu),
		P99: judgeLess(a.values(Sample.p99), b.values(Sample.p99), rule.times),
	}
	if a.Amplification != nil && b.Amplification != nil {
		v.Written = judgeLess(a.values(Sample.written), b.values(Sample.written), rule.bytes)
	}
	return v
}

func (x Sample) p99() float64 {
	worst := x.Lat.P99
	for _, i := range x.Instances {
		worst = max(worst, i.P99)
	}
	return worst
}

// Judge makes everything that rests on all runs: rows, noise, validity, verdicts, knees.
func (r *Result) Judge() {
	for _, x := range r.Rows {
		x.figure(r.Settings.Target)
		if c := r.Cell(x.Cell); c != nil && c.Engine != MyRocks {
			x.DebtUnpaid = false // pages that are written later are no debt that grows
		}
	}
	r.sumNoise()
	rule := rulesOf(r)
	for _, x := range r.Rows {
		x.Versus = nil
		if base := r.baseOf(x); base != nil && base != x && len(base.Samples) > 0 && len(x.Samples) > 0 {
			x.Versus = versus(base, x, rule)
		}
	}
	r.Knees = r.knees(rule.times)
	r.Valid, r.Invalid = true, nil
	invalid := func(format string, args ...any) {
		r.Valid, r.Invalid = false, append(r.Invalid, fmt.Sprintf(format, args...))
	}
	if !r.Complete {
		invalid("it was cut short before its end")
	}
	for _, x := range r.Rows {
		for _, s := range x.Samples {
			if s.Transactions == 0 {
				invalid("%s: a run did nothing", x.ID)
				break
			}
		}
	}
}

// baseOf is what a row is compared with: the same load in the first cell, one instance, or a replica with one applier.
func (r *Result) baseOf(x *Row) *Row {
	for _, b := range r.Rows {
		if b.Load != x.Load || b.Ratio != x.Ratio || b.Again {
			continue
		}
		switch r.Mode {
		case Engines:
			if b.Cell == r.Base {
				return b
			}
		case Instances:
			if b.Cell == x.Cell && b.Instances == slices.Min(r.Settings.Counts) {
				return b
			}
		case Apply:
			if b.Cell == x.Cell && b.Threads == slices.Min(r.Settings.Threads) {
				return b
			}
		}
	}
	return nil
}

// again is the A/A partner of a base row, or nil.
func (r *Result) again(b *Row) *Row {
	for _, x := range r.Rows {
		if x.Again && x.Load == b.Load && x.Ratio == b.Ratio {
			return x
		}
	}
	return nil
}

// disturbed is how far a disturbance counts; see bench compare.
const disturbed = 0.3

// rulesOf makes the rules for figures of these results: how much farther intervals reach because of what the A/A cells show of the same
// figure, and of how disturbed it was.
func rulesOf(all ...*Result) rules {
	var worst result.Disturbance
	for _, r := range all {
		m := r.Noise.Mean
		worst.CPU, worst.IO, worst.Steal = max(worst.CPU, m.CPU), max(worst.IO, m.IO), max(worst.Steal, m.Steal)
		worst.Foreign = max(worst.Foreign, m.Foreign)
	}
	rule := func(of func(Sample) float64, noise float64) stat.Rule {
		return stat.Rule{Tolerance: result.Tolerance, Drift: math.Hypot(drift(of, all...), noise)}
	}
	cpu := disturbed * max(worst.CPU, worst.Steal)
	return rules{
		times: rule(Sample.tps, max(cpu, disturbed*max(worst.IO, worst.Foreign))),
		cpu:   rule(Sample.perCPU, cpu),
		bytes: rule(Sample.written, worst.Foreign),
	}
}

// drift is what the A/A cells of all results show of one figure, beyond what a run and the next differ by.
func drift(of func(Sample) float64, all ...*Result) float64 {
	var pairs []stat.Pair
	for _, r := range all {
		for _, b := range r.Rows {
			if a := r.again(b); a != nil && !b.Again && b.Cell == r.Base {
				first, _ := stat.Mean(b.values(of))
				last, _ := stat.Mean(a.values(of))
				pairs = append(pairs, stat.Pair{First: first, Last: last, Runs: b.values(of)})
			}
		}
	}
	return stat.Drift(0, pairs...)
}

func (r *Result) sumNoise() {
	var all []result.Disturbance
	for _, x := range r.Rows {
		for _, s := range x.Samples {
			all = append(all, s.Noise)
		}
	}
	for _, b := range r.Rows { // the pair that differs most is told
		a := r.again(b)
		if a == nil || b.Again || b.Cell != r.Base || b.TPS.Mean == 0 || a.TPS.Mean == 0 {
			continue
		}
		if old := r.Noise.AA; old == nil || old.Step == b.ID || math.Abs(math.Log(a.TPS.Mean/b.TPS.Mean)) > math.Abs(math.Log(old.Ratio)) {
			r.Noise.SetAA(b.ID, b.TPS.Mean, a.TPS.Mean)
		}
	}
	r.Noise.Sum(all)
}

// knees says for each cell and load up to how many instances a host does more with each.
func (r *Result) knees(rule stat.Rule) []Knee {
	if r.Mode != Instances {
		return nil
	}
	var out []Knee
	for i, first := range r.Rows {
		var curve []*Row
		for _, x := range r.Rows {
			if x.Cell == first.Cell && x.Load == first.Load && x.Ratio == first.Ratio && len(x.Samples) > 0 {
				curve = append(curve, x)
			}
		}
		if len(curve) == 0 || r.Rows[i] != curve[0] {
			continue // the curve is told at its first row
		}
		k := Knee{Cell: first.Cell, Load: first.Load, Ratio: first.Ratio, At: curve[0].Instances}
		k.Text = fmt.Sprintf("up to %d each step did surely more; farther was not measured", curve[len(curve)-1].Instances)
		for j := 1; j < len(curve); j++ {
			from, to := curve[j-1], curve[j]
			v := stat.Judge(from.values(Sample.tps), to.values(Sample.tps), rule)
			if v.Verdict == stat.Better {
				k.At = to.Instances
				continue
			}
			k.Sure = v.Verdict != stat.Inconclusive
			k.Text = fmt.Sprintf("%d at once do %.2f of what %d do (%s)", to.Instances, v.Ratio, from.Instances, v.Verdict)
			if tail := judgeLess(from.values(Sample.p99), to.values(Sample.p99), rule); tail != nil {
				k.Text += fmt.Sprintf("; their p99 is %.1f times as long (%s)", tail.Ratio, tail.Verdict)
			}
			break
		}
		out = append(out, k)
	}
	return out
}
