package main

import (
	"strings"
	"testing"
	"time"

	"stowage/capacity"
	"stowage/farm"
	"stowage/inventory/shardload"
	"stowage/metrics"
	"stowage/store"
)

// keepHosts keeps what due would have kept of a host in so many days, four windows a day.
func keepHosts(t *testing.T, dir, host string, end time.Time, days int, measures map[string]func(day float64) float64) {
	t.Helper()
	d, err := (&app{dir: dir}).open()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var y store.Yield
	for n := range 4 * days {
		day := float64(n) / 4
		at := end.Add(time.Duration((day - float64(days)) * 24 * float64(time.Hour)))
		for m, of := range measures {
			y.Gauges = append(y.Gauges, store.Gauge{Name: host, Measure: m, At: at, Mean: of(day) * (0.7 + 0.1*float64(n%4))})
		}
	}
	if err := d.Store.PutDuty(store.Duty{Task: "hosts", Begun: end, Ended: end, IsDone: true}, y, store.Keep{Hours: 14 * 24 * time.Hour, Days: 400 * 24 * time.Hour}); err != nil {
		t.Fatal(err)
	}
}

func fixed(v float64) func(float64) float64 { return func(float64) float64 { return v } }

// TestCapacityUsesWhatDueKeptOfHosts: processors, memory and operations have forecasts without a Prometheus; waiting and bytes stand beside; the source says it.
func TestCapacityUsesWhatDueKeptOfHosts(t *testing.T) {
	t.Parallel()
	end := time.Now().UTC().Truncate(24 * time.Hour)
	dir := promFarm(t, "http://127.0.0.1:1", end)
	keepHosts(t, dir, "db1", end, 60, map[string]func(float64) float64{
		shardload.HostCPU: func(d float64) float64 { return 1 + d/60 }, shardload.HostProcessors: fixed(4 / 0.85), shardload.HostWait: fixed(0.5),
		shardload.HostMemory: func(d float64) float64 { return 20e9 + d*1e8 }, shardload.HostMemoryOf: fixed(64e9 / 0.85),
		shardload.HostOperations: func(d float64) float64 { return 400 + 5*d }, shardload.HostReadBytes: fixed(3e6), shardload.HostWriteBytes: fixed(2e6),
	})
	keepHosts(t, dir, "gone", end, 60, map[string]func(float64) float64{shardload.HostCPU: fixed(1)})
	answer := capacityJSON(t, dir)
	found := map[farm.ResourceName]capacity.Row{}
	for _, r := range answer.Rows {
		if r.Source == hostSource {
			found[r.Resource] = r
		}
		if r.Name == "gone" {
			t.Errorf("a host that farm.yaml does not have: %+v", r)
		}
	}
	for resource, want := range map[farm.ResourceName]struct{ limit, days float64 }{
		// Memory is the mean of a day, which is 0.85 of these figures. The middle day of a week has its peak three days before the end: 2 of 4 processors are left at 1/60 a day.
		farm.CPU: {4, 123}, farm.Memory: {64e9, 494}, farm.IOPS: {1000, 63},
	} {
		r, ok := found[resource]
		if !ok || r.Limit < 0.999*want.limit || r.Limit > 1.001*want.limit || r.Days == nil || r.Days.Mid == nil {
			t.Errorf("%s: %+v", resource, r)
			continue
		}
		if off := *r.Days.Mid / want.days; off < 0.8 || off > 1.25 {
			t.Errorf("%s: %v days, about %v wanted", resource, *r.Days.Mid, want.days)
		}
	}
	if cpu := found[farm.CPU]; len(cpu.Remarks) == 0 || !strings.Contains(cpu.Remarks[0], "0.5 processors waited for disks, 3MB/s were read and 2MB/s written") {
		t.Errorf("%q", cpu.Remarks)
	}
	if text := metricsText(t, dir); !strings.Contains(text, `stowage_runway_seconds{kind="host",name="db1",resource="cpu"`) || strings.Count(text, `stowage_size_bytes{kind="host",name="db1"}`) != 1 {
		t.Error(text)
	}
}

// TestAHostThatIsPartOfAMachine has no limits of its own but those of farm.yaml, and a machine that became one keeps no old limit.
func TestAHostThatIsPartOfAMachine(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC) }
	of := map[string][]store.Gauge{
		shardload.HostCPU:        {{At: at(1), Mean: 1, Most: 2}, {At: at(2), Mean: 1, Most: 3}},
		shardload.HostProcessors: {{At: at(1), Mean: 8, Most: 8}},
	}
	all := usesOf("h", of)
	if len(all) != 1 || all[0].Limit != nil || !all[0].Peaks || all[0].Samples[1].Value != 3 || all[0].Remark != "" {
		t.Errorf("%+v", all)
	}
	if d := diskRemark(map[string][]store.Gauge{}); d != "" {
		t.Error(d)
	}
}

// metricsText is what `metrics` prints of a workspace.
func metricsText(t *testing.T, dir string) string {
	t.Helper()
	a := &app{dir: dir}
	d, err := a.look()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	families, err := a.metricFamilies(d, false)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := metrics.Write(&out, families); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
