package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/inventory/shardload"
)

// measuredFarm is 4 hosts for two days, a move of three hours, and one host for a day.
func measuredFarm() *HostFacts {
	start := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	f := &HostFacts{From: start.Add(48*time.Hour + 20*time.Minute), Until: start.Add(51 * time.Hour), Grain: time.Hour}
	for hour := range 75 {
		at := start.Add(time.Duration(hour) * time.Hour)
		f.Asked = append(f.Asked, AskedRow{at, 1000})
		hosts, cpu := []string{"db1", "db2", "db3", "db4"}, 0.5
		if hour > 48 {
			hosts, cpu = []string{"new1"}, 1.5
		}
		if hour >= 48 && hour < 51 {
			cpu = 7 // while it moves: counts on neither side
		}
		for i, h := range hosts {
			for measure, v := range map[string]float64{shardload.HostCPU: cpu * float64(1+i%2), shardload.HostProcessors: 4, shardload.HostWait: 0.1, shardload.HostMemory: 3 << 30, shardload.HostMemoryOf: 8 << 30, shardload.HostWrites: 25, shardload.HostWriteBytes: 1e6} {
				f.Rows = append(f.Rows, HostRow{h, measure, at, v, 2 * v})
			}
		}
	}
	return f
}

// TestMeasuredHostsLeaveTheMoveOut and have the sums of either side.
func TestMeasuredHostsLeaveTheMoveOut(t *testing.T) {
	s := measuredSections(measuredFarm())
	if len(s) != 1 || len(s[0].Charts) != 2 || len(s[0].Tables) != 2 {
		t.Fatalf("%+v", s)
	}
	rows := map[string]string{}
	for _, r := range s[0].Tables[0].Rows {
		var texts []string
		for _, c := range r[1:] {
			texts = append(texts, strings.ReplaceAll(c.Text, "\u00a0", " "))
		}
		rows[r[0].Text] = strings.Join(texts, " | ")
	}
	for name, want := range map[string]string{
		"hosts": "4 | 1 | 0.25× | – | –", "statements a second": "1,000 | 1,000 | 1.00× | – | –", "processors busy": "3.00 | 1.50 | 0.50× | 2.00 | 3.00",
		"processors busy, share of all": "19 % | 38 % | 2.00× | – | –", "the same, of the busiest host": "25 % | 38 % | 1.50× | – | –",
		"memory used": "12.9 GB | 3.22 GB | 0.25× | 6.44 GB | 6.44 GB", "written to disks": "4 MB/s | 1 MB/s | 0.25× | 2 MB/s | 2 MB/s", "processors waiting for disks, share of all": "2.5 % | 2.5 % | 1.00× | – | –",
	} {
		if rows[name] != want {
			t.Errorf("%s: %q, want %q", name, rows[name], want)
		}
	}
	if _, has := rows["reads from disks a second"]; has {
		t.Error("nobody measured reads, and there is a row")
	}
	if len(s[0].Tables[1].Rows) != 5 || !strings.Contains(s[0].Text[0], "4 hosts used 3.00 processors before, 1 host 1.50 after: means of 48 hours before and 24 hours after.") {
		t.Errorf("%v, %v", s[0].Tables[1].Rows, s[0].Text)
	}
}

// TestWindowsOfADemo are compared as hours are, and the machine that its hosts share beside them: only that one knows how long it waited.
func TestWindowsOfADemo(t *testing.T) {
	f, start := &HostFacts{Grain: 5 * time.Second}, time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
	f.From, f.Until = start.Add(time.Minute), start.Add(3*time.Minute)
	for i := range 4 {
		for _, at := range []time.Time{start.Add(time.Duration(i) * 5 * time.Second), f.Until.Add(time.Duration(i) * 5 * time.Second)} {
			v := map[bool]float64{true: 2, false: 1}[at.Before(f.From)]
			for _, h := range []string{"db1", "db2"} {
				f.Rows = append(f.Rows, HostRow{h, shardload.HostCPU, at, v / 10, v / 10})
			}
			f.Machines = append(f.Machines, HostRow{"m", shardload.HostWait, at, v / 4, v / 4}, HostRow{"m", shardload.HostProcessors, at, 2, 2})
			f.Done = append(f.Done, AskedRow{at, 120})
		}
	}
	slices.SortStableFunc(f.Rows, func(a, b HostRow) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(f.Machines, func(a, b HostRow) int { return a.At.Compare(b.At) })
	s := measuredSections(f)[0]
	if len(s.Tables) != 3 || s.Tables[1].Caption != "The machine that these hosts share" || len(s.Charts) != 2 {
		t.Fatalf("%+v", s)
	}
	text := func(cs []planCell) string {
		var out []string
		for _, c := range cs {
			out = append(out, strings.ReplaceAll(c.Text, "\u00a0", " "))
		}
		return strings.Join(out, " | ")
	}
	if got := text(s.Tables[0].Rows[1]); got != "transactions a second | 120 | 120 | 1.00× | – | –" {
		t.Error(got)
	}
	if got := text(s.Tables[1].Rows[0]); got != "processors waiting for disks, share of all | 25 % | 12 % | 0.50× | – | –" {
		t.Error(got)
	}
	if got := strings.ReplaceAll(s.Text[0], "\u00a0", " "); got != "2 hosts used 0.40 processors before, 2 hosts 0.20 after: means of 4 windows of 5 s before and 4 windows of 5 s after." {
		t.Error(got)
	}
}

// TestTooFewHoursAreNoComparison, nor is a move that goes on; nothing at all is no section.
func TestTooFewHoursAreNoComparison(t *testing.T) {
	f := measuredFarm()
	f.From = f.Rows[0].At.Add(2*time.Hour + time.Minute)
	if s := measuredSections(f); len(s) != 1 || len(s[0].Tables) != 0 || !strings.Contains(s[0].Text[0], "before the moves, 2 hours measured") {
		t.Errorf("%+v", s)
	}
	f = measuredFarm()
	f.Until = time.Time{}
	if s := measuredSections(f); len(s) != 1 || len(s[0].Tables) != 0 || !strings.Contains(s[0].Text[0], "after the moves, 0 hours measured") {
		t.Errorf("%+v", s)
	}
	if s := measuredSections(&HostFacts{}); s != nil {
		t.Errorf("%+v", s)
	}
}
