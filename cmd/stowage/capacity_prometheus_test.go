package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/internal/promtest"
	"stowage/store"
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
