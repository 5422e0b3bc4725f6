package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/backup/catalogue"
	"stowage/backup/kept"
	"stowage/backup/window"
	"stowage/engine"
	"stowage/farm"
	"stowage/internal/turns"
	"stowage/store"
	"stowage/vault"
)

// backedWorkspace is one with two pairs, of which a run has backed up both and another has verified the first.
func backedWorkspace(t *testing.T) string {
	t.Helper()
	dir := emptyOfBackups(t)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	sayBackup(t, dir)
	check(os.Mkdir(filepath.Join(dir, ".stowage"), 0o700))
	x := openTeller(t, dir)
	defer x.store.Close()
	began := time.Now().UTC().Truncate(time.Second).Add(-5 * time.Hour)
	job := engine.Job{ID: "backup-all-1", Kind: "backup"}
	for n, b := range []catalogue.Backup{
		{Pair: "dbshard001", Side: farm.B, Instance: "dbshard001b", On: "db002", Raw: 100e9, Bytes: 31e9, Seconds: 240},
		{Pair: "dbshard002", Side: farm.A, Instance: "dbshard002a", On: "db003", Raw: 30e9, Bytes: 9e9, Seconds: 90},
	} {
		b.ID, b.Farm, b.Kind, b.Host, b.Place = string(b.Instance)+"/20261124T060000Z-full", "small", catalogue.Full, "ssd01", vault.Place{Dir: "/srv/backup"}
		b.Began = began.Add(time.Duration(n) * time.Minute)
		b.At = b.Began.Add(time.Duration(b.Seconds) * time.Second)
		check(kept.Put(x.store, b, b.At))
		args, err := json.Marshal(map[string]any{"runbook": "copy", "backup": b})
		check(err)
		job.Lanes = append(job.Lanes, engine.Lane{Name: string(b.Instance), Parts: []engine.Part{{Subject: string(b.Instance), Args: args}}})
	}
	check(x.store.PutRun(store.Run{ID: job.ID, Kind: "backup", Subject: "all", State: store.Done, Started: began, Ended: began.Add(5 * time.Minute)}))
	check(x.store.PutDocument("job", job.ID, began, job))

	verify := store.Run{ID: "restore-dbshard001-1", Kind: "restore", Subject: "dbshard001", State: store.Done, Started: began.Add(time.Hour), Ended: began.Add(2 * time.Hour)}
	check(x.store.PutRun(verify))
	r := x.store.Record()
	r.Add(farm.Event{Run: verify.ID, Time: began.Add(time.Hour), Pair: "dbshard001", Side: farm.B, Step: "preflight", Kind: farm.StepStarted, Number: 1, Of: 8})
	check(r.Close())
	at := began.Add(time.Hour + 155*time.Second)
	for _, rows := range []int64{0, 4711} { // as a verification keeps it before it compares, and behind that
		check(x.store.PutDocument("restored", verify.ID+" dbshard001b-restored-1", at, map[string]any{"instance": "dbshard001b-restored-1", "backup": "dbshard001b/20261124T060000Z-full", "rows_compared": rows}))
	}
	check(kept.Proven(x.store, "dbshard001b/20261124T060000Z-full", at))
	check(x.store.PutRun(store.Run{ID: "restore-dbshard002-1", Kind: "restore", Subject: "dbshard002", State: store.Done, Started: began.Add(time.Hour)}))
	check(x.store.PutDocument("restored", "restore-dbshard002-1 dbshard002a-restored-1", at, map[string]any{"instance": "dbshard002a-restored-1", "backup": "dbshard002a/20261124T060000Z-full"}))
	return dir
}

// sayBackup gives farm.yaml a place for backups.
func sayBackup(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "farm.yaml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "farm.yaml"), append(text, "backup: {dir: /srv/backup, host: ssd01}\n"...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// emptyOfBackups is a workspace in which nobody has thought of backups.
func emptyOfBackups(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/workspace")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestServeBackups: grid, table, lanes of the run that was and findings, in a page, in its JSON, in the report and for Prometheus; and what to do where there is nothing.
func TestServeBackups(t *testing.T) {
	dir := backedWorkspace(t)
	s := serveNow(t, dir)
	s.enter()
	wants := []string{`title="dbshard001: proven 3 h ago: dbshard001b/20261124T060000Z-full`, `title="dbshard002: unproven; newest backup`, "4,711", "2 min 35 s", "Run backup-all-1 has made 2 backups, 130 GB, in 4 min 0 s",
		"dbshard002, side A on db003: 30 GB in 1 min 30 s, from 1 min 0 s on, full", "ssd01:/srv/backup", "binlogs-behind"}
	status, page := s.get("/backups")
	if status != http.StatusOK || strings.Contains(page, "Cannot be read") {
		t.Fatalf("%d\n%.2000s", status, page)
	}
	for _, want := range append(wants, "stowage -C "+dir+" backup status", "1 of 2 pairs without a fresh proof.") {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if _, text := s.get("/report"); !strings.Contains(text, `<section id="backups">`) || !strings.Contains(text, "4,711") || !strings.Contains(text, `id="chart-window-t"`) {
		t.Error("the report has no backups")
	}
	var facts knownBackup
	if _, raw := s.get("/api/backups"); json.Unmarshal([]byte(raw), &facts) != nil || len(facts.Verified) != 1 || facts.Verified[0].Seconds != 155 || facts.Verified[0].Rows != 4711 || facts.Run != "backup-all-1" ||
		len(facts.Made) != 2 || len(facts.Pairs) != 2 || facts.Pairs[0].Newest.At != facts.Made[0].At || len(facts.Window.Now.Backups) != 2 || facts.Window.Now.Limits.Sink != window.Host {
		t.Errorf("%+v", facts)
	}
	text := stowageIn(t, dir, "metrics")
	for _, want := range []string{`stowage_backup_age_seconds{pair="dbshard002"} 178`, `stowage_backup_proven_age_seconds{pair="dbshard001"} `, `stowage_backup_bytes{pair="dbshard001"} 3.1e+10`, `stowage_backup_restorable_until_timestamp_seconds{pair="dbshard002"} `} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics do not have %q", want)
		}
	}
	if strings.Contains(text, `stowage_backup_proven_age_seconds{pair="dbshard002"}`) {
		t.Error("what was never proven has an age of its proof")
	}
	promtool(t, []byte(text), "check", "metrics")

	s = serveNow(t, emptyOfBackups(t))
	s.enter()
	if status, page := s.get("/backups"); status != http.StatusOK || !strings.Contains(page, "backup: {dir: /srv/backup}") || !strings.Contains(page, "stowage backup verify") {
		t.Errorf("where there is nothing: %d\n%.600s", status, page)
	}
	if status, raw := s.get("/api/backups"); status != http.StatusNotFound || !strings.Contains(raw, "stowage backup run") {
		t.Errorf("where there is nothing: %d %s", status, raw)
	}
	if _, page := s.get("/report"); strings.Contains(page, `id="backups"`) {
		t.Error("the report of a farm without backups has a section on them")
	}
}

// TestBackupsBesideAPlan: a report on a plan has the window before and after it, on paper, and pairs without a backup are told by name.
func TestBackupsBesideAPlan(t *testing.T) {
	dir := servedWorkspace(t)
	sayBackup(t, dir)
	s := serveNow(t, dir)
	s.enter()
	if _, text := s.get("/report"); !strings.Contains(text, "The window before and after plan first") || !strings.Contains(text, `id="chart-window-after-t"`) || !strings.Contains(text, "dbshard001, side A on db001") || !strings.Contains(text, "dbshard001, side A on ssd0") {
		t.Error("the report has no window before and after the plan")
	}
	if _, page := s.get("/backups"); !strings.Contains(page, "No backup.") || !strings.Contains(page, "Take them: stowage backup run") || !strings.Contains(page, `class="rollhost none"`) {
		t.Error("the page does not say that nothing can be restored, and what to do")
	}
	if text := stowageIn(t, dir, "metrics"); !strings.Contains(text, `stowage_backup_bytes{pair="dbshard001"} 0`) || strings.Contains(text, "stowage_backup_age_seconds{") {
		t.Error("what is not there has an age")
	}
}

// TestServeBackupsInABrowser: the console is silent, and the grid and the lanes are drawn.
func TestServeBackupsInABrowser(t *testing.T) {
	turns.One(t, 8)
	t.Parallel() // it mostly waits
	s := serveNow(t, backedWorkspace(t))
	s.enter()
	drawnInABrowser(t, standBetween(t, s, "data:").URL+"/backups", `class="rollhost unproven"`, `id="chart-window-t"`, ">live<", `aria-current="page"`)
}
