package report

import (
	"fmt"
	"math"
	"time"

	"stowage/digest"
)

// NewQueriesDocument is the load of queries over time, from the digests that were kept.
func NewQueriesDocument(f KnowFacts) *KnowDocument {
	d := &KnowDocument{Title: "Queries over time"}
	t := f.Trend
	if t == nil || len(t.Steps) == 0 {
		return d
	}
	first, last := t.Steps[0].Start, t.Steps[len(t.Steps)-1].Start.Add(time.Duration(t.StepSeconds)*time.Second)
	events := uint64(0)
	for _, s := range t.Steps {
		events += s.Events
	}
	d.Verdict = fmt.Sprintf("%s in %s.", count(int(events), "query event"), count(t.ClassCount, "class"))
	if t.ClassCount != 1 {
		d.Verdict = fmt.Sprintf("%s in %s classes.", count(int(events), "query event"), whole(float64(t.ClassCount)))
	}
	d.Lead = fmt.Sprintf("From %s to %s UTC.", first.UTC().Format("2006-01-02 15:04"), last.UTC().Format("2006-01-02 15:04"))
	d.Sections = []planSection{trendSection(*t), classesSection(*t)}
	return d
}

// mostLines is how many classes have a line: as many as there are patterns of lines.
const mostLines = 5

func trendSection(t digest.Trend) planSection {
	s := planSection{ID: "load-over-time", Name: "Load over time"}
	c := newChart("chart-trend", "Load of queries over time", 46, 190)
	c.Desc = "Seconds of query time in each second, of all queries and of the classes with most of it. The table below has the same figures."
	c.Caption = fmt.Sprintf("Seconds of query time in each second, by steps of %s (UTC)", span(time.Duration(t.StepSeconds)*time.Second))
	from := t.Steps[0].Start
	length := t.Steps[len(t.Steps)-1].Start.Sub(from).Seconds() + float64(t.StepSeconds)
	top := 0.0
	for _, x := range t.Steps {
		top = max(top, x.Load)
	}
	if top <= 0 || length <= 0 {
		s.Text = []string{"No query has a time."}
		return s
	}
	mark := step(top, 4)
	most := mark
	for most < top {
		most += mark
	}
	for v := 0.0; v <= most*1.0001; v += mark {
		c.YTicks = append(c.YTicks, tick{c.y(v / most), fmt.Sprintf("%.3g", v)})
	}
	every := clockStep(length, 8)
	for at := math.Ceil(float64(from.Unix())/float64(every)) * float64(every); at < float64(from.Unix())+length; at += float64(every) {
		c.XTicks = append(c.XTicks, tick{c.x((at - float64(from.Unix())) / length), stepText(time.Unix(int64(at), 0).UTC(), int64(every))})
	}
	line := func(name, class string, steps []digest.TrendStep) {
		var ps []point
		for i, x := range steps {
			at := t.Steps[i].Start.Sub(from).Seconds()
			y := c.y(x.Load / most)
			ps = append(ps, point{c.x(at / length), y}, point{c.x((at + float64(t.StepSeconds)) / length), y})
		}
		c.Lines = append(c.Lines, planLine{Path: linePath(ps), Class: class, Label: shortened(name, 26), Title: name, LX: c.X1 + 6, LY: ps[len(ps)-1].y + 4})
	}
	line("all queries", "l0", t.Steps)
	for i, x := range t.Classes[:min(len(t.Classes), mostLines)] {
		line(x.Fingerprint, fmt.Sprintf("l%d", i+1), x.Steps)
	}
	c.spread()
	s.Chart = c
	table := planTable{Caption: "All queries, step by step", Head: columns("UTC", "#events", "#calls a second", "#load", "#average", "#p95", "#new classes"), Folded: true}
	for _, x := range t.Steps {
		table.Rows = append(table.Rows, cells(x.Start.UTC().Format(time.DateTime), whole(float64(x.Events)), digits(x.Calls), fmt.Sprintf("%.3g", x.Load), latency(x.Avg), latency(x.P95), whole(float64(x.New))))
	}
	s.Tables = []planTable{table}
	return s
}

func classesSection(t digest.Trend) planSection {
	table := planTable{Caption: "Classes, the heaviest first", Head: columns("class", "query", "#share", "#calls", "#average before", "#after", "#load before", "#after", "change", "first seen", "last seen")}
	for _, x := range t.Classes {
		a, b := halves(x.Steps)
		change := "new"
		switch {
		case a.load > 0 && b.load > 0:
			change = fmt.Sprintf("%s %.2f", times, b.load/a.load)
		case a.load > 0:
			change = "gone"
		}
		table.Rows = append(table.Rows, cells(x.ID16, shortened(x.Fingerprint, 160), percent(x.Share), whole(float64(x.Events)), latency(a.average()), latency(b.average()), fmt.Sprintf("%.3g", a.perSecond()), fmt.Sprintf("%.3g", b.perSecond()), change, day(x.FirstSeen), day(x.LastSeen)))
	}
	return planSection{ID: "classes", Name: "Classes", Tables: []planTable{table},
		Notes: []string{"Before is the first half of all steps, after the second. stowage digest history --period 1w compares whole weeks, and says how sure a change is: stowage digest compare."}}
}

// half is one half of the time that was seen.
type half struct{ load, seconds, events float64 }

func (h half) average() float64 {
	if h.events == 0 {
		return math.NaN()
	}
	return h.load / h.events
}

func (h half) perSecond() float64 {
	if h.seconds == 0 {
		return 0
	}
	return h.load / h.seconds
}

func halves(steps []digest.TrendStep) (a, b half) {
	for i, s := range steps {
		into := &a
		if i >= (len(steps)+1)/2 {
			into = &b
		}
		into.load += s.Load * s.Seconds
		into.seconds += s.Seconds
		into.events += float64(s.Events)
	}
	return a, b
}

func day(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}
