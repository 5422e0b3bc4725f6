package digest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"stowage/internal/student"
)

// Comparison is what Compare found. Times are in seconds, ratios are AFTER divided by BEFORE.
type Comparison struct {
	FormatVersion int     `json:"format_version"`
	RuleSet       RuleSet `json:"rule_set"`
	GroupBy       GroupBy `json:"group_by"`
	Before        Side    `json:"before"`
	After         Side    `json:"after"`

	// CommonFactor is by how much p95 changed in all classes alike: host, load, or everything at once.
	CommonFactor   float64  `json:"common_factor"`
	CommonFactorCI Interval `json:"common_factor_ci"`
	CommonAvg      float64  `json:"common_factor_avg"`

	Overall      Overall  `json:"overall"`
	BlockSeconds int64    `json:"block_seconds"` // of the blocks that were drawn; 0: too few for any claim
	BlocksBefore int      `json:"blocks_before"`
	BlocksAfter  int      `json:"blocks_after"`
	Alpha        float64  `json:"alpha"`
	Margin       float64  `json:"margin"`
	SelfCheck    *AACheck `json:"self_check,omitempty"`
	Classes      []Change `json:"classes"`
	Notes        []string `json:"notes"`
}

// Side sums up one of the two digests.
type Side struct {
	Events       uint64  `json:"events"`
	Seconds      float64 `json:"seconds"` // of blocks of time in which anything happened
	QueryTimeSum float64 `json:"query_time_sum"`
	QueryTime    Latency `json:"query_time"`
	Inputs       []Input `json:"inputs"`
}

// Overall is the change of everything together.
type Overall struct {
	Verdict  Verdict  `json:"verdict"` // of the common factor
	Reason   string   `json:"reason,omitempty"`
	AvgRatio float64  `json:"avg_ratio"`
	P95Ratio float64  `json:"p95_ratio"`
	CI       Interval `json:"ci"` // of the common factor
	// Load is seconds of query time per second. Gained is what that changed; it is the sum of two parts: calls that became
	// more or fewer (at their old average), and averages that changed (at their new number).
	LoadBefore   float64 `json:"load_before"`
	LoadAfter    float64 `json:"load_after"`
	LoadByCalls  float64 `json:"load_change_by_calls"`
	LoadByAvg    float64 `json:"load_change_by_avg"`
	SlowerCount  int     `json:"slower"`
	FasterCount  int     `json:"faster"`
	UnclearCount int     `json:"inconclusive"`
}

// Change is what happened to one class.
type Change struct {
	Fingerprint string  `json:"fingerprint"`
	ID32        string  `json:"id32"`
	ID16        string  `json:"id16"`
	Verdict     Verdict `json:"verdict"`
	Reason      string  `json:"reason,omitempty"`

	P95Ratio float64  `json:"p95_ratio"`
	CI       Interval `json:"ci"` // of P95Ratio
	P50Ratio float64  `json:"p50_ratio"`
	P99Ratio float64  `json:"p99_ratio"`
	AvgRatio float64  `json:"avg_ratio"`
	// Own is P95Ratio divided by the common factor: what the verdict is about.
	OwnP95Ratio float64  `json:"own_p95_ratio"`
	OwnCI       Interval `json:"own_ci"`
	OwnP50CI    Interval `json:"own_p50_ci"`
	OwnAvgCI    Interval `json:"own_avg_ci"`
	// Detectable is the smallest own change of p95 these captures could have shown.
	Detectable float64 `json:"detectable_ratio,omitempty"`

	CallsBefore float64  `json:"calls_per_second_before"`
	CallsAfter  float64  `json:"calls_per_second_after"`
	CallsCI     Interval `json:"calls_ratio_ci"`
	LoadBefore  float64  `json:"load_before"` // seconds of query time per second
	LoadAfter   float64  `json:"load_after"`

	Before *ClassSide `json:"before,omitempty"`
	After  *ClassSide `json:"after,omitempty"`
}

// ClassSide is one side of a Change.
type ClassSide struct {
	Count     uint64     `json:"count"`
	QueryTime Latency    `json:"query_time"`
	Spark     [32]uint64 `json:"histogram"`
}

// AACheck judges random halves of BEFORE against each other, where nothing can have changed.
type AACheck struct {
	Splits      int     `json:"splits"`
	Judged      int     `json:"judged"` // classes, over all splits
	FalseAlarms int     `json:"false_alarms"`
	Share       float64 `json:"share"`
}

// Interval is a lower and an upper end, in this order; empty when nothing can be said.
type Interval []float64

func (i Interval) within(lower, upper float64) bool {
	return len(i) == 2 && i[0] >= lower && i[1] <= upper
}

func (i Interval) beyond(lower, upper float64) bool {
	return len(i) == 2 && (i[1] < lower || i[0] > upper)
}

// GotSlower says whether anything did: a class by itself, or all of them alike.
func (c *Comparison) GotSlower() bool {
	return c.Overall.SlowerCount > 0 || c.Overall.Verdict == VerdictSlower
}

func (d *Digest) side() Side {
	var all class
	blocks := map[int64]struct{}{}
	for _, c := range d.byHash {
		all.mergeTimes(c)
		for _, b := range c.times.blocks() {
			blocks[b.number] = struct{}{}
		}
	}
	s := Side{
		Events: d.events, QueryTimeSum: d.queryTime.seconds(), QueryTime: all.latencies(),
		Seconds: float64(len(blocks)) * float64(d.BlockSeconds()), Inputs: []Input{},
	}
	for i := range d.inputs {
		s.Inputs = append(s.Inputs, d.inputs[i].report())
	}
	return s
}

func ratio(before, after float64) float64 {
	if before == 0 || math.IsNaN(before) || math.IsNaN(after) {
		return 0
	}
	return after / before
}

// report writes the outcome down.
func (t *trial) report(out *Comparison, p pairing) {
	out.BlockSeconds = t.seconds
	if t.seconds > 0 {
		out.BlocksBefore, out.BlocksAfter = t.before.blocks(t.seconds), t.after.blocks(t.seconds)
	} else {
		out.Notes = append(out.Notes, fmt.Sprintf("fewer than %d blocks of time on a side: nothing can be claimed", wantBlocks))
	}
	for i := range p.before {
		out.Classes = append(out.Classes, t.change(i, p, out))
	}
	sort.SliceStable(out.Classes, func(i, j int) bool {
		return max(out.Classes[i].LoadBefore, out.Classes[i].LoadAfter) > max(out.Classes[j].LoadBefore, out.Classes[j].LoadAfter)
	})
	t.overall(out)
}

func (t *trial) change(i int, p pairing, out *Comparison) Change {
	c := p.any(i)
	ch := Change{Fingerprint: valid(c.fingerprint), ID32: c.id32(), CI: Interval{}, OwnCI: Interval{}, OwnP50CI: Interval{}, OwnAvgCI: Interval{}, CallsCI: Interval{}}
	ch.ID16 = ch.ID32[16:]
	ch.Before, ch.CallsBefore, ch.LoadBefore = p.before[i].side(out.Before.Seconds)
	ch.After, ch.CallsAfter, ch.LoadAfter = p.after[i].side(out.After.Seconds)
	switch {
	case ch.Before == nil:
		ch.Verdict = VerdictNew
		return ch
	case ch.After == nil:
		ch.Verdict = VerdictGone
		return ch
	}
	b, a := ch.Before.QueryTime, ch.After.QueryTime
	ch.P50Ratio, ch.P95Ratio, ch.P99Ratio, ch.AvgRatio = ratio(b.P50, a.P50), ratio(b.P95, a.P95), ratio(b.P99, a.P99), ratio(b.Avg, a.Avg)
	ch.OwnP95Ratio = ch.P95Ratio / math.Exp(t.common[figP95])
	t.verdict(i, &ch)
	return ch
}

func (t *trial) verdict(i int, ch *Change) {
	ch.Verdict = VerdictInconclusive
	switch {
	case t.seconds == 0:
		ch.Reason = "the captures are too short"
		return
	case !t.judged[i]:
		ch.Reason = t.reasons[i]
		return
	}
	ct := &t.tests[i]
	width := student.Quantile(t.level, t.spread.df)
	around := func(log, se float64) Interval {
		if math.IsInf(se, 0) || math.IsNaN(log) {
			return Interval{}
		}
		return Interval{math.Exp(log - width*se), math.Exp(log + width*se)}
	}
	if ct.tested[figP95] {
		ch.CI = around(ct.raw[figP95], t.spread.raw[i][figP95])
		ch.OwnCI = around(ct.own[figP95], t.spread.own[i][figP95])
		ch.Detectable = math.Exp(math.Log1p(t.o.Margin) + width*t.spread.own[i][figP95])
	}
	ch.OwnP50CI = around(ct.own[figP50], t.spread.own[i][figP50])
	ch.OwnAvgCI = around(ct.own[figMean], t.spread.own[i][figMean])
	ch.CallsCI = around(ct.raw[figRate], t.spread.raw[i][figRate])
	lower, upper := 1/(1+t.o.Margin), 1+t.o.Margin
	switch {
	case ct.flagged && ct.own[ct.figure] > 0:
		ch.Verdict, ch.Reason = VerdictSlower, "by "+figureNames[ct.figure]
	case ct.flagged:
		ch.Verdict, ch.Reason = VerdictFaster, "by "+figureNames[ct.figure]
	case ch.OwnCI.within(lower, upper) && ch.OwnAvgCI.within(lower, upper):
		ch.Verdict = VerdictUnchanged
	case !ct.tested[figP95] && onlySums(ch):
		ch.Reason = reasonSums
	case !ct.tested[figP95]:
		ch.Reason = "too few events for p95"
	default:
		ch.Reason = fmt.Sprintf("a change of p95 below %.2f times cannot be told from chance", ch.Detectable)
	}
}

func (c *class) side(seconds float64) (s *ClassSide, calls, load float64) {
	if c == nil {
		return nil, 0, 0
	}
	s = &ClassSide{Count: c.count, QueryTime: c.latencies(), Spark: c.spark()}
	if seconds > 0 {
		calls, load = float64(c.count)/seconds, c.queryTime.seconds()/seconds
	}
	return s, calls, load
}

func (t *trial) overall(out *Comparison) {
	o := &out.Overall
	o.AvgRatio = ratio(out.Before.QueryTime.Avg, out.After.QueryTime.Avg)
	o.P95Ratio = ratio(out.Before.QueryTime.P95, out.After.QueryTime.P95)
	for _, ch := range out.Classes {
		o.LoadBefore += ch.LoadBefore
		o.LoadAfter += ch.LoadAfter
		byAvg := 0.0
		if ch.Before != nil && ch.After != nil {
			byAvg = ch.CallsAfter * (ch.After.QueryTime.Avg - ch.Before.QueryTime.Avg)
		}
		o.LoadByAvg += byAvg
		o.LoadByCalls += ch.LoadAfter - ch.LoadBefore - byAvg
		switch ch.Verdict {
		case VerdictSlower:
			o.SlowerCount++
		case VerdictFaster:
			o.FasterCount++
		case VerdictInconclusive:
			o.UnclearCount++
		}
	}
	t.commonFactor(out)
}

func (t *trial) commonFactor(out *Comparison) {
	out.CommonFactor, out.CommonAvg, out.CommonFactorCI = 1, 1, Interval{}
	o := &out.Overall
	judged := 0
	for _, j := range t.judged {
		if j {
			judged++
		}
	}
	if t.seconds == 0 || judged < 2 {
		o.Reason = "no two classes with enough evidence: what they have in common cannot be told from their own change"
		return
	}
	out.CommonFactor, out.CommonAvg = math.Exp(t.common[figP95]), math.Exp(t.common[figMean])
	if t.withoutQuantiles() {
		t.commonAverage(out)
		return
	}
	// Two figures are judged, p95 and average: each gets half of alpha.
	width := student.Quantile(t.o.Alpha/4, t.spread.df)
	around := func(f int) Interval {
		return Interval{math.Exp(t.common[f] - width*t.spread.common[f]), math.Exp(t.common[f] + width*t.spread.common[f])}
	}
	p95, avg := around(figP95), around(figMean)
	out.CommonFactorCI, o.CI = p95, p95
	lower, upper := 1/(1+t.o.Margin), 1+t.o.Margin
	switch {
	case p95.beyond(lower, upper) && p95[0] > 1 || avg.beyond(lower, upper) && avg[0] > 1:
		o.Verdict = VerdictSlower
	case p95.beyond(lower, upper) || avg.beyond(lower, upper):
		o.Verdict = VerdictFaster
	case p95.within(lower, upper) && avg.within(lower, upper):
		o.Verdict = VerdictUnchanged
	default:
		o.Reason = fmt.Sprintf("what the classes have in common lies between %.2f and %.2f times", p95[0], p95[1])
	}
	if (o.Verdict == VerdictFaster || o.Verdict == VerdictSlower) && !p95.beyond(lower, upper) {
		o.Reason = fmt.Sprintf("it is the average that changed, to between %.2f and %.2f times; p95 lies between %.2f and %.2f", avg[0], avg[1], p95[0], p95[1])
	}
}

// selfCheck puts every block of BEFORE at random into one of two halves and judges them against each other.
func selfCheck(e *evidence, p pairing, o CompareOptions) *AACheck {
	check := &AACheck{}
	r := rand.New(rand.NewPCG(o.Seed, 0xaa))
	o.Draws = min(o.Draws, 200)
	take, rest := make([]bool, len(e.numbers)), make([]bool, len(e.numbers))
	for k := range o.SelfCheck {
		for i := range take {
			take[i] = r.IntN(2) == 0
			rest[i] = !take[i]
		}
		o.Seed += uint64(k)
		t := trial{o: o, before: e.part(take), after: e.part(rest)}
		t.judge(p)
		if t.seconds == 0 {
			continue
		}
		check.Splits++
		for i := range t.judged {
			if t.judged[i] {
				check.Judged++
			}
			if t.tests[i].flagged {
				check.FalseAlarms++
			}
		}
	}
	if check.Judged == 0 {
		return nil
	}
	check.Share = float64(check.FalseAlarms) / float64(check.Judged)
	return check
}
