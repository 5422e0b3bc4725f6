package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/internal/promtest"
	"stowage/serve"
	"stowage/store"
	"stowage/workspace"
)

// promFarm is a workspace of one host with four days of sizes that due has kept, and a Prometheus.
func promFarm(t *testing.T, url string, now time.Time) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"farm.yaml": "farm: one\nnext_server_id: 10\nhost_types: {box: {cores: 2, memory: 64GB, disk: 2TB, iops: 1000}}\nhosts: [{name: db1, type: box, address: 10.0.0.1}]\n" +
			"pairs:\n  - {name: p, topology: single, sides: {A: {host: db1, port: 3306, datadir: /srv/a}}, shards: [{name: s, disk: 1GB}]}\n",
		"inventory.yaml": "sources:\n  prom: {kind: prometheus, url: '" + url + "'}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := &app{dir: dir}
	d, err := a.open()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for day := -3; day <= 0; day++ {
		at := now.AddDate(0, 0, day)
		y := store.Yield{Levels: []store.Level{{Name: "host db1", Resource: "disk", At: at, Value: 1e9}, {Name: "pair p", Resource: "disk", At: at, Value: 1e9}}}
		if err := d.Store.PutDuty(store.Duty{Task: "sizes", Begun: at, Ended: at, IsDone: true}, y, store.Keep{Hours: 14 * 24 * time.Hour, Days: 400 * 24 * time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCapacityTakesTheLongerHistory, without being asked to: sixty days of a real Prometheus are used where due has kept four, and said; what due alone
// knows stays. --prometheus=false asks nobody.
func TestCapacityTakesTheLongerHistory(t *testing.T) {
	t.Parallel()
	end := time.Now().UTC().Truncate(time.Second) // what is older than five minutes is no level of now
	dir := promFarm(t, promtest.With(t, promtest.Node(end, 60, 1e9, 1e12)), end)
	out := strings.Join(strings.Fields(stowageIn(t, dir, "capacity", "--wide")), " ")
	for _, want := range []string{"host db1 disk 160GB 1TB 1GB/day 8", " prom /srv ", "host db1 cpu 0.5 2 ", "host db1 memory 32GB 64GB ", "host db1 iops 150 1000 ", "pair p disk 1GB ",
		"host db1, disk: taken from prom /srv, which has 60 days; the own history has 3 days"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "host db1 disk 1GB") {
		t.Errorf("the shorter history is there, too:\n%s", out)
	}
	if out = stowageIn(t, dir, "capacity", "--prometheus=false"); strings.Contains(out, "prom") || !strings.Contains(out, "too few samples") {
		t.Errorf("it asked Prometheus:\n%s", out)
	}
}

// TestCapacityGoesOnWithoutPrometheus: one that does not answer is named, and what was kept is forecast; --prometheus insists.
func TestCapacityGoesOnWithoutPrometheus(t *testing.T) {
	t.Parallel()
	dir := promFarm(t, "http://127.0.0.1:1", time.Now().UTC())
	for _, x := range []struct {
		args []string
		code int
	}{{nil, exitFine}, {[]string{"--prometheus"}, exitFailed}} {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), append([]string{"-C", dir, "capacity"}, x.args...), &out, &errOut, nil); code != x.code {
			t.Errorf("%v: exit code %d\n%s", x.args, code, errOut.String())
		}
		if said := errOut.String(); !strings.Contains(said, "prom") || !strings.Contains(said, "connection refused") {
			t.Errorf("%v: %s", x.args, said)
		}
		if x.code == exitFine && !strings.Contains(out.String(), "host db1") {
			t.Errorf("%s", out.String())
		}
	}
}

// capacityJSON is what capacity --json says of this workspace.
func capacityJSON(t *testing.T, dir string) (out capacityAnswer) {
	t.Helper()
	if err := json.Unmarshal([]byte(stowageIn(t, dir, "capacity", "--json")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPagesAskPrometheus as stowage capacity does: its series are in the page, in the JSON of it and in the report, and each says that it was used.
func TestPagesAskPrometheus(t *testing.T) {
	t.Parallel()
	end := time.Now().UTC().Truncate(time.Second)
	dir := promFarm(t, promtest.With(t, promtest.Node(end, 60, 1e9, 1e12)), end)
	if asked := capacityJSON(t, dir).Prometheus; len(asked) != 1 || asked[0].Name != "prom" || asked[0].Series != 4 || asked[0].Used != 4 || asked[0].Fault != "" || len(asked[0].Unknown) != 1 {
		t.Errorf("%+v", asked)
	}
	pages := map[string]string{"report": stowageReport(t, dir), "runway": strings.Join(runwayTexts(t, dir), "\n")}
	for name, text := range pages {
		for _, want := range []string{"prom /srv", "taken from prom /srv, which has 60 days", "of which 4 used"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
	}
}

// TestPagesGoOnWithoutPrometheus: one that answers with an error is named on the page, once asked it is left alone for a while, and what was kept is shown.
func TestPagesGoOnWithoutPrometheus(t *testing.T) {
	t.Parallel()
	asked := 0
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		http.Error(w, "out of memory", http.StatusInternalServerError)
	}))
	defer broken.Close()
	dir := promFarm(t, broken.URL, time.Now().UTC())
	texts := runwayTexts(t, dir)
	for i, text := range texts {
		if !strings.Contains(text, "prom: not used: ") || !strings.Contains(text, "500") || !strings.Contains(text, "host db1") {
			t.Errorf("%d: %.3000s", i, text)
		}
	}
	if asked != 1 {
		t.Errorf("it was asked %d times for two pages", asked)
	}
	if text := stowageReport(t, dir); !strings.Contains(text, "prom: not used: ") {
		t.Error("the report does not name it")
	}
}

// runwayTexts are the page Runway twice, with a change of the store between.
func runwayTexts(t *testing.T, dir string) (out []string) {
	t.Helper()
	a := &app{dir: dir}
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	sources := a.serveSources(ws)
	for range 2 {
		for range 100 {
			shown, err := sources.Runway()
			var reading serve.BeingRead
			if errors.As(err, &reading) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			body, err := json.Marshal(shown.JSON)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(body), `"prometheus":[{"name":"prom"`) {
				t.Errorf("the JSON does not name it: %.500s", body)
			}
			out = append(out, string(shown.Piece.Body))
			break
		}
		keepLevel(t, a, time.Now())
	}
	return out
}

// TestAnEmptiedHostHasNoForecast: its data was moved away, it is still in farm.yaml, and the last size that due kept of it is of then.
func TestAnEmptiedHostHasNoForecast(t *testing.T) {
	t.Parallel()
	dir := promFarm(t, "http://127.0.0.1:1", time.Now().UTC())
	file := filepath.Join(dir, "farm.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.NewReplacer("{host: db1", "{host: db2", "hosts: [", "hosts: [{name: db2, type: box, address: 10.0.0.2}, ").Replace(string(text))
	if err := os.WriteFile(file, []byte(moved), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range capacityJSON(t, dir).Rows {
		if r.Name == "db1" {
			t.Errorf("%+v", r)
		}
	}
	if text := metricsText(t, dir); strings.Contains(text, `"db1"`) || !strings.Contains(text, `name="p"`) {
		t.Error(text)
	}
}

func keepLevel(t *testing.T, a *app, at time.Time) {
	t.Helper()
	d, err := a.open()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	y := store.Yield{Levels: []store.Level{{Name: "pair p", Resource: "disk", At: at, Value: 2e9}}}
	if err := d.Store.PutDuty(store.Duty{Task: "sizes", Begun: at, Ended: at, IsDone: true}, y, store.Keep{Hours: 24 * 14 * time.Hour, Days: 400 * 24 * time.Hour}); err != nil {
		t.Fatal(err)
	}
}

func stowageReport(t *testing.T, dir string) string {
	t.Helper()
	stowageIn(t, dir, "report")
	text, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
