package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/workspace"
)

const measuredFarm = `farm: f
host_types:
  t: {cores: 4, memory: 8GiB, disk: 1TB}
hosts:
  - {name: db1, type: t, address: 10.0.0.1}
  - {name: db2, type: t, address: 10.0.0.2}
pairs:
  - name: p1
    topology: active-active
    sides:
      A: {host: db1, port: 3306, datadir: /data/p1a}
      B: {host: db2, port: 3306, datadir: /data/p1b}
    shards:
      # the large one
      - {name: s1, disk: 48GB, growth: 40MB/day, cpu: 0.07} # typed in May
      - {name: s2, disk: 1GB,  cpu: 0.5}
next_server_id: 10
`

// What was measured stays measured until somebody types another value.
func TestMeasuredFiguresAreKnownByTheirValue(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte(measuredFarm), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	evidence := func() string {
		t.Helper()
		m, err := w.Measured()
		if err != nil {
			t.Fatal(err)
		}
		f, err := w.Farm()
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, e := range m.Evidence(f) {
			lines = append(lines, e.String())
		}
		return strings.Join(lines, "\n")
	}
	if got := evidence(); got != "" {
		t.Errorf("nothing was measured, and the evidence is\n%s", got)
	}
	err = w.EditFarm(func(e *workspace.Edit) error {
		e.SetShardNeeds("s1", farm.Resources{farm.Disk: 48e9, farm.CPU: 0.12})
		e.SetShardGrowth("s1", 12e6)
		e.SetShardGrowth("s2", 1e6)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := w.Measured()
	m.Shards["s1"] = workspace.MeasuredShard{At: time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC), Seconds: 600, Figures: farm.Resources{farm.CPU: 0.12, workspace.Growth: 12e6}}
	m.Shards["s2"] = workspace.MeasuredShard{At: time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC), Seconds: 600, Figures: farm.Resources{farm.CPU: 0.4, workspace.Growth: 1e6}}
	if err := w.SaveMeasured(m); err != nil {
		t.Fatal(err)
	}
	want := "cpu: measured for 1 shard (2026-11-25), typed for 1 shard (s2)\ndisk: typed for 2 shards (s1, s2)\ngrowth: measured for 2 shards (2026-11-24 to 2026-11-25)"
	if got := evidence(); got != want {
		t.Errorf("evidence\n%s\nwant\n%s", got, want)
	}
	text, err := os.ReadFile(filepath.Join(dir, "farm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"      # the large one\n", "      - {name: s1, disk: 48GB, growth: 12MB/day, cpu: 0.12} # typed in May\n"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("farm.yaml lacks %q:\n%s", line, text)
		}
	}
}

func TestMeasuredThatCannotBeReadIsSaid(t *testing.T) {
	for _, text := range []string{"{", `{"format_version": 2}`, "[]"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "measured.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte(measuredFarm), 0o644); err != nil {
			t.Fatal(err)
		}
		w, err := workspace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Measured(); err == nil || !strings.Contains(err.Error(), "measured.json") || farm.Hint(err) == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
}
