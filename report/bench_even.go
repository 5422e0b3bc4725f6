package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"stowage/bench/result"
	"stowage/bench/stat"
)

// benchEven is how even the speed stayed: one step at length, and all of them as strips.
type benchEven struct {
	Charts []*benchPlot
	Rows   []benchStrip
	IsLong bool   // the step that is there for this was measured
	Short  string // steps whose runs are too short to have windows
}

// benchStrip is a step of one result: the speeds of short windows, run after run.
type benchStrip struct {
	ID, Letter, Class, Path, Title string
	Width, Height, Median          float64
	Breaks                         string // between runs
	Windows, Length                string
	MedianText, P1, Least          string
	Excursion, Slope, Steady       string
	IsUnsteady, IsArea             bool
}

const (
	stripWidth, stripHeight = 400.0, 30.0
	mostStripes             = 60 // windows, or spans of several, that can be distinguished
	stability               = "STABILITY"
)

func (d *BenchDocument) even() benchEven {
	var e benchEven
	short := 0
	long := d.longStep()
	e.IsLong = long == stability
	for _, side := range d.Sides {
		if s := side.step(long); s != nil && highest(s) > 0 {
			e.Charts = append(e.Charts, stabilityChart(side, s))
		}
	}
	for _, side := range d.Sides {
		if s := overwriting(side.result); s != nil {
			e.Rows = append(e.Rows, newStrip(side, s))
		}
	}
	for _, id := range d.ids() {
		for _, side := range d.Sides {
			switch s := side.step(id); {
			case s == nil || s.Runs == 0:
			case highest(s) == 0:
				short++
			default:
				e.Rows = append(e.Rows, newStrip(side, s))
			}
		}
	}
	if short > 0 {
		e.Short = count(short, "step")
	}
	return e
}

// overwriting is how the device came to its steady state before anything was measured, as if it were a step; nil where it was not brought there.
func overwriting(r *result.Result) *result.Step {
	if r.Precondition == nil || r.Precondition.Random == nil || len(r.Precondition.Random.IOPS) == 0 {
		return nil
	}
	f := r.Precondition.Random
	s := &result.Step{ID: "before: " + f.Step, Runs: 1, Steady: f.Settling.Steady, Settling: f.Settling, Samples: []result.Sample{{Series: f.IOPS}}}
	s.Series = result.Evenness{Min: stat.Quantile(f.IOPS, 0), P1: stat.Quantile(f.IOPS, 0.01), Median: stat.Quantile(f.IOPS, 0.5), Window: r.Settings.Runtime}
	return s
}

// longStep is what is shown at length: STABILITY, or MIX, or the first there is.
func (d *BenchDocument) longStep() string {
	ids := d.ids()
	for _, want := range append([]string{stability, "MIX"}, ids...) {
		if slices.Contains(ids, want) && slices.ContainsFunc(d.Sides, func(s benchSide) bool { x := s.step(want); return x != nil && highest(x) > 0 }) {
			return want
		}
	}
	return ""
}

func highest(s *result.Step) float64 {
	most := 0.0
	for _, x := range s.Samples {
		for _, v := range x.Series {
			most = max(most, v)
		}
	}
	return most
}

// seriesOf is all windows of all runs, and the places at which a new run begins.
func seriesOf(s *result.Step) (all []float64, breaks []int) {
	for i, x := range s.Samples {
		if i > 0 && len(x.Series) > 0 && len(all) > 0 {
			breaks = append(breaks, len(all))
		}
		all = append(all, x.Series...)
	}
	return all, breaks
}

func newStrip(side benchSide, s *result.Step) benchStrip {
	all, breaks := seriesOf(s)
	top := highest(s)
	b := benchStrip{
		ID: s.ID, Letter: side.Letter, Class: side.Class, Width: stripWidth, Height: stripHeight, Steady: "no", IsUnsteady: !s.Steady,
		MedianText: digits(s.Series.Median), P1: digits(s.Series.P1), Least: digits(s.Series.Min), Excursion: percent(s.Settling.Excursion), Slope: slopeText(s.Settling.Slope),
		Windows: fmt.Sprintf("%s of %s s", whole(float64(len(all))), trimmed(s.Series.Window)),
	}
	if s.Steady {
		b.Steady = "yes"
	}
	b.Title = strings.TrimSpace(fmt.Sprintf("%s %s: IOPS window by window, from 0 to %s; median %s, p1 %s, least %s", side.Letter, s.ID, digits(top), b.MedianText, b.P1, b.Least))
	y := func(v float64) float64 { return math.Round(stripHeight - 1 - v/top*(stripHeight-2)) }
	b.Median = y(s.Series.Median)
	b.Path, b.IsArea = trace(all, breaks, func(at float64) float64 { return math.Round(at / float64(len(all)) * stripWidth) }, y, mostStripes)
	for _, at := range breaks {
		b.Breaks += fmt.Sprintf("M%g 0V%g", round1(float64(at)/float64(len(all))*stripWidth), stripHeight)
	}
	return b
}

func slopeText(v float64) string {
	if math.Abs(v) < 0.0005 {
		return percent(0)
	}
	if v < 0 {
		return "\u2212" + percent(-v)
	}
	return "+" + percent(v)
}

// trace draws windows as steps, a part for each run. More windows than most are drawn as an area between the least and the largest of each group;
// isArea says so.
func trace(all []float64, breaks []int, x, y func(float64) float64, most int) (path string, isArea bool) {
	var p pen
	each := max((len(all)+most-1)/most, 1)
	from := 0
	for _, to := range append(slices.Clone(breaks), len(all)) {
		var back []point // along the least, from the right to the left
		for i := from; i < to; i += each {
			group := all[i:min(i+each, to)]
			left, right := round1(x(float64(i))), round1(x(float64(i+len(group))))
			high, low := y(slices.Max(group)), y(slices.Min(group))
			if i == from {
				p.move(point{left, high})
			}
			p.line(point{p.at.x, high})
			p.line(point{right, high})
			back = append(back, point{left, max(low, high+1)}, point{right, max(low, high+1)})
		}
		if each > 1 && len(back) > 0 {
			start := point{round1(x(float64(from))), y(slices.Max(all[from:min(from+each, to)]))}
			for _, at := range slices.Backward(back) {
				p.line(at)
			}
			p.close(start)
		}
		from = to
	}
	return p.String(), each > 1
}

const (
	longWidth, longHeight = 1180.0, 190.0
	longRight             = 150.0
)

// stabilityChart is one step at length: each window, the five means that the rule looks at, the band they may fill, and the figures at the right.
func stabilityChart(side benchSide, s *result.Step) *benchPlot {
	all, breaks := seriesOf(s)
	p := newBenchPlot("b-even"+side.Letter, strings.TrimSpace(side.Letter+" "+s.ID), longWidth, longHeight, 50, longRight, 24)
	p.Sub, p.YName = s.Answers, "IOPS"
	window := s.Series.Window
	if window <= 0 {
		window = 1
	}
	top := 1.04 * highest(s)
	up := func(v float64) float64 { return p.y(min(v/top, 1)) }
	along := func(at float64) float64 { return p.X0 + at/float64(len(all))*(p.X1-p.X0) }
	for v := 0.0; v <= top; v += step(top, 5) {
		p.YTicks = append(p.YTicks, tick{up(v), tickCount(v)})
	}
	p.timeTicks(float64(len(all)) * window)
	means := stat.Means(all)
	if middle := mean(means); middle > 0 {
		p.Bands = append(p.Bands, planBar{X: p.X0, W: p.X1 - p.X0, Y: up(1.1 * middle), H: round1(up(0.9*middle) - up(1.1*middle)), Title: "steady: the means of five windows fill no more than this"})
	}
	path, isArea := trace(all, breaks, along, up, int(longWidth)/2)
	class := side.Class + " thin"
	if isArea {
		class = side.Class + " area"
	}
	p.Lines = append(p.Lines, planLine{Path: path, Class: class, Title: p.Title})
	for i, m := range means {
		p.Lines = append(p.Lines, planLine{Path: fmt.Sprintf("M%g %gH%g", round1(along(float64(i*len(all)/stat.Windows))), up(m), round1(along(float64((i+1)*len(all)/stat.Windows)))), Class: "mean", Title: "mean of a fifth: " + digits(m) + " IOPS"})
	}
	for _, at := range breaks {
		p.Marks = append(p.Marks, planMark{At: round1(along(float64(at)))})
	}
	e := s.Series
	for _, l := range []struct {
		name string
		v    float64
	}{{"median", e.Median}, {"p1", e.P1}, {"least", e.Min}} {
		p.Limits = append(p.Limits, planMark{At: up(l.v), LabelAt: up(l.v) + 3.6, Text: l.name + " " + digits(l.v)})
	}
	p.spreadLimits()
	p.Desc = fmt.Sprintf("IOPS in windows of %s s, %d of them, in the order in which they were measured. Median %s, 1st percentile %s, least %s. %s", trimmed(window), len(all), digits(e.Median), digits(e.P1), digits(e.Min), steadyWords(s))
	p.Caption = fmt.Sprintf("%s windows of %s s from %s. %s", whole(float64(len(all))), trimmed(window), count(s.Runs, "run"), steadyWords(s))
	return p
}

// steadyWords is the verdict of the rule, with its figures.
func steadyWords(s *result.Step) string {
	is := "Steady"
	if !s.Steady {
		is = "Not steady"
	}
	return fmt.Sprintf("%s: the means of five windows are %s apart (20\u00a0%% are allowed) and change by %s from end to end (10\u00a0%%).", is, percent(s.Settling.Excursion), slopeText(s.Settling.Slope))
}

// spreadLimits moves the figures at the right apart.
func (p *benchPlot) spreadLimits() {
	const apart = 13.0
	below := p.Y1 + 4
	for i := range slices.Backward(p.Limits) { // the least is lowest
		p.Limits[i].LabelAt = round1(min(p.Limits[i].LabelAt, below))
		below = p.Limits[i].LabelAt - apart
	}
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v / math.Max(1, float64(len(values)))
	}
	return sum
}
