package digest

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"stowage/farm"
)

// WriteCompareText writes a comparison for people: what all classes have in common, then every class with its verdict.
func WriteCompareText(w io.Writer, c Comparison, o TextOptions) error {
	p := &page{w: w, o: o.withDefaults()}
	p.side("BEFORE", c.Before)
	p.side("AFTER", c.After)
	p.line("")
	p.common(c)
	for _, n := range c.Notes {
		p.wrapped("note    ", n)
	}
	p.changes(c)
	return p.err
}

func (p *page) side(title string, s Side) {
	q := s.QueryTime
	p.line("%s  %s in %s", p.bold(fmt.Sprintf("%-6s", title)), many(s.Events, "event"), duration(s.Seconds))
	p.line("        avg %s  p50 %s  p95 %s  p99 %s  max %s", duration(q.Avg), duration(q.P50), duration(q.P95), duration(q.P99), duration(q.Max))
	for _, in := range s.Inputs {
		for _, r := range in.Skipped {
			p.wrapped("        ", fmt.Sprintf("skipped in %s: %s", clip(in.Name, 40), r.text()))
		}
	}
}

func (p *page) common(c Comparison) {
	o := c.Overall
	common := o.Reason
	if len(c.CommonFactorCI) == 2 {
		common = fmt.Sprintf("all classes alike: p95 %s (%.2f to %.2f), avg %s: %s", times(c.CommonFactor), c.CommonFactorCI[0], c.CommonFactorCI[1],
			times(c.CommonAvg), o.Verdict)
	} else if o.Verdict != VerdictInconclusive {
		common = fmt.Sprintf("all classes alike: avg %s: %s; %s", times(c.CommonAvg), o.Verdict, o.Reason)
	}
	p.wrapped("common  ", common)
	if c.HostRatio != nil {
		p.wrapped("host    ", fmt.Sprintf("work other than the database took %s while it was recorded", times(*c.HostRatio)))
	}
	p.line("load    %.3g -> %.3g s of query time a second: %+.3g by calls, %+.3g by latency", o.LoadBefore, o.LoadAfter, o.LoadByCalls, o.LoadByAvg)
	p.line("result  %d slower, %d faster, %d unchanged, %d inconclusive of %d classes", o.SlowerCount, o.FasterCount, o.SameCount, o.UnclearCount, len(c.Classes))
	if o.NewCount > 0 {
		p.line("new     %s with %.3g %% of AFTER's query time (%.3g s a second)%s", classes(o.NewCount), 100*o.NewShare, o.NewLoad, heavier(o))
	}
	if o.GoneCount > 0 {
		p.line("gone    %s with %.3g %% of BEFORE's query time (%.3g s a second)", classes(o.GoneCount), 100*o.GoneShare, o.GoneLoad)
	}
	if c.BlockSeconds > 0 {
		stays := ""
		if c.Correlation > 0 {
			stays = fmt.Sprintf("load stays up or down for %.3g s; ", c.Correlation)
		}
		p.wrapped("method  ", fmt.Sprintf("%d and %s of %d s; %sat most %.3g %% false alarms; within %.3g %% is unchanged", c.BlocksBefore, farm.Counted(c.BlocksAfter, "block"), c.BlockSeconds, stays, 100*c.Alpha, 100*c.Margin))
	}
	if s := c.SelfCheck; s != nil {
		p.line("check   halves of each side against each other: %d alarms in %d judgements", s.FalseAlarms, s.Judged)
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
	if p.o.Width < 71+to-from {
		to = from // no room for pictures
	}
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
		p.line("(beyond the first %s by load, only slower and faster ones are shown)", farm.Counted(top, "class"))
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
	if ch.Reason != "" && ch.Verdict != VerdictSlower && ch.Verdict != VerdictFaster {
		p.wrapped("  ", ch.Reason)
	}
	if ch.PlanChange != "" {
		p.wrapped("  plan: ", clean(ch.PlanChange))
	}
}

// wrapped writes text in lines that fit, the first behind a title, the others below it.
func (p *page) wrapped(title, text string) {
	for i, l := range wrap(text, p.o.Width-utf8.RuneCountInString(title), 20) {
		if i > 0 {
			title = strings.Repeat(" ", utf8.RuneCountInString(title))
		}
		p.line("%s%s", title, l)
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

func classes(n int) string {
	if n == 1 {
		return "1 class"
	}
	return count(uint64(n)) + " classes"
}

func heavier(o Overall) string {
	if o.Heavier {
		return ": more load"
	}
	return ""
}
