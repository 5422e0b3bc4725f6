package report

import (
	"fmt"
	"math"
	"strings"
)

// sharesPicture is a distribution: the share of each column as bars, and what a pointer finds in a column. Units are about one CSS pixel. Its figures are in a
// table beside it.
type sharesPicture struct {
	ID, Title, Desc string
	Width, Height   float64
	X0, X1, Y0, Y1  float64 // of the plot
	XName           string
	YName, RName    string // over the left and over the right axis
	XTicks, YTicks  []tick
	RTicks          []tick
	Bars            []sharesBar
	Path            string // of a line on the right axis; empty: none
	Marks           []sharesMark
	Columns         []sharesBar // over the bars: all of a column, with its figures
}

type sharesBar struct {
	sparkBar
	Class, Title string
}

// sharesMark is an upright line, with its name where no other name stands.
type sharesMark struct {
	At, LX, LY float64
	Text       string
}

const (
	sharesWidth, sharesHeight = 560.0, 250.0
	sharesLetter              = 6.3 // how wide a letter of a picture is
)

// newPausesPicture draws a group of pauses: how many lasted how long, and how many no longer.
func newPausesPicture(g pauseGroup) *sharesPicture {
	c := g.Chart
	p := &sharesPicture{ID: "pauses-" + g.ID, Title: g.Title, Width: sharesWidth, Height: sharesHeight, X0: 42, X1: sharesWidth - 42, Y0: 34, Y1: sharesHeight - 34,
		XName: "ms", YName: "share of pauses", RName: "up to"}
	p.Desc = fmt.Sprintf("Histogram and cumulative share. p50 %s, p95 %s, p99 %s, longest %s. The same as a table: below.", g.P50, g.P95, g.P99, g.Max)
	x := func(ms float64) float64 { return p.x(ms / c.Max) }
	for v := 0.0; v <= c.Max*1.0001; v += c.Tick {
		p.XTicks = append(p.XTicks, tick{x(v), trimmed(v)})
	}
	most := 0
	for _, n := range c.Bins {
		most = max(most, n)
	}
	top := p.shares(float64(most) / float64(g.Count))
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		p.RTicks = append(p.RTicks, tick{p.y(share), percent(share)})
	}
	for i, b := range g.Bins {
		from, to := x(float64(i)*c.Width), x(float64(i+1)*c.Width)
		y := p.y(float64(b.N) / float64(g.Count) / top)
		gap := min(1, 0.14*(to-from))
		if b.N > 0 {
			p.Bars = append(p.Bars, sharesBar{sparkBar{round1(from + gap/2), y, round1(max(1, to-from-gap)), round1(p.Y1 - y)}, "was", ""})
		}
		p.column(from, to, fmt.Sprintf("%s to %s ms: %d of %s (%s); up to here: %s", b.From, b.To, b.N, whole(float64(g.Count)), b.Share, b.UpTo))
	}
	var line strings.Builder
	for i, at := range c.Ecdf {
		if i == 0 {
			fmt.Fprintf(&line, "M%g %g", x(at[0]), p.y(0))
		} else {
			fmt.Fprintf(&line, "H%gV%g", x(at[0]), p.y(at[1]))
		}
	}
	fmt.Fprintf(&line, "H%g", p.X1)
	p.Path = line.String()
	for _, m := range c.Marks {
		p.mark(x(m.At), m.Name)
	}
	return p
}

// shares makes the left axis reach to the share of the highest column, in four equal steps. It returns its end.
func (p *sharesPicture) shares(most float64) (top float64) {
	each := quarter(most)
	for k := range 5 {
		p.YTicks = append(p.YTicks, tick{p.y(float64(k) / 4), percent(float64(k) * each)})
	}
	return 4 * each
}

// quarter is the least round quarter of an axis of shares that reaches as far: 25 % for all, 10 % for two fifths.
func quarter(most float64) float64 {
	if most <= 0 {
		return 0.25
	}
	power := math.Pow(10, math.Floor(math.Log10(most/4)))
	for _, m := range []float64{1, 1.5, 2, 2.5, 4, 5} {
		if 4*m*power >= most*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// x and y are where a share of an axis is.
func (p *sharesPicture) x(share float64) float64 { return round1(p.X0 + share*(p.X1-p.X0)) }
func (p *sharesPicture) y(share float64) float64 { return round1(p.Y1 - share*(p.Y1-p.Y0)) }

// column is what a pointer finds between two places.
func (p *sharesPicture) column(from, to float64, title string) {
	p.Columns = append(p.Columns, sharesBar{sparkBar{from, p.Y0, round1(to - from), round1(p.Y1 - p.Y0)}, "", title})
}

// mark adds an upright line. Marks at one place share a name; a name that would be printed over another goes into a second row, and one that finds no
// room there, either, is left to the figures above the picture.
func (p *sharesPicture) mark(at float64, name string) {
	const apart = 1.5
	for i := range p.Marks {
		if m := &p.Marks[i]; math.Abs(m.At-at) < apart && m.Text != "" {
			m.Text += ", " + name
			m.LX = p.within(m.At, m.Text)
			return
		}
	}
	m := sharesMark{At: at, Text: name, LX: p.within(at, name)}
	for _, y := range []float64{p.Y0 - 5, p.Y0 - 17} {
		if m.LY = y; !p.named(m) {
			p.Marks = append(p.Marks, m)
			return
		}
	}
	m.Text = ""
	p.Marks = append(p.Marks, m)
}

// within is the middle of a name at a place, moved so that it does not leave the plot.
func (p *sharesPicture) within(at float64, name string) float64 {
	half := sharesLetter * float64(len(name)) / 2
	return round1(min(max(at, p.X0+half), p.X1-half))
}

// named reports whether the name of a mark would be printed over another.
func (p *sharesPicture) named(m sharesMark) bool {
	for _, o := range p.Marks {
		if o.Text != "" && o.LY == m.LY && math.Abs(o.LX-m.LX) < sharesLetter*float64(len(o.Text)+len(m.Text)+1)/2 {
			return true
		}
	}
	return false
}
