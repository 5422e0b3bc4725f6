package report

import (
	"fmt"
	"slices"
	"strings"

	"stowage/bench/result"
)

// benchSaturation is speed against waiting, with more and more requests at a time.
type benchSaturation struct {
	Plots []*benchPlot
	Knees []string // in words, one for each curve that has one or none
	Table planTable
}

func (d *BenchDocument) saturation() benchSaturation {
	out := benchSaturation{Table: planTable{Caption: "View as table: depths, IOPS and p99", Folded: true}}
	out.Table.Head = columns("Load", "Depth", "#At a time")
	for _, s := range d.Sides {
		for _, name := range []string{"#IOPS", "#p99"} {
			out.Table.Head = append(out.Table.Head, columns(strings.TrimSpace(name+" "+s.Letter))...)
		}
	}
	curves := map[string]map[string]result.Curve{} // by load and letter
	var loads []string
	for _, s := range d.Sides {
		for _, c := range s.result.Curves() {
			if slices.ContainsFunc(c.Points, func(s *result.Step) bool { return s.Lat.P99 <= 0 }) {
				continue // there is nothing to draw them at
			}
			if curves[c.Load] == nil {
				curves[c.Load] = map[string]result.Curve{}
				loads = append(loads, c.Load)
			}
			curves[c.Load][s.Letter] = c
		}
	}
	for _, load := range loads {
		out.Plots = append(out.Plots, d.saturationPlot(load, curves[load]))
		out.Knees = append(out.Knees, d.kneeWords(load, curves[load]))
		out.Table.Rows = append(out.Table.Rows, d.saturationRows(load, curves[load])...)
	}
	return out
}

const (
	satWidth, satHeight = 380.0, 250.0
	mostIOPSTicks       = 5
)

func (d *BenchDocument) saturationPlot(load string, by map[string]result.Curve) *benchPlot {
	p := newBenchPlot("b-sat-"+plainID(load), load, satWidth, satHeight, 50, 34, 38)
	p.Sub, p.XName, p.YName = loadWords(load), "IOPS", "p99"
	most, waits := 0.0, []float64{}
	for _, c := range by {
		for _, s := range c.Points {
			most, waits = max(most, s.IOPS), append(waits, s.Lat.P99)
			if s.CI != nil && s.CI.High < 2*s.IOPS {
				most = max(most, s.CI.High)
			}
		}
	}
	scale := newLogScale(waits...)
	p.waits(scale, 12)
	every := step(most, mostIOPSTicks)
	for v := 0.0; v <= most*1.001; v += every {
		p.XTicks = append(p.XTicks, tick{p.x(v / max(most, 1)), tickCount(v)})
	}
	at := func(s *result.Step) (x, y float64) { return p.x(s.IOPS / max(most, 1)), p.y(scale.share(s.Lat.P99)) }
	var said []string
	for _, side := range d.Sides {
		c, is := by[side.Letter]
		if !is {
			continue
		}
		var path strings.Builder
		for i, s := range c.Points {
			x, y := at(s)
			fmt.Fprintf(&path, "%s%g %g", map[bool]string{true: "M", false: "L"}[i == 0], x, y)
			if s.CI != nil {
				p.whisker(side.Class, p.x(min(s.CI.Low/max(most, 1), 1)), p.x(min(s.CI.High/max(most, 1), 1)), y)
			}
			p.dot(side.Class, s.Valid, x, y, strings.TrimSpace(fmt.Sprintf("%s %s: %s IOPS, p99 %s", side.Letter, s.ID, digits(s.IOPS), micros(s.Lat.P99))))
			said = append(said, strings.TrimSpace(fmt.Sprintf("%s %s: %s IOPS, p99 %s", side.Letter, s.Depth(), digits(s.IOPS), micros(s.Lat.P99))))
		}
		p.Lines = append(p.Lines, planLine{Path: path.String(), Class: side.Class, Title: strings.TrimSpace(load + " " + side.Letter)})
	}
	p.labelDepths(d.Sides, by, at)
	p.Desc = "IOPS to the right, the 99th percentile of latency upwards, a point for each depth. " + strings.Join(said, "; ") + ". The same as a table: below."
	return p
}

// labelDepths names knees first, then the depths of the last result, then those of the others where there is room.
func (p *benchPlot) labelDepths(sides []benchSide, by map[string]result.Curve, at func(*result.Step) (x, y float64)) {
	for _, side := range slices.Backward(sides) {
		if c, is := by[side.Letter]; is && c.Knee >= 0 {
			x, y := at(c.Points[c.Knee])
			name := c.Points[c.Knee].Depth() + " knee"
			if !c.Sure {
				name += "?"
			}
			p.Marks = append(p.Marks, planMark{At: x, LabelAt: y, Text: name})
			p.label(x, y, side.Class+" knee", name)
		}
	}
	for _, side := range slices.Backward(sides) {
		c := by[side.Letter]
		for i, s := range c.Points {
			if i != c.Knee {
				x, y := at(s)
				p.label(x, y, side.Class, s.Depth())
			}
		}
	}
}

func (d *BenchDocument) kneeWords(load string, by map[string]result.Curve) string {
	var out []string
	for _, side := range d.Sides {
		c, is := by[side.Letter]
		if !is {
			continue
		}
		if c.Knee < 0 {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s no knee among %d depths", side.Letter, len(c.Points))))
			continue
		}
		s, perhaps := c.Points[c.Knee], ""
		if !c.Sure {
			perhaps = "perhaps "
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s "+perhaps+"saturated beyond %s, %d at a time: %s IOPS at a p99 of %s", side.Letter, s.Depth(), s.AtOnce(), digits(s.IOPS), micros(s.Lat.P99))))
	}
	return load + ": " + strings.Join(out, "; ") + "."
}

func (d *BenchDocument) saturationRows(load string, by map[string]result.Curve) [][]planCell {
	var depths []*result.Step
	for _, side := range d.Sides {
		for _, s := range by[side.Letter].Points {
			if !slices.ContainsFunc(depths, func(o *result.Step) bool { return o.ID == s.ID }) {
				depths = append(depths, s)
			}
		}
	}
	slices.SortStableFunc(depths, func(a, b *result.Step) int { return a.AtOnce() - b.AtOnce() })
	var out [][]planCell
	for _, s := range depths {
		row := cells(load, s.Depth(), whole(float64(s.AtOnce())))
		for _, side := range d.Sides {
			x := side.step(s.ID)
			if x == nil || x.Runs == 0 {
				row = append(row, cells("", "")...)
				continue
			}
			row = append(row, cells(digits(x.IOPS)+validMark(x), micros(x.Lat.P99))...)
		}
		out = append(out, row)
	}
	return out
}

func validMark(s *result.Step) string {
	if s.Valid {
		return ""
	}
	return " INVALID"
}

// loadWords says what a load does: RND16K-W-FDS is durable random 16K writes.
func loadWords(load string) string {
	pattern, op, _ := strings.Cut(load, "-")
	kind := map[string]string{"RND": "random", "SEQ": "sequential", "LOG": "log"}[pattern[:min(3, len(pattern))]]
	block := pattern[min(3, len(pattern)):]
	durable := ""
	if strings.HasSuffix(op, "FDS") {
		durable, op = "durable ", strings.TrimSuffix(op, "-FDS")
	}
	did := map[string]string{"R": "reads", "W": "writes", "FDS": "writes", "RW70": "70\u00a0% reads"}[op]
	return strings.TrimSpace(strings.ReplaceAll(durable+kind+" "+block+" "+did, "  ", " "))
}
