package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/engine"
	egnyte "stowage/examples/egnyte-files"
	"stowage/internal/turns"
	"stowage/mysql/latest"
	"stowage/reshape"
	"stowage/store"
)

// reshapedWorkspace is one with tenants in two shards, looked at an hour ago, and two waves. A third shard is not the spec's any more.
func reshapedWorkspace(t *testing.T) string {
	t.Helper()
	dir := emptyOfBackups(t)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.MkdirAll(filepath.Join(dir, "reshape"), 0o755))
	check(os.WriteFile(filepath.Join(dir, "reshape/latest-version.yaml"), []byte("shards: [shard_0001, shard_0003]\n"+egnyte.Spec), 0o644))
	check(os.Mkdir(filepath.Join(dir, ".stowage"), 0o700))
	x := openTeller(t, dir)
	defer x.store.Close()
	at := time.Now().UTC().Truncate(time.Second).Add(-time.Hour)
	for shard, flags := range map[string][]latest.Flags{
		"shard_0001": {{ID: "17", Migrated: true, Active: true}, {ID: "18", Migrated: true}, {ID: "19"}},
		"shard_0002": {{ID: "99", Migrated: true, Active: true}},
		"shard_0003": {{ID: "20"}, {ID: "21", Migrated: true, Active: true}},
	} {
		check(x.store.ReplaceDocument("flags of reshape", "latest-version "+shard, at, map[string]any{"at": at, "flags": flags}))
	}
	record := func(tenant string, hours int, r reshape.Record) {
		verified := time.Now().UTC().Add(-time.Duration(hours) * time.Hour)
		r.VerifiedAt = &verified
		check(x.store.PutDocument("reshaped tenant", "latest-version "+tenant, verified, r))
	}
	record("shard_0001/17", 3, reshape.Record{Rows: 4711, Normalised: 5700, Denormalised: 475})
	record("shard_0001/18", 2, reshape.Record{Rows: 1200})
	record("shard_0003/20", 5, reshape.Record{Rows: 300, Mismatches: 2, Keys: []latest.Key{{"70001"}, {"70002"}}})
	record("shard_0003/21", 240, reshape.Record{Rows: 50})
	for n, members := range []map[string][]reshape.Member{
		{"dbshard001": {{Shard: "shard_0001", Tenant: "17"}}},
		{"dbshard001": {{Shard: "shard_0001", Tenant: "18"}}, "dbshard002": {{Shard: "shard_0003", Tenant: "20"}, {Shard: "shard_0003", Tenant: "21"}}},
	} {
		run := store.Run{ID: "reshape-latest-version-" + string(rune('1'+n)), Kind: reshape.Name, Subject: "latest-version", State: store.Done, Started: at.Add(time.Duration(n-9) * time.Hour)}
		run.Ended = run.Started.Add(155 * time.Second)
		check(x.store.PutRun(run))
		job := engine.Job{ID: run.ID, Kind: reshape.Name}
		for _, pair := range []string{"dbshard001", "dbshard002"} {
			if len(members[pair]) > 0 {
				args, err := json.Marshal(map[string]any{"key": run.ID, "pair": pair})
				check(err)
				job.Lanes = append(job.Lanes, engine.Lane{Name: pair, Parts: []engine.Part{{Subject: pair, Args: args}}})
			}
		}
		check(x.store.PutDocument("job", run.ID, run.Started, job))
		check(x.store.PutDocument("wave of reshape", run.ID, run.Started, map[string]any{"members": members}))
	}
	return dir
}

// TestServeReshape: cells by flag, rows that are wrong, waves and times, in a page, in its JSON, in the report and for Prometheus; and what to do where nobody has looked.
func TestServeReshape(t *testing.T) {
	dir := reshapedWorkspace(t)
	s := serveNow(t, dir)
	s.enter()
	status, page := s.get("/reshape")
	if status != http.StatusOK || strings.Contains(page, "Cannot be read") {
		t.Fatalf("%d\n%.2000s", status, page)
	}
	for _, want := range []string{"1 tenant wrong.", "1 not migrated, 1 migrated, 2 active, 1 wrong.", "Flags are those that the servers had 60 min ago",
		`class="rollhost active" title="shard_0001/17: active; 4,711 rows compared 3 h ago; snapshot in 475 ms instead of 5,700 ms"`, `class="rollhost wrong" title="shard_0003/20: wrong; 300 rows compared 5 h ago; 2 of its 300 rows differ from their latest child; the first is 70001"`,
		"70001, 70002", "reshape-latest-version-1", "2 min 35 s", `id="chart-times-t"`, "12.0\u00d7 as fast", "stowage -C " + dir + " reshape status", "10 days ago"} {
		if !strings.Contains(strings.ReplaceAll(page, "&#215;", "\u00d7"), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "shard_0002") {
		t.Error("the page has a shard that the spec does not take any more")
	}
	if _, text := s.get("/report"); !strings.Contains(text, `<section id="reshape">`) || !strings.Contains(text, "70001, 70002") {
		t.Error("the report has no section on it")
	}
	var facts struct {
		Specs []knownSpec `json:"specs"`
	}
	_, raw := s.get("/api/reshape")
	if err := json.Unmarshal([]byte(raw), &facts); err != nil || len(facts.Specs) != 1 || len(facts.Specs[0].Shards) != 2 || len(facts.Specs[0].Waves) != 2 {
		t.Fatalf("%v\n%s", err, raw)
	}
	x := facts.Specs[0]
	if first := x.Shards[0].Tenants[0]; first.ID != "17" || !first.Active || first.Rows != 4711 || first.Denormalised != 475 || x.Shards[1].Pair != "dbshard002" {
		t.Errorf("%+v", x.Shards)
	}
	if w := x.Waves[0]; w.Run != "reshape-latest-version-2" || w.Tenants != 3 || w.Right != 2 || w.Wrong != 1 || w.Rows != 1550 {
		t.Errorf("%+v", w)
	}
	text := stowageIn(t, dir, "metrics")
	for _, want := range []string{`stowage_reshape_tenants{spec="latest-version",state="wrong"} 1`, `stowage_reshape_tenants{spec="latest-version",state="active"} 2`, `stowage_reshape_tenants{spec="latest-version",state="not migrated"} 1`, `stowage_reshape_oldest_comparison_seconds{spec="latest-version"} 864`} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics do not have %s\n%s", want, text)
		}
	}

	// A spec that cannot be read hides nothing.
	if err := os.WriteFile(filepath.Join(dir, "reshape/latest-version.yaml"), []byte("nonsense"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, page := s.get("/reshape"); !strings.Contains(page, "1 tenant wrong.") || !strings.Contains(page, "shard_0002") {
		t.Error("with a spec that cannot be read the page does not show what is kept")
	}

	s = serveNow(t, emptyOfBackups(t))
	s.enter()
	if status, page := s.get("/reshape"); status != http.StatusOK || !strings.Contains(page, "reads the flags of all tenants") {
		t.Errorf("where nobody has looked: %d", status)
	}
	if status, raw := s.get("/api/reshape"); status != http.StatusNotFound || !strings.Contains(raw, "stowage reshape status") {
		t.Errorf("where nobody has looked: %d %s", status, raw)
	}
	if _, page := s.get("/report"); strings.Contains(page, `id="reshape"`) {
		t.Error("the report of a farm without a reshape has a section on it")
	}
}

// TestServeReshapeInABrowser: the console is silent, cells and marks are drawn.
func TestServeReshapeInABrowser(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	s := serveNow(t, reshapedWorkspace(t))
	s.enter()
	drawnInABrowser(t, standBetween(t, s, "data:").URL+"/reshape", `class="rollhost migrated"`, `class="line dot la"`, ">live<", `aria-current="page"`)
}
