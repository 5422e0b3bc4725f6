package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/placement"
)

// planChart is one picture, in units of about one CSS pixel. Its figures stand
// in a table of the same section.
type planChart struct {
	ID, Title, Desc, Caption string
	Width, Height            float64
	X0, X1, Y0, Y1           float64 // of the plot
	XTicks, YTicks           []tick
	Bands                    []planBand
	Lines                    []planLine
	Bars                     []planBar
	Marks                    []planMark // across the plot, upright
	Limits                   []planMark // across the plot, level
	Keys                     []planKey
}

// planLine is a line with its name at its end. Class is one of report.css.
type planLine struct {
	Path, Class, Label, Title string
	LX, LY                    float64
}

// planBand is an area, such as the days between which something happens.
type planBand struct{ Path, Class, Title string }

type planBar struct {
	X, Y, W, H   float64
	Class, Title string
	Label        string
	TX, TY       float64
}

type planMark struct {
	At, LabelAt float64
	Text        string
}

type planKey struct{ Class, Text string }

const (
	planWidth  = 1180.0
	planHeight = 250.0
	tickLetter = 6.6 // how wide a letter of an axis is
)

func newChart(id, title string, left, right float64) *planChart {
	return &planChart{ID: id, Title: title, Width: planWidth, Height: planHeight, X0: left, X1: planWidth - right, Y0: 16, Y1: planHeight - 26}
}

// x is where a share of the axis is.
func (c *planChart) x(share float64) float64 { return round1(c.X0 + share*(c.X1-c.X0)) }
func (c *planChart) y(share float64) float64 { return round1(c.Y1 - share*(c.Y1-c.Y0)) }

// spread moves the names at the ends of lines apart, so that each can be read.
func (c *planChart) spread() {
	const apart = 13.0
	order := make([]*planLine, len(c.Lines))
	for i := range c.Lines {
		order[i] = &c.Lines[i]
	}
	slices.SortStableFunc(order, func(a, b *planLine) int {
		switch {
		case a.LY > b.LY:
			return -1
		case a.LY < b.LY:
			return 1
		}
		return 0
	})
	below := c.Y1 + 4
	for _, l := range order { // from the bottom up
		l.LY = min(l.LY, below)
		below = l.LY - apart
	}
	above := c.Y0 + 4
	for _, l := range slices.Backward(order) { // and down again, where that went too far
		l.LY = round1(max(l.LY, above))
		above = l.LY + apart
	}
}

// runwayChart is the share of hosts whose disk is within its headroom, over
// the days to come.
func (c *census) runwayChart() *planChart {
	horizon := max(365, 2*c.plan.Goals.RunwayDays)
	for _, h := range c.after {
		if h.runway < 3650 {
			horizon = max(horizon, h.runway*1.05)
		}
	}
	out := newChart("chart-runway", "Hosts whose disk is within its headroom, by day", 46, 190)
	out.Desc = "The share of hosts whose disk is within its headroom falls from day to day as shards grow, for the hosts before and after the plan. The hosts that break it first stand in the table below."
	out.Caption = "Share of hosts whose disk is within its headroom, by days from the plan on"
	for v := 0.0; v <= horizon; v += step(horizon, 10) {
		out.XTicks = append(out.XTicks, tick{out.x(v / horizon), whole(v)})
	}
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		out.YTicks = append(out.YTicks, tick{out.y(share), percent(share)})
	}
	if days := c.plan.Goals.RunwayDays; days > 0 {
		out.Marks = append(out.Marks, planMark{At: out.x(days / horizon), LabelAt: out.x(days/horizon) + 4, Text: "runway of the goals"})
	}
	for _, x := range []struct {
		name, class string
		hosts       []carrier
	}{{"before", "lb", c.before}, {"after", "la", c.after}} {
		if len(x.hosts) > 0 {
			out.Lines = append(out.Lines, out.survival(x.name, x.class, x.hosts, horizon))
		}
	}
	out.spread()
	return out
}

func (c *planChart) survival(name, class string, hosts []carrier, horizon float64) planLine {
	sorted := byRunway(hosts)
	var b strings.Builder
	left, n := 1.0, float64(len(sorted))
	fmt.Fprintf(&b, "M%v %v", c.x(0), c.y(1))
	for i := 0; i < len(sorted); {
		day := sorted[i].runway
		if day > horizon {
			break
		}
		next := i
		for next < len(sorted) && (sorted[next].runway == day || c.x(sorted[next].runway/horizon) == c.x(day/horizon)) {
			next++
		}
		left = 1 - float64(next)/n
		fmt.Fprintf(&b, "H%vV%v", c.x(day/horizon), c.y(left))
		i = next
	}
	fmt.Fprintf(&b, "H%v", c.x(1))
	label := fmt.Sprintf("%s: %s after %s", name, percent(left), dayText(math.Floor(horizon)))
	return planLine{Path: b.String(), Class: class, Label: label, Title: label, LX: c.X1 + 6, LY: c.y(left) + 4}
}

// scaleChart is what the mean instance needs, by how many are on a host.
func (c *census) scaleChart(s scale) *planChart {
	out := newChart("chart-scaling", fmt.Sprintf("Use of a %s by the number of its instances", s.kind.Name), 46, 190)
	out.Desc = "Straight lines, one for each resource: what so many mean instances would use of what the goals let be used. The same as a table: below."
	out.Caption = fmt.Sprintf("Share of what the goals let be used of a %s, by how many mean instances are on it; linear, not measured", s.kind.Name)
	top := 1.2
	for _, r := range c.resources {
		if cap := s.kind.Capacity[r]; cap > 0 {
			top = max(top, float64(s.upTo)*s.mean.needs[r]/(cap*c.limit(r)))
		}
	}
	top = min(top, 3)
	for n := 0; n <= s.upTo; n++ {
		out.XTicks = append(out.XTicks, tick{out.x(float64(n) / float64(s.upTo)), whole(float64(n))})
	}
	for v := 0.0; v <= top; v += step(top, 6) {
		out.YTicks = append(out.YTicks, tick{out.y(v / top), percent(v)})
	}
	out.Limits = append(out.Limits, planMark{At: out.y(1 / top), LabelAt: out.y(1/top) - 4, Text: "limit of the goals"})
	for i, r := range c.resources {
		cap := s.kind.Capacity[r]
		if cap <= 0 || s.mean.needs[r] <= 0 {
			continue
		}
		slope := s.mean.needs[r] / (cap * c.limit(r))
		n := min(float64(s.upTo), top/slope)
		label := fmt.Sprintf("%s, %s at %d", r, percent(slope*float64(s.upTo)), s.upTo)
		out.Lines = append(out.Lines, planLine{
			Path:  fmt.Sprintf("M%v %vL%v %v", out.x(0), out.y(0), out.x(n/float64(s.upTo)), out.y(min(slope*n, top)/top)),
			Class: fmt.Sprintf("l%d", i%6), Label: label, Title: label, LX: out.X1 + 6, LY: out.y(min(slope*float64(s.upTo), top)/top) + 4,
		})
	}
	out.spread()
	return out
}

// Of more moves, or lanes, than these only the sum is drawn.
const (
	mostBars  = 600
	mostLanes = 64
)

// movesChart is the moves over time: a bar each, in as many lanes as run at
// once, or the data copied so far where they are too many.
func (c *census) movesChart() *planChart {
	lanes, count := assignLanes(c.plan.Moves)
	if len(c.plan.Moves) > mostBars || count > mostLanes {
		return c.copiedChart()
	}
	out := newChart("chart-moves", "Moves over time", 10, 10)
	row := 22.0
	if count > 16 {
		row = 14
	}
	out.Height = 16 + row*float64(count) + 26
	out.Y1 = out.Height - 26
	out.Desc = "One bar a move, in as many lanes as run at once, from the first move to the last as estimated. The same as a table: below."
	out.Caption = fmt.Sprintf("One bar a move, as long as it is estimated to take; %s, as so many run at once at most. Times are since the first move.", farm.Counted(count, "lane"))
	end := max(c.plan.MoveSeconds, 1)
	out.timeTicks(end)
	critical := map[string]bool{}
	for _, m := range c.plan.Critical {
		critical[fmt.Sprint(m.What, m.Begin)] = true
	}
	keys := map[string]bool{}
	names := make([]string, len(c.plan.Moves))
	for i, m := range c.plan.Moves {
		names[i] = m.Name
	}
	short := brief(names)
	for i, m := range c.plan.Moves {
		b := planBar{
			X: out.x(m.Begin / end), Y: out.Y0 + row*float64(lanes[i]) + 1.5, H: row - 3, Class: "beside",
			Title: fmt.Sprintf("%s: %s to %s, %s, from %s on for %s (wave %d)", m.Name, m.Source, m.Target, size(m.Bytes), longSpan(m.Begin), longSpan(m.Seconds), m.Wave),
		}
		b.W = round1(max(1, out.x((m.Begin+m.Seconds)/end)-b.X-1))
		if critical[fmt.Sprint(m.Name, m.Begin)] {
			b.Class = "alone"
		}
		keys[b.Class] = true
		b.Label, b.TX, b.TY = m.Name, round1(b.X+b.W/2), round1(b.Y+b.H/2+3.7)
		if !fits(b.Label, b.W, 10.5) {
			b.Label = short(m.Name)
		}
		if row < 22 || !fits(b.Label, b.W, 10.5) {
			b.Label = ""
		}
		out.Bars = append(out.Bars, b)
	}
	if keys["alone"] {
		out.Keys = []planKey{{"alone", "on the critical path"}, {"beside", "other moves"}}
	}
	return out
}

func (c *planChart) timeTicks(end float64) {
	s := clockStep(end, 12)
	for t := 0.0; t <= end; t += s {
		text := span(seconds(t))
		switch {
		case s >= 86400:
			text = fmt.Sprintf("%.0f d", t/86400)
		case s >= 3600:
			text = fmt.Sprintf("%.0f h", t/3600)
		case s >= 60:
			text = fmt.Sprintf("%.0f min", t/60)
		}
		c.XTicks = append(c.XTicks, tick{c.x(t / end), text})
	}
}

// assignLanes gives every move the first lane that is free when it begins.
func assignLanes(moves []placement.Move) (lane []int, lanes int) {
	order := make([]int, len(moves))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case moves[a].Begin < moves[b].Begin:
			return -1
		case moves[a].Begin > moves[b].Begin:
			return 1
		}
		return 0
	})
	lane = make([]int, len(moves))
	var free []float64
	for _, i := range order {
		m := moves[i]
		at := slices.IndexFunc(free, func(t float64) bool { return t <= m.Begin+1e-6 })
		if at < 0 {
			at = len(free)
			free = append(free, 0)
		}
		free[at], lane[i] = m.Begin+m.Seconds, at
	}
	return lane, len(free)
}

// copiedChart is the data copied so far.
func (c *census) copiedChart() *planChart {
	out := newChart("chart-moves", "Data copied, over time", 60, 20)
	out.Desc = "The data copied since the first move, as estimated, from nothing to all of it. The waves are in the table below."
	out.Caption = fmt.Sprintf("Data copied so far; %s are too many to be drawn one by one", count(len(c.plan.Moves), "move"))
	end, all := max(c.plan.MoveSeconds, 1), max(1, float64(c.plan.Bytes()))
	out.timeTicks(end)
	for v := 0.0; v <= all; v += step(all, 5) {
		out.YTicks = append(out.YTicks, tick{out.y(v / all), amount(v, farm.KindBytes)})
	}
	const points = 240
	done := make([]float64, points+1)
	for _, m := range c.plan.Moves {
		for i := int(m.Begin / end * points); i <= points; i++ {
			at := float64(i) / points * end
			if at >= m.Begin+m.Seconds {
				done[i] += float64(m.Bytes)
			} else if at > m.Begin {
				done[i] += float64(m.Bytes) * (at - m.Begin) / m.Seconds
			}
		}
	}
	var b strings.Builder
	for i, v := range done {
		op := "L"
		if i == 0 {
			op = "M"
		}
		fmt.Fprintf(&b, "%s%v %v", op, out.x(float64(i)/points), out.y(v/all))
	}
	out.Lines = []planLine{{Path: b.String(), Class: "la", Title: "data copied so far"}}
	return out
}
