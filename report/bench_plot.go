package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// benchPlot is one small picture, in units of about one CSS pixel. Its figures are in a table of the same section.
type benchPlot struct {
	planChart
	Sub          string // what is beside the title
	XName, YName string
	Whiskers     []benchWhisker
	Dots         []benchDot
	Bands        []planBar
	Labels       []benchLabel
	boxes        []benchBox // that labels and dots take up
}

// benchWhisker is an interval.
type benchWhisker struct{ Path, Class string }

// benchDot is a measured point. Its shape tells the results apart without colours; a hollow one is invalid.
type benchDot struct {
	Path, Class, Title string
	X, Y               float64
}

type benchLabel struct {
	X, Y                float64
	Anchor, Class, Text string
}

type benchBox struct{ x0, y0, x1, y1 float64 }

func newBenchPlot(id, title string, width, height, left, right, bottom float64) *benchPlot {
	return &benchPlot{planChart: planChart{ID: id, Title: title, Width: width, Height: height, X0: left, X1: width - right, Y0: 16, Y1: height - bottom}}
}

// benchShape is a mark around a point: a circle, a square, a triangle, a diamond, and the two of them upside down and slim.
func benchShape(class string, x, y, r float64) string {
	shape := map[string][]point{
		"s2": {{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}}, "s3": {{0, -1.2}, {1.1, 0.9}, {-1.1, 0.9}}, "s4": {{0, -1.3}, {1.3, 0}, {0, 1.3}, {-1.3, 0}},
		"s5": {{0, 1.2}, {1.1, -0.9}, {-1.1, -0.9}}, "s6": {{-0.5, -1.2}, {0.5, -1.2}, {0.5, 1.2}, {-0.5, 1.2}},
	}[class]
	if shape == nil {
		return fmt.Sprintf("M%g %ga%g %g 0 1 1 %g 0a%g %g 0 1 1-%g 0z", round1(x-r), y, r, r, 2*r, r, r, 2*r)
	}
	var p pen
	for i, at := range shape {
		to := point{round1(x + at.x*r), round1(y + at.y*r)}
		if i == 0 {
			p.move(to)
		} else {
			p.line(to)
		}
	}
	return p.String() + "z"
}

// dot marks a point, and keeps labels off it.
func (p *benchPlot) dot(class string, isValid bool, x, y float64, title string) {
	shape, _, _ := strings.Cut(class, " ")
	d := benchDot{Path: benchShape(shape, x, y, 3.6), Class: class, Title: title, X: x, Y: y}
	if !isValid {
		d.Class += " hollow"
	}
	p.Dots = append(p.Dots, d)
	p.boxes = append(p.boxes, benchBox{x - 4, y - 4, x + 4, y + 4})
}

// whisker is a level interval, whiskerUp an upright one.
func (p *benchPlot) whisker(class string, x0, x1, y float64) {
	p.Whiskers = append(p.Whiskers, benchWhisker{fmt.Sprintf("M%g %gH%g", x0, y, x1), class})
}

func (p *benchPlot) whiskerUp(class string, x, y0, y1 float64) {
	p.Whiskers = append(p.Whiskers, benchWhisker{fmt.Sprintf("M%g %gV%g", x, y0, y1), class})
}

// label writes beside a point where nothing stands yet: below to the right, above to the left and so on. Where there is no room it writes nothing:
// the table has the same.
func (p *benchPlot) label(x, y float64, class, text string) {
	const size, high = 6.9, 11.0 // a character, and a line
	wide := size * float64(len([]rune(text)))
	for _, at := range []struct {
		dx, dy float64
		anchor string
	}{{7, 12, "start"}, {-7, -6, "end"}, {7, -6, "start"}, {-7, 12, "end"}, {8, 3.5, "start"}, {-8, 3.5, "end"}} {
		l := benchLabel{X: round1(x + at.dx), Y: round1(y + at.dy), Anchor: at.anchor, Class: class, Text: text}
		box := benchBox{l.X, l.Y - high + 2, l.X + wide, l.Y + 2}
		if at.anchor == "end" {
			box.x0, box.x1 = l.X-wide, l.X
		}
		if box.x0 < p.X0 || box.x1 > p.Width || box.y0 < 0 || box.y1 > p.Y1 || p.taken(box) {
			continue
		}
		p.Labels, p.boxes = append(p.Labels, l), append(p.boxes, box)
		return
	}
}

func (p *benchPlot) taken(b benchBox) bool {
	for _, o := range p.boxes {
		if b.x0 < o.x1 && o.x0 < b.x1 && b.y0 < o.y1 && o.y0 < b.y1 {
			return true
		}
	}
	return false
}

// waits makes an axis of microseconds.
func (p *benchPlot) waits(s logScale, most int) {
	for _, us := range s.marks(most) {
		p.YTicks = append(p.YTicks, tick{p.y(s.share(us)), tickMicros(us)})
	}
}

// tickMicros is a round time: 200 µs, 5 ms, 1 s.
func tickMicros(us float64) string {
	switch {
	case us < 1000:
		return trimmed(us) + " \u00b5s"
	case us < 1e6:
		return trimmed(us/1000) + " ms"
	}
	return trimmed(us/1e6) + " s"
}

// tickCount is a round number: 500, 20k, 1.5M.
func tickCount(v float64) string {
	switch {
	case v >= 1e6:
		return trimmed(v/1e6) + "M"
	case v >= 1000:
		return trimmed(v/1000) + "k"
	}
	return trimmed(v)
}

// trimmed is a number without digits that say nothing.
func trimmed(v float64) string { return strconv.FormatFloat(math.Round(v*1e4)/1e4, 'f', -1, 64) }

// Grid are all marks of both axes as one path.
func (p *benchPlot) Grid() string {
	var b strings.Builder
	for _, t := range p.YTicks {
		fmt.Fprintf(&b, "M%g %gH%g", p.X0, t.At, p.X1)
	}
	for _, t := range p.XTicks {
		fmt.Fprintf(&b, "M%g %gV%g", t.At, p.Y0, p.Y1)
	}
	return b.String()
}
