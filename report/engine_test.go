package report

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"stowage/bench/engine/sheet"
	"stowage/bench/result"
	"stowage/bench/stat"
)

// inventEngines is a result as bench engine would leave it, of servers that nobody has: rows have three runs each, which differ by a tenth of a percent.
func inventEngines(mode sheet.Mode, cells []string, rows ...*sheet.Row) *sheet.Result {
	began := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	r := &sheet.Result{FormatVersion: 1, Kind: sheet.Kind, Mode: mode, Profile: "full", Complete: true, Server: "11.8.3-MariaDB", BytesFrom: "device nvme0n1",
		Sessions:    []result.Session{{Began: began, Ended: began.Add(90 * time.Minute), Command: []string{"stowage", "bench", "engine", "/mnt/db"}}},
		Environment: result.Environment{Host: "db01", Directory: "/mnt/db", Filesystem: "xfs"},
		Settings:    sheet.Settings{Cells: cells, Rows: 2_000_000, Tables: 2, Clients: 8, Keys: "uniform", Target: 0.05, Counts: []int{1, 2, 4, 8}, Threads: []int{0, 2, 4, 8}, Backlog: 200_000},
		Rows:        rows}
	for _, id := range cells {
		c, err := sheet.ParseCell(id)
		if err != nil {
			panic(err)
		}
		r.Cells = append(r.Cells, &c)
	}
	if len(cells) > 0 {
		r.Base = r.Cells[0].ID
	}
	r.Judge()
	return r
}

// inventRow is a row with three runs. Every transaction takes as long as at says, but for one in a hundred, which takes ten times that.
func inventRow(cell, load string, tps float64, at time.Duration) *sheet.Row {
	x := &sheet.Row{ID: cell + "/" + load, Cell: cell, Load: load, Durability: sheet.Durable, Ratio: 4, Clients: 8, Instances: 1}
	for i, by := range []float64{0.999, 1, 1.001} {
		n := int64(tps * by * 60)
		h := stat.Histogram{{uint64(at), uint64(n * 99 / 100)}, {uint64(10 * at), uint64(n / 100)}}
		s := sheet.Sample{Seq: i + 1, Round: i + 1, Seconds: 60, Transactions: n, TPS: tps * by, ServerCPU: 30, Changed: n * 188, IsSettled: true, RSS: 1 << 30,
			During: sheet.Moved{Written: n * 8192}, Settling: sheet.Moved{Written: n * 2048}, Size: sheet.Sizes{Loaded: 1 << 30, After: 1 << 30, Settled: 1 << 30}}
		s.Lat = result.LatencyOf(h, float64(at), float64(at), float64(10*at))
		x.Add(s, h, 0.05)
	}
	return x
}

func inventMany() *sheet.Result {
	var rows []*sheet.Row
	cells := []string{"innodb-16k", "innodb-8k", "innodb-4k", "innodb-16k-nodw", "innodb-4k-nodw", "innodb-16k-fsync", "innodb-16k-relaxed", "myrocks"}
	for _, load := range []string{"point", "update", "rw"} {
		for i, c := range cells {
			rows = append(rows, inventRow(c, load, 2000+100*float64(i), 3*time.Millisecond))
			if i == 0 {
				a := inventRow(c, load, 2010, 3*time.Millisecond)
				a.ID, a.Again = a.ID+" again", true
				rows = append(rows, a)
			}
		}
	}
	for _, x := range rows {
		if x.Load == "point" {
			for i := range x.Samples {
				x.Samples[i].Changed = 0
			}
		}
	}
	return inventEngines(sheet.Engines, cells, rows...)
}

// inventHost: four servers do nearly four times what one does, eight no more than four.
func inventHost() *sheet.Result {
	var rows []*sheet.Row
	for n, tps := range map[int]float64{1: 1000, 2: 1980, 4: 3900, 8: 3910} {
		x := inventRow("innodb-16k", "rw", tps, time.Duration(n)*time.Millisecond)
		x.ID, x.Instances = fmt.Sprintf("%d x %s", n, x.ID), n
		for i := range x.Samples {
			x.Samples[i].Instances = []sheet.InstanceShare{{TPS: tps, P99: float64(n) * 20000}}
		}
		rows = append(rows, x)
	}
	order := map[int]*sheet.Row{}
	for _, x := range rows {
		order[x.Instances] = x
	}
	return inventEngines(sheet.Instances, []string{"innodb-16k"}, order[1], order[2], order[4], order[8])
}

func inventApply() *sheet.Result {
	var rows []*sheet.Row
	add := func(threads int, mode, id string, tps float64) {
		x := inventRow("innodb-16k", "write", tps, time.Millisecond)
		x.ID, x.Threads, x.Parallel, x.Histogram, x.Lat = x.ID+" "+id, threads, mode, nil, result.Latency{}
		for i := range x.Samples {
			x.Samples[i].PrimaryTPS = 3000
		}
		rows = append(rows, x)
	}
	add(0, "-", "one applier", 1500)
	for i, n := range []int{2, 4, 8} {
		add(n, "conservative", fmt.Sprintf("%d threads conservative", n), 1600+100*float64(i))
		add(n, "optimistic", fmt.Sprintf("%d threads optimistic", n), 2000+1000*float64(i))
	}
	return inventEngines(sheet.Apply, []string{"innodb-16k"}, rows...)
}

func enginePageOf(r *sheet.Result) (string, error) {
	var b bytes.Buffer
	err := NewEngineDocument(r).WriteHTML(&b)
	return b.String(), err
}

// TestEnginePages: each mode makes a page that loads nothing and has its pictures.
func TestEnginePages(t *testing.T) {
	for name, x := range map[string]struct {
		r     *sheet.Result
		plots int
		want  []string
	}{
		// Three figures of three loads, bytes of two; curves of eight cells in two groups.
		"engines": {inventMany(), 3 + 2 + 3 + 2*3, []string{"NOT SAFE", "innodb-16k again", "inconclusive", "8.00", "10.0", "the same cell twice"}},
		"host":    {inventHost(), 3 + 1, []string{"knee at 4", "servers that still add something", "160 ms", "of the slowest"}},
		"apply":   {inventApply(), 2, []string{"up to 4,000 writes a second", "falls behind for ever", "an hour&#39;s lag is gone in 3 h", "4,000"}},
	} {
		page, err := enginePageOf(x.r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if again, _ := enginePageOf(x.r); again != page {
			t.Errorf("%s: two pages of the same result differ", name)
		}
		loadsNothing(t, page)
		if n := strings.Count(page, `class="bplot"`); n != x.plots {
			t.Errorf("%s: %d pictures, want %d", name, n, x.plots)
		}
		for _, want := range x.want {
			if !strings.Contains(page, want) {
				t.Errorf("%s: does not hold %q", name, want)
			}
		}
		if dir := os.Getenv("STOWAGE_REPORT_DIR"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, name+".html"), []byte(page), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestManyCellsAreToldApart: no picture has more lines than there are looks, and the base is in all of them.
func TestManyCellsAreToldApart(t *testing.T) {
	groups := toldApart([]string{"a", "b", "c", "d", "e", "f", "g", "h"})
	if len(groups) != 2 || len(groups[0]) != 6 || len(groups[1]) != 3 {
		t.Fatalf("%v", groups)
	}
	for _, g := range groups {
		looks := map[string]bool{}
		for _, s := range g {
			looks[s.Class+s.Shape] = true
		}
		if g[0].Name != "a" || len(looks) != len(g) {
			t.Errorf("%v", g)
		}
	}
}

// TestPicturesShowWhatWasMeasured: dots stand where their axes say.
func TestPicturesShowWhatWasMeasured(t *testing.T) {
	d := NewEngineDocument(inventHost())
	p := d.Sections[0].Groups[0].Plots[0]
	value := func(y float64) float64 { // by the marks of the axis
		zero, one := p.YTicks[0].At, p.YTicks[1].At
		return (zero - y) / (zero - one) * 1000
	}
	if p.YTicks[1].Text != "1k" || len(p.Dots) != 4 {
		t.Fatalf("marks %v, %d dots", p.YTicks, len(p.Dots))
	}
	for i, want := range []float64{1000, 1980, 3900, 3910} {
		if got := value(p.Dots[i].Y); math.Abs(got-want) > 25 {
			t.Errorf("dot %d stands at %.0f, want %.0f", i, got, want)
		}
		if i > 0 && math.Abs((p.Dots[i].X-p.X0)/(p.Dots[i-1].X-p.X0)-2) > 0.02 {
			t.Errorf("dot %d is not twice as far right as the one before", i)
		}
	}
	lag := NewEngineDocument(inventApply()).Sections[0].Groups[0].Plots[1]
	if len(lag.Lines) != 2 || len(lag.Dots) != 2 || !strings.Contains(lag.Desc, "an hour at 2,000 writes a second, and never ends at 4,000") {
		t.Errorf("%d lines, %d dots: %s", len(lag.Lines), len(lag.Dots), lag.Desc)
	}
}

// TestNothingBreaksTheEnginePage: results that are empty, cut short, with one run, without a cell, or from somebody else's hand.
func TestNothingBreaksTheEnginePage(t *testing.T) {
	const evil = `<script>alert(1)</script>"'><img src=x>`
	cut := inventMany()
	cut.Complete = false
	for _, x := range cut.Rows[3:] {
		x.Samples = nil
	}
	cut.Judge()
	one := inventHost()
	one.Rows = one.Rows[:1]
	one.Rows[0].Samples = one.Rows[0].Samples[:1]
	one.Judge()
	odd := inventApply()
	odd.Server, odd.Rows[0].Cell, odd.Rows[0].Load, odd.Rows[1].Parallel, odd.Labels = evil, evil, evil, evil, []string{evil}
	odd.Cells[0].Missing, odd.Cells[0].ID = evil, evil
	zero := inventApply()
	for _, x := range zero.Rows {
		x.TPS, x.PerCPU, x.PrimaryTPS = sheet.Metric{}, sheet.Metric{}, nil
	}
	still := inventMany()
	for _, x := range still.Rows {
		for i := range x.Samples {
			x.Samples[i].TPS, x.Samples[i].Transactions, x.Samples[i].ServerCPU = 0, 0, 0
		}
		x.Histogram = nil
	}
	still.Judge()
	for name, x := range map[string]struct {
		r    *sheet.Result
		want string
	}{
		"empty":     {&sheet.Result{FormatVersion: 1, Kind: sheet.Kind}, "What engines cost"},
		"no rows":   {inventEngines(sheet.Instances, []string{"innodb-16k"}), "How many servers"},
		"no apply":  {inventEngines(sheet.Apply, []string{"innodb-16k"}), "How many writes"},
		"cut short": {cut, "it was cut short before its end"},
		"one run":   {one, "servers that still add something"},
		"evil":      {odd, "&lt;script&gt;"},
		"zero":      {zero, "Applying"},
		"still":     {still, "a run did nothing"},
	} {
		page, err := enginePageOf(x.r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(page, x.want) {
			t.Errorf("%s: does not hold %q", name, x.want)
		}
		markup := styles.ReplaceAllString(scripts.ReplaceAllString(page, ""), "")
		for _, bad := range []string{"NaN", "Inf", "ZgotmplZ", "<img", "<nil>", "%!"} {
			if strings.Contains(markup, bad) {
				t.Errorf("%s: holds %s: %s", name, bad, regexp.MustCompile(".{60}"+regexp.QuoteMeta(bad)+".{60}").FindString(markup))
			}
		}
	}
}

// TestReportShowsEngines: one section for each, in the table of contents as well, and none without.
func TestReportShowsEngines(t *testing.T) {
	f := Facts{Farm: "demo", Made: began, Engines: []*sheet.Result{inventMany(), inventHost(), inventApply()}}
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<a href="#e-engines">`, `<section id="e-instances">`, `id="e-apply-apply"`, "knee at 4", ".bplot"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report does not hold %q", want)
		}
	}
	loadsNoElementTwice(t, b.String())
	f.Engines = nil
	b.Reset()
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "e-engines") || strings.Contains(b.String(), ".bplot") {
		t.Error("without results it speaks of them")
	}
}

func loadsNoElementTwice(t *testing.T, page string) {
	t.Helper()
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("two elements are %s", m[1])
		}
		ids[m[1]] = true
	}
}
