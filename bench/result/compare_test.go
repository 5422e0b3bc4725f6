package result

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"stowage/bench/stat"
)

func TestCompare(t *testing.T) {
	a, b := made(1000, 1004, 996, 1000), made(3010, 2990, 3000, 3000)
	c := Compare("a.json", a, "b.json", b)
	s := c.Steps[0]
	if s.Verdict != stat.Better || math.Abs(s.Ratio-3) > 0.01 || s.CI.Low > 3 || s.CI.High < 3 || *s.MoreRuns != 0 || c.GotWorse() {
		t.Errorf("%+v", s)
	}
	// A third of the time for a request is better, and the ratio is one of times.
	if s.P99.Verdict != stat.Better || math.Abs(s.P99.Ratio-1.0/3) > 0.01 || s.P99.CI.Low > s.P99.CI.High {
		t.Errorf("%+v", s.P99)
	}
	if back := Compare("b", b, "a", a); back.Steps[0].Verdict != stat.Worse || !back.GotWorse() {
		t.Errorf("%+v", back.Steps[0])
	}
	if same := Compare("a", a, "a", a); same.Steps[0].Verdict != stat.Same || len(same.Differs) > 0 {
		t.Errorf("%+v", same)
	}
}

// TestCompareNamesWhatCannotBeTrue: 9,999 MB/s at 22,788 requests of 64 KiB were compared without a word, and of figures without an interval it was said
// how wide every interval is.
func TestCompareNamesWhatCannotBeTrue(t *testing.T) {
	entered := func(mbps float64) *Result {
		return &Result{Kind: Entered, Source: "a page", Complete: true, Valid: true, Steps: []*Step{{ID: "RND64K-R-Q8T2", IOPS: 22788, MBps: mbps, Valid: true}}}
	}
	all := strings.Join(Compare("a", entered(9999), "b", entered(1493)).Caveats, "\n")
	if !strings.Contains(all, "A: RND64K-R-Q8T2: 9999 MB/s") || strings.Contains(all, "B: RND64K") || strings.Contains(all, "every interval") {
		t.Errorf("caveats:\n%s", all)
	}
}

func TestCompareSaysWhatDiffers(t *testing.T) {
	a, b := made(1000, 1004, 996), made(1000, 1004, 996)
	a.Environment.Device = &Device{Name: "sda", Queue: map[string]string{"scheduler": "[none] bfq", "rotational": "1"}}
	b.Environment.Device = &Device{Name: "sda", Queue: map[string]string{"scheduler": "none [bfq]", "rotational": "1"}}
	a.Environment.MountOptions, b.Environment.MountOptions = "rw", "rw,nobarrier"
	b.Settings.Size = 1 << 30
	b.Steps[0].Valid = false
	b.Steps = append(b.Steps, &Step{ID: "MIX"})
	c := Compare("a", a, "b", b)
	if len(c.Differs) != 2 || c.Differs[0].What != "mount options" || c.Differs[1] != (Difference{"queue/scheduler", "[none] bfq", "none [bfq]"}) {
		t.Errorf("%+v", c.Differs)
	}
	if len(c.Caveats) == 0 || !strings.Contains(c.Caveats[0], "0 MiB and 1024 MiB") || len(c.OnlyInB) != 1 {
		t.Errorf("%q, only in B %q", c.Caveats, c.OnlyInB)
	}
	if s := c.Steps[0]; s.Verdict != stat.Inconclusive || s.MoreRuns != nil || s.Note != "B is invalid" {
		t.Errorf("%+v", s)
	}
	var text bytes.Buffer
	if err := CompareText(&text, c); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"inconclusive", "never", "B is invalid", "Only in B: MIX", "Differs: queue/scheduler: [none] bfq, none [bfq].", "Mind: the files were"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
}

// TestCompareKnowsDrift: where a result differs from itself by a fifth, another that is a tenth better is not.
func TestCompareKnowsDrift(t *testing.T) {
	a, b := made(1000, 1004, 996), made(1100, 1104, 1096)
	if c := Compare("a", a, "b", b); c.Steps[0].Verdict != stat.Better {
		t.Errorf("without drift: %+v", c.Steps[0])
	}
	a.Noise.SetAA(a.Steps[0].ID, 1000, 800)
	if c := Compare("a", a, "b", b); c.Steps[0].Verdict != stat.Inconclusive || c.Steps[0].MoreRuns != nil || len(c.Caveats) == 0 {
		t.Errorf("with drift: %+v %q", c.Steps[0], c.Caveats)
	}
}

// TestCompareKnowsDisturbance: on a machine that others use all the time a tenth is nothing, a factor of three is.
func TestCompareKnowsDisturbance(t *testing.T) {
	a, b, c := made(1000, 1004, 996), made(1100, 1104, 1096), made(3000, 3004, 2996)
	for i := range a.Steps[0].Samples {
		a.Steps[0].Samples[i].Noise.CPU = 0.95
	}
	a.Judge()
	if got := Compare("a", a, "b", b).Steps[0]; got.Verdict != stat.Inconclusive || got.MoreRuns != nil {
		t.Errorf("a tenth: %+v", got)
	}
	if got := Compare("a", a, "c", c).Steps[0]; got.Verdict != stat.Better {
		t.Errorf("three times: %+v", got)
	}
}

// TestCompareOfCommitsBesideOthers: no factor is large enough where others sync as well.
func TestCompareOfCommitsBesideOthers(t *testing.T) {
	for _, foreign := range []float64{0, 0.3} {
		a, b := made(1000, 1004, 996), made(7000, 7004, 6996)
		a.Steps[0].Durable, b.Steps[0].Durable = true, true
		for i := range b.Steps[0].Samples {
			b.Steps[0].Samples[i].Check.Foreign = foreign
		}
		got := Compare("a", a, "b", b).Steps[0]
		want := map[bool]stat.Verdict{false: stat.Better, true: stat.Inconclusive}[foreign > 0]
		if got.Verdict != want || got.P99.Verdict != want || (got.MoreRuns == nil) != (foreign > 0) || strings.Contains(got.Note, "flushes") != (foreign > 0) {
			t.Errorf("foreign %v: %+v %+v", foreign, got, got.P99)
		}
	}
}

func TestCompareJSON(t *testing.T) {
	raw, err := json.Marshal(Compare("a", made(1000, 1500, 700), "b", made(1100)))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Steps []map[string]any `json:"steps"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	s := got.Steps[0]
	if s["id"] != "RND16K-R-Q8T4" || s["verdict"] != "inconclusive" || s["ratio"] == nil || s["more_runs"] != 1.0 {
		t.Errorf("%s", raw)
	}
	if _, there := s["ci"]; !there {
		t.Errorf("no ci: %s", raw)
	}
}

func TestCSV(t *testing.T) {
	r := made(1000, 2000)
	r.Steps[0].Pattern, r.Steps[0].Block = "RND", 16384
	r.Steps[0].Samples[1].WriteLat = &Latency{Mean: 1500}
	var out bytes.Buffer
	if err := WriteCSV(&out, r); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v, %v", rows, err)
	}
	row := map[string]string{}
	for i, name := range rows[0] {
		row[name] = rows[2][i]
	}
	for name, want := range map[string]string{
		"Test": "RND16K-R-Q8T4", "Run": "2", "Kind": "R", "IO Type": "random", "Block KB": "16", "Outstanding": "8", "Threads": "4", "IOs/sec": "2000", "MBs/sec": "31.25",
		"Avg Lat(ms)": "0.1", "Max Lat(ms)": "0.95", "p99(ms)": "0.5", "Write Avg Lat(ms)": "1.5",
	} {
		if row[name] != want {
			t.Errorf("%s is %q, want %q", name, row[name], want)
		}
	}
}
