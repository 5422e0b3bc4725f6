package digest

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// WriteCompareText writes a comparison for people: what all classes have in common, then every class with its verdict.
func WriteCompareText(w io.Writer, c Comparison, o TextOptions) error {
	p := &page{w: w, o: o.withDefaults()}
	p.side("BEFORE", c.Before)
	p.side("AFTER", c.After)
	p.line("")
	p.common(c)
	for _, n := range c.Notes {
		p.line("note     %s", n)
	}
	p.changes(c)
	return p.err
}

func (p *page) side(title string, s Side) {
	q := s.QueryTime
	p.line("%s  %s events in %s, avg %s  p50 %s  p95 %s  p99 %s  max %s", p.bold(fmt.Sprintf("%-6s", title)), count(s.Events), duration(s.Seconds),
		duration(q.Avg), duration(q.P50), duration(q.P95), duration(q.P99), duration(q.Max))
	for _, in := range s.Inputs {
		for _, r := range in.Skipped {
			p.line("        skipped in %s: %s, %s times", clip(in.Name, 40), r.Reason, count(r.Count))
		}
	}
}

func (p *page) common(c Comparison) {
	o := c.Overall
	if len(c.CommonFactorCI) == 2 {
		p.line("%s  all classes alike: p95 %s (%.2f to %.2f), avg %s: %s", p.bold("common"), times(c.CommonFactor), c.CommonFactorCI[0], c.CommonFactorCI[1],
			times(c.CommonAvg), p.verdict(o.Verdict))
	} else if o.Verdict != VerdictInconclusive {
		p.line("%s  all classes alike: avg %s: %s; %s", p.bold("common"), times(c.CommonAvg), p.verdict(o.Verdict), o.Reason)
	} else {
		p.line("%s  %s", p.bold("common"), o.Reason)
	}
	p.line("load    %.3g -> %.3g seconds of query time a second: %+.3g by calls, %+.3g by latency", o.LoadBefore, o.LoadAfter, o.LoadByCalls, o.LoadByAvg)
	p.line("result  %d slower, %d faster, %d inconclusive of %d classes", o.SlowerCount, o.FasterCount, o.UnclearCount, len(c.Classes))
	if c.BlockSeconds > 0 {
		p.line("method  %d and %d blocks of %d s drawn again; at most %.3g %% false alarms; within %.3g %% is unchanged",
			c.BlocksBefore, c.BlocksAfter, c.BlockSeconds, 100*c.Alpha, 100*c.Margin)
	}
	if s := c.SelfCheck; s != nil {
		p.line("check   BEFORE against itself, %d random halves: %d false alarms in %d judgements", s.Splits, s.FalseAlarms, s.Judged)
	}
}

func (p *page) changes(c Comparison) {
	if len(c.Classes) == 0 {
		return
	}
	scale := newSparkScale()
	for _, ch := range c.Classes {
		for _, s := range []*ClassSide{ch.Before, ch.After} {
			if s != nil {
				scale.fit(s.Spark)
			}
		}
	}
	from, to := scale.columns()
	columns := to - from
	p.line("")
	p.line("%s", p.bold(fmt.Sprintf("%-12s %17s %17s %6s %13s  %s", "verdict", "p50", "p95", "own", "interval", sparkTitle(from, columns))))
	top := p.o.Top
	for i, ch := range c.Classes {
		if top >= 0 && i >= top && ch.Verdict != VerdictSlower && ch.Verdict != VerdictFaster {
			continue
		}
		p.change(ch, from, to)
	}
	if top >= 0 && len(c.Classes) > top {
		p.line("(beyond the first %d classes by load, only slower and faster ones are shown)", top)
	}
}

// change writes two lines, BEFORE above AFTER in the sparkline, so that the eye compares them; and a third that says why
// nothing can be said.
func (p *page) change(ch Change, from, to int) {
	columns := to - from
	arrow := func(a, b float64) string {
		if math.IsNaN(a) && math.IsNaN(b) {
			return "-"
		}
		return fmt.Sprintf("%s->%s", duration(a), duration(b))
	}
	p50, p95, own, ci, above, below := "", "", "", "", "", ""
	switch {
	case ch.Before != nil && ch.After != nil:
		p50 = arrow(ch.Before.QueryTime.P50, ch.After.QueryTime.P50)
		p95 = arrow(ch.Before.QueryTime.P95, ch.After.QueryTime.P95)
		own = times(ch.OwnP95Ratio)
		if len(ch.OwnCI) == 2 {
			ci = fmt.Sprintf("%.2f to %.2f", ch.OwnCI[0], ch.OwnCI[1])
		}
	case ch.Before != nil:
		p50, p95 = duration(ch.Before.QueryTime.P50), duration(ch.Before.QueryTime.P95)
	default:
		p50, p95 = duration(ch.After.QueryTime.P50), duration(ch.After.QueryTime.P95)
	}
	if ch.Before != nil {
		above = sparkline(ch.Before.Spark, from, to)
	}
	if ch.After != nil {
		below = sparkline(ch.After.Spark, from, to)
	}
	padded := p.verdict(ch.Verdict) + strings.Repeat(" ", max(0, 12-len(ch.Verdict)))
	p.line("%s %17s %17s %6s %13s  %-*s", padded, p50, p95, own, ci, columns, above)
	name := fmt.Sprintf("  %s %s", ch.ID16, clip(ch.Fingerprint, 50))
	p.line("%s%s  %-*s", name, strings.Repeat(" ", max(0, 69-utf8.RuneCountInString(name))), columns, below)
	p.averages(ch)
	if ch.Reason != "" && ch.Verdict == VerdictInconclusive {
		p.line("  %s", p.faint(clip(ch.Reason, p.o.Width-2)))
	}
}

func times(r float64) string {
	if r == 0 {
		return ""
	}
	return fmt.Sprintf("%.2fx", r)
}

func (p *page) verdict(v Verdict) string {
	switch v {
	case VerdictSlower, VerdictGone:
		return p.paint("31", string(v))
	case VerdictFaster, VerdictNew:
		return p.paint("32", string(v))
	}
	return string(v)
}
