package report

import (
	"fmt"
	"io"
	"strings"
)

// SizeLine is how many times as long something takes as something else, by the size of what it is done to.
type SizeLine struct {
	Name   string
	Points []SizePoint // by size, at least one
}

// SizePoint is one measured ratio. Both numbers are above 0.
type SizePoint struct {
	Size, Ratio float64
	IsLeast     bool // it was ended before its end: the ratio is this or more
}

// SizesSVG writes lines of ratios by size as a file of its own, both axes by factors. of names the sizes, such as "versions of the
// tenant"; goal is a ratio that has a line across the picture, with what it says; 0: none.
func SizesSVG(w io.Writer, title, of string, lines []SizeLine, goal float64, says string) error {
	return writeSVG(w, "chart", newSizesChart(title, of, lines, goal, says))
}

func newSizesChart(title, of string, lines []SizeLine, goal float64, says string) *planChart {
	c := &planChart{ID: "sizes", Title: title, Width: 760, Height: 340, X0: 52, X1: 600, Y0: 16, Y1: 300}
	var sizes, ratios []float64
	for _, l := range lines {
		for _, p := range l.Points {
			sizes, ratios = append(sizes, p.Size), append(ratios, p.Ratio)
		}
	}
	along, up := newLogScale(sizes...), newLogScale(append(ratios, 1, max(goal, 1))...)
	for _, v := range along.marks(12) {
		c.XTicks = append(c.XTicks, tick{c.x(along.share(v)), tickCount(v)})
	}
	for _, v := range up.marks(12) {
		c.YTicks = append(c.YTicks, tick{c.y(up.share(v)), trimmed(v) + "\u00d7"})
	}
	if goal > 0 {
		at := c.y(up.share(goal))
		c.Limits = append(c.Limits, planMark{At: at, LabelAt: at - 4, Text: says})
	}
	var said []string
	for n, l := range lines {
		var path []point
		var values []string
		for _, p := range l.Points {
			path = append(path, point{c.x(along.share(p.Size)), c.y(up.share(p.Ratio))})
			values = append(values, fmt.Sprintf("%s: %s%s\u00d7", tickCount(p.Size), map[bool]string{true: "at least "}[p.IsLeast], digits(p.Ratio)))
		}
		name := l.Name
		if l.Points[len(l.Points)-1].IsLeast {
			name += " (at least)"
		}
		text := l.Name + ": " + strings.Join(values, ", ")
		said = append(said, text)
		c.Lines = append(c.Lines, planLine{Path: linePath(path), Class: fmt.Sprintf("l%d", n), Label: name, Title: text, LX: c.X1 + 6, LY: path[len(path)-1].y + 4})
	}
	c.spread()
	c.Desc = "By " + of + ". " + strings.Join(said, "; ")
	c.Caption = of
	return c
}
