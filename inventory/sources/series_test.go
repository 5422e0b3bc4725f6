package sources

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/capacity"
	"stowage/farm"
	"stowage/inventory/claims"
)

// seriesFarm has a host with two data directories on one file system, and one that is known by its address.
func seriesFarm() *farm.Farm {
	return &farm.Farm{HostTypes: []farm.HostType{{Name: "t", Capacity: farm.Resources{farm.IOPS: 1000}}},
		Hosts: []farm.Host{{Name: "db1", Type: "t", Address: "10.0.0.1"}, {Name: "db2", Type: "t", Address: "10.0.0.2"}},
		Pairs: []farm.Pair{{Name: "p", Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "db1", Datadir: "/srv/mysql/a"}, farm.B: {Host: "db2", Datadir: "/srv/mysql/b"}}}}}
}

// TestSeriesOfARealPrometheus: sixty days of what node_exporter tells are put into a Prometheus, Debian's, and read back: the file system with the
// data and no other, disks of which none counts twice, and limits. The forecast is that of the growth that was put in.
func TestSeriesOfARealPrometheus(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("NOT TESTED: series of a real Prometheus: install Debian's package prometheus")
	}
	dir := t.TempDir()
	end := time.Now().Truncate(time.Hour)
	const days, grows, total = 60, 1e9, 1e12
	writeMetrics(t, filepath.Join(dir, "metrics"), end, days, grows, total)
	if out, err := exec.Command("promtool", "tsdb", "create-blocks-from", "--max-block-duration=744h", "openmetrics", filepath.Join(dir, "metrics"), filepath.Join(dir, "data")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := l.Addr().String()
	must(t, l.Close())
	must(t, os.WriteFile(filepath.Join(dir, "p.yml"), []byte("global: {scrape_interval: 1m}\n"), 0o644))
	ctx, cancel := context.WithCancel(t.Context())
	c := exec.CommandContext(ctx, program, "--config.file="+filepath.Join(dir, "p.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--storage.tsdb.retention.time=1y", "--web.listen-address="+address)
	var log bytes.Buffer
	c.Stderr = &log
	must(t, c.Start())
	defer func() {
		cancel()
		_ = c.Wait() // it was killed
	}()
	f, spec := seriesFarm(), claims.Spec{Name: "prom", Kind: "prometheus", URL: "http://" + address}
	var all []capacity.Series
	var unknown []string
	for until := time.Now().Add(90 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		if all, unknown, err = Series(ctx, f, spec, end); err == nil && len(all) > 0 {
			break
		} else if time.Now().After(until) {
			t.Fatalf("%v, %d series\n%s", err, len(all), log.String())
		}
	}
	if !slices.Equal(unknown, []string{"elsewhere:9100"}) {
		t.Errorf("unknown: %q", unknown)
	}
	var got []string
	for _, s := range all {
		got = append(got, fmt.Sprintf("%s %s of %s", s.Name, s.Resource, s.Source))
	}
	if want := "db1 disk of prom /srv|db1 memory of prom|db1 cpu of prom|db1 iops of prom"; strings.Join(got, "|") != want {
		t.Fatalf("%s, not %s", strings.Join(got, "|"), want)
	}
	for _, r := range capacity.Assess(f, all) {
		if r.Name != "db1" {
			continue
		}
		switch r.Resource {
		case farm.Disk:
			if r.Limit != total || r.Days == nil || r.Days.Mid == nil || *r.Days.Mid < 0.9*(total-r.Level)/grows || *r.Days.Mid > 1.1*(total-r.Level)/grows {
				t.Errorf("disk: %+v", r)
			}
		case farm.CPU: // two cores; one second of each is used in four
			if r.Limit != 2 || r.Used < 0.45 || r.Used > 0.55 {
				t.Errorf("cpu: %+v", r)
			}
		case farm.IOPS: // 100 reads and 50 writes a second of sda; as many again of the md device above it
			if r.Limit != 1000 || r.Used < 140 || r.Used > 160 {
				t.Errorf("iops: %+v", r)
			}
		}
	}
}

// writeMetrics writes what node_exporter has told each hour, in OpenMetrics' form.
func writeMetrics(t *testing.T, file string, end time.Time, days int, grows, total float64) {
	t.Helper()
	var b strings.Builder
	family := func(name, kind string, lines map[string]func(hour float64) float64) {
		fmt.Fprintf(&b, "# TYPE %s %s\n", strings.TrimSuffix(name, "_total"), kind)
		var labels []string
		for l := range lines {
			labels = append(labels, l)
		}
		slices.Sort(labels)
		for _, l := range labels {
			for h := range days*24 + 1 {
				at := end.Add(time.Duration(h-days*24) * time.Hour)
				fmt.Fprintf(&b, "%s{%s} %g %d\n", name, l, lines[l](float64(h)), at.Unix())
			}
		}
	}
	fixed := func(v float64) func(float64) float64 { return func(float64) float64 { return v } }
	rate := func(v float64) func(float64) float64 { return func(h float64) float64 { return v * 3600 * h } }
	const db1 = `instance="10.0.0.1:9100"`
	family("node_filesystem_size_bytes", "gauge", map[string]func(float64) float64{db1 + `,mountpoint="/",fstype="ext4"`: fixed(1e11), db1 + `,mountpoint="/srv",fstype="xfs"`: fixed(total),
		db1 + `,mountpoint="/run",fstype="tmpfs"`: fixed(1e9), `instance="elsewhere:9100",mountpoint="/",fstype="ext4"`: fixed(1e11)})
	family("node_filesystem_avail_bytes", "gauge", map[string]func(float64) float64{db1 + `,mountpoint="/",fstype="ext4"`: fixed(5e10), db1 + `,mountpoint="/srv",fstype="xfs"`: func(h float64) float64 { return total - 1e11 - grows*h/24 },
		db1 + `,mountpoint="/run",fstype="tmpfs"`: fixed(1e9), `instance="elsewhere:9100",mountpoint="/",fstype="ext4"`: fixed(5e10)})
	family("node_memory_MemTotal_bytes", "gauge", map[string]func(float64) float64{db1: fixed(64e9)})
	family("node_memory_MemAvailable_bytes", "gauge", map[string]func(float64) float64{db1: fixed(32e9)})
	family("node_cpu_seconds_total", "counter", map[string]func(float64) float64{db1 + `,cpu="0",mode="idle"`: rate(0.7), db1 + `,cpu="0",mode="iowait"`: rate(0.05), db1 + `,cpu="0",mode="user"`: rate(0.25),
		db1 + `,cpu="1",mode="idle"`: rate(0.75), db1 + `,cpu="1",mode="system"`: rate(0.25)})
	family("node_disk_reads_completed_total", "counter", map[string]func(float64) float64{db1 + `,device="sda"`: rate(100), db1 + `,device="md0"`: rate(100)})
	family("node_disk_writes_completed_total", "counter", map[string]func(float64) float64{db1 + `,device="sda"`: rate(50), db1 + `,device="md0"`: rate(50)})
	b.WriteString("# EOF\n")
	must(t, os.WriteFile(file, []byte(b.String()), 0o644))
}

// TestRangesThatAreNone: what is not a matrix is refused with the query; a value that is not a number is left out.
func TestRangesThatAreNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`<html>`: "the answer is not Prometheus'",
		`{"status":"success","data":{"resultType":"vector","result":[]}}`: "the answer is a vector, and a matrix is wanted",
	} {
		if _, err := matrix([]byte(text), "up"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "query up") {
			t.Errorf("%s: %v", text, err)
		}
	}
	got, err := matrix([]byte(`{"data":{"resultType":"matrix","result":[{"metric":{"instance":"a"},"values":[[1,"NaN"],[2,"7"],["3","8"],[4,9],[5,"+Inf"]]},{"metric":{},"values":[]}]}}`), "up")
	if err != nil || len(got) != 1 || len(got[0].samples) != 1 || got[0].samples[0].Value != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer down.Close()
	if _, _, err := Series(t.Context(), seriesFarm(), claims.Spec{Name: "p", URL: down.URL, Series: map[string]string{"cpu": "x"}}, time.Now()); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("one that is down: %v", err)
	}
}

func FuzzMatrix(f *testing.F) {
	f.Add([]byte(`{"data":{"resultType":"matrix","result":[{"metric":{"instance":"a"},"values":[[1,"7"]]}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := matrix(raw, "up")
		for _, x := range got {
			if err != nil || len(x.samples) == 0 {
				t.Fatalf("%v, %v", got, err)
			}
		}
	})
}
