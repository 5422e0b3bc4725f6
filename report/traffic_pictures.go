package report

import (
	"fmt"
	"math"
	"strings"

	"stowage/digest"
)

// ratioAxis is the logarithmic axis that all interval plots share: 1 in the
// middle, the same factor to both ends.
type ratioAxis struct {
	Width, Height float64
	Reach         float64 // the factor at the right end
	One           float64 // x of no change
	BandX, BandW  float64 // changes that count as none, around what is common
	Common        float64 // x of the common factor
	CommonShown   bool
	Ticks         []tick
}

// ratioPlot is one class on the axis.
type ratioPlot struct {
	Dot, Low, High    float64
	HasInterval       bool
	CutLow, CutHigh   bool // the interval goes on beyond the axis
	Title             string
	LowArrow, HiArrow string
}

const (
	plotWidth  = 170.0
	plotHeight = 20.0
	plotEdge   = 6.0
	mostReach  = 16.0
)

func newRatioAxis(c *digest.Comparison) ratioAxis {
	var values []float64
	for _, ch := range c.Classes[:min(len(c.Classes), mostClasses)] {
		values = append(append(values, ch.P95Ratio), ch.CI...)
	}
	a := ratioAxisFor(values)
	common := 1.0
	if c.CommonFactor > 0 && len(c.CommonFactorCI) == 2 {
		common, a.CommonShown = c.CommonFactor, true
	}
	a.band(common, c.Margin)
	return a
}

// ratioAxisFor reaches to the next power of two beyond all values above 0, mostReach at most.
func ratioAxisFor(values []float64) ratioAxis {
	reach := 2.0
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			reach = max(reach, v, 1/v)
		}
	}
	reach = min(mostReach, math.Pow(2, math.Ceil(math.Log2(reach)-1e-9)))
	a := ratioAxis{Width: plotWidth, Height: plotHeight, Reach: reach}
	a.One = a.x(1)
	for v := 1 / reach; v <= reach*1.001; v *= 2 {
		a.Ticks = append(a.Ticks, tick{a.x(v), tickRatio(v)})
	}
	if len(a.Ticks) > 5 { // of 9: every second
		var few []tick
		for i, t := range a.Ticks {
			if i%2 == 0 {
				few = append(few, t)
			}
		}
		a.Ticks = few
	}
	return a
}

// band marks the changes around what is common that count as none.
func (a *ratioAxis) band(common, margin float64) {
	a.Common = a.x(common)
	if margin > 0 {
		a.BandX = a.x(common / (1 + margin))
		a.BandW = round1(a.x(common*(1+margin)) - a.BandX)
	}
}

func tickRatio(v float64) string {
	if v >= 1 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("1/%.0f", 1/v)
}

// x of a factor; what is beyond the axis is at its end.
func (a ratioAxis) x(factor float64) float64 {
	at := math.Log(factor) / math.Log(a.Reach)
	at = min(1, max(-1, at))
	return round1(plotWidth/2 + at*(plotWidth/2-plotEdge))
}

// plot shows a ratio and its interval. What says what it is the ratio of.
func (a ratioAxis) plot(what string, ratio float64, ci digest.Interval) *ratioPlot {
	p := &ratioPlot{Dot: a.x(ratio), Title: what + ratioText(ratio)}
	if len(ci) == 2 && ci[0] > 0 {
		p.HasInterval = true
		p.Low, p.High = a.x(ci[0]), a.x(ci[1])
		p.CutLow, p.CutHigh = ci[0] < 1/a.Reach, ci[1] > a.Reach
		p.Title += ", interval " + intervalText(ci)
	}
	const mid = plotHeight / 2
	p.LowArrow = fmt.Sprintf("%g,%g %g,%g %g,%g", p.Low-4, mid, p.Low+2, mid-4, p.Low+2, mid+4)
	p.HiArrow = fmt.Sprintf("%g,%g %g,%g %g,%g", p.High+4, mid, p.High-2, mid-4, p.High-2, mid+4)
	return p
}

// spark is the distribution of one class, before as bars and after as a line,
// on the columns that all classes share.
type spark struct {
	Width, Height float64
	Bars          []sparkBar
	Path          string
	Title         string
}

type sparkBar struct{ X, Y, W, H float64 }

const (
	sparkWidth  = 132.0
	sparkHeight = 26.0
)

// sparkRange is the range of columns that any class uses, both inclusive.
func sparkRange(c *digest.Comparison) (from, to int) {
	from, to = 31, 0
	for _, ch := range c.Classes {
		for _, s := range []*digest.ClassSide{ch.Before, ch.After} {
			if s == nil {
				continue
			}
			for i, n := range s.Spark {
				if n > 0 {
					from, to = min(from, i), max(to, i)
				}
			}
		}
	}
	if from > to {
		return 0, 0
	}
	return from, to
}

func newSpark(ch digest.Change, from, to int) *spark {
	s := &spark{Width: sparkWidth, Height: sparkHeight, Title: fmt.Sprintf("query times before (bars) and after (line), %s to %s", columnEdge(from), columnEdge(to+1))}
	before, after := shares(ch.Before, from, to), shares(ch.After, from, to)
	most := 0.0
	for i := range before {
		most = max(most, before[i], after[i])
	}
	if most == 0 {
		return nil
	}
	w := sparkWidth / float64(to-from+1)
	y := func(share float64) float64 { return round1(sparkHeight - 1 - share/most*(sparkHeight-3)) }
	first, last := -1, -1
	for i := range before {
		if before[i] > 0 {
			s.Bars = append(s.Bars, sparkBar{round1(float64(i)*w + 0.5), y(before[i]), round1(w - 1), round1(sparkHeight - 1 - y(before[i]))})
		}
		if after[i] > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first >= 0 {
		s.Path = outline(after[first:last+1], float64(first)*w, w, y)
	}
	return s
}

// outline is a path around columns of width w, from the base line and back to
// it.
func outline(values []float64, x, w float64, y func(float64) float64) string {
	var path strings.Builder
	fmt.Fprintf(&path, "M%g %g", round1(x), y(0))
	for i, v := range values {
		fmt.Fprintf(&path, "V%gH%g", y(v), round1(x+float64(i+1)*w))
	}
	fmt.Fprintf(&path, "V%g", y(0))
	return path.String()
}

// shares of the events with a known time in each column.
func shares(s *digest.ClassSide, from, to int) []float64 {
	out := make([]float64, to-from+1)
	if s == nil {
		return out
	}
	total := 0.0
	for _, n := range s.Spark {
		total += float64(n)
	}
	if total == 0 {
		return out
	}
	for i := range out {
		out[i] = float64(s.Spark[from+i]) / total
	}
	return out
}

// columnEdge is where column i of a digest's histogram begins. Columns are
// powers of two; column 0 holds all below 2^11 ns (package digest, sparkFloor).
func columnEdge(i int) string {
	if i == 0 {
		return "0"
	}
	return latency(math.Exp2(float64(i+10)) / 1e9)
}
