package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/inventory/shardload"
	"stowage/store"
)

// TestReportHasHostsBeforeAndAfter: of two moves, it compares what was before the first with what is after the last; by the hour while
// hours are kept, by the day of moves long ago.
func TestReportHasHostsBeforeAndAfter(t *testing.T) {
	for _, x := range []struct {
		ago   time.Duration
		grain string
	}{{48 * time.Hour, "hour"}, {60 * 24 * time.Hour, "day"}} {
		t.Run(x.grain, func(t *testing.T) {
			dir := t.TempDir()
			farm := "farm: one\nnext_server_id: 100000\nhost_types: {box: {cores: 4, memory: 16GB, disk: 40GB}}\nhosts: [{name: h1, type: box, address: 127.0.0.1}]\n" +
				"pairs:\n  - {name: p, topology: single, sides: {A: {host: h1, port: 3306, datadir: /srv/a}}, shards: [{name: s, disk: 1MB}]}\n"
			if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte(farm), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, ".stowage"), 0o700); err != nil {
				t.Fatal(err)
			}
			s, err := store.Open(filepath.Join(dir, ".stowage", "stowage.db"))
			if err != nil {
				t.Fatal(err)
			}
			from := time.Now().UTC().Add(-x.ago).Truncate(24 * time.Hour)
			for i := range 2 {
				at := from.Add(time.Duration(i) * 5 * time.Hour)
				if err := s.PutRun(store.Run{ID: fmt.Sprint("move-", i), Kind: "move", Subject: "first", State: store.Done, Started: at, Ended: at.Add(time.Hour)}); err != nil {
					t.Fatal(err)
				}
			}
			for hour := -24 * 7; hour < 24*7; hour += 2 {
				at := from.Add(time.Duration(hour) * time.Hour)
				if at.After(time.Now().Add(-time.Hour)) {
					break
				}
				cpu := map[bool]float64{true: 3, false: 1}[hour < 0]
				if hour >= 0 && hour < 6 {
					cpu = 100
				}
				y := store.Yield{
					Gauges: []store.Gauge{{Name: "h1", Measure: shardload.HostCPU, At: at, Mean: cpu}, {Name: "h1", Measure: shardload.HostProcessors, At: at, Mean: 4}},
					Seen:   []store.Seen{{Server: "p", At: at, Millis: 60000, Unseen: 60}},
					Loads:  []store.Load{{Server: "p", Shard: "s", Checksum: "c", Fingerprint: "select ?", At: at, Calls: 540}},
				}
				keep := store.Keep{Hours: 14 * 24 * time.Hour, Days: 400 * 24 * time.Hour}
				if err := s.PutDuty(store.Duty{Task: "hosts", Begun: at, Ended: at, IsDone: true}, y, keep); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			stowageIn(t, dir, "report", "--out", "r.html")
			page, err := os.ReadFile(filepath.Join(dir, "r.html"))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"1 host used 3.00 processors before, 1 host 1.00 after: means of ", x.grain + "s before and ", ">10.0<"} {
				if !strings.Contains(string(page), want) {
					t.Errorf("no %q in the report", want)
				}
			}
		})
	}
}
