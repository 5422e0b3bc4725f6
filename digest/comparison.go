package digest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"

	"stowage/farm"
)

// Comparison is what Compare found. Times are in seconds, ratios are AFTER divided by BEFORE.
type Comparison struct {
	FormatVersion int     `json:"format_version"`
	RuleSet       RuleSet `json:"rule_set"`
	GroupBy       GroupBy `json:"group_by"`
	Before        Side    `json:"before"`
	After         Side    `json:"after"`

	// CommonFactor is by how much p95 changed in all classes alike: host, load, or everything at once. It is 1, and
	// CommonReason says why, where that cannot be distinguished from what became of the classes themselves.
	CommonFactor   float64  `json:"common_factor"`
	CommonReason   string   `json:"common_factor_reason"`
	CommonFactorCI Interval `json:"common_factor_ci"`
	CommonAvg      float64  `json:"common_factor_avg"`
	// HostRatio is by how much the hosts' own work took longer (see Probe); nil where a side was recorded without.
	HostRatio *float64 `json:"host_ratio"`

	Overall      Overall  `json:"overall"`
	BlockSeconds int64    `json:"block_seconds"` // of the blocks of time; 0: too few for any claim
	BlocksBefore int      `json:"blocks_before"`
	BlocksAfter  int      `json:"blocks_after"`
	Correlation  float64  `json:"correlation_seconds"` // for how long load stays up or down; 0: not measured
	Alpha        float64  `json:"alpha"`
	Margin       float64  `json:"margin"`
	SelfCheck    *AACheck `json:"self_check"`
	Classes      []Change `json:"classes"`
	Notes        []string `json:"notes"`
}

// Side sums up one of the two digests.
type Side struct {
	Events       uint64  `json:"events"`
	Seconds      float64 `json:"seconds"` // that were looked at: of each input from its first event to its last, in whole blocks of time
	QueryTimeSum float64 `json:"query_time_sum"`
	QueryTime    Latency `json:"query_time"`
	Inputs       []Input `json:"inputs"`
}

// Overall is the change of everything together.
type Overall struct {
	Verdict  Verdict  `json:"verdict"` // of the common factor
	Reason   string   `json:"reason"`
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
	SameCount    int     `json:"unchanged"`
	UnclearCount int     `json:"inconclusive"`
	// New and Gone are the classes of one side only: how many, and their share of that side's query time.
	NewCount  int     `json:"new"`
	NewShare  float64 `json:"new_share"`
	NewLoad   float64 `json:"new_load"` // seconds of query time per second
	GoneCount int     `json:"gone"`
	GoneShare float64 `json:"gone_share"`
	GoneLoad  float64 `json:"gone_load"`
	// Heavier says that new classes bring more load than gone ones took away, by more than the margin.
	Heavier bool `json:"heavier_by_new"`
}

// Change is what happened to one class.
type Change struct {
	Fingerprint string  `json:"fingerprint"`
	ID32        string  `json:"id32"`
	ID16        string  `json:"id16"`
	Verdict     Verdict `json:"verdict"`
	Reason      string  `json:"reason"`
	// PlanChange is how the plan changed, where both sides were kept with --explain; else empty.
	PlanChange string `json:"plan_change"`

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
	Detectable float64 `json:"detectable_ratio"`
	// TakeSeconds is the length of window that would show a change by half; 0: not known.
	TakeSeconds float64 `json:"take_seconds"`

	CallsBefore float64  `json:"calls_per_second_before"`
	CallsAfter  float64  `json:"calls_per_second_after"`
	CallsCI     Interval `json:"calls_ratio_ci"` // empty where nothing happened in much of the time
	LoadBefore  float64  `json:"load_before"`    // seconds of query time per second
	LoadAfter   float64  `json:"load_after"`

	ShareBefore float64 `json:"share_before"` // of all query time of the side
	ShareAfter  float64 `json:"share_after"`

	Before *ClassSide `json:"before"`
	After  *ClassSide `json:"after"`
}

// MarshalJSON writes null for a ratio that has no value.
func (c Change) MarshalJSON() ([]byte, error) {
	type plain Change
	known := func(v float64) *float64 {
		if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	return json.Marshal(struct {
		plain
		P95Ratio    *float64 `json:"p95_ratio"`
		P50Ratio    *float64 `json:"p50_ratio"`
		P99Ratio    *float64 `json:"p99_ratio"`
		AvgRatio    *float64 `json:"avg_ratio"`
		OwnP95Ratio *float64 `json:"own_p95_ratio"`
		Detectable  *float64 `json:"detectable_ratio"`
		TakeSeconds *float64 `json:"take_seconds"`
	}{plain(c), known(c.P95Ratio), known(c.P50Ratio), known(c.P99Ratio), known(c.AvgRatio), known(c.OwnP95Ratio), known(c.Detectable), known(c.TakeSeconds)})
}

// ClassSide is one side of a Change.
type ClassSide struct {
	Count     uint64     `json:"count"`
	QueryTime Latency    `json:"query_time"`
	Spark     [32]uint64 `json:"histogram"`
}

// AACheck judges the first half of each side against its second half, and so the halves of these, where nothing should have
// changed. What is called a change there either drifts, or changed while it was captured.
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

// GotSlower says whether anything did: a class by itself, all of them alike, or everything under the load of new classes.
func (c *Comparison) GotSlower() bool {
	return c.Overall.SlowerCount > 0 || c.Overall.Verdict == VerdictSlower || c.Overall.Heavier
}

func (d *Digest) side() Side {
	var all class
	for _, c := range d.byHash {
		all.mergeTimes(c)
	}
	s := Side{
		Events: d.events, QueryTimeSum: d.queryTime.seconds(), QueryTime: all.latencies(),
		Seconds: float64(blocksIn(d.seenTime(), math.MinInt64, math.MaxInt64)) * float64(d.BlockSeconds()), Inputs: []Input{},
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
		t.window = min(out.Before.Seconds, out.After.Seconds)
		t.isQuiet = isQuiet(out.Before.Seconds, out.BlocksBefore, t.seconds) || isQuiet(out.After.Seconds, out.BlocksAfter, t.seconds)
	} else {
		out.Notes = append(out.Notes, fmt.Sprintf("a side has fewer than %s of time: no verdicts", farm.Counted(wantBlocks, "block")))
	}
	if t.isProbed {
		host := math.Exp(t.probe)
		out.HostRatio = &host
	}
	out.Correlation = t.correlation()
	for i := range p.before {
		out.Classes = append(out.Classes, t.change(i, p, out))
	}
	sort.SliceStable(out.Classes, func(i, j int) bool {
		return max(out.Classes[i].LoadBefore, out.Classes[i].LoadAfter) > max(out.Classes[j].LoadBefore, out.Classes[j].LoadAfter)
	})
	t.overall(out)
}

// isQuiet says whether nothing happened in much of the time that was looked at: how sure a rate is does not come from the other blocks.
func isQuiet(looked float64, blocks int, seconds int64) bool {
	return float64(blocks)*float64(seconds) < 0.9*looked
}

func (t *trial) change(i int, p pairing, out *Comparison) Change {
	c := p.any(i)
	ch := Change{Fingerprint: valid(c.fingerprint), ID32: c.id32(), CI: Interval{}, OwnCI: Interval{}, OwnP50CI: Interval{}, OwnAvgCI: Interval{}, CallsCI: Interval{}}
	ch.ID16 = ch.ID32[16:]
	ch.Before, ch.CallsBefore, ch.LoadBefore = p.before[i].side(out.Before.Seconds)
	ch.After, ch.CallsAfter, ch.LoadAfter = p.after[i].side(out.After.Seconds)
	if out.Before.QueryTimeSum > 0 && ch.Before != nil {
		ch.ShareBefore = p.before[i].queryTime.seconds() / out.Before.QueryTimeSum
	}
	if out.After.QueryTimeSum > 0 && ch.After != nil {
		ch.ShareAfter = p.after[i].queryTime.seconds() / out.After.QueryTimeSum
	}
	switch {
	case ch.Before == nil:
		ch.Verdict = VerdictNew
		ch.Reason = fmt.Sprintf("%s calls, %.3g %% of AFTER's query time", count(ch.After.Count), 100*ch.ShareAfter)
		return ch
	case ch.After == nil:
		ch.Verdict = VerdictGone
		ch.Reason = fmt.Sprintf("%s calls, %.3g %% of BEFORE's query time", count(ch.Before.Count), 100*ch.ShareBefore)
		return ch
	}
	b, a := ch.Before.QueryTime, ch.After.QueryTime
	ch.P50Ratio, ch.P95Ratio, ch.P99Ratio, ch.AvgRatio = ratio(b.P50, a.P50), ratio(b.P95, a.P95), ratio(b.P99, a.P99), ratio(b.Avg, a.Avg)
	ch.OwnP95Ratio = ch.P95Ratio / math.Exp(t.shared.shift[figP95])
	t.verdict(i, &ch)
	return ch
}

func (t *trial) verdict(i int, ch *Change) {
	ch.Verdict = VerdictInconclusive
	switch {
	case t.seconds == 0:
		ch.Reason = "the captures are too short"
		return
	case t.cut != "":
		ch.Reason = t.cut
		return
	case !t.judged[i]:
		ch.Reason = t.reasons[i]
		return
	}
	ct := &t.tests[i]
	level := t.each()
	if ct.flagged {
		level = t.level
	}
	if ct.tested[figP95] {
		ch.CI = ct.rawBelief[figP95].around(ct.raw[figP95], level)
		ch.OwnCI = ct.ownBelief[figP95].around(ct.own[figP95], level)
	}
	ch.OwnP50CI = ct.ownBelief[figP50].around(ct.own[figP50], level)
	ch.OwnAvgCI = ct.ownBelief[figMean].around(ct.own[figMean], level)
	if !t.isQuiet {
		ch.CallsCI = ct.rawBelief[figRate].around(ct.raw[figRate], level)
	}
	t.say(ct, ch)
}

// say is the verdict on a class with its intervals.
func (t *trial) say(ct *classTest, ch *Change) {
	lower, upper := 1/(1+t.o.Margin), 1+t.o.Margin
	within := func(r float64) bool { return r > lower && r < upper }
	p95, avg := within(ch.P95Ratio), within(ch.AvgRatio)
	switch {
	case ct.flagged && ct.own[ct.figure] > 0:
		ch.Verdict, ch.Reason = VerdictSlower, "by "+figureNames[ct.figure]
	case ct.flagged:
		ch.Verdict, ch.Reason = VerdictFaster, "by "+figureNames[ct.figure]
	case ch.OwnCI.within(lower, upper) && ch.OwnAvgCI.within(lower, upper) && p95 && avg:
		ch.Verdict = VerdictUnchanged
	case ch.OwnCI.within(lower, upper) && ch.OwnAvgCI.within(lower, upper):
		ch.Reason = fmt.Sprintf("moved as the others did (%.2fx): its own part is unchanged", math.Exp(t.shared.shift[figP95]))
	case !ct.tested[figP95] && onlySums(ch):
		ch.Reason = reasonSums
	case !ct.tested[figP95]:
		ch.Reason = "too few events for p95"
	case ch.OwnCI.beyond(lower, upper) && t.shared.divided && within(math.Exp(ct.raw[figP95])):
		ch.Reason = fmt.Sprintf("stood still (%.2fx) while the others moved (%.2fx)", math.Exp(ct.raw[figP95]), math.Exp(t.shared.shift[figP95]))
	default:
		t.short(ct, ch)
	}
}

// wantedChange is the change that a window is asked to show when people are told how long it should be.
const wantedChange = 1.5

// mostChange is the largest change that a reason gives as a figure. A class that would need a larger one has too few events.
const mostChange = 20

// short says what a class would need for a verdict.
func (t *trial) short(ct *classTest, ch *Change) {
	b, margin := ct.ownBelief[figP95], math.Log1p(t.o.Margin)
	change, half := b.width(t.level), b.width(t.each()) // from nothing, by all; beyond the margin, by itself
	if !t.shared.divided {
		half = change
	}
	ch.Detectable = math.Exp(min(max(change, half+margin), 20))
	ch.Reason = fmt.Sprintf("a change of p95 below %.3gx cannot be distinguished from chance", ch.Detectable)
	switch {
	case ch.Detectable <= wantedChange:
		return
	case ch.Detectable > mostChange:
		ch.Reason = fmt.Sprintf("not even a change of p95 by %dx can be distinguished from chance", mostChange)
	}
	need := max(change/math.Log(wantedChange), half/(math.Log(wantedChange)-margin))
	ch.TakeSeconds = t.window * min(need*need, 1e4)
	ch.Reason = fmt.Sprintf("the window is too short, take %s: %s", minutes(ch.TakeSeconds), ch.Reason)
}

// minutes is a window that people can be asked for: nobody needs it to the second.
func minutes(seconds float64) string {
	switch m := math.Ceil(seconds / 60); {
	case m < 2:
		return "2 minutes"
	case m <= 120:
		return fmt.Sprintf("%.0f minutes", m)
	}
	return fmt.Sprintf("%.0f hours", math.Ceil(seconds/3600))
}

// around is the interval of a ratio, outside of which chance is with the given probability.
func (b *belief) around(log, level float64) Interval {
	if b == nil || math.IsNaN(log) {
		return Interval{}
	}
	w := b.width(level)
	low, high := math.Exp(log-w), math.Exp(log+w)
	if math.IsNaN(w) || math.IsInf(high, 0) || math.IsInf(low, 0) {
		return Interval{} // so few events that nothing can be said
	}
	return Interval{low, high}
}

// correlation is for how many seconds load stays up or down, by the class in the middle; 0 where nothing lasts.
func (t *trial) correlation() float64 {
	var taus []float64
	for i := range t.tests {
		if b := t.tests[i].rawBelief[figMean]; t.judged[i] && b != nil {
			tau := b.tau
			if b.lasts < leastLasting {
				tau = 0
			}
			taus = append(taus, tau)
		}
	}
	if len(taus) == 0 {
		return 0
	}
	slices.Sort(taus)
	return taus[len(taus)/2]
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
		if ch.Before != nil && ch.After != nil && ch.Before.QueryTime.isKnown() && ch.After.QueryTime.isKnown() {
			byAvg = ch.CallsAfter * (ch.After.QueryTime.Avg - ch.Before.QueryTime.Avg)
		}
		o.LoadByAvg += byAvg
		o.LoadByCalls += ch.LoadAfter - ch.LoadBefore - byAvg
		switch ch.Verdict {
		case VerdictSlower:
			o.SlowerCount++
		case VerdictFaster:
			o.FasterCount++
		case VerdictUnchanged:
			o.SameCount++
		case VerdictInconclusive:
			o.UnclearCount++
		case VerdictNew:
			o.NewCount++
			o.NewShare += ch.ShareAfter
			o.NewLoad += ch.LoadAfter
		case VerdictGone:
			o.GoneCount++
			o.GoneShare += ch.ShareBefore
			o.GoneLoad += ch.LoadBefore
		}
	}
	o.LoadByCalls, o.LoadByAvg = rounded(o.LoadByCalls, o.LoadAfter), rounded(o.LoadByAvg, o.LoadAfter)
	o.Heavier = o.NewLoad-o.GoneLoad > t.o.Margin*o.LoadBefore && o.NewShare > t.o.Margin && t.cut == ""
	t.commonFactor(out)
}

// rounded takes away what is left over of a sum of which nothing should be.
func rounded(v, of float64) float64 {
	if math.Abs(v) < 1e-12*max(1, math.Abs(of)) {
		return 0
	}
	return v
}

func (t *trial) commonFactor(out *Comparison) {
	out.CommonFactor, out.CommonAvg, out.CommonFactorCI = 1, 1, Interval{}
	o := &out.Overall
	if t.seconds == 0 || !t.shared.divided {
		switch o.Reason = "the captures are too short"; {
		case t.cut != "":
			o.Reason = t.cut
		case t.seconds != 0:
			o.Reason = t.shared.reason + ": every class is judged by its plain ratio"
			if t.shared.classes > 1 && t.withoutQuantiles() {
				o.Reason = reasonSums + "; " + o.Reason
			}
		}
		out.CommonReason = o.Reason
		return
	}
	out.CommonFactor, out.CommonAvg = math.Exp(t.shared.shift[figP95]), math.Exp(t.shared.shift[figMean])
	if t.withoutQuantiles() {
		t.commonAverage(out)
		return
	}
	// Two figures are judged, p95 and average: each gets half of alpha.
	p95 := t.shared.belief[figP95].around(t.shared.shift[figP95], t.o.Alpha/2)
	avg := t.shared.belief[figMean].around(t.shared.shift[figMean], t.o.Alpha/2)
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

// selfCheck cuts each side in the middle, and each half again, and judges what came first against what came next.
func selfCheck(sides []*evidence, p pairing, o CompareOptions) *AACheck {
	check := &AACheck{}
	for _, e := range sides {
		n := len(e.numbers)
		for _, cut := range [][3]int{{0, n / 2, n}, {0, n / 4, n / 2}, {n / 2, n/2 + n/4, n}} {
			t := trial{o: o, before: e.part(cut[0], cut[1]), after: e.part(cut[1], cut[2])}
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
	}
	if check.Judged == 0 {
		return nil
	}
	check.Share = float64(check.FalseAlarms) / float64(check.Judged)
	return check
}
