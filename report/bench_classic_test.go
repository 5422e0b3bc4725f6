package report

import (
	"bytes"
	"strings"
	"testing"

	"stowage/bench/result"
	"stowage/bench/stat"
)

// TestValidIsNotSaidAboveDisturbedRuns: "Valid." stood above "24 of 24 disturbed".
func TestValidIsNotSaidAboveDisturbedRuns(t *testing.T) {
	for _, c := range []struct {
		isValid bool
		noise   result.Noise
		want    string
	}{
		{true, result.Noise{Quiet: true, Runs: 24}, "Valid."},
		{true, result.Noise{Disturbed: 3, Runs: 24}, "Disturbed."},
		{true, result.Noise{Runs: 24}, "Disturbed."}, // by its A/A pair alone
		{true, result.Noise{Disturbed: 24, Runs: 24}, "Disturbed from beginning to end."},
		{false, result.Noise{Disturbed: 24, Runs: 24}, "Invalid."},
	} {
		if got := validity(c.isValid, c.noise); got != c.want {
			t.Errorf("%v %+v: %q, want %q", c.isValid, c.noise, got, c.want)
		}
	}
}

// TestSecondhandResultsHaveTheClassicTable, and nothing that nobody gave.
func TestSecondhandResultsHaveTheClassicTable(t *testing.T) {
	entered := &result.Result{Kind: result.Entered, Source: "a blog", Profile: result.Entered, Complete: true, Valid: true, Steps: []*result.Step{{ID: "fileio", IOPS: 1830.24, MBps: 29.98, Lat: result.Latency{Mean: 510, P95: 2060}, Runs: 1, Valid: true, Samples: []result.Sample{{IOPS: 1830.24}}}}}
	measured := small("RND16K-R-Q1T1", 1, 1, 1000, stat.Histogram{{100_000, 90}})
	d := NewBenchDocument([]Bench{{Name: "xfs", Result: entered}, {Name: "here", Result: measured}})
	if len(d.Tables) != 2 || d.Tables[0].Caption != "fileio" {
		t.Fatalf("%+v", d.Tables)
	}
	var row []string
	for _, c := range d.Tables[0].Rows[0] {
		row = append(row, c.Text)
	}
	if got := strings.Join(row, " "); got != "xfs 30.0MB 1830 0.51ms 2.06ms - - 1 " {
		t.Errorf("%q", got)
	}
	var b bytes.Buffer
	if err := d.WriteHTML(&b); err != nil || !strings.Contains(b.String(), `id="b-classic"`) {
		t.Errorf("%v", err)
	}
	if quiet := NewBenchDocument([]Bench{{Name: "here", Result: measured}}); len(quiet.Tables) != 0 {
		t.Error("a result of our own is in the classic table without being asked for")
	}
}
