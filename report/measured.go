package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/inventory/shardload"
)

// HostFacts are what hosts used before the first move and after the last one: as stowage due has kept it, by the hour or the day, or in
// windows that the demo has measured.
type HostFacts struct {
	From, Until time.Time // the moves; a zero Until: one of them has not ended
	Grain       time.Duration
	Rows        []HostRow // by time
	Machines    []HostRow // the same of whole machines that several hosts share
	Asked       []AskedRow
	Done        []AskedRow // transactions of the demo's clients instead
}

// HostRow is what one host used of one measure (shardload.HostCPU and so on) in an hour, a day or a window that begins at At.
type HostRow struct {
	Host    string    `json:"host"`
	Measure string    `json:"measure"`
	At      time.Time `json:"at"`
	Mean    float64   `json:"mean"`
	Most    float64   `json:"most"` // the highest window in it
}

// HostWindows is how the demo keeps one window of all hosts.
type HostWindows struct {
	Seconds  float64   `json:"seconds"`
	Hosts    []HostRow `json:"hosts"`
	Machines []HostRow `json:"machines"`
	Done     float64   `json:"transactions_per_second"`
}

// AskedRow is how many statements all servers were asked a second, in an hour, a day or a window.
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
	done  sum
	most  map[string]float64 // the highest window, by measure, of all hosts
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
	before, after := f.sides()
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
	t := planTable{Caption: "All hosts", Head: columns("measure", "#before", "#after", "#after over before", "#highest before", "#highest after")}
	t.Rows = comparedRows(before, after, farmMeasures)
	cpu, _ := after.total(shardload.HostCPU)
	was, _ := before.total(shardload.HostCPU)
	s.Text = []string{fmt.Sprintf("%s used %s processors before, %s %s after: means of %s before and %s after.", count(len(before.hosts), "host"), digits(was), count(len(after.hosts), "host"), digits(cpu), lookWords(len(before.looks), f.Grain), lookWords(len(after.looks), f.Grain))}
	s.Tables = slices.Concat([]planTable{t}, f.machines(), []planTable{hostTable(before, after)})
	s.Notes = f.notes()
	return []planSection{s}
}

// comparedRows are the measures that either side has, with the highest window of any host where a measure has one.
func comparedRows(before, after period, measures []farmMeasure) (rows [][]planCell) {
	for _, m := range measures {
		b, okBefore := m.of(before)
		a, okAfter := m.of(after)
		if !okBefore && !okAfter {
			continue
		}
		rows = append(rows, cells(m.name, shown(b, okBefore, m.kind), shown(a, okAfter, m.kind), ratioOf(a, b, okBefore && okAfter), before.highest(m), after.highest(m)))
	}
	return rows
}

func (f *HostFacts) notes() []string {
	asked := "Clients are not the same before and after: statements a second say how alike they are. Highest is the highest window of any one host."
	if f.Grain < time.Hour {
		return []string{"Each window is " + lookLength(f.Grain) + " of the demo, in which counters were read twice. " + strings.Replace(asked, "statements", "transactions", 1),
			"All hosts of a demo are one machine: a host is its servers' processes, and the machine's counters have the clients and Stowage in them, too. A table compares what was measured, not what other hardware would do."}
	}
	return []string{"Each " + lookUnit(f.Grain) + " is the mean of the windows that stowage due measured in it. " + asked + " Hosts that share a machine count their servers' processes; how long they waited is not known."}
}

// machines is a table of machines that several hosts share.
func (f *HostFacts) machines() []planTable {
	if len(f.Machines) == 0 || f.Until.IsZero() {
		return nil
	}
	of := HostFacts{From: f.From, Until: f.Until, Grain: f.Grain, Rows: f.Machines}
	before, after := of.sides()
	t := planTable{Caption: "The " + count(len(after.hosts), "machine") + " that these hosts share", Head: columns("measure", "#before", "#after", "#after over before", "#highest before", "#highest after")}
	if len(after.hosts) == 1 {
		t.Caption = "The machine that these hosts share"
	}
	t.Rows = comparedRows(before, after, slices.DeleteFunc(slices.Clone(farmMeasures), func(m farmMeasure) bool { return m.ofHosts }))
	return []planTable{t}
}

// sides are the periods before and after the moves; nothing is after moves that have not ended.
func (f *HostFacts) sides() (before, after period) {
	before = f.period("before", time.Time{}, f.From)
	if f.Until.IsZero() {
		return before, period{name: "after"}
	}
	return before, f.period("after", f.Until, f.Rows[len(f.Rows)-1].At.Add(2*f.Grain))
}

func lookWords(n int, grain time.Duration) string {
	if grain < time.Hour {
		return count(n, "window") + " of " + lookLength(grain)
	}
	return count(n, lookUnit(grain))
}

func lookUnit(grain time.Duration) string {
	switch {
	case grain > time.Hour:
		return "day"
	case grain < time.Hour:
		return "window"
	}
	return "hour"
}

func lookLength(grain time.Duration) string { return fmt.Sprintf("%.3g\u00a0s", grain.Seconds()) }

// period adds up what lies wholly between from and until.
func (f *HostFacts) period(name string, from, until time.Time) period {
	p := period{name: name, looks: map[int64]bool{}, sums: map[[2]string]sum{}, most: map[string]float64{}}
	within := func(at time.Time) bool { return !at.Before(from) && !at.Add(f.Grain).After(until) }
	for _, r := range f.Rows {
		if !within(r.At) {
			continue
		}
		p.looks[r.At.Unix()] = true
		key := [2]string{r.Host, r.Measure}
		s := p.sums[key]
		p.sums[key] = sum{s.of + r.Mean, s.n + 1}
		p.most[r.Measure] = max(p.most[r.Measure], r.Most)
		if !slices.Contains(p.hosts, r.Host) {
			p.hosts = append(p.hosts, r.Host)
		}
	}
	for _, r := range f.Asked {
		if within(r.At) {
			p.asked = sum{p.asked.of + r.Rate, p.asked.n + 1}
		}
	}
	for _, r := range f.Done {
		if within(r.At) {
			p.done = sum{p.done.of + r.Rate, p.done.n + 1}
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
	peak string // the measure whose highest window is shown beside

	ofHosts bool // says nothing of one machine
}

// highest is the highest window of any host.
func (p period) highest(m farmMeasure) string {
	if v := p.most[m.peak]; m.peak != "" && v > 0 {
		return shown(v, true, m.kind)
	}
	return "\u2013"
}

var farmMeasures = []farmMeasure{
	{"hosts", "count", func(p period) (float64, bool) { return float64(len(p.hosts)), true }, "", true},
	{"statements a second", "", func(p period) (float64, bool) { return p.asked.mean(), p.asked.n > 0 }, "", false},
	{"transactions a second", "", func(p period) (float64, bool) { return p.done.mean(), p.done.n > 0 }, "", false},
	{"processors busy", "", totalOf(shardload.HostCPU), shardload.HostCPU, false},
	{"processors busy, share of all", "share", shareOf(shardload.HostCPU, shardload.HostProcessors), "", false},
	{"the same, of the busiest host", "share", mostOf(shardload.HostCPU, shardload.HostProcessors), "", true},
	{"processors waiting for disks, share of all", "share", shareOf(shardload.HostWait, shardload.HostProcessors), "", false},
	{"the same, of the host that waits most", "share", mostOf(shardload.HostWait, shardload.HostProcessors), "", true},
	{"memory used", "bytes", totalOf(shardload.HostMemory), shardload.HostMemory, false},
	{"memory used, share of all", "share", shareOf(shardload.HostMemory, shardload.HostMemoryOf), "", false},
	{"reads from disks a second", "", totalOf(shardload.HostReads), shardload.HostReads, false},
	{"writes to disks a second", "", totalOf(shardload.HostWrites), shardload.HostWrites, false},
	{"read from disks", "rate", totalOf(shardload.HostReadBytes), shardload.HostReadBytes, false},
	{"written to disks", "rate", totalOf(shardload.HostWriteBytes), shardload.HostWriteBytes, false},
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
