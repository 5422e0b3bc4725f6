package report

import (
	"fmt"
	"slices"
	"strings"

	"stowage/bench/engine/sheet"
)

// applySection is what a replica can follow: applied transactions by threads and mode beside what the primary wrote, and how long an hour's lag takes to go.
func (d *EngineDocument) applySection() engineSection {
	s := engineSection{ID: "apply", Name: "Applying",
		Note: "Left: how fast a backlog was worked off, by slave_parallel_threads, with 95\u00a0% intervals; the band is what the primary of these runs wrote it with. Right, reckoned from that: how long an hour's lag takes to go while a primary goes on writing so much. What is written faster than a replica applies never comes to an end. A faint mark could be anything."}
	for i, f := range d.fields(func(x *sheet.Row) string { return x.Cell }) {
		sides := paired(applyModes(f.rows))
		a := applyCurves{id: fmt.Sprintf("%s-%d-%s", d.ID, i, f.id()), field: f, sides: sides}
		g := engineGroup{Name: f.rows[0].Cell + ", " + f.load + ", " + f.sub(), Sides: sides, Plots: []*benchPlot{a.rate()}}
		g.add(a.lag())
		if len(sides) == 1 {
			g.Sides = nil
		}
		s.Groups = append(s.Groups, g)
		s.Words = append(s.Words, a.words()...)
	}
	return s
}

// applyModes are the modes of rows with threads; one applier alone has none.
func applyModes(rows []*sheet.Row) []string {
	var out []string
	for _, x := range rows {
		if x.Threads > 0 && !slices.Contains(out, x.Parallel) {
			out = append(out, x.Parallel)
		}
	}
	if len(out) == 0 {
		out = []string{"one applier"}
	}
	return out
}

// applyCurves are the pictures of one cell and load.
type applyCurves struct {
	id    string
	field field
	sides []benchSide
}

// curve are the rows of a mode by threads, one applier first.
func (a applyCurves) curve(mode string) []*sheet.Row {
	rows := slices.DeleteFunc(slices.Clone(a.field.rows), func(x *sheet.Row) bool { return x.Threads > 0 && x.Parallel != mode })
	slices.SortStableFunc(rows, func(x, y *sheet.Row) int { return x.Threads - y.Threads })
	return rows
}

// wrote is the least and the most that the primary wrote, of all rows.
func (a applyCurves) wrote() (least, most float64) {
	for _, x := range a.field.rows {
		if x.PrimaryTPS == nil || x.PrimaryTPS.Mean <= 0 {
			continue
		}
		if v := x.PrimaryTPS.Mean; least == 0 || v < least {
			least = v
		}
		most = max(most, x.PrimaryTPS.Mean)
	}
	return least, most
}

func (a applyCurves) rate() *benchPlot {
	p := newBenchPlot(a.id+"-rate", "Applied", satWidth, satHeight, 50, 34, 38)
	p.Sub, p.XName, p.YName = "transactions a second, by threads", "slave_parallel_threads", "tx/s"
	least, wrote := a.wrote()
	most, threads := 1.05*wrote, 1
	for _, x := range a.field.rows {
		threads, most = max(threads, x.Threads), max(most, 1.05*x.TPS.Mean)
		if x.TPS.CI != nil {
			most = max(most, min(x.TPS.CI.High, 1.5*x.TPS.Mean))
		}
	}
	at := func(x *sheet.Row) float64 { return p.x(float64(x.Threads) / float64(threads)) }
	up := func(v float64) float64 { return p.y(min(v/max(most, 1e-9), 1)) }
	for v, every := 0.0, step(most, mostIOPSTicks); v <= most; v += every {
		p.YTicks = append(p.YTicks, tick{up(v), tickCount(v)})
	}
	if wrote > 0 {
		h := max(up(least)-up(wrote), 1.5)
		p.Bands = append(p.Bands, planBar{X: p.X0, W: p.X1 - p.X0, Y: up(wrote), H: round1(h), Title: fmt.Sprintf("the primary wrote it with %s to %s a second", digits(least), digits(wrote))})
		p.Labels = append(p.Labels, benchLabel{X: p.X1 - 4, Y: round1(min(up(wrote)+h+11, p.Y1-4)), Anchor: "end", Class: "soft", Text: "the primary"})
		p.boxes = append(p.boxes, benchBox{p.X1 - 70, up(wrote), p.X1, up(wrote) + h + 13})
	}
	for _, side := range a.sides {
		rows := a.curve(side.Name)
		for _, x := range rows {
			if here, n := at(x), len(p.XTicks); n == 0 || here-p.XTicks[n-1].At >= 14 {
				p.XTicks = append(p.XTicks, tick{here, whole(float64(x.Threads))})
			}
		}
		p.series(side, rows, at, up, tpsOf, func(x *sheet.Row) string { return digits(x.TPS.Mean) + " applied a second" })
	}
	for _, side := range slices.Backward(a.sides) {
		p.named(side.Class, a.curve(side.Name), at, up, func(x *sheet.Row) float64 { return x.TPS.Mean }, digits)
	}
	return p
}

// lagTimes are the marks of an axis of time, in seconds.
var lagTimes = []struct {
	seconds float64
	text    string
}{{60, "1 min"}, {300, "5 min"}, {900, "15 min"}, {3600, "1 h"}, {14400, "4 h"}, {86400, "1 d"}, {604800, "1 week"}}

// best is the row of a mode that applied most; nil where there is none.
func (a applyCurves) best(mode string) (best *sheet.Row) {
	for _, x := range a.curve(mode) {
		if x.TPS.Mean > 0 && (best == nil || x.TPS.Mean > best.TPS.Mean) {
			best = x
		}
	}
	return best
}

// lag is how long an hour's lag takes to go by what the primary writes: for the best of each mode. Nil where nothing was applied.
func (a applyCurves) lag() *benchPlot {
	p := newBenchPlot(a.id+"-lag", "An hour's lag", satWidth, satHeight, 50, 34, 38)
	p.Sub, p.XName, p.YName = "is gone in, while the primary writes", "writes a second of the primary", ""
	most := 0.0
	for _, side := range a.sides {
		if x := a.best(side.Name); x != nil {
			most = max(most, 1.05*x.TPS.Mean)
		}
	}
	if most == 0 {
		return nil
	}
	scale := logScale{lagTimes[0].seconds, lagTimes[len(lagTimes)-1].seconds}
	up := func(seconds float64) float64 { return p.y(scale.share(seconds)) }
	for _, t := range lagTimes {
		p.YTicks = append(p.YTicks, tick{up(t.seconds), t.text})
	}
	for v, every := 0.0, step(most, mostIOPSTicks); v <= most; v += every {
		p.XTicks = append(p.XTicks, tick{p.x(v / most), tickCount(v)})
	}
	for _, side := range a.sides {
		x := a.best(side.Name)
		if x == nil {
			continue
		}
		applied := x.TPS.Mean
		var through []point
		for i := 1; i < 240; i++ {
			wrote := applied * float64(i) / 240
			if took := sheet.CatchUp(applied, wrote).Seconds(); took >= scale.low && took <= scale.high {
				through = append(through, point{p.x(wrote / most), up(took)})
			}
		}
		p.Lines = append(p.Lines, planLine{Path: pathThrough(thinned(through, 0.4)), Class: side.Class, Title: side.Name + ", " + applyWord(x)})
		half := applied / 2 // an hour's lag takes an hour
		p.dot(side.Class, true, p.x(half/most), up(3600), fmt.Sprintf("%s, %s: an hour at %s writes a second", side.Name, applyWord(x), digits(half)))
		p.label(p.x(half/most), up(3600), side.Class, digits(half))
		p.Desc += fmt.Sprintf("%s, %s: an hour's lag takes an hour at %s writes a second, and never ends at %s. ", side.Name, applyWord(x), digits(half), digits(applied))
	}
	return p
}

func applyWord(x *sheet.Row) string {
	if x.Threads == 0 {
		return "one applier"
	}
	return count(x.Threads, "thread")
}

// words say of the best of each mode what it can follow.
func (a applyCurves) words() []string {
	var out []string
	for _, side := range a.sides {
		x := a.best(side.Name)
		if x == nil {
			continue
		}
		who := side.Name + ", " + applyWord(x)
		text := fmt.Sprintf("%s: up to %s writes a second without falling behind", strings.TrimPrefix(who, "one applier, "), digits(x.TPS.Mean))
		if x.TPS.CI != nil {
			text += " (" + reachText(x.TPS.CI) + ")"
		}
		if x.PrimaryTPS != nil && x.PrimaryTPS.Mean > 0 {
			if took := sheet.CatchUp(x.TPS.Mean, x.PrimaryTPS.Mean); took > 0 {
				text += fmt.Sprintf("; beside a primary that writes %s, an hour's lag is gone in %s", digits(x.PrimaryTPS.Mean), span(took))
			} else {
				text += fmt.Sprintf("; beside a primary that writes %s, as in these runs, it falls behind for ever", digits(x.PrimaryTPS.Mean))
			}
		}
		out = append(out, text+".")
	}
	return out
}
