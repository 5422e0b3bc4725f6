package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"stowage/capacity"
	"stowage/farm"
)

// NewRunwayDocument is how many days are left, with the interval of each.
func NewRunwayDocument(f KnowFacts) *KnowDocument {
	d := &KnowDocument{Title: "Runway"}
	if f.Rows == nil {
		return d
	}
	var known, unknown []capacity.Row
	for _, r := range f.Rows {
		if r.Days != nil {
			known = append(known, r)
		} else {
			unknown = append(unknown, r)
		}
	}
	if len(known) == 0 {
		d.Verdict, d.Lead = "No forecast yet.", fmt.Sprintf("Series that were looked at: %s. None has enough samples.", whole(float64(len(unknown))))
		if len(unknown) == 0 {
			d.Lead = "Nothing was measured yet: run stowage inventory once a day."
		}
	} else {
		first := known[0]
		d.Verdict = daysLeft(first.Days.Mid) + " until " + forecastName(first) + " is full."
		d.Lead = fmt.Sprintf("With 90 %% probability between %s and %s, if growth goes on as since its last change.", daysLeft(&first.Days.Low), daysLeft(first.Days.High))
		d.IsBad = first.Days.Low < 30
	}
	if len(f.Rows) > 0 {
		d.Sections = append(d.Sections, survivalSection(known, f.Rows))
		if s, ok := fanSection(f, known); ok {
			d.Sections = append(d.Sections, s)
		}
		days := daysSection(known, unknown)
		days.Notes = append(days.Notes, historyNotes(f.Histories)...)
		d.Sections = append(d.Sections, days)
	}
	return d
}

// historyNotes say of each Prometheus whether it was used.
func historyNotes(all []History) (notes []string) {
	for _, h := range all {
		note := h.Said
		if h.Series > 0 {
			note = strings.TrimSuffix(fmt.Sprintf("%s: %s, of which %s used; the own history reaches further back for the others. %s", h.Name, whole(float64(h.Series))+" series", whole(float64(h.Used)), h.Said), " ")
		}
		notes = append(notes, note)
	}
	return notes
}

func forecastName(r capacity.Row) string {
	return fmt.Sprintf("the %s of %s %s", r.Resource, r.Kind, r.Name)
}

// daysLeft never has more digits than a forecast.
func daysLeft(days *float64) string {
	switch {
	case days == nil:
		return "no bound"
	case *days >= 1000:
		return fmt.Sprintf("over %s days", whole(math.Floor(*days/1000)*1000))
	}
	return count(int(math.Round(*days)), "day")
}

// survivalSection is the share of all series that are within their limit, by day: what 95, 50 and 5 % say.
func survivalSection(known, all []capacity.Row) planSection {
	s := planSection{ID: "within", Name: "How long it lasts"}
	if len(known) == 0 {
		s.Text = []string{"There is no forecast to draw."}
		return s
	}
	horizon := 365.0
	for _, r := range known {
		if r.Days.Mid != nil && *r.Days.Mid < 3650 {
			horizon = max(horizon, *r.Days.Mid*1.1)
		}
	}
	c := newChart("chart-within", "Share of series within their limit, by day", 46, 150)
	c.Desc = "How many of all hosts, pairs and shards with a forecast are within their limit after so many days: the middle, and the band in which 90 % of futures lie. The table below has each."
	c.Caption = "Share of " + count(len(known), "forecast") + " within their limit, by days from now; the band is the 90 % interval of each"
	for v := 0.0; v <= horizon; v += step(horizon, 10) {
		c.XTicks = append(c.XTicks, tick{c.x(v / horizon), whole(v)})
	}
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		c.YTicks = append(c.YTicks, tick{c.y(share), percent(share)})
	}
	curve := func(of func(capacity.Row) *float64) []point {
		var days []float64
		for _, r := range known {
			if v := of(r); v != nil && *v <= horizon {
				days = append(days, max(0, *v))
			}
		}
		slices.Sort(days)
		out := []point{{c.x(0), c.y(1)}}
		for i, v := range days {
			was := 1 - float64(i)/float64(len(known))
			out = append(out, point{c.x(v / horizon), c.y(was)}, point{c.x(v / horizon), c.y(1 - float64(i+1)/float64(len(known)))})
		}
		return append(out, point{c.x(1), out[len(out)-1].y})
	}
	low := curve(func(r capacity.Row) *float64 { return &r.Days.Low })
	mid := curve(func(r capacity.Row) *float64 { return r.Days.Mid })
	high := curve(func(r capacity.Row) *float64 { return r.Days.High })
	c.Bands = []planBand{{Path: areaPath(high, low), Title: "90 % interval"}}
	c.Lines = []planLine{{Path: linePath(mid), Class: "la", Label: "middle", Title: "middle", LX: c.X1 + 6, LY: mid[len(mid)-1].y + 4}}
	s.Chart = c
	if n := len(all) - len(known); n > 0 {
		s.Notes = []string{whole(float64(n)) + " series have no forecast: the table says why."}
	}
	return s
}

func linePath(ps []point) string {
	var b strings.Builder
	for i, p := range ps {
		b.WriteByte("ML"[min(i, 1)])
		fmt.Fprintf(&b, "%g,%g", round1(p.x), round1(p.y))
	}
	return b.String()
}

// areaPath is what is between two lines.
func areaPath(above, below []point) string {
	back := slices.Clone(below)
	slices.Reverse(back)
	return linePath(append(slices.Clone(above), back...)) + "Z"
}

// mostFans is how many series get a picture of their own.
const mostFans = 6

func fanSection(f KnowFacts, known []capacity.Row) (planSection, bool) {
	s := planSection{ID: "fans", Name: "The most urgent"}
	for _, r := range known {
		at := slices.IndexFunc(f.Series, func(x capacity.Series) bool {
			return x.Kind == r.Kind && x.Name == r.Name && x.Resource == r.Resource && x.Source == r.Source
		})
		if at < 0 || len(s.Charts) == mostFans {
			continue
		}
		if c := fanChart(fmt.Sprintf("chart-fan-%d", len(s.Charts)), r, f.Series[at].Samples); c != nil {
			s.Charts = append(s.Charts, c)
		}
	}
	s.Notes = []string{"Black is measured; the line behind it leads to the middle forecast, the area to the days by which the limit is reached with 5 and 95 %."}
	return s, len(s.Charts) > 0
}

// fanChart is one series and where it may go.
func fanChart(id string, r capacity.Row, samples []capacity.Sample) *planChart {
	samples = slices.SortedFunc(slices.Values(samples), func(a, b capacity.Sample) int { return a.At.Compare(b.At) })
	if len(samples) < 2 {
		return nil
	}
	last := samples[len(samples)-1]
	seen := last.At.Sub(samples[0].At).Hours() / 24
	ahead := max(30, seen)
	if r.Days.Mid != nil {
		ahead = max(ahead, min(*r.Days.Mid*1.3, seen*4, 3650))
	}
	span, top := seen+ahead, max(r.Limit, last.Value)
	for _, x := range samples {
		top = max(top, x.Value)
	}
	if math.IsInf(r.Limit, 1) || top <= 0 {
		return nil
	}
	c := &planChart{ID: id, Title: fmt.Sprintf("%s %s, %s", r.Kind, r.Name, r.Resource), Width: 560, Height: 210, X0: 62, X1: 552, Y0: 14, Y1: 184}
	top *= 1.06
	x := func(days float64) float64 { return c.x(min(1, max(0, (seen+days)/span))) }
	y := func(v float64) float64 { return c.y(v / top) }
	c.Caption = fmt.Sprintf("%s %s, %s: %s left, %s to %s", r.Kind, r.Name, r.Resource, daysLeft(r.Days.Mid), daysLeft(&r.Days.Low), daysLeft(r.Days.High))
	c.Desc = c.Caption + ". " + r.Method + "."
	for i := range 5 {
		v := top / 1.06 * float64(i) / 4
		c.YTicks = append(c.YTicks, tick{y(v), amountOf(v, r.Resource)})
	}
	for v := -seen; v <= ahead; v += span / 4 {
		c.XTicks = append(c.XTicks, tick{x(v), last.At.Add(time.Duration(v * 24 * float64(time.Hour))).UTC().Format("2006-01-02")})
	}
	if n := len(c.XTicks); n > 0 { // the last one is not cut at the edge
		c.XTicks[0].At += 14
		c.XTicks[n-1].At = min(c.XTicks[n-1].At, c.X1-26)
	}
	c.Limits = []planMark{{At: y(r.Limit), LabelAt: y(r.Limit) + 12, Text: "limit " + amountOf(r.Limit, r.Resource)}}
	line := make([]point, 0, len(samples))
	for _, s := range samples {
		line = append(line, point{x(s.At.Sub(last.At).Hours() / 24), y(s.Value)})
	}
	from := point{x(0), y(last.Value)}
	until := func(days *float64) point {
		if days == nil { // not within a hundred years: level
			return point{x(ahead), from.y}
		}
		if *days > ahead { // it leaves the picture on the way
			return point{x(ahead), y(last.Value + (r.Limit-last.Value)*ahead / *days)}
		}
		return point{x(*days), y(r.Limit)}
	}
	low, high := until(&r.Days.Low), until(r.Days.High)
	corner := []point{from, low}
	if low.y != high.y && low.x < x(ahead) {
		corner = append(corner, point{x(ahead), y(r.Limit)})
	}
	c.Bands = []planBand{{Path: areaPath(corner, []point{from, high}), Title: "90 % of futures"}}
	c.Lines = []planLine{{Path: linePath(line), Class: "seen", Title: "measured"}, {Path: linePath([]point{from, until(r.Days.Mid)}), Class: "mid", Title: "middle forecast"}}
	return c
}

func amountOf(v float64, r farm.ResourceName) string { return amount(v, r.Kind()) }

func daysSection(known, unknown []capacity.Row) planSection {
	s := planSection{ID: "days", Name: "Days that are left"}
	t := planTable{Caption: "With a forecast, the most urgent first", Head: columns("what", "resource", "#used", "#limit", "#growth a day", "#days", "#from", "#to", "#if steps go on", "#samples", "source", "remarks")}
	for _, r := range known {
		on := "\u2013"
		if r.IfStepsGoOn != nil {
			on = daysLeft(&r.IfStepsGoOn.Low) + " to " + daysLeft(r.IfStepsGoOn.High)
		}
		t.Rows = append(t.Rows, cells(string(r.Kind)+" "+r.Name, string(r.Resource), amountOf(r.Used, r.Resource), amountOf(r.Limit, r.Resource), amountOf(r.Growth, r.Resource),
			daysLeft(r.Days.Mid), daysLeft(&r.Days.Low), daysLeft(r.Days.High), on, whole(float64(r.Samples)), r.Source, strings.Join(r.Remarks, "; ")))
	}
	if len(t.Rows) > 0 {
		s.Tables = append(s.Tables, t.fold())
	}
	n := planTable{Caption: "Without one", Head: columns("what", "resource", "#used", "#declared days", "source", "why there is no number")}
	for _, r := range unknown {
		declared := "\u2013"
		if r.DeclaredDays != nil {
			declared = daysLeft(r.DeclaredDays)
		}
		n.Rows = append(n.Rows, cells(string(r.Kind)+" "+r.Name, string(r.Resource), amountOf(r.Used, r.Resource), declared, r.Source, r.Reason))
	}
	if len(n.Rows) > 0 {
		s.Tables = append(s.Tables, n.fold())
	}
	s.Notes = []string{"Growth goes on as since its last change; where three steps or more were seen, a column has the days of a future in which they go on. Declared days are what farm.yaml says, measured by nobody. docs/measuring/capacity.md has the method."}
	return s
}
