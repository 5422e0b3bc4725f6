package report

import (
	"fmt"
	"strings"

	"stowage/bench/engine/sheet"
	"stowage/bench/result"
	"stowage/bench/stat"
)

// engineComparison compares all rows with those of the base.
type engineComparison struct {
	Base, Figure string // what they are compared with, and which figure is drawn
	Axis         ratioAxis
	Rows         []engineVerdict
	HasMore      bool // processor seconds, bytes and p99 were judged, too
}

// engineVerdict is one row of it.
type engineVerdict struct {
	ID    string
	Plot  *ratioPlot
	First engineJudged
	More  []engineJudged
}

// engineJudged is the verdict on one figure. All of its texts are empty where there is none.
type engineJudged struct{ Verdict, Sign, Ratio, Interval, More string }

func newEngineJudged(j *stat.Judgement) engineJudged {
	if j == nil {
		return engineJudged{}
	}
	return engineJudged{Verdict: string(j.Verdict), Sign: verdictSign(j.Verdict), Ratio: ratioText(j.Ratio), Interval: intervalText(intervalOf(j.CI)), More: moreRuns(*j)}
}

// comparedSection are the verdicts. Of engines it is the processor time that is drawn, because it is steady; of the others what they are measured for.
func (d *EngineDocument) comparedSection() engineSection {
	s := engineSection{ID: "verdicts", Name: "Compared with the base"}
	c := &engineComparison{Base: d.r.Base, Figure: "tx/CPU-s", HasMore: true}
	draws := func(v *sheet.Versus) *stat.Judgement { return &v.PerCPU }
	switch d.r.Mode {
	case sheet.Instances:
		c.Figure, draws = "tps", func(v *sheet.Versus) *stat.Judgement { return &v.TPS }
		c.Base = "the fewest servers"
	case sheet.Apply:
		c.Figure, c.HasMore, draws = "applied tx/s", false, func(v *sheet.Versus) *stat.Judgement { return &v.TPS }
		c.Base = "the fewest threads"
	}
	var values []float64
	for _, x := range d.measured() {
		if x.Versus == nil {
			continue
		}
		j := draws(x.Versus)
		values = append(append(values, j.Ratio), intervalOf(j.CI)...)
	}
	c.Axis = ratioAxisFor(values)
	c.Axis.band(1, result.Tolerance)
	for _, x := range d.measured() {
		v := x.Versus
		if v == nil {
			continue
		}
		j := draws(v)
		row := engineVerdict{ID: x.ID, First: newEngineJudged(j)}
		if j.Ratio > 0 {
			row.Plot = c.Axis.plot(x.ID+", "+c.Figure+": ", j.Ratio, intervalOf(j.CI))
		}
		if c.HasMore {
			other := &v.TPS
			if d.r.Mode == sheet.Instances {
				other = &v.PerCPU
			}
			row.More = []engineJudged{newEngineJudged(other), newEngineJudged(v.Written), newEngineJudged(v.P99)}
		}
		c.Rows = append(c.Rows, row)
	}
	if len(c.Rows) == 0 {
		return s
	}
	s.Compared = c
	s.Note = fmt.Sprintf("Each is compared with %s at the same load. The plot shows the ratio of %s with its 95\u00a0%% interval, on a logarithmic axis; the shaded band counts as no difference.", c.Base, c.Figure)
	if c.HasMore {
		s.Note += " Of bytes and of p99 less is better."
	}
	if d.r.Mode == sheet.Instances {
		s.Note += " Together: more servers must do more than one."
	}
	return s
}

// Other is what the second verdict is on.
func (c *engineComparison) Other() string {
	if c.Figure == "tps" {
		return "tx/CPU-s"
	}
	return "tps"
}

// figuresSection are all figures.
func (d *EngineDocument) figuresSection() engineSection {
	s := engineSection{ID: "figures", Name: "Figures", Note: "Times are those of whole transactions. Settled: with everything the run left to be written. Bytes are counted by " + d.r.BytesFrom + "."}
	if d.r.Mode == sheet.Apply {
		s.Note = fmt.Sprintf("Applied: a backlog of %s that was written before the appliers began. Keeps up with: the part of that primary's rate of writes a replica can take for ever.", count(d.r.Settings.Backlog, "transaction"))
		s.Tables = []planTable{d.applyTable()}
	} else {
		s.Tables = []planTable{d.speedTable(), d.bytesTable()}
	}
	if len(d.measured()) == 0 {
		s.Tables = nil
	}
	return s
}

// sure is a figure with how far its interval reaches.
func sure(m sheet.Metric) []planCell {
	if m.CI == nil {
		return cells(digits(m.Mean), "")
	}
	return cells(digits(m.Mean), reachText(m.CI))
}

func (d *EngineDocument) speedTable() planTable {
	t := planTable{Caption: "Speed", Head: columns("Row", "Durability", "#Data/cache", "#tps", "#95\u00a0%", "#tx/CPU-s", "#95\u00a0%", "#p50", "#p95", "#p99", "#p99.9", "#Longest")}
	if d.r.Mode == sheet.Instances {
		t.Head = append(t.Head, columns("#Slowest p99")...)
	}
	t.Head = append(t.Head, columns("#Runs")...)
	for _, x := range d.measured() {
		row := cells(x.ID, string(x.Durability), digits(x.Ratio))
		row = append(append(row, sure(x.TPS)...), sure(x.PerCPU)...)
		row = append(row, cells(micros(x.Lat.P50), micros(x.Lat.P95), micros(x.Lat.P99), micros(x.Lat.P999), micros(x.Lat.Max))...)
		if d.r.Mode == sheet.Instances {
			row = append(row, cells(micros(worst(x)))...)
		}
		t.Rows = append(t.Rows, append(row, cells(whole(float64(x.Runs)))...))
	}
	return t
}

func (d *EngineDocument) bytesTable() planTable {
	t := planTable{Caption: "What it costs the storage", Head: columns("Row", "#Data/cache", "#KiB written/tx", "#settled", "#KiB read/tx", "#Flushes/tx", "#Amplification", "#settled", "#Loaded", "#After", "#Settled", "#RSS")}
	for _, x := range d.measured() {
		row := cells(x.ID, digits(x.Ratio), digits(x.Written.During/1024), digits(x.Written.Settled/1024), digits(x.Read/1024), digits(x.Flushes))
		if a := x.Amplification; a != nil {
			row = append(row, cells(digits(a.During), digits(a.Settled))...)
		} else {
			row = append(row, cells("", "")...)
		}
		t.Rows = append(t.Rows, append(row, cells(size(x.Size.Loaded), size(x.Size.After), size(x.Size.Settled), size(x.RSS))...))
	}
	return t
}

func (d *EngineDocument) applyTable() planTable {
	t := planTable{Caption: "Applying", Head: columns("Row", "Durability", "#Data/cache", "#Threads", "Mode", "#Applied tx/s", "#95\u00a0%", "#tx/CPU-s", "#Primary wrote tx/s", "#Keeps up with", "#Retries", "#Runs")}
	for _, x := range d.measured() {
		retries, wrote := int64(0), ""
		for _, s := range x.Samples {
			retries += s.Retries
		}
		if x.PrimaryTPS != nil {
			wrote = digits(x.PrimaryTPS.Mean)
		}
		row := append(cells(x.Cell+"/"+x.Load, string(x.Durability), digits(x.Ratio), whole(float64(x.Threads)), strings.TrimPrefix(x.Parallel, "-")), sure(x.TPS)...)
		t.Rows = append(t.Rows, append(row, cells(digits(x.PerCPU.Mean), wrote, percent(x.Keeps), whole(float64(retries)), whole(float64(x.Runs)))...))
	}
	return t
}

// originSection is where the figures come from, and how quiet it was.
func (d *EngineDocument) originSection() engineSection {
	stand := d.stand()
	facts := func(caption string, folded bool, all ...originFact) planTable {
		t := planTable{Caption: caption, Folded: folded, Head: columns("What", "")}
		for _, f := range all {
			if text := f.of(stand); text != "" {
				t.Rows = append(t.Rows, cells(f.what, text))
			}
		}
		return t
	}
	noise := facts("How quiet it was", false, noiseFacts("tps")...)
	if d.r.Noise.Runs == 0 {
		noise.Rows = [][]planCell{cells("noise", "not known")}
	}
	where := facts("Machine, file system and device", true, append(sessionFacts(), machineFacts()...)...)
	return engineSection{ID: "origin", Name: "Where the figures come from", Tables: []planTable{noise, d.settingsTable(), where}}
}

func (d *EngineDocument) settingsTable() planTable {
	s := d.r.Settings
	t := planTable{Caption: "Settings", Folded: true, Head: columns("What", "")}
	for _, f := range [][2]string{
		{"server", d.r.Server}, {"cells", strings.Join(s.Cells, ", ")}, {"loads", strings.Join(s.Loads, ", ")},
		{"rows", fmt.Sprintf("%s in each of %d tables, %s in all", whole(float64(s.Rows)), s.Tables, size(sheet.DataBytes(s.Rows)))},
		{"clients", whole(float64(s.Clients)) + " of each server"}, {"keys", s.Keys},
		{"each run", fmt.Sprintf("%s s after %s s of warming up", trimmed(s.Runtime), trimmed(s.Warmup))},
		{"runs of a row", fmt.Sprintf("%d to %d", s.MinRuns, s.MaxRuns)},
		{"bytes counted by", d.r.BytesFrom}, {"seed", fmt.Sprint(s.Seed)}, {"stowage", d.r.Environment.Stowage},
	} {
		if f[1] != "" {
			t.Rows = append(t.Rows, cells(f[0], f[1]))
		}
	}
	return t
}
