package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/inventory/shardload"
	"stowage/report"
	"stowage/store"
)

// TestReportHasTheWindowsOfADemo on either side of its move; a farm whose windows all lie before it, as after a move that came later, has no such section.
func TestReportHasTheWindowsOfADemo(t *testing.T) {
	for name, sides := range map[string]int{"both sides": 2, "before only": 1} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			text := "farm: one\nnext_server_id: 100000\nhost_types: {box: {cores: 4, memory: 16GB, disk: 40GB}}\nhosts: [{name: h1, type: box, address: 127.0.0.1}]\n" +
				"pairs:\n  - {name: p, topology: single, sides: {A: {host: h1, port: 3306, datadir: /srv/a}}, shards: [{name: s, disk: 1MB}]}\n"
			if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			a := &app{dir: dir}
			d, err := a.open()
			if err != nil {
				t.Fatal(err)
			}
			from := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
			until := from.Add(time.Minute)
			if err := d.Store.PutRun(store.Run{ID: "move-1", Kind: "move", Subject: "demo", State: store.Done, Started: from, Ended: until}); err != nil {
				t.Fatal(err)
			}
			for side, begin := range []time.Time{from.Add(-30 * time.Second), until}[:sides] {
				for n := range 4 {
					at := begin.Add(time.Duration(n) * (hostWindow + time.Second))
					use := func(name string, cpu, wait float64) []shardload.HostUse {
						return []shardload.HostUse{{Host: farm.HostName(name), Measures: map[string]float64{shardload.HostCPU: cpu, shardload.HostWait: wait, shardload.HostProcessors: 4}}}
					}
					w := report.HostWindows{Seconds: hostWindow.Seconds(), Hosts: hostRows(use("h1", 3-float64(side), 0), at), Machines: hostRows(use("m", 3.5, 1), at), Done: 120}
					if err := d.Store.PutDocument(hostWindowKind, dir, at, w); err != nil {
						t.Fatal(err)
					}
				}
			}
			d.Close()
			stowageIn(t, dir, "report", "--out", "r.html")
			page, err := os.ReadFile(filepath.Join(dir, "r.html"))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"1 host used 3.00 processors before, 1 host 2.00 after: means of 4 windows of 5\u00a0s before and 4 windows of 5\u00a0s after.", "The machine that these hosts share", "transactions a second", "the machine that these hosts share, by the window"} {
				if has := strings.Contains(strings.ReplaceAll(string(page), "&#160;", "\u00a0"), want); has != (sides == 2) {
					t.Errorf("%q in the report: %v", want, has)
				}
			}
		})
	}
}
