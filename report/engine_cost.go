package report

import (
	"fmt"
	"slices"

	"stowage/bench/engine/sheet"
	"stowage/bench/stat"
)

// costFigure is one figure that cells are shown beside each other with.
type costFigure struct {
	id, name string
	of       func(*sheet.Row) (float64, *stat.Interval)
	during   func(*sheet.Row) float64 // beside it: what it is without what the run left to be done; nil: nothing
}

var costFigures = []costFigure{
	{"cpu", "Transactions by second of the server's processors: more is better", func(x *sheet.Row) (float64, *stat.Interval) { return x.PerCPU.Mean, x.PerCPU.CI }, nil},
	{"bytes", "KiB written by transaction, settled: less is better", func(x *sheet.Row) (float64, *stat.Interval) {
		if x.Amplification == nil {
			return 0, nil // it changes nothing, and what it writes is not its own
		}
		return x.Written.Settled / 1024, nil
	}, func(x *sheet.Row) float64 { return x.Written.During / 1024 }},
	{"tps", "Transactions a second: more is better", func(x *sheet.Row) (float64, *stat.Interval) { return x.TPS.Mean, x.TPS.CI }, nil},
}

// mostCosts is how many pictures of one figure are not folded.
const mostCosts = 4

// costSection is what a transaction costs in each cell: a picture for each load, ratio and figure.
func (d *EngineDocument) costSection() engineSection {
	s := engineSection{ID: "cost", Name: "What a transaction costs",
		Note: "A row is a cell, with its 95\u00a0% interval from whole runs. Processor seconds and bytes are steady where others use the machine as well; transactions a second are not. \u201cAgain\u201d is the first cell once more, with data of its own: what these two differ by is the measurement's own error. Of bytes the lighter mark is the run alone."}
	for _, f := range costFigures {
		g := engineGroup{Name: f.name}
		for _, at := range d.fields(nil) {
			if p := costPlot(d.ID, f, at); p != nil {
				g.Plots = append(g.Plots, p)
			}
		}
		if len(g.Plots) > mostCosts {
			g.Plots, g.Rest = g.Plots[:mostCosts], g.Plots[mostCosts:]
		}
		if len(g.Plots) > 0 {
			s.Groups = append(s.Groups, g)
		}
	}
	return s
}

const (
	costWidth, costRow = 380.0, 21.0
	costCharacter      = 6.1 // of a name at the left
	costFigureRoom     = 62.0
	mostCostTicks      = 4
)

// costPlot has a level line for each cell; nil where the load has no such figure.
func costPlot(id string, f costFigure, at field) *benchPlot {
	rows := slices.DeleteFunc(slices.Clone(at.rows), func(x *sheet.Row) bool { v, _ := f.of(x); return v <= 0 })
	if len(rows) == 0 {
		return nil
	}
	longest := 0
	for _, x := range rows {
		longest = max(longest, len(rowName(x)))
	}
	p := newBenchPlot(id+"-"+f.id+"-"+at.id(), at.load, costWidth, 16+costRow*float64(len(rows))+24, 12+costCharacter*float64(longest), costFigureRoom, 24)
	p.Sub = at.sub()
	most := 0.0
	for _, x := range rows {
		v, ci := f.of(x)
		most = max(most, v)
		if ci != nil {
			most = max(most, min(ci.High, 1.5*v)) // a wide one may be cut; its table has all of it
		}
		if f.during != nil {
			most = max(most, f.during(x))
		}
	}
	for v, every := 0.0, step(most, mostCostTicks); v <= most; v += every {
		p.XTicks = append(p.XTicks, tick{p.x(v / most), tickCount(v)})
	}
	p.Desc = f.name + ". "
	for i, x := range rows {
		v, ci := f.of(x)
		y, at := round1(p.Y0+costRow*(float64(i)+0.5)), p.x(v/most)
		p.YTicks = append(p.YTicks, tick{y, rowName(x)})
		class := "s0"
		if x.Again {
			class = "s1"
		}
		said := digits(v)
		if ci != nil && ci.HalfWidth() <= anything {
			p.whisker(class, p.x(ci.Low/most), p.x(min(ci.High/most, 1)), y)
			said += ", " + digits(ci.Low) + " to " + digits(ci.High)
		}
		if f.during != nil {
			p.dot("s3 faint", true, p.x(f.during(x)/most), y, fmt.Sprintf("%s: %s in the run alone", x.ID, digits(f.during(x))))
			said += " with what the run left, " + digits(f.during(x)) + " in the run alone"
		}
		p.dot(class, !x.Unsettled, at, y, x.ID+": "+said)
		p.Labels = append(p.Labels, benchLabel{X: p.Width - 4, Y: y + 3.6, Anchor: "end", Class: class, Text: digits(v)})
		p.Desc += rowName(x) + " " + said + ". "
	}
	p.Desc += "The same as a table: below."
	return p
}

// rowName is a row's cell, and what sets it apart in its picture.
func rowName(x *sheet.Row) string {
	if x.Again {
		return x.Cell + " again"
	}
	return x.Cell
}

// latencySection are percentile curves of whole transactions: a picture for each load and ratio, as many cells in it as can be distinguished.
func (d *EngineDocument) latencySection() engineSection {
	s := engineSection{ID: "latency", Name: "Latency", Note: engineLatencyNote}
	var cells []string
	for _, x := range d.measured() {
		if !slices.Contains(cells, x.Cell) {
			cells = append(cells, x.Cell)
		}
	}
	if len(cells) == 0 {
		return s
	}
	for n, sides := range toldApart(cells) {
		g := engineGroup{Sides: sides}
		for _, f := range d.fields(nil) {
			var all []waited
			for _, side := range sides {
				if i := slices.IndexFunc(f.rows, func(x *sheet.Row) bool { return x.Cell == side.Name && !x.Again }); i >= 0 {
					x := f.rows[i]
					all = append(all, waited{side: side, id: x.Load, histogram: x.Histogram, lat: x.Lat, isValid: true})
				}
			}
			if len(all) > 1 || len(cells) == 1 {
				g.add(newLatencyPlot(fmt.Sprintf("%s-lat%d-%s", d.ID, n, f.id()), f.load, f.sub(), all))
			}
		}
		s.Groups = append(s.Groups, g.folded())
	}
	return s
}

const engineLatencyNote = "To the right the share of transactions that took no longer, each mark ten times closer to all of them; upwards the time, logarithmic. Dots: p50, p99 with its time, p99.9. The figures are in the table."

func (g *engineGroup) add(p *benchPlot) {
	if p != nil {
		g.Plots = append(g.Plots, p)
	}
}

func (g engineGroup) folded() engineGroup {
	if len(g.Plots) > mostCosts {
		g.Plots, g.Rest = g.Plots[:mostCosts], g.Plots[mostCosts:]
	}
	return g
}
