package report

import (
	"fmt"
	"slices"
	"strings"

	"stowage/bench/result"
	"stowage/bench/stat"
)

// benchFigures are all steps of one result.
type benchFigures struct {
	Side  benchSide
	Count string
	Rows  []benchRow
}

// benchRow is one step. Latencies of a durable step are its fdatasync's; Write is the write before it.
type benchRow struct {
	ID, Answers                     string
	IOPS, Interval, Sure, MBps      string
	P50, P95, P99, P999, Max, Write string
	Runs, Asked, More, Steady       string
	Says                            []string
	IsBad, IsUnsteady, IsWide       bool
}

func (d *BenchDocument) figures() []benchFigures {
	var out []benchFigures
	for _, side := range d.Sides {
		f := benchFigures{Side: side, Count: count(len(side.result.Steps), "step")}
		for _, s := range side.result.Steps {
			f.Rows = append(f.Rows, newBenchRow(s))
		}
		out = append(out, f)
	}
	return out
}

func newBenchRow(s *result.Step) benchRow {
	r := benchRow{
		ID: s.ID, Answers: s.Answers, IOPS: digits(s.IOPS), MBps: digits(s.MBps), P50: micros(s.Lat.P50), P95: micros(s.Lat.P95), P99: micros(s.Lat.P99), P999: micros(s.Lat.P999), Max: micros(s.Lat.Max),
		Runs: whole(float64(s.Runs)), Steady: "no", IsUnsteady: !s.Steady, IsBad: !s.Valid || s.Undurable,
	}
	if s.Steady {
		r.Steady = "yes"
	}
	if s.MBps <= 0 {
		r.MBps = ""
	}
	if len(s.Samples) == 0 || len(s.Samples[0].Series) == 0 {
		r.Steady = "not known"
	}
	if s.Runs == 0 {
		return benchRow{ID: s.ID, Answers: s.Answers, Says: []string{"not measured"}}
	}
	if s.CI != nil {
		if r.Sure = sureness(s); s.CI.HalfWidth() <= anything {
			r.Interval = digits(s.CI.Low) + " to " + digits(s.CI.High)
		}
	}
	if s.MoreRuns > 0 {
		r.More, r.IsWide = whole(float64(s.MoreRuns)), true
	}
	if w := s.WriteLat; w != nil {
		r.Write = fmt.Sprintf("its write: p50 %s, p99 %s", micros(w.P50), micros(w.P99))
	}
	if !s.Valid {
		r.Says = append(r.Says, "INVALID")
	}
	if s.Undurable {
		r.Says = append(r.Says, fmt.Sprintf("NOT DURABLE: %s flushes for each fdatasync", flushes(s)))
	}
	if s.Behind > 0.01 {
		r.Says = append(r.Says, fmt.Sprintf("behind: %s of what was asked for was not done", percent(s.Behind)))
	}
	return r
}

// anything is the half width from which on an interval says nothing but that.
const anything = 10

// sureness is how far the interval of a step reaches.
func sureness(s *result.Step) string { return reachText(s.CI) }

// reachText is how far an interval reaches to either side.
func reachText(i *stat.Interval) string {
	switch half := i.HalfWidth(); {
	case half > anything:
		return "could be anything"
	case half >= 0.995:
		return "\u00b1" + whole(100*half) + "\u00a0%"
	default:
		return "\u00b1" + percent(half)
	}
}

// benchComparison is one result compared with the first, by the rules of bench compare.
type benchComparison struct {
	Letter, Name, Counts string
	Axis                 ratioAxis
	Rows                 []benchVerdict
	Caveats              []string
	Method               string
	Only                 []benchOnly
}

// benchOnly are steps that only one side has.
type benchOnly struct{ Letter, Count, Steps string }

// benchVerdict is one step of it.
type benchVerdict struct {
	ID, Verdict, Sign, Note string
	A, B, Ratio, Interval   string
	More                    string
	Plot                    *ratioPlot
	HasTail                 bool
	TailA, TailB, TailRatio string
	TailVerdict, TailSign   string
	TailInterval            string
	IsBad                   bool
}

func (d *BenchDocument) comparisons() []benchComparison {
	var out []benchComparison
	for _, side := range d.Sides[1:] {
		c := side.held
		if c == nil {
			c = result.Compare(d.Sides[0].Name, d.Sides[0].result, side.Name, side.result)
		}
		b := benchComparison{
			Letter: side.Letter, Name: side.Name, Counts: countVerdicts(c), Method: c.Method,
			Caveats: slices.DeleteFunc(slices.Clone(c.Caveats), func(text string) bool { return isSaid(text, d.Sides[0].result) || isSaid(text, side.result) }),
		}
		for _, x := range []benchOnly{{"A", count(len(c.OnlyInA), "step"), strings.Join(c.OnlyInA, ", ")}, {side.Letter, count(len(c.OnlyInB), "step"), strings.Join(c.OnlyInB, ", ")}} {
			if x.Steps != "" {
				b.Only = append(b.Only, x)
			}
		}
		var values []float64
		for _, s := range c.Steps {
			values = append(values, s.Ratio)
			if s.CI != nil {
				values = append(values, s.CI.Low, s.CI.High)
			}
		}
		b.Axis = ratioAxisFor(values)
		b.Axis.band(1, c.Tolerance)
		for _, s := range c.Steps {
			b.Rows = append(b.Rows, newBenchVerdict(s, b.Letter, b.Axis))
		}
		out = append(out, b)
	}
	return out
}

// isSaid tells whether a caveat is only that a result is invalid, was disturbed or typed in, which is at the top of the page.
func isSaid(caveat string, r *result.Result) bool {
	return slices.ContainsFunc(slices.Concat(r.InvalidBecause, r.Noise.Reasons, []string{r.Source}), func(why string) bool { return why != "" && strings.HasSuffix(caveat, ": "+why) })
}

// countVerdicts is how many steps were judged how: 3 better, 1 worse.
func countVerdicts(c *result.Comparison) string {
	var out []string
	for _, v := range benchVerdicts {
		n := 0
		for _, s := range c.Steps {
			if s.Verdict == v.verdict {
				n++
			}
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, v.words))
		}
	}
	if len(out) == 0 {
		return "no step in common"
	}
	return strings.Join(out, ", ")
}

// newBenchVerdict is one step; what a comparison calls B has the letter here.
func newBenchVerdict(s result.Compared, letter string, axis ratioAxis) benchVerdict {
	v := benchVerdict{
		ID: s.ID, Verdict: string(s.Verdict), Sign: verdictSign(s.Verdict), Note: strings.NewReplacer("B is invalid", letter+" is invalid", "B is not durable", letter+" is not durable").Replace(s.Note), A: digits(s.A), B: digits(s.B), More: moreRuns(s.Judgement),
		IsBad: strings.Contains(s.Note, "not durable") || strings.Contains(s.Note, "invalid"),
	}
	if s.Ratio > 0 {
		v.Ratio = ratioText(s.Ratio)
		v.Plot = axis.plot("IOPS, "+letter+" / A: ", s.Ratio, intervalOf(s.CI))
		v.Interval = intervalText(intervalOf(s.CI))
	}
	if t := s.P99; t != nil {
		v.HasTail, v.TailA, v.TailB, v.TailRatio = true, micros(t.A), micros(t.B), ratioText(t.Ratio)
		v.TailVerdict, v.TailSign, v.TailInterval = string(t.Verdict), verdictSign(t.Verdict), intervalText(intervalOf(t.CI))
	}
	return v
}

func verdictSign(v stat.Verdict) string {
	for _, o := range benchVerdicts {
		if o.verdict == v {
			return o.sign
		}
	}
	return ""
}

// intervalOf is an interval in the form that the axis of ratios takes.
func intervalOf(i *stat.Interval) []float64 {
	if i == nil {
		return nil
	}
	return []float64{i.Low, i.High}
}

// moreRuns is what would settle an inconclusive step.
func moreRuns(j stat.Judgement) string {
	switch {
	case j.MoreRuns == nil:
		return "never"
	case *j.MoreRuns == 0:
		return ""
	}
	return whole(float64(*j.MoreRuns))
}

// verdictOf is what a comparison says about a step, nil where it says nothing.
func (d *BenchDocument) verdictOf(letter, id string) *benchVerdict {
	for _, c := range d.Compared {
		if c.Letter != letter {
			continue
		}
		if i := slices.IndexFunc(c.Rows, func(v benchVerdict) bool { return v.ID == id }); i >= 0 {
			return &c.Rows[i]
		}
	}
	return nil
}
