package report

import (
	"fmt"
	"slices"

	"stowage/bench/engine/sheet"
	"stowage/bench/stat"
)

// hostSection is the curve behind a plan that puts several servers on one host: what so many do together, what a transaction waits for, and what it costs.
func (d *EngineDocument) hostSection() engineSection {
	s := engineSection{ID: "host", Name: "So many servers at once",
		Note: "To the right how many servers ran at once, each with its own data, cache and clients, who wait for nothing but their answers: the worst neighbours. Dotted in the first picture: so many times what the fewest did. Ringed: the most that surely did more together than the next fewer; with a question mark where nobody can say whether the next more do. A faint mark could be anything."}
	for _, f := range d.fields(nil) {
		var cells []string
		for _, x := range f.rows {
			if !slices.Contains(cells, x.Cell) {
				cells = append(cells, x.Cell)
			}
		}
		for n, sides := range toldApart(cells) {
			c := hostCurves{d: d, field: f, sides: sides, id: fmt.Sprintf("%s-host%d-%s", d.ID, n, f.id())}
			s.Groups = append(s.Groups, engineGroup{Name: f.load + ", " + f.sub(), Sides: sides, Plots: []*benchPlot{c.together(), c.tail(), c.cost()}})
		}
	}
	for _, k := range d.r.Knees {
		at := map[bool]string{true: "at", false: "not before"}[k.Sure]
		s.Words = append(s.Words, fmt.Sprintf("Knee of %s, %s, data/cache %s: %s %d; %s.", k.Cell, k.Load, digits(k.Ratio), at, k.At, k.Text))
	}
	return s
}

// hostCurves are the pictures of one load at one ratio.
type hostCurves struct {
	d     *EngineDocument
	field field
	sides []benchSide
	id    string
}

// curve are the rows of a cell, the fewest instances first.
func (c hostCurves) curve(cell string) []*sheet.Row {
	rows := slices.DeleteFunc(slices.Clone(c.field.rows), func(x *sheet.Row) bool { return x.Cell != cell })
	slices.SortStableFunc(rows, func(a, b *sheet.Row) int { return a.Instances - b.Instances })
	return rows
}

func (c hostCurves) most() (instances int) {
	for _, x := range c.field.rows {
		instances = max(instances, x.Instances)
	}
	return instances
}

// plot is an empty picture with the numbers of instances at its foot.
func (c hostCurves) plot(id, title, sub, yname string) (p *benchPlot, at func(*sheet.Row) float64) {
	p = newBenchPlot(c.id+"-"+id, title, satWidth, satHeight, 50, 34, 38)
	p.Sub, p.XName, p.YName = sub, "servers at once", yname
	most := float64(c.most())
	at = func(x *sheet.Row) float64 { return p.x(float64(x.Instances) / most) }
	p.XTicks = []tick{{p.x(0), "0"}}
	var all []*sheet.Row
	for _, side := range c.sides {
		all = append(all, c.curve(side.Name)...)
	}
	slices.SortStableFunc(all, func(a, b *sheet.Row) int { return a.Instances - b.Instances })
	for _, x := range all {
		if here := at(x); here-p.XTicks[len(p.XTicks)-1].At >= 14 {
			p.XTicks = append(p.XTicks, tick{here, whole(float64(x.Instances))})
		}
	}
	return p, at
}

// series draws a line of rows with dots, names and intervals; ci is nil where there is none.
func (p *benchPlot) series(side benchSide, rows []*sheet.Row, at func(*sheet.Row) float64, up func(float64) float64, of func(*sheet.Row) (float64, *stat.Interval), said func(*sheet.Row) string) {
	var through []point
	for _, x := range rows {
		v, ci := of(x)
		here := point{at(x), up(v)}
		through = append(through, here)
		if ci != nil && ci.HalfWidth() <= anything {
			p.whiskerUp(side.Class, here.x, up(ci.Low), up(ci.High))
		}
		class := side.Class
		if ci != nil && ci.HalfWidth() > anything {
			class += " faint"
		}
		p.dot(class, true, here.x, here.y, x.ID+": "+said(x))
		p.Desc += x.ID + ": " + said(x) + ". "
	}
	p.Lines = append(p.Lines, planLine{Path: pathThrough(through), Class: side.Class, Title: side.Name})
}

// named writes a figure at each point where there is room.
func (p *benchPlot) named(class string, rows []*sheet.Row, at func(*sheet.Row) float64, up func(float64) float64, of func(*sheet.Row) float64, text func(float64) string) {
	for _, x := range rows {
		p.label(at(x), up(of(x)), class, text(of(x)))
	}
}

// upwards makes an axis from 0 to the largest value, intervals among them unless they are very wide.
func (p *benchPlot) upwards(rows []*sheet.Row, of func(*sheet.Row) (float64, *stat.Interval)) (up func(float64) float64, most float64) {
	for _, x := range rows {
		v, ci := of(x)
		most = max(most, 1.05*v)
		if ci != nil {
			most = max(most, min(ci.High, 1.5*v))
		}
	}
	most = max(most, 1e-9)
	for v, every := 0.0, step(most, mostIOPSTicks); v <= most; v += every {
		p.YTicks = append(p.YTicks, tick{p.y(v / most), tickCount(v)})
	}
	return func(v float64) float64 { return p.y(min(v/most, 1)) }, most
}

func tpsOf(x *sheet.Row) (float64, *stat.Interval) { return x.TPS.Mean, x.TPS.CI }

// together is what all of them do in a second.
func (c hostCurves) together() *benchPlot {
	p, at := c.plot("tps", "Together", "transactions a second", "tps")
	up, most := p.upwards(c.field.rows, tpsOf)
	for _, side := range c.sides {
		rows := c.curve(side.Name)
		if len(rows) == 0 {
			continue
		}
		each := rows[0].TPS.Mean / float64(rows[0].Instances)
		if to := min(float64(c.most()), most/max(each, 1e-9)); len(rows) > 1 {
			p.Lines = append(p.Lines, planLine{Class: "write", Title: side.Name + ": so many times what the fewest did",
				Path: pathThrough([]point{{p.x(0), up(0)}, {p.x(to / float64(c.most())), up(each * to)}})})
		}
		p.series(side, rows, at, up, tpsOf, func(x *sheet.Row) string { return digits(x.TPS.Mean) + " transactions a second together" })
		for _, k := range c.d.r.Knees {
			if k.Cell != side.Name || k.Load != c.field.load || k.Ratio != c.field.ratio || len(rows) < 2 {
				continue
			}
			for _, x := range rows {
				if x.Instances == k.At {
					name := fmt.Sprintf("knee at %d", k.At)
					if !k.Sure {
						name += "?"
					}
					p.Marks = append(p.Marks, planMark{At: at(x), LabelAt: up(x.TPS.Mean), Text: name})
					p.label(at(x), up(x.TPS.Mean), side.Class+" knee", name)
				}
			}
		}
		p.named(side.Class, rows, at, up, func(x *sheet.Row) float64 { return x.TPS.Mean }, digits)
	}
	return p
}

// worst is the p99 of the slowest instance, or of the only one.
func worst(x *sheet.Row) float64 { return max(x.WorstP99, x.Lat.P99) }

// tail is what one transaction in a hundred waits for, of all servers and of the slowest.
func (c hostCurves) tail() *benchPlot {
	p, at := c.plot("p99", "Waiting", "p99 of a transaction; dotted: of the slowest server", "p99")
	var waits []float64
	for _, x := range c.field.rows {
		waits = append(waits, x.Lat.P99, worst(x))
	}
	scale := newLogScale(waits...)
	p.waits(scale, 12)
	up := func(us float64) float64 { return p.y(scale.share(us)) }
	for _, side := range c.sides {
		rows := c.curve(side.Name)
		var slowest []point
		for _, x := range rows {
			slowest = append(slowest, point{at(x), up(worst(x))})
		}
		if len(rows) > 1 {
			p.Lines = append(p.Lines, planLine{Path: pathThrough(slowest), Class: "write", Title: side.Name + ": the slowest server"})
		}
		p.series(side, rows, at, up, func(x *sheet.Row) (float64, *stat.Interval) { return x.Lat.P99, nil },
			func(x *sheet.Row) string { return "p99 " + micros(x.Lat.P99) + ", of the slowest " + micros(worst(x)) })
		p.named(side.Class, rows, at, up, func(x *sheet.Row) float64 { return x.Lat.P99 }, micros)
	}
	return p
}

// cost is processor time by transaction: what neighbours cost each other.
func (c hostCurves) cost() *benchPlot {
	p, at := c.plot("cpu", "Cost", "processor time of the servers by transaction", "\u00b5s/tx")
	of := func(x *sheet.Row) (float64, *stat.Interval) {
		if x.PerCPU.CI == nil || x.PerCPU.CI.Low <= 0 {
			return x.CPUPerTx, nil
		}
		return x.CPUPerTx, &stat.Interval{Low: 1e6 / x.PerCPU.CI.High, High: 1e6 / x.PerCPU.CI.Low}
	}
	up, _ := p.upwards(c.field.rows, of)
	for _, side := range c.sides {
		rows := c.curve(side.Name)
		p.series(side, rows, at, up, of, func(x *sheet.Row) string { return micros(x.CPUPerTx) + " of processors by transaction" })
		p.named(side.Class, rows, at, up, func(x *sheet.Row) float64 { return x.CPUPerTx }, digits)
	}
	return p
}

// hostLatency are percentile curves by the number of servers, a picture for each cell.
func (d *EngineDocument) hostLatency() engineSection {
	s := engineSection{ID: "latency", Name: "Latency by how many there are", Note: engineLatencyNote}
	var counts []string
	for _, x := range d.measured() {
		if n := serversWord(x); !slices.Contains(counts, n) {
			counts = append(counts, n)
		}
	}
	if len(counts) == 0 {
		return s
	}
	for n, sides := range toldApart(counts) {
		g := engineGroup{Sides: sides}
		for i, f := range d.fields(func(x *sheet.Row) string { return x.Cell }) {
			var all []waited
			for _, side := range sides {
				if j := slices.IndexFunc(f.rows, func(x *sheet.Row) bool { return serversWord(x) == side.Name }); j >= 0 {
					all = append(all, waited{side: side, id: f.load, histogram: f.rows[j].Histogram, lat: f.rows[j].Lat, isValid: true})
				}
			}
			g.add(newLatencyPlot(fmt.Sprintf("%s-lat%d-%d", d.ID, n, i), f.rows[0].Cell, f.load+", "+f.sub(), all))
		}
		s.Groups = append(s.Groups, g.folded())
	}
	return s
}

func serversWord(x *sheet.Row) string { return count(x.Instances, "server") }
