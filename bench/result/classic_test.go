package result

import (
	"bytes"
	"strings"
	"testing"
)

// TestContradictionsAreNamed: 9,999 MB/s at 22,788 requests a second of 64 KiB stood in a decision, and nobody was told.
func TestContradictionsAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		step Step
		want string // "": none
	}{
		"throughput":        {Step{ID: "RND64K-R-Q8T2", IOPS: 22788, MBps: 9999}, "9999 MB/s at 22788 requests a second would be 428 KiB a request, and a request has 64.0 KiB"},
		"as published":      {Step{ID: "RND64K-R-Q8T2", IOPS: 22788, MBps: 1424 * 1.048576}, ""},
		"MiB taken for MB":  {Step{ID: "RND64K-R-Q8T2", IOPS: 22788, MBps: 1424}, ""},
		"block of the step": {Step{ID: "db", Block: 16384, IOPS: 1000, MBps: 160}, "156 KiB a request"},
		"nothing known":     {Step{ID: "fileio", IOPS: 1000, MBps: 9999}, ""},
		"too many at once":  {Step{ID: "RND16K-R-Q1T1", IOPS: 10000, Lat: Latency{Mean: 1000}}, "10000 requests a second of 1.00 ms each would be 10.0 at a time, and 1.00 are"},
		"one at a time":     {Step{ID: "RND16K-R-Q1T1", IOPS: 980, Lat: Latency{Mean: 1000}}, ""},
		"percentiles":       {Step{ID: "fileio", Lat: Latency{P95: 2000, P99: 1000}}, "p95 is 2.00 ms, and p99 is less: 1.00 ms"},
	} {
		got := strings.Join(c.step.Contradictions(), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestBlockAndDepthOfNames(t *testing.T) {
	for id, want := range map[string][2]float64{"RND64K-R-Q8T2": {65536, 16}, "SEQ1M-W-Q4T1": {1 << 20, 4}, "LOG4K-FDS-Q1T1": {4096, 1}, "fileio": {0, 0}, "MIX": {0, 0}, "RNDK-R-QxT1": {0, 0}, "": {0, 0}, "64K": {0, 0}} {
		block, ok := BlockOf(id)
		if !ok {
			block = 0
		}
		depth, ok := depthOf(id)
		if !ok {
			depth = 0
		}
		if block != want[0] || depth != want[1] {
			t.Errorf("%q: %v at %v, want %v", id, block, depth, want)
		}
	}
}

// TestP99ColumnsAgreeWithTheirRatio: 22.9 and 13.3 ms stood beside a ratio of 1.09, because the columns were of all runs together and the ratio was not.
func TestP99ColumnsAgreeWithTheirRatio(t *testing.T) {
	a, b := made(1000, 1004, 996), made(1000, 1004, 996)
	a.Steps[0].Samples[2].Lat.P99 *= 9 // one bad run
	a.Steps[0].Lat.P99 = 22900
	b.Steps[0].Lat.P99 = 13300
	for _, s := range Compare("a", a, "b", b).Steps {
		if p := s.P99; p == nil || p.B/p.A < 0.999*p.Ratio || p.B/p.A > 1.001*p.Ratio {
			t.Errorf("%+v", p)
		}
	}
}

func TestClassicTableSaysWhatIsNotKnown(t *testing.T) {
	r := &Result{Kind: Entered, Steps: []*Step{{ID: "fileio", IOPS: 1830.24, MBps: 29.98, Lat: Latency{Mean: 510}, Runs: 1, Valid: true}}}
	var b bytes.Buffer
	for _, table := range Classic([]Named{{"xfs", r}}) {
		if err := table.Write(&b); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(strings.Fields(b.String()), " "); got != "fileio result Transfer/s Requests/s Avg/Request 95%/Request 99%/Request +-95 % runs xfs 30.0MB 1830 0.51ms - - - 1" {
		t.Error(got)
	}
}
