package digest

import (
	"fmt"
	"math"
)

// Sums without single latencies can be compared by their averages and by calls a second. What a quantile would say stays
// open.

const reasonSums = "no latencies of single statements"

// onlySums says whether a side of a class has no latency of its own.
func onlySums(ch *Change) bool {
	return math.IsNaN(ch.Before.QueryTime.P95) || math.IsNaN(ch.After.QueryTime.P95)
}

// caveatsOfSums are reasons not to trust a comparison that are in how sums were read.
func caveatsOfSums(before, after *Digest) (out []string) {
	for _, s := range []struct {
		name string
		d    *Digest
	}{{"BEFORE", before}, {"AFTER", after}} {
		var loose uint64
		for _, c := range s.d.byHash {
			loose += c.summed().loose
		}
		if loose > 0 {
			out = append(out, fmt.Sprintf("%s holds %s statements of one reading of performance_schema, which does not say when they ran: calls and load a second mean nothing; read a window instead (--for)",
				s.name, count(loose)))
		}
	}
	return out
}

// withoutQuantiles says that no two judged classes have latencies of single statements on both sides.
func (t *trial) withoutQuantiles() bool {
	n := 0
	for i := range t.judged {
		if t.judged[i] && !math.IsNaN(t.tests[i].raw[figP95]) {
			n++
		}
	}
	return n < 2
}

// commonAverage is commonFactor where only averages are known.
func (t *trial) commonAverage(out *Comparison) {
	o := &out.Overall
	avg := t.shared.belief[figMean].around(t.shared.shift[figMean], t.o.Alpha)
	switch lower, upper := 1/(1+t.o.Margin), 1+t.o.Margin; {
	case avg.beyond(lower, upper) && avg[0] > 1:
		o.Verdict = VerdictSlower
	case avg.beyond(lower, upper):
		o.Verdict = VerdictFaster
	}
	o.Reason = fmt.Sprintf("%s: by averages alone, what the classes have in common lies between %.2f and %.2f times", reasonSums, avg[0], avg[1])
}

// averages writes what can be said of a class that has no quantiles.
func (p *page) averages(ch Change) {
	if ch.Before == nil || ch.After == nil || !onlySums(&ch) {
		return
	}
	own := ""
	if len(ch.OwnAvgCI) == 2 {
		own = fmt.Sprintf(", own %.2f to %.2f times", ch.OwnAvgCI[0], ch.OwnAvgCI[1])
	}
	p.line("  %s", p.faint(clip(fmt.Sprintf("avg %s->%s%s; calls/s %.4g->%.4g", duration(ch.Before.QueryTime.Avg), duration(ch.After.QueryTime.Avg), own,
		ch.CallsBefore, ch.CallsAfter), p.o.Width-2)))
}
