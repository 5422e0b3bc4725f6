package sheet

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"stowage/bench/result"
	"stowage/bench/stat"
)

// run is a sample of so many transactions in ten seconds, with bytes during the run and afterwards.
func run(round int, transactions int64, cpu float64, during, settling int64) Sample {
	return Sample{Seq: round, Round: round, Seconds: 10, Transactions: transactions, TPS: float64(transactions) / 10, ServerCPU: cpu, During: Moved{Written: during, Flushes: 2 * transactions},
		Settling: Moved{Written: settling}, IsSettled: true, Changed: transactions * RowBytes, Lat: result.Latency{Min: 100, Mean: 500, P99: 1000, Max: 2000}}
}

func row(id, cell string, samples ...Sample) *Row {
	r := &Row{ID: id, Cell: cell, Load: "update", Durability: Durable, Ratio: 0.5, Cache: 64 << 20, Clients: 4, Instances: 1}
	for _, s := range samples {
		r.Add(s, stat.Histogram{{500_000, uint64(s.Transactions)}}, 0.05)
	}
	return r
}

// three runs that differ by a percent.
func three(transactions int64, cpu float64, during, settling int64) []Sample {
	var out []Sample
	for i := range int64(3) {
		out = append(out, run(int(i)+1, transactions+(i-1)*transactions/100, cpu, during, settling))
	}
	return out
}

func example(rows ...*Row) *Result {
	r := &Result{FormatVersion: FormatVersion, Kind: Kind, Mode: Engines, Profile: "quick", Complete: true, Base: "innodb-16k", Settings: Settings{Rows: 1000, Tables: 2, Target: 0.05, Counts: []int{1, 2, 4}},
		Sessions: []result.Session{{}}, BytesFrom: "process", Rows: rows}
	for _, x := range rows {
		if r.Cell(x.Cell) == nil {
			c, err := ParseCell(x.Cell)
			if err != nil {
				panic(err)
			}
			r.Cells = append(r.Cells, &c)
		}
	}
	r.Judge()
	return r
}

func TestFigures(t *testing.T) {
	const kib = 1 << 10
	base := row("innodb-16k/update", "innodb-16k", three(10_000, 5, 10_000*8*kib, 10_000*2*kib)...)
	again := row("innodb-16k/update again", "innodb-16k", three(10_020, 5, 10_000*8*kib, 10_000*2*kib)...)
	again.Again = true
	rocks := row("myrocks/update", "myrocks", three(7_000, 7, 7_000*2*kib, 7_000*2*kib)...)
	r := example(base, again, rocks)
	if base.TPS.Mean < 990 || base.TPS.Mean > 1010 || base.PerCPU.Mean < 1980 || base.PerCPU.Mean > 2020 || base.TPS.CI == nil || base.Flushes != 2 {
		t.Errorf("%+v", base)
	}
	if base.Written.During != 8*kib || base.Written.Settled != 10*kib || base.Amplification == nil || base.Amplification.During != 8.0*kib/RowBytes {
		t.Errorf("%+v %+v", base.Written, base.Amplification)
	}
	if base.Versus != nil || again.Versus == nil || again.Versus.TPS.Verdict != stat.Same {
		t.Errorf("A/A: %+v", again.Versus)
	}
	v := rocks.Versus
	if v.TPS.Verdict != stat.Worse || v.PerCPU.Verdict != stat.Worse || v.Written.Verdict != stat.Better || v.Written.Ratio > 0.41 {
		t.Errorf("%+v", v)
	}
	if !rocks.DebtUnpaid || base.DebtUnpaid {
		t.Errorf("debt: MyRocks %v, InnoDB %v", rocks.DebtUnpaid, base.DebtUnpaid)
	}
	if !r.Valid || r.Noise.AA == nil || r.Noise.AA.Noisy || !r.Noise.Quiet {
		t.Errorf("%v %q %+v", r.Valid, r.Invalid, r.Noise)
	}

	var text bytes.Buffer
	if err := WriteText(&text, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"innodb-16k again", "durable 1/1", "0.5", "LSM debt not paid: myrocks/update", "0.70 worse", "0.40 better", "same"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	// Durability and ratio stand in each row of both tables.
	for line := range strings.Lines(text.String()) {
		if strings.Contains(line, " update ") && !strings.Contains(line, "durable 1/1   ") && !strings.Contains(line, "durable 1/1  ") {
			t.Errorf("a row without its durability: %s", line)
		}
	}
	raw, err := json.Marshal(r)
	if err != nil || !IsEngine(raw) {
		t.Fatal(err)
	}
	if back, err := Read(raw); err != nil || back.Row("myrocks/update") == nil || back.Rows[2].Durability != Durable {
		t.Errorf("%+v, %v", back, err)
	}
}

// TestAADisagrees: a base that differs from itself makes every verdict careful.
func TestAADisagrees(t *testing.T) {
	base := row("innodb-16k/update", "innodb-16k", three(10_000, 5, 1000, 0)...)
	again := row("innodb-16k/update again", "innodb-16k", three(13_000, 5, 1000, 0)...)
	again.Again = true
	other := row("innodb-4k/update", "innodb-4k", three(12_000, 5, 1000, 0)...)
	r := example(base, again, other)
	if other.Versus.TPS.Verdict != stat.Inconclusive || again.Versus.TPS.Verdict != stat.Inconclusive || r.Noise.Quiet {
		t.Errorf("%+v, %+v, %+v", other.Versus.TPS, again.Versus.TPS, r.Noise)
	}
}

func TestKnee(t *testing.T) {
	var rows []*Row
	for _, x := range []struct {
		n  int
		tx int64
	}{{1, 1000}, {2, 1900}, {4, 1900}} {
		r := row("n", "innodb-16k", three(x.tx*10, 5, 1000, 0)...)
		r.ID, r.Instances = string(rune('0'+x.n)), x.n
		rows = append(rows, r)
	}
	r := &Result{Mode: Instances, Complete: true, Base: "innodb-16k", Rows: rows, Settings: Settings{Counts: []int{1, 2, 4}, Target: 0.05}}
	r.Judge()
	if len(r.Knees) != 1 || r.Knees[0].At != 2 || !r.Knees[0].Sure || !strings.Contains(r.Knees[0].Text, "4 at once do 1.00 of what 2 do (same)") {
		t.Errorf("%+v", r.Knees)
	}
	if v := rows[2].Versus; v == nil || v.Base != "1" {
		t.Errorf("%+v", v)
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{`: "not a result", `{"format_version":1}`: "kind", `{"kind":"engine","format_version":9}`: "format version 9", `{"kind":"engine","format_version":1,"rows":[null]}`: "row 1",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestEstimate(t *testing.T) {
	s := Settings{Rows: 100_000, Tables: 2, Runtime: 5, Warmup: 2, MinRuns: 3}
	runs, short := Estimate(s, 10, 5)
	s.Runtime = 120
	_, long := Estimate(s, 10, 5)
	if runs != 30 || long-short < 30*110e9 {
		t.Errorf("%d runs, %v and %v", runs, short, long)
	}
}

func TestLoads(t *testing.T) {
	all, err := ParseLoads([]string{"point", "update", "write", "rw", "point"})
	if err != nil || len(all) != 4 {
		t.Fatal(all, err)
	}
	if _, err := ParseLoads([]string{"mixed"}); err == nil {
		t.Error("mixed is read")
	}
	if !slices.IsSortedFunc(all, func(a, b Load) int { return int(a.Changed() - b.Changed()) }) || all[0].Changed() != 0 || all[1].Changed() != RowBytes {
		t.Errorf("%+v", all)
	}
}

func TestCompare(t *testing.T) {
	make := func(tps int64) *Result {
		return example(row("innodb-16k/update", "innodb-16k", three(tps, 5, 1000, 0)...))
	}
	a, b := make(10_000), make(8_000)
	c := Compare("a", a, "b", b)
	if len(c.Steps) != 1 || c.Steps[0].Verdict != stat.Worse || !c.GotWorse() || c.Steps[0].Ratio > 0.81 {
		t.Errorf("%+v", c.Steps)
	}
	if c := Compare("a", a, "a", a); c.Steps[0].Verdict != stat.Same || c.GotWorse() || len(c.Caveats) > 0 {
		t.Errorf("%+v", c)
	}
	b.Settings.Rows, b.Valid = 5000, false
	if c := Compare("a", a, "b", b); c.Steps[0].Verdict != stat.Inconclusive || c.GotWorse() || !strings.Contains(c.Caveats[0], "rows a table: 1000 and 5000") {
		t.Errorf("%+v", c)
	}
	var text bytes.Buffer
	if err := CompareText(&text, c); err != nil || !strings.Contains(text.String(), "0.800 ") || !strings.Contains(text.String(), " worse ") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// TestWordsAreThoseOfOtherBenches: an interval that could be anything has a cap, and settled rows need no more runs.
func TestWordsAreThoseOfOtherBenches(t *testing.T) {
	wild := example(row("innodb-16k/update", "innodb-16k", run(1, 10, 5, 1000, 0), run(2, 100_000, 5, 1000, 0)))
	var text bytes.Buffer
	if err := WriteText(&text, wild); err != nil || !strings.Contains(text.String(), " >1000% ") {
		t.Errorf("%v\n%s", err, text.String())
	}
	even := example(row("innodb-16k/update", "innodb-16k", three(10_000, 5, 1000, 0)...))
	text.Reset()
	if err := CompareText(&text, Compare("a", even, "a", even)); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(strings.Split(text.String(), "\n"), func(line string) bool {
		f := strings.Fields(line)
		return len(f) > 8 && f[0] == "innodb-16k/update" && f[5] == "to" && f[7] == "same" && f[8] == "-"
	}) {
		t.Errorf("no row that is the same and needs no more runs:\n%s", text.String())
	}
}

// Costs of a transaction may be far below one: they keep digits that others need not.
func TestShortKeepsSmallCosts(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.0042: "0.0042", 0.05: "0.05", -0.05: "-0.05", 0.1: "0.10", 12.34: "12.3", 1234: "1234"} {
		if got := short(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

func TestCatchUp(t *testing.T) {
	for _, tt := range []struct{ applied, written, hours float64 }{{1000, 500, 1}, {1000, 800, 4}, {1000, 1000, 0}, {500, 1000, 0}} {
		if got := CatchUp(tt.applied, tt.written).Hours(); got < tt.hours*0.999 || got > tt.hours*1.001 {
			t.Errorf("applied %v of %v: %v hours, want %v", tt.applied, tt.written, got, tt.hours)
		}
	}
}
