package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stowage/bench"
	"stowage/bench/result"
	"stowage/bench/stat"
)

// small is a result with one step whose every coordinate can be reckoned by hand.
func small(id string, q, t int, iops float64, h stat.Histogram, series ...float64) *result.Result {
	l := mustLoad(id)
	s := &result.Step{ID: id, Pattern: l.Pattern, Op: l.Op, Block: l.Block, Outstanding: q, Threads: t, Durable: l.Durable}
	s.Series.Window = 1
	s.Add(result.Sample{Seq: 1, IOPS: iops, MBps: 1, Lat: result.LatencyOf(h, float64(h[0][0]), 1, float64(h[len(h)-1][0])), Series: series, Check: result.Check{Of: "sda"}}, h, nil, 0.05)
	return &result.Result{FormatVersion: 1, Profile: "quick", Complete: true, Valid: true, Steps: []*result.Step{s}}
}

func mustLoad(id string) bench.Load {
	l, err := bench.ParseLoad(id)
	if err != nil {
		panic(err)
	}
	return l
}

// TestPercentileCurveIsTheHistogram: 90 of 100 took 100 µs, 9 took 1 ms, one took 10 ms.
func TestPercentileCurveIsTheHistogram(t *testing.T) {
	h := stat.Histogram{{100_000, 90}, {1_000_000, 9}, {10_000_000, 1}}
	d := NewBenchDocument([]Bench{{Name: "a", Result: small("RND16K-R-Q1T1", 1, 1, 1000, h)}})
	p := d.Latency.Key[0]
	// Two powers of ten wide from 50 to 370, two high from 202 up to 16: 90 % is half way, and so is 1 ms.
	if p.X0 != 50 || p.X1 != 370 || p.Y0 != 16 || p.Y1 != 202 {
		t.Fatalf("plot from %g,%g to %g,%g", p.X0, p.Y0, p.X1, p.Y1)
	}
	if got, want := p.Lines[0].Path, "M50 202h160v-93h160v-93"; got != want {
		t.Errorf("path %s, want %s", got, want)
	}
	var at []string
	for _, m := range p.Dots {
		at = append(at, fmt.Sprintf("%g,%g %s", m.X, m.Y, m.Title))
	}
	want := []string{"98.2,202 RND16K-R-Q1T1 p50: 100 \u00b5s", "370,109 RND16K-R-Q1T1 p99: 1.00 ms"} // of 100 requests there is no p99.9
	if !slices.Equal(at, want) {
		t.Errorf("dots %q, want %q", at, want)
	}
	if len(p.YTicks) != 7 || p.YTicks[3] != (tick{109, "1 ms"}) || p.XTicks[2] != (tick{210, "90\u00a0%"}) {
		t.Errorf("axes %v %v", p.XTicks, p.YTicks)
	}
	if len(p.Labels) != 1 || p.Labels[0].Text != "1.00 ms" {
		t.Errorf("labels %v", p.Labels)
	}
}

// TestCurvesLoseNothingToThinning: the path of a histogram of hundreds of buckets is nowhere a unit away from the quantiles.
func TestCurvesLoseNothingToThinning(t *testing.T) {
	d := NewBenchDocument([]Bench{{Name: "a", Result: small("RND16K-R-Q1T1", 1, 1, 1000, lognormal(300, 0.5, 2e6))}})
	s, p := d.Sides[0].result.Steps[0], d.Latency.Key[0]
	c := curve{p, mostNines, newLogScale(float64(s.Histogram.Quantile(0.01))/1000, last(s.Histogram))}
	corners := corners(t, p.Lines[0].Path)
	if len(corners) > 200 || len(corners) < 20 {
		t.Errorf("%d corners", len(corners))
	}
	for _, q := range []float64{0.02, 0.2, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999} {
		x, y := c.at(1-q), c.up(float64(s.Histogram.Quantile(q))/1000)
		nearest := math.Inf(1)
		for i := 1; i < len(corners); i++ {
			nearest = min(nearest, distance(point{x, y}, point{corners[i-1][0], corners[i-1][1]}, point{corners[i][0], corners[i][1]}))
		}
		if nearest > 0.95 {
			t.Errorf("q %v is at %v,%v, and the line %.2f away", q, x, y, nearest)
		}
	}
}

// corners of a path as pen writes it.
func corners(t *testing.T, path string) [][2]float64 {
	t.Helper()
	var out [][2]float64
	at := [2]float64{}
	start := at
	for _, m := range regexp.MustCompile(`([Mmlhvz])(-?[0-9.]+)?(?: ?(-?[0-9.]+))?`).FindAllStringSubmatch(path, -1) {
		if m[1] == "z" {
			at = start
			continue
		}
		first, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		second := 0.0
		if m[3] != "" {
			if second, err = strconv.ParseFloat(m[3], 64); err != nil {
				t.Fatal(err)
			}
		}
		switch m[1] {
		case "M":
			at = [2]float64{}
			fallthrough
		case "m", "l":
			at = [2]float64{at[0] + first, at[1] + second}
		case "h":
			at[0] += first
		case "v":
			at[1] += first
		}
		if m[1] == "M" || m[1] == "m" {
			start = at
		}
		out = append(out, [2]float64{round1(at[0]), round1(at[1])})
	}
	return out
}

// depths is a result with one load at several depths: IOPS and p99 in microseconds.
func depths(points ...[2]float64) *result.Result {
	r := &result.Result{FormatVersion: 1, Complete: true, Valid: true}
	for i, p := range points {
		ids := []string{"RND16K-R-Q1T1", "RND16K-R-Q8T1", "RND16K-R-Q8T4", "RND16K-R-Q32T4"}
		one := small(ids[i], []int{1, 8, 8, 32}[i], []int{1, 1, 4, 4}[i], p[0], stat.Histogram{{uint64(p[1] * 1000), 100}})
		r.Steps = append(r.Steps, one.Steps...)
	}
	return r
}

func TestSaturationPointsAreTheFigures(t *testing.T) {
	d := NewBenchDocument([]Bench{{Name: "a", Result: depths([2]float64{5000, 100}, [2]float64{20000, 200}, [2]float64{21000, 1000})}})
	p := d.Saturation.Plots[0]
	// From 0 to 21,000 IOPS between 50 and 346, from 100 µs to 1 ms between 212 and 16.
	want := [][2]float64{{120.5, 212}, {331.9, 153}, {346, 16}}
	if len(p.Dots) != 3 || p.X0 != 50 || p.X1 != 346 || p.Y1 != 212 {
		t.Fatalf("%d dots, plot from %g to %g, down to %g", len(p.Dots), p.X0, p.X1, p.Y1)
	}
	for i, w := range want {
		if g := p.Dots[i]; g.X != w[0] || g.Y != w[1] {
			t.Errorf("point %d at %g,%g, want %v", i, g.X, g.Y, w)
		}
	}
	if got := p.Lines[0].Path; got != "M120.5 212L331.9 153L346 16" {
		t.Errorf("path %s", got)
	}
	if len(p.Marks) != 1 || p.Marks[0].At != 331.9 || p.Marks[0].LabelAt != 153 {
		t.Errorf("knee at %v", p.Marks)
	}
	if k := d.Saturation.Knees[0]; !strings.Contains(k, "RND16K-R: perhaps saturated beyond Q8T1, 8 at a time: 20,000 IOPS at a p99 of 200") {
		t.Error(k)
	}
	if !slices.ContainsFunc(p.Labels, func(l benchLabel) bool { return l.Text == "Q8T1 knee?" }) {
		t.Errorf("labels %v", p.Labels)
	}
	if row := d.Saturation.Table.Rows[2]; row[1].Text != "Q8T4" || row[2].Text != "32" || row[3].Text != "21,000" || row[4].Text != "1.00 ms" {
		t.Errorf("table says %v", row)
	}
	// One depth is no curve.
	if d := NewBenchDocument([]Bench{{Name: "a", Result: depths([2]float64{5000, 100})}}); len(d.Saturation.Plots) != 0 {
		t.Error("one point makes a curve")
	}
}

func TestHeatMapKnowsWhatWasNotMeasured(t *testing.T) {
	a := depths([2]float64{1000, 100}, [2]float64{100000, 200})
	other := small("RND4K-R-Q1T1", 1, 1, 10000, stat.Histogram{{50_000, 10}})
	mix := small("LOG4K-FDS-Q1T1", 1, 1, 10, stat.Histogram{{50_000, 10}})
	mix.Steps[0].ID = "MIX"
	a.Steps = append(a.Steps, append(other.Steps, mix.Steps...)...)
	h := NewBenchDocument([]Bench{{Name: "a", Result: a}}).Heat
	if h.Measured != 3 || h.Cells != 4 {
		t.Errorf("%d of %d measured", h.Measured, h.Cells)
	}
	m := h.Sets[0].Bands[0].Maps
	if len(m) != 1 || !slices.Equal(m[0].Depths, []string{"Q1T1", "Q8T1"}) || m[0].Rows[0].Block != "4K" || m[0].Rows[1].Block != "16K" {
		t.Fatalf("maps %+v", m)
	}
	// 10,000 is half way between 1,000 and 100,000 in factors.
	for _, x := range []struct {
		row, col    int
		text, class string
	}{{1, 0, "1,000", "cool0"}, {1, 1, "100k", "cool7"}, {0, 0, "10k", "cool4"}, {0, 1, "", ""}} {
		if c := m[0].Rows[x.row].Cells[x.col]; c.Text != x.text || c.Class != x.class {
			t.Errorf("cell %d,%d is %+v, want %s in %s", x.row, x.col, c, x.text, x.class)
		}
	}
}

func TestStabilityIsDrawnFromItsWindows(t *testing.T) {
	r := small("RND16K-RW70-Q8T4", 8, 4, 1000, stat.Histogram{{100_000, 10}}, 1000, 1000, 1000, 1000, 500)
	r.Steps[0].ID = "STABILITY"
	e := NewBenchDocument([]Bench{{Name: "a", Result: r}}).Even
	if !e.IsLong || len(e.Charts) != 1 {
		t.Fatalf("%+v", e)
	}
	p := e.Charts[0]
	up := func(v float64) float64 { return round1(p.Y1 - v/1040*(p.Y1-p.Y0)) }
	along := func(i float64) float64 { return round1(p.X0 + i/5*(p.X1-p.X0)) }
	want := [][2]float64{{along(0), up(1000)}, {along(4), up(1000)}, {along(4), up(500)}, {along(5), up(500)}}
	if got := corners(t, p.Lines[0].Path); fmt.Sprintf("%.1f", got) != fmt.Sprintf("%.1f", want) {
		t.Errorf("path %.1f, want %.1f", got, want)
	}
	if want := fmt.Sprintf("M%g %gH%g", along(4), up(500), along(5)); len(p.Lines) != 6 || p.Lines[5].Path != want {
		t.Errorf("the mean of the last fifth is at %s, want %s", p.Lines[5].Path, want)
	}
	if b := p.Bands[0]; b.Y != up(990) || math.Abs(b.Y+b.H-up(810)) > 0.11 { // the mean is 900
		t.Errorf("band from %g for %g, want from %g to %g", b.Y, b.H, up(990), up(810))
	}
	var said []string
	for i, l := range p.Limits {
		said = append(said, l.Text)
		if i > 0 && l.LabelAt < p.Limits[i-1].LabelAt+12 {
			t.Errorf("%s is on %s", l.Text, p.Limits[i-1].Text)
		}
	}
	if !slices.Equal(said, []string{"median 1,000", "p1 500", "least 500"}) || !strings.HasPrefix(p.Caption, "5 windows of 1 s from 1 run. Not steady:") {
		t.Errorf("%q %s", said, p.Caption)
	}
	// More windows than fit are drawn as spans, and none of them is lost.
	all := make([]float64, 1000)
	all[777] = 9
	path, isArea := trace(all, []int{500}, func(at float64) float64 { return at }, func(v float64) float64 { return 10 - v }, 100)
	got := corners(t, path)
	if !isArea || strings.Count(path, "z") != 2 || !slices.Contains(got, [2]float64{770, 10}) || !slices.Contains(got, [2]float64{770, 1}) || !slices.Contains(got, [2]float64{780, 1}) || slices.Contains(got, [2]float64{790, 1}) {
		t.Errorf("area %v: %s", isArea, path)
	}
}

// TestOverwritingIsShown: how the device became steady stands before the steps.
func TestOverwritingIsShown(t *testing.T) {
	r := inventBench(bench.Quick(), oldStorage)
	windows := []float64{90, 60, 50, 51, 50, 49, 50}
	r.Precondition.Random = &result.RandomFill{Step: "RND16K-W-Q8T4", IOPS: windows, Settling: stat.Settled(windows[2:])}
	row := NewBenchDocument([]Bench{{Name: "a", Result: r}}).Even.Rows[0]
	if row.ID != "before: RND16K-W-Q8T4" || row.MedianText != "50.0" || row.Least != "49.0" || row.Steady != "yes" || !strings.HasPrefix(row.Windows, "7 of ") {
		t.Errorf("%+v", row)
	}
	if got := corners(t, row.Path); got[0] != [2]float64{0, 1} || got[len(got)-1] != [2]float64{stripWidth, 13} { // 90 at the top of 30, 50 at 5 ninths of 28 above 29
		t.Errorf("path %v", got)
	}
}

// TestVerdictsAreThoseOfCompare: what is drawn is what bench compare says, word by word and step by step.
func TestVerdictsAreThoseOfCompare(t *testing.T) {
	a, b := inventBench(bench.Full(), oldStorage), inventBench(bench.Full(), newStorage)
	d, c := NewBenchDocument([]Bench{{Name: "old", Result: a}, {Name: "new", Result: b}}), result.Compare("old", a, "new", b)
	if len(c.Steps) < 40 || len(d.Compared) != 1 || len(d.Compared[0].Rows) != len(c.Steps) {
		t.Fatalf("%d rows of %d steps", len(d.Compared[0].Rows), len(c.Steps))
	}
	seen := map[stat.Verdict]bool{}
	for i, s := range c.Steps {
		r := d.Compared[0].Rows[i]
		seen[s.Verdict] = true
		if r.ID != s.ID || r.Verdict != string(s.Verdict) || r.Ratio != ratioText(s.Ratio) || r.TailVerdict != string(s.P99.Verdict) || r.Plot.Dot != d.Compared[0].Axis.x(s.Ratio) {
			t.Errorf("%s is drawn as %+v", s.ID, r)
		}
	}
	if !seen[stat.Better] || !seen[stat.Same] {
		t.Errorf("only %v: the test looks at too little", seen)
	}
	if ratio := d.Heat.Sets[3]; ratio.ID != "ratio" || ratio.Bands[0].Maps[0].Rows[0].Cells[0].Class != string(c.Steps[0].Verdict) {
		t.Errorf("the map of verdicts begins with %+v", ratio.Bands[0].Maps[0].Rows[0].Cells[0])
	}
	if len(d.Tiles) != 5 || d.Tiles[2].Before == "" {
		t.Errorf("tiles %+v", d.Tiles)
	}
}

// TestVerdictsOfAMatrix: where somebody judged already, that is drawn, and nothing is judged again.
func TestVerdictsOfAMatrix(t *testing.T) {
	a, b := inventBench(bench.Quick(), oldStorage), inventBench(bench.Quick(), newStorage)
	held := result.CompareWithin("xfs", a, "ext4", b, []stat.Pair{{First: 100, Last: 300, Runs: []float64{100, 101}}})
	d := NewBenchDocument([]Bench{{Name: "xfs", Result: a}, {Name: "ext4", Result: b, Held: held}})
	if plain := result.Compare("xfs", a, "ext4", b); plain.Steps[0].Verdict == held.Steps[0].Verdict {
		t.Fatalf("both say %s: the test looks at nothing", held.Steps[0].Verdict)
	}
	if got := d.Compared[0].Rows[0].Verdict; got != string(held.Steps[0].Verdict) {
		t.Errorf("drawn as %s, held as %s", got, held.Steps[0].Verdict)
	}
}
