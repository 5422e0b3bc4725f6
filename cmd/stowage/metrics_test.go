package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/capacity"
	"stowage/digest"
	"stowage/farm"
	"stowage/internal/turns"
	"stowage/metrics"
)

const prometheusDir = "../../packaging/prometheus"

// promtool runs Prometheus' own judge; where it is not installed the test says so.
func promtool(t *testing.T, in []byte, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("NOT TESTED: promtool is not installed (apt-get install prometheus)")
	}
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Stdin = bytes.NewReader(in)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// everyMetric are facts that give each family a sample.
func everyMetric() []metrics.Family {
	mid, change, age := 100.0, 2.0, 3600.0
	at := time.Unix(1_790_000_000, 0)
	return metrics.Families(metrics.Facts{
		Version: "1 \"x\"\\", Farm: "small\nfarm", PerShard: true, TopClasses: 1, Unended: 1,
		Tasks: []metrics.Task{{Name: "load", Every: time.Hour, DoneAt: at, Took: time.Second, Done: 3, Failed: 1}},
		Sizes: []metrics.Size{{Kind: "shard", Name: "s1", Bytes: 1e12}},
		Rows: []capacity.Row{
			{Kind: capacity.OfHost, Name: "db001", Resource: farm.Disk, Forecast: capacity.Forecast{Limit: 1e12, Days: &capacity.Days{Low: 10, Mid: &mid}}},
			{Kind: capacity.OfHost, Name: "db002", Resource: farm.Disk, Forecast: capacity.Forecast{Limit: 1e12}},
		},
		Sources:  &metrics.Sources{Names: []string{"farm", "live"}, Stale: []string{"live"}, Conflicts: map[string]int{"instance.address": 2}},
		Backups:  []metrics.Backup{{Pair: "p1", Age: &age, ProvenAge: &age, Upto: &at, Bytes: 1}, {Pair: "p2"}},
		Reshapes: []metrics.Reshape{{Spec: "latest-version", Tenants: map[string]int{"active": 1}, Oldest: &age}},
		Findings: []farm.Finding{{Check: "reachable", Severity: farm.Blocker}},
		Load:     &digest.OverTime{Until: at, Load: 2, Classes: []digest.ClassLoad{{Checksum: "A", Load: 1, Change: &change}, {Checksum: "B"}}, Shards: []digest.ShardLoad{{Shard: "s1", Load: 1}}},
	})
}

// TestMetricsPassPromtool: names, types, help and text, of all families and of a new workspace.
func TestMetricsPassPromtool(t *testing.T) {
	var text bytes.Buffer
	if err := metrics.Write(&text, everyMetric()); err != nil {
		t.Fatal(err)
	}
	for _, f := range everyMetric() {
		if len(f.Samples) == 0 {
			t.Errorf("%s has no sample here, so that promtool does not see it", f.Name)
		}
	}
	if !strings.Contains(text.String(), `stowage_runway_seconds{kind="host",name="db001",resource="disk",bound="high"} +Inf`) || strings.Contains(text.String(), `name="db002",resource="disk",bound`) || strings.Contains(text.String(), `_age_seconds{pair="p2"}`) {
		t.Errorf("no bound is +Inf and not known is absent:\n%s", text.String())
	}
	promtool(t, text.Bytes(), "check", "metrics")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/workspace")); err != nil {
		t.Fatal(err)
	}
	promtool(t, []byte(stowageIn(t, dir, "metrics")), "check", "metrics")
}

func TestAlertRulesPassPromtool(t *testing.T) {
	turns.One(t, 8)
	promtool(t, nil, "check", "rules", "--lint=all", "--lint-fatal", filepath.Join(prometheusDir, "alerts.yaml"))
	promtool(t, nil, "test", "rules", filepath.Join(prometheusDir, "alerts_test.yaml"))
}

// TestRulesAndDashboardNameWhatIsExported, and the dashboard is one that Grafana can import.
func TestRulesAndDashboardNameWhatIsExported(t *testing.T) {
	var exported []string
	for _, f := range everyMetric() {
		exported = append(exported, f.Name)
	}
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		text, err := os.ReadFile(filepath.Join(prometheusDir, name))
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile(`\bstowage_[a-z_]+`).FindAllString(string(text), -1)
		if len(named) < 8 {
			t.Errorf("%s names %d metrics", name, len(named))
		}
		for _, metric := range named {
			if !slices.Contains(exported, metric) {
				t.Errorf("%s asks for %s, which is not exported", name, metric)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(prometheusDir, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		UID           string
		SchemaVersion int
		Panels        []struct {
			ID      int
			Targets []struct{ Expr string }
			GridPos struct{ X, W int }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil || d.UID == "" || d.SchemaVersion < 25 {
		t.Fatalf("%v, %+v", err, d)
	}
	seen := map[int]bool{}
	for _, p := range d.Panels {
		if seen[p.ID] || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d: twice, empty or too wide", p.ID)
		}
		seen[p.ID] = true
	}
}
