// Package promtest runs Debian's Prometheus for tests, with a past that the test has written.
package promtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// With starts a Prometheus whose database holds these samples, in OpenMetrics' form without its last line, and returns its URL. It ends with the
// test; where there is no Prometheus the test is skipped, and says so.
func With(t *testing.T, samples string) string {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("NOT TESTED: series of a real Prometheus: install Debian's package prometheus")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "metrics"), samples+"# EOF\n")
	write(t, filepath.Join(dir, "p.yml"), "global: {scrape_interval: 1m}\n")
	if out, err := exec.Command("promtool", "tsdb", "create-blocks-from", "--max-block-duration=744h", "openmetrics", filepath.Join(dir, "metrics"), filepath.Join(dir, "data")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, program, "--config.file="+filepath.Join(dir, "p.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--storage.tsdb.retention.time=1y", "--web.listen-address="+address)
	var log bytes.Buffer
	c.Stderr = &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = c.Wait() // it was killed
	})
	for until := time.Now().Add(90 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		answer, err := http.Get("http://" + address + "/-/ready")
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return "http://" + address
			}
		}
		if time.Now().After(until) {
			cancel()
			_ = c.Wait()
			t.Fatalf("Prometheus is not ready: %v\n%s", err, log.String())
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// halfHourly are the samples of one metric for so many days until end: its series by their labels, each with a value by the hour. A rate over an
// hour wants two of them.
func halfHourly(name, kind string, end time.Time, days int, series map[string]func(hour float64) float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# TYPE %s %s\n", strings.TrimSuffix(name, "_total"), kind)
	var labels []string
	for l := range series {
		labels = append(labels, l)
	}
	slices.Sort(labels)
	for _, l := range labels {
		for n := range days*48 + 1 {
			at := end.Add(time.Duration(n-days*48) * 30 * time.Minute)
			fmt.Fprintf(&b, "%s{%s} %.12g %d\n", name, l, series[l](float64(n)/2), at.Unix())
		}
	}
	return b.String()
}

// Node is what the node_exporter of the host 10.0.0.1 has told each half hour of so many days: a file system below /srv that grows by so many bytes a
// day, others that hold no data, two processors of which each is busy for a quarter, and a disk with another above it.
func Node(end time.Time, days int, grows, total float64) string {
	var b strings.Builder
	family := func(name, kind string, series map[string]func(hour float64) float64) {
		b.WriteString(halfHourly(name, kind, end, days, series))
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
	return b.String()
}
