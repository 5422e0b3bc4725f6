package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/report"
	"stowage/session"
	"stowage/store"
)

// runwayFarm is a workspace of a farm of so many hosts, two shards to a pair, with the sizes of sixty days that due has kept.
func runwayFarm(t testing.TB, hosts int) string {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("farm: wide\nnext_server_id: 1\nhost_types: {box: {cores: 4, memory: 16GB, disk: 1TB}}\nhosts:\n")
	for h := range hosts {
		fmt.Fprintf(&b, "  - {name: h%05d, type: box, address: 10.%d.%d.1}\n", h, h/256, h%256)
	}
	b.WriteString("pairs:\n")
	for p := range hosts / 2 {
		fmt.Fprintf(&b, "  - {name: p%05d, topology: active-active, sides: {A: {host: h%05d, port: 3306, datadir: /a}, B: {host: h%05d, port: 3306, datadir: /a}}, shards: [{name: s%05da, disk: 100GB}, {name: s%05db, disk: 100GB}]}\n", p, 2*p, 2*p+1, p, p)
	}
	if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{dir: dir}
	d, err := a.open()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r := rand.New(rand.NewPCG(5, 5))
	end := time.Now().UTC().Truncate(24 * time.Hour)
	var y store.Yield
	for name := range subjects(d.Farm) {
		level := 2e11
		for day := range 60 {
			level += 1e9 * (0.5 + r.Float64())
			y.Levels = append(y.Levels, store.Level{Name: name, Resource: "disk", At: end.AddDate(0, 0, day-60), Value: level})
		}
	}
	if err := d.Store.PutDuty(store.Duty{Task: "sizes", Begun: end, Ended: end, IsDone: true}, y, store.Keep{Hours: 24 * 400, Days: 400}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runwayPage makes the page as serve does when the store has changed.
func runwayPage(t testing.TB, d *session.Session, a *app) report.Piece {
	t.Helper()
	f := report.KnowFacts{Farm: d.Farm, Made: time.Now()}
	if _, err := a.knownRunway(t.Context(), d, &f); err != nil {
		t.Fatal(err)
	}
	p, err := report.NewRunwayDocument(f).Piece()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRunwayOfWhatDueHasKept: the sizes that due keeps become forecasts on the page, without an inventory.
func TestRunwayOfWhatDueHasKept(t *testing.T) {
	dir := runwayFarm(t, 4)
	a := &app{dir: dir}
	d, err := a.open()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	text := string(runwayPage(t, d, a).Body)
	for _, want := range []string{"host h00000", "pair p00001", "shard s00000a", "60"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(text, "too few samples") {
		t.Error("sixty days are too few")
	}
}

// BenchmarkRunway is the page of a farm of 1,000 hosts: 2,500 forecasts.
func BenchmarkRunway(b *testing.B) {
	dir := runwayFarm(b, 1000)
	a := &app{dir: dir}
	d, err := a.open()
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	for b.Loop() {
		runwayPage(b, d, a)
	}
}
