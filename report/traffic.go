package report

import (
	"cmp"
	"fmt"
	"math"

	"stowage/digest"
	"stowage/farm"
)

// mostClasses is how many classes the table shows, by load.
const mostClasses = 100

// traffic is the section on the queries before and after.
type traffic struct {
	Verdict, Reason string
	Sentence        string
	Common, CommonI string
	Evidence        string
	SelfCheck       string
	Sides           []sideRow
	Counts          []Fact // classes by verdict
	Load            string
	Axis            ratioAxis
	Classes         []classRow
	LeftOut         int
	Notes           []string
	Chosen          *classPicture // of the class of most load; the script shows others
}

// sideRow is one figure on both sides.
type sideRow struct{ What, Before, After, Change string }

// classRow is one class.
type classRow struct {
	Number                  int
	Fingerprint, ID         string
	Verdict                 digest.Verdict
	Sign                    string // a shape for the verdict, beside the word
	Reason                  string
	CallsBefore, CallsAfter string
	P95Before, P95After     string
	P50Before, P50After     string
	Ratio, Interval         string
	Own, OwnInterval        string
	Plot                    *ratioPlot
	Spark                   *spark
}

// verdictSigns are the shapes that are beside the words, for print and for
// eyes that do not tell the colours apart.
var verdictSigns = map[digest.Verdict]string{
	digest.VerdictFaster: "\u25bc", digest.VerdictSlower: "\u25b2", digest.VerdictUnchanged: "=",
	digest.VerdictInconclusive: "?", digest.VerdictNew: "+", digest.VerdictGone: "\u2212",
}

var verdictOrder = []digest.Verdict{
	digest.VerdictSlower, digest.VerdictFaster, digest.VerdictUnchanged, digest.VerdictInconclusive, digest.VerdictNew, digest.VerdictGone,
}

func newTraffic(c *digest.Comparison) *traffic {
	if c == nil {
		return nil
	}
	t := &traffic{
		Verdict: string(c.Overall.Verdict), Reason: c.Overall.Reason, Common: ratioText(c.CommonFactor), CommonI: intervalText(c.CommonFactorCI),
		Notes: c.Notes, Sides: sideRows(c), Axis: newRatioAxis(c),
	}
	t.Sentence = overallWords(c)
	t.Load = fmt.Sprintf("%s seconds of query time per second before, %s after: %s by the number of calls, %s by how long they took.",
		digits(c.Overall.LoadBefore), digits(c.Overall.LoadAfter), signed(c.Overall.LoadByCalls), signed(c.Overall.LoadByAvg))
	if c.BlockSeconds > 0 {
		t.Evidence = fmt.Sprintf("Evidence: %s of %d s before and %d after. At most %s of the changes claimed may be false; a change below %s counts as none.",
			farm.Counted(c.BlocksBefore, "block"), c.BlockSeconds, c.BlocksAfter, percent(c.Alpha), percent(c.Margin))
	}
	if s := c.SelfCheck; s != nil {
		t.SelfCheck = fmt.Sprintf("Self-check: halves and quarters of each capture against each other, %d times, gave %d alarms in %s judged classes (%s).",
			s.Splits, s.FalseAlarms, whole(float64(s.Judged)), percent(s.Share))
	}
	n := map[digest.Verdict]int{}
	for _, ch := range c.Classes {
		n[ch.Verdict]++
	}
	for _, v := range verdictOrder {
		if n[v] > 0 {
			t.Counts = append(t.Counts, Fact{verdictSigns[v] + " " + string(v), whole(float64(n[v]))})
		}
	}
	from, to := sparkRange(c)
	var charts []classChart
	for i, ch := range c.Classes {
		if i == mostClasses {
			t.LeftOut = len(c.Classes) - i
			break
		}
		t.Classes = append(t.Classes, newClassRow(i+1, ch, t.Axis, from, to))
		charts = append(charts, newClassChart(i+1, ch, from, to))
	}
	t.Chosen = newClassPicture(charts, from)
	return t
}

// overallWords is the verdict on the common factor in one sentence.
func overallWords(c *digest.Comparison) string {
	switch c.Overall.Verdict {
	case digest.VerdictFaster, digest.VerdictSlower:
		return fmt.Sprintf("All classes alike take %s as long as before at p95%s.", ratioText(c.CommonFactor), inWords(c.CommonFactorCI))
	case digest.VerdictUnchanged:
		return fmt.Sprintf("What all classes have in common has not changed: %s at p95%s.", ratioText(c.CommonFactor), inWords(c.CommonFactorCI))
	default:
		if o := c.Overall; o.SlowerCount+o.FasterCount > 0 {
			return fmt.Sprintf("The classes did not move alike: %d slower, %d faster, %d unchanged, %d inconclusive.", o.SlowerCount, o.FasterCount, o.SameCount, o.UnclearCount)
		}
		return "The captures cannot tell whether everything together became faster or slower."
	}
}

func inWords(i digest.Interval) string {
	if text := intervalText(i); text != "" {
		return ", " + text
	}
	return ""
}

func sideRows(c *digest.Comparison) []sideRow {
	b, a := c.Before, c.After
	row := func(what string, before, after float64) sideRow {
		r := sideRow{what, cmp.Or(latency(before), "not known"), cmp.Or(latency(after), "not known"), ""}
		if before > 0 && after > 0 {
			r.Change = ratioText(after / before)
		}
		return r
	}
	return []sideRow{
		{"events", whole(float64(b.Events)), whole(float64(a.Events)), ""},
		{"time covered", span(seconds(b.Seconds)), span(seconds(a.Seconds)), ""},
		{"queries per second", rate(b.Events, b.Seconds), rate(a.Events, a.Seconds), ""},
		row("p50 of all queries", b.QueryTime.P50, a.QueryTime.P50),
		row("p95", b.QueryTime.P95, a.QueryTime.P95),
		row("p99", b.QueryTime.P99, a.QueryTime.P99),
		row("longest", b.QueryTime.Max, a.QueryTime.Max),
	}
}

func rate(events uint64, seconds float64) string {
	if seconds <= 0 {
		return "not known"
	}
	return digits(float64(events) / seconds)
}

func newClassRow(number int, ch digest.Change, axis ratioAxis, from, to int) classRow {
	r := classRow{
		Number: number, Fingerprint: ch.Fingerprint, ID: ch.ID16, Verdict: ch.Verdict, Sign: verdictSigns[ch.Verdict], Reason: ch.Reason,
		CallsBefore: digits(ch.CallsBefore), CallsAfter: digits(ch.CallsAfter),
	}
	if ch.Before != nil {
		r.P50Before, r.P95Before = latency(ch.Before.QueryTime.P50), latency(ch.Before.QueryTime.P95)
	}
	if ch.After != nil {
		r.P50After, r.P95After = latency(ch.After.QueryTime.P50), latency(ch.After.QueryTime.P95)
	}
	if ch.P95Ratio > 0 {
		r.Ratio, r.Interval = ratioText(ch.P95Ratio), intervalText(ch.CI)
		r.Own, r.OwnInterval = ratioText(ch.OwnP95Ratio), intervalText(ch.OwnCI)
		r.Plot = axis.plot("p95 after / before: ", ch.P95Ratio, ch.CI)
	}
	r.Spark = newSpark(ch, from, to)
	return r
}

func ratioText(r float64) string { return digits(r) + times }

func intervalText(i digest.Interval) string {
	if len(i) != 2 {
		return ""
	}
	return fmt.Sprintf("%s to %s", digits(i[0]), digits(i[1]))
}

func signed(v float64) string {
	if v >= 0 {
		return "+" + digits(v)
	}
	return "\u2212" + digits(math.Abs(v))
}
