package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/digest"
)

// loadPicture is load over time: a bar a step. The same figures are in its table.
type loadPicture struct {
	ID            string
	Width, Height float64
	X0, Y1        float64 // the corner of the axes
	Bars          []loadBar
	XTicks        []tick
	YTicks        []tick
	Table         planTable
}

type loadBar struct {
	sparkBar
	Title string
}

func newLoadPicture(id string, steps []digest.TrendStep, seconds int64, width, height float64) *loadPicture {
	most := 0.0
	for _, s := range steps {
		most = max(most, s.Load)
	}
	if most == 0 || seconds == 0 || len(steps) < 2 {
		return nil
	}
	p := &loadPicture{ID: id, Width: width, Height: height, X0: 46, Y1: height - 20}
	from, to := steps[0].Start.Unix(), steps[len(steps)-1].Start.Unix()+seconds
	wide := width - p.X0 - 6
	x := func(at int64) float64 { return p.X0 + wide*float64(at-from)/float64(to-from) }
	mark := step(most, 4)
	top := mark
	for top < most {
		top += mark
	}
	for v := 0.0; v <= top*1.0001; v += mark {
		p.YTicks = append(p.YTicks, tick{round1(p.Y1 - (p.Y1-8)*v/top), fmt.Sprintf("%.3g", v)})
	}
	every := int64(clockStep(float64(to-from), int(wide/90)))
	for at := (from + every - 1) / every * every; at < to; at += every {
		p.XTicks = append(p.XTicks, tick{round1(x(at)), stepText(time.Unix(at, 0).UTC(), every)})
	}
	p.Table = planTable{Caption: "load over time", Head: []planColumn{{"UTC", false}, {"events", true}, {"calls/s", true}, {"load", true}, {"average", true}, {"p95", true}, {"new classes", true}}}
	for _, s := range steps {
		at := s.Start.Unix()
		tall := (p.Y1 - 8) * s.Load / top
		b := loadBar{sparkBar: sparkBar{X: round1(x(at)), Y: round1(p.Y1 - tall), W: round1(max(x(at+seconds)-x(at)-1, 0.6)), H: round1(tall)}}
		b.Title = fmt.Sprintf("%s: load %.3g, %s calls a second, average %s", s.Start.Format(time.DateTime), s.Load, digits(s.Calls), cmp.Or(latency(s.Avg), "not known"))
		p.Bars = append(p.Bars, b)
		cell := func(text string) planCell { return planCell{Text: text} }
		p.Table.Rows = append(p.Table.Rows, []planCell{cell(s.Start.Format(time.DateTime)), cell(whole(float64(s.Events))), cell(digits(s.Calls)), cell(fmt.Sprintf("%.3g", s.Load)),
			cell(cmp.Or(latency(s.Avg), "\u2013")), cell(cmp.Or(latency(s.P95), "\u2013")), cell(whole(float64(s.New)))})
	}
	return p
}

func stepText(t time.Time, every int64) string {
	switch {
	case every >= 86400:
		return t.Format("Jan 2")
	case every < 60:
		return t.Format("15:04:05")
	}
	return t.Format("15:04")
}

// sparkColumns is the range of columns of histograms that any class uses, both inclusive.
func sparkColumns(classes []digest.Class) (from, to int) {
	from, to = 31, 0
	for _, c := range classes {
		for i, n := range c.Spark {
			if n > 0 {
				from, to = min(from, i), max(to, i)
			}
		}
	}
	if from > to {
		return 0, 0
	}
	return from, to
}

// bars is the distribution of one class, on the columns that all share.
func bars(h [32]uint64, from, to int, width, height float64) *spark {
	s := &spark{Width: width, Height: height, Title: fmt.Sprintf("query times, %s to %s", columnEdge(from), columnEdge(to+1))}
	var most uint64
	for _, n := range h {
		most = max(most, n)
	}
	if most == 0 {
		return nil
	}
	wide := width / float64(to-from+1)
	for i := from; i <= to; i++ {
		if h[i] > 0 {
			tall := max(1.5, (height-1)*float64(h[i])/float64(most))
			s.Bars = append(s.Bars, sparkBar{round1(wide * float64(i-from)), round1(height - tall), round1(wide - 1), round1(tall)})
		}
	}
	return s
}

func inputTable(inputs []digest.Input) *planTable {
	t := &planTable{Caption: "inputs", Head: []planColumn{{"Input", false}, {"Kind", false}, {"Server", false}, {"Size", true}, {"Events", true}, {"Left out", true}}}
	for _, in := range inputs {
		t.Rows = append(t.Rows, []planCell{{Text: in.Name}, {Text: in.Type}, {Text: in.Dialect}, {Text: size(in.Bytes)}, {Text: whole(float64(in.Events))}, {Text: whole(float64(in.LeftOut))}})
	}
	return t
}

// usersTable adds up query time by the names that classes have: a class with several users counts for each by its calls.
func usersTable(classes []digest.Class) *planTable {
	sums := map[string][2]float64{}
	for _, c := range classes {
		for _, u := range c.Users {
			x := sums[u.Name]
			sums[u.Name] = [2]float64{x[0] + float64(u.Count), x[1] + c.QueryTime.Sum*float64(u.Count)/float64(max(c.Count, 1))}
		}
	}
	return sumTable("User", sums)
}

func tablesTable(classes []digest.Class) *planTable {
	sums := map[string][2]float64{}
	for _, c := range classes {
		for _, t := range c.Tables {
			x := sums[t]
			sums[t] = [2]float64{x[0] + float64(c.Count), x[1] + c.QueryTime.Sum}
		}
	}
	return sumTable("Table", sums)
}

func sumTable(what string, sums map[string][2]float64) *planTable {
	if len(sums) == 0 {
		return nil
	}
	var names []string
	all := 0.0
	for name, x := range sums {
		names = append(names, name)
		all += x[1]
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := cmp.Compare(sums[b][1], sums[a][1]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	t := &planTable{Caption: what, Head: []planColumn{{what, false}, {"Calls", true}, {"Query time", true}}}
	for _, name := range names[:min(len(names), 30)] {
		share := 0.0
		if all > 0 {
			share = sums[name][1] / all
		}
		t.Rows = append(t.Rows, []planCell{{Text: name}, {Text: whole(sums[name][0])}, {Text: latency(sums[name][1]), HasBar: true, Share: share, Limit: 1}})
	}
	return t
}

// sortFlags puts the facts that came from a map, which stand together, into one order.
func sortFlags(facts []Fact) {
	is := func(f Fact) bool { return strings.HasSuffix(f.Value, " of the calls") }
	first := slices.IndexFunc(facts, is)
	if first < 0 {
		return
	}
	last := first
	for last < len(facts) && is(facts[last]) {
		last++
	}
	slices.SortFunc(facts[first:last], func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
}
