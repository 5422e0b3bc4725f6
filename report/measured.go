package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"stowage/farm"
	"stowage/inventory/shardload"
)

// HostFacts are what hosts used before the first move and after the last one, as stowage due has kept it.
type HostFacts struct {
	From, Until time.Time // the moves; a zero Until: one of them has not ended
	Grain       time.Duration
	Rows        []HostRow // by time
	Asked       []AskedRow
}

// HostRow is what one host used of one measure (shardload.HostCPU and so on) in an hour, or a day, that begins at At.
type HostRow struct {
	Host, Measure string
	At            time.Time
	Mean          float64
}

// AskedRow is how many statements all servers were asked in an hour, or a day, a second.
type AskedRow struct {
	At   time.Time
	Rate float64
}

// leastLooks is how many hours, or days, must have been measured on either side.
const leastLooks = 3

// period are the hours, or days, before or after the moves.
type period struct {
	name  string
	looks map[int64]bool
	sums  map[[2]string]sum // by host and measure
	asked sum
	hosts []string
}

type sum struct {
	of float64
	n  int
}

func (s sum) mean() float64 { return s.of / float64(max(1, s.n)) }

// measuredSections compares what hosts used before and after. It is no section where nothing was kept.
func measuredSections(f *HostFacts) []planSection {
	if f == nil || len(f.Rows) == 0 {
		return nil
	}
	before, after := f.period("before", time.Time{}, f.From), f.period("after", f.Until, f.Rows[len(f.Rows)-1].At.Add(2*f.Grain))
	if f.Until.IsZero() {
		after = period{name: "after"}
	}
	s := planSection{ID: "measured", Name: "Hosts, measured before and after"}
	s.Charts = f.charts()
	for _, p := range []period{before, after} {
		if len(p.looks) < leastLooks {
			s.Text = append(s.Text, fmt.Sprintf("No comparison: of the time %s the moves, %s measured, and %d are needed. stowage due measures hosts.", p.name, lookWords(len(p.looks), f.Grain), leastLooks))
		}
	}
	if len(s.Text) > 0 {
		return []planSection{s}
	}
	t := planTable{Caption: "All hosts", Head: columns("measure", "#before", "#after", "#after over before")}
	for _, m := range farmMeasures {
		b, okBefore := m.of(before)
		a, okAfter := m.of(after)
		if !okBefore && !okAfter {
			continue
		}
		t.Rows = append(t.Rows, cells(m.name, shown(b, okBefore, m.kind), shown(a, okAfter, m.kind), ratioOf(a, b, okBefore && okAfter)))
	}
	cpu, _ := after.total(shardload.HostCPU)
	was, _ := before.total(shardload.HostCPU)
	s.Text = []string{fmt.Sprintf("%s used %s processors before, %s %s after: means of %s before and %s after.", count(len(before.hosts), "host"), digits(was), count(len(after.hosts), "host"), digits(cpu), lookWords(len(before.looks), f.Grain), lookWords(len(after.looks), f.Grain))}
	s.Tables = []planTable{t, hostTable(before, after)}
	s.Notes = []string{"Each hour is the mean of the windows that stowage due measured in it. Clients are not the same before and after: statements a second say how alike they are. Hosts that share a machine count their servers' processes; how long they waited is not known."}
	return []planSection{s}
}

func lookWords(n int, grain time.Duration) string {
	unit := "hour"
	if grain > time.Hour {
		unit = "day"
	}
	return count(n, unit)
}

// period adds up what lies wholly between from and until.
func (f *HostFacts) period(name string, from, until time.Time) period {
	p := period{name: name, looks: map[int64]bool{}, sums: map[[2]string]sum{}}
	within := func(at time.Time) bool { return !at.Before(from) && !at.Add(f.Grain).After(until) }
	for _, r := range f.Rows {
		if !within(r.At) {
			continue
		}
		p.looks[r.At.Unix()] = true
		key := [2]string{r.Host, r.Measure}
		s := p.sums[key]
		p.sums[key] = sum{s.of + r.Mean, s.n + 1}
		if !slices.Contains(p.hosts, r.Host) {
			p.hosts = append(p.hosts, r.Host)
		}
	}
	for _, r := range f.Asked {
		if within(r.At) {
			p.asked = sum{p.asked.of + r.Rate, p.asked.n + 1}
		}
	}
	slices.Sort(p.hosts)
	return p
}

// total is the sum of all hosts' means.
func (p period) total(measure string) (total float64, ok bool) {
	for _, h := range p.hosts {
		if s, has := p.sums[[2]string{h, measure}]; has {
			total, ok = total+s.mean(), true
		}
	}
	return total, ok
}

// share is a measure by another: of all hosts together, and of the host where it is highest.
func (p period) share(measure, of string) (mean, most float64, ok bool) {
	var a, b float64
	for _, h := range p.hosts {
		x, has := p.sums[[2]string{h, measure}]
		y, hasToo := p.sums[[2]string{h, of}]
		if has && hasToo && y.mean() > 0 {
			a, b, most, ok = a+x.mean(), b+y.mean(), max(most, x.mean()/y.mean()), true
		}
	}
	return a / max(b, 1e-9), most, ok
}

// farmMeasure is one row of the table of all hosts.
type farmMeasure struct {
	name string
	kind string // "": digits; count, share, bytes, rate
	of   func(period) (float64, bool)
}

var farmMeasures = []farmMeasure{
	{"hosts", "count", func(p period) (float64, bool) { return float64(len(p.hosts)), true }},
	{"statements a second", "", func(p period) (float64, bool) { return p.asked.mean(), p.asked.n > 0 }},
	{"processors busy", "", totalOf(shardload.HostCPU)},
	{"processors busy, share of all", "share", shareOf(shardload.HostCPU, shardload.HostProcessors)},
	{"the same, of the busiest host", "share", mostOf(shardload.HostCPU, shardload.HostProcessors)},
	{"processors waiting for disks, share of all", "share", shareOf(shardload.HostWait, shardload.HostProcessors)},
	{"the same, of the host that waits most", "share", mostOf(shardload.HostWait, shardload.HostProcessors)},
	{"memory used", "bytes", totalOf(shardload.HostMemory)},
	{"memory used, share of all", "share", shareOf(shardload.HostMemory, shardload.HostMemoryOf)},
	{"reads from disks a second", "", totalOf(shardload.HostReads)},
	{"writes to disks a second", "", totalOf(shardload.HostWrites)},
	{"read from disks", "rate", totalOf(shardload.HostReadBytes)},
	{"written to disks", "rate", totalOf(shardload.HostWriteBytes)},
}

func totalOf(measure string) func(period) (float64, bool) {
	return func(p period) (float64, bool) { return p.total(measure) }
}

func shareOf(measure, of string) func(period) (float64, bool) {
	return func(p period) (float64, bool) {
		mean, _, ok := p.share(measure, of)
		return mean, ok
	}
}

func mostOf(measure, of string) func(period) (float64, bool) {
	return func(p period) (float64, bool) {
		_, most, ok := p.share(measure, of)
		return most, ok
	}
}

func shown(v float64, ok bool, kind string) string {
	switch {
	case !ok:
		return "not measured"
	case kind == "count":
		return whole(v)
	case kind == "share":
		return percent(v)
	case kind == "bytes":
		return amount(v, farm.KindBytes)
	case kind == "rate":
		return amount(v, farm.KindByteRate)
	}
	return digits(v)
}

// ratioOf is after by before.
func ratioOf(after, before float64, ok bool) string {
	if !ok || before <= 0 {
		return "\u2013"
	}
	return digits(after/before) + "\u00d7"
}

// hostTable has a line for each host of either time.
func hostTable(before, after period) planTable {
	t := planTable{Caption: "By host", Head: columns("host", "#busy before", "#after", "#waiting before", "#after", "#memory before", "#after", "#written before", "#after")}
	names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(before.hosts, after.hosts))))
	one := func(p period, host, measure, of, kind string) string {
		s, ok := p.sums[[2]string{host, measure}]
		whole, has := p.sums[[2]string{host, of}]
		switch {
		case ok && has && whole.mean() > 0:
			return percent(s.mean() / whole.mean())
		case ok:
			return shown(s.mean(), true, kind)
		}
		return "\u2013"
	}
	for _, h := range names {
		var row []string
		for _, m := range [][3]string{{shardload.HostCPU, shardload.HostProcessors, ""}, {shardload.HostWait, shardload.HostProcessors, ""}, {shardload.HostMemory, shardload.HostMemoryOf, "bytes"}, {shardload.HostWriteBytes, "", "rate"}} {
			row = append(row, one(before, h, m[0], m[1], m[2]), one(after, h, m[0], m[1], m[2]))
		}
		t.Rows = append(t.Rows, cells(append([]string{h}, row...)...))
	}
	return t.fold()
}

// charts are all hosts together over time: processors that were busy, and those that waited for disks.
func (f *HostFacts) charts() (out []*planChart) {
	for _, x := range []struct{ id, measure, title string }{
		{"chart-busy", shardload.HostCPU, "Processors busy, all hosts"},
		{"chart-waiting", shardload.HostWait, "Processors waiting for disks, all hosts"},
	} {
		at := map[int64]float64{}
		for _, r := range f.Rows {
			if r.Measure == x.measure {
				at[r.At.Unix()] += r.Mean
			}
		}
		if len(at) < 2 {
			continue
		}
		out = append(out, f.chart(x.id, x.title, at))
	}
	return out
}

func (f *HostFacts) chart(id, title string, at map[int64]float64) *planChart {
	times := make([]int64, 0, len(at))
	top := 0.0
	for t, v := range at {
		times, top = append(times, t), max(top, v)
	}
	slices.SortFunc(times, cmp.Compare[int64])
	first, last := times[0], times[len(times)-1]
	c := &planChart{ID: id, Title: title, Width: 560, Height: 210, X0: 62, X1: 552, Y0: 14, Y1: 184}
	c.Caption = title + ", by the " + lookWords(1, f.Grain)[2:] + "; the marks are the beginning of the first move and the end of the last"
	c.Desc = title + ", before and after the moves. The table has the means."
	top = max(top*1.06, 1e-9)
	for i := range 5 {
		v := top / 1.06 * float64(i) / 4
		c.YTicks = append(c.YTicks, tick{c.y(v / top), digits(v)})
	}
	x := func(unix int64) float64 { return c.x(float64(unix-first) / float64(max(1, last-first))) }
	for i := range int64(4) {
		t := first + (last-first)*i/3
		c.XTicks = append(c.XTicks, tick{min(max(x(t), c.X0+26), c.X1-26), time.Unix(t, 0).UTC().Format("2006-01-02")})
	}
	var run []point
	flush := func() {
		if len(run) > 0 {
			c.Lines = append(c.Lines, planLine{Path: linePath(run), Class: "seen", Title: "measured"})
		}
		run = nil
	}
	for i, t := range times {
		if i > 0 && t-times[i-1] > 3*int64(f.Grain/time.Second) { // nothing was measured in between
			flush()
		}
		run = append(run, point{x(t), c.y(at[t] / top)})
	}
	flush()
	marks := []struct {
		at   time.Time
		text string
	}{{f.From, "first move"}, {f.Until, "last move ends"}}
	if x(f.Until.Unix())-x(f.From.Unix()) < 70 { // one name fits
		marks[0].text, marks[1].text = "moves", ""
	}
	for _, m := range marks {
		if u := m.at.Unix(); !m.at.IsZero() && u >= first && u <= last {
			c.Marks = append(c.Marks, planMark{At: x(u), LabelAt: min(x(u)+4, c.X1-80), Text: m.text})
		}
	}
	return c
}
