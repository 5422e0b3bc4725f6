package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/browsertest"
	"stowage/internal/turns"
	"stowage/inventory"
	"stowage/route"
)

// TestServePairs: Moves shows the pairs without any run, with who is in rotation by routing.json, how far servers were behind when an inventory asked, and what a
// run does to them.
func TestServePairs(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/workspace")); err != nil {
		t.Fatal(err)
	}
	s := serveNow(t, dir)
	s.enter()
	has := func(what string, wants ...string) {
		t.Helper()
		var text string
		farmtest.Await(t, what, func() bool {
			_, text = s.get("/moves")
			for _, want := range wants {
				if !strings.Contains(text, want) {
					return false
				}
			}
			return true
		})
	}
	has("no run, no routing, no inventory", "No move has been begun", `<section id="topology">`, "2 pairs on 4 hosts.", ">A  db001:3306<", "4 serves: takes clients", "there is no routing.json yet", "no inventory has asked them",
		"<td>dbshard001</td><td>active-active</td><td>db001:3306</td><td>serves</td>")

	router := route.NewFile(filepath.Join(dir, "routing.json"))
	if err := router.Create(map[farm.PairName]*route.Pair{
		"dbshard001": route.NewPair(nil, "10.0.0.1:3306", "10.0.0.2:3306"), "dbshard002": route.NewPair(nil, "10.0.0.3:3306", "10.0.0.4:3306")}); err != nil {
		t.Fatal(err)
	}
	has("routing at rest", "50\u00a0% serves")
	if err := router.Change(t.Context(), "dbshard002", func(p *route.Pair) error { p.CloseGate("A"); return nil }); err != nil {
		t.Fatal(err)
	}
	has("a closed gate", "50\u00a0% gate closed", `<g class="card held">`)

	if err := os.MkdirAll(filepath.Join(dir, ".stowage"), 0o700); err != nil {
		t.Fatal(err)
	}
	x := openTeller(t, dir)
	late, fine := 75.0, 0.0
	inv := inventory.Inventory{FormatVersion: inventory.FormatVersion, Farm: "small", Taken: time.Now().Add(-3 * time.Hour), Instances: []inventory.Instance{
		{Name: "dbshard001a", Pair: "dbshard001", Side: "A", Behind: &fine}, {Name: "dbshard001b", Pair: "dbshard001", Side: "B", Behind: &late}, {Name: "dbshard002b", Pair: "dbshard002", Side: "B", Error: "connection refused"}}}
	if err := x.store.PutDocument("inventory", "small", time.Now(), inv); err != nil {
		t.Fatal(err)
	}
	has("an inventory", "50\u00a0% behind, 75 s", "no answer: connection refused", "3 h ago")
	if err := x.store.Close(); err != nil {
		t.Fatal(err)
	}
	tellMove(t, dir)
	has("a run", "at work: out", "dbshard001/A")
}

// TestServeOfALargeFarm: the pages of a farm of 12,000 hosts and 96,000 shards hold no more than a browser shows at once, and are answered before the farm's plan is read.
func TestServeOfALargeFarm(t *testing.T) {
	turns.Heavy(t, 10)
	dir := t.TempDir()
	var text bytes.Buffer
	text.WriteString("farm: large\nnext_server_id: 100000\nhost_types:\n  old: {disk: 4TB, memory: 96GB, cores: 16, iops: 1800, network: 1Gbit, watts: 200, price: 4000}\nhosts:\n")
	const pairs, shards = 6000, 16
	for i := range 2 * pairs {
		fmt.Fprintf(&text, "  - {name: old%05d, type: old, address: 10.%d.%d.%d, labels: {rack: r%03d}}\n", i, i/62500, i/250%250, i%250, i/40)
	}
	text.WriteString("pairs:\n")
	for i := range pairs {
		fmt.Fprintf(&text, "  - name: shop%05d\n    topology: active-active\n    sides:\n      A: {host: old%05d, port: 3306, datadir: /srv/a}\n      B: {host: old%05d, port: 3306, datadir: /srv/b}\n    shards:\n", i, 2*i, 2*i+1)
		for k := range shards {
			fmt.Fprintf(&text, "      - {name: s%05d_%02d, disk: %dGB, growth: 40MB/day, memory: 4GB, cpu: 0.07, iops: 55}\n", i, k, 20+(i+k)%30)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	s := serveNow(t, dir)
	s.http.Timeout = 5 * time.Minute
	s.enter()
	for _, c := range []struct {
		path      string
		kilobytes int
		elements  int
		wants     []string
	}{
		{"/", 30, 400, []string{"12000", "96000 shards in 6000 pairs"}},
		{"/moves", 300, 8000, []string{"6,000 pairs on 12,000 hosts.", `href="/moves?group=r123"`, "By rack: 300", "View as table: r000 to r059"}},
		{"/moves?group=r123", 80, 1500, []string{"rack r123: 20 pairs on 40 hosts.", "shop02460", `<a href="?" data-key="all-pairs">`}},
		{"/load", 300, 5000, []string{"96,000 shards.", `<a href="/load?group=r123">r123</a>`, "By rack: 300"}},
		{"/load?group=r123", 300, 6000, []string{"320 shards in rack r123.", "s02460_00", `<a href="?">All shards</a>`}},
		{"/load?group=nowhere", 20, 200, []string{"There is no shard in rack nowhere."}},
		{"/plan", 20, 200, []string{"There is no plan"}},
	} {
		var status int
		var page string
		farmtest.Await(t, c.path+" is read", func() bool { status, page = s.get(c.path); return !strings.Contains(page, "Being read:") })
		elements := strings.Count(page, "<") - strings.Count(page, "</")
		if status != http.StatusOK || len(page) > c.kilobytes<<10 || elements > c.elements {
			t.Errorf("%s: %d, %d kB, %d elements; want %d and %d at most", c.path, status, len(page)>>10, elements, c.kilobytes, c.elements)
		}
		for _, want := range c.wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not have %q", c.path, want)
			}
		}
	}
	t.Run("in a browser", func(t *testing.T) { loadOfALargeFarm(t, serveNow(t, dir)) })
}

// loadOfALargeFarm goes from the page on load to a group and opens its table. How long that takes is logged: a test is no stopwatch.
func loadOfALargeFarm(t *testing.T, s *servedScene) {
	w := &browsertest.Site{Page: browsertest.Drive(t), Base: s.base}
	w.Visit(s.link)
	w.Loaded()
	var painted, opened, elements float64
	look := func(page string) {
		farmtest.Await(t, page+" is read", func() (isThere bool) {
			w.Open(page)
			w.Eval("document.querySelector('#all details') !== null", &isThere)
			return isThere
		})
		w.Eval("new Promise((r) => new PerformanceObserver((l) => r(l.getEntries()[0].startTime)).observe({type: 'paint', buffered: true}))", &painted)
		w.Eval("document.querySelectorAll('*').length", &elements)
		w.Eval(`(() => { var d = document.querySelector('#all details'), from = performance.now(); d.open = true; d.getBoundingClientRect();
			return new Promise((r) => requestAnimationFrame(() => setTimeout(() => r(performance.now() - from)))); })()`, &opened)
		t.Logf("%s: %.0f elements, first picture after %.0f ms, its table is open after %.0f ms", page, elements, painted, opened)
	}
	look("/load")
	var link string
	w.Eval("document.querySelector('#all a[href]').getAttribute('href')", &link)
	look(link)
	var rows int
	if w.Eval("document.querySelectorAll('#all tbody tr').length", &rows); rows != 320 {
		t.Errorf("%s has %d rows, want the 320 shards of its pairs", link, rows)
	}
}

// TestSeenSoon: what takes long is begun once, named as being read meanwhile, and made again when it failed.
func TestSeenSoon(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	var s seen[int]
	begun, goOn := 0, make(chan struct{})
	slow := func() (int, error) {
		begun++ // one at a time
		<-goOn
		return 7, nil
	}
	for range 2 {
		if _, err := s.soon("plan x", slow, file); err == nil || err.Error() != "plan x, 2 B: it is being read" {
			t.Fatalf("what is not there yet: %v", err)
		}
	}
	close(goOn)
	for range 2 {
		if got, err := s.of(slow, file); got != 7 || err != nil {
			t.Errorf("then: %d, %v", got, err)
		}
	}
	if begun != 1 {
		t.Errorf("it was begun %d times", begun)
	}
	if err := os.WriteFile(file, []byte("{} "), 0o644); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("it is not JSON")
	if _, err := s.soon("plan x", func() (int, error) { return 0, failed }, file); !errors.Is(err, failed) {
		t.Errorf("what fails: %v", err)
	}
	if got, err := s.soon("plan x", func() (int, error) { return 8, nil }, file); got != 8 || err != nil {
		t.Errorf("made again: %d, %v", got, err)
	}

	// A file that changes more often than it can be read: one reading at a time, and the page shows what was there before.
	begun, goOn = 0, make(chan struct{})
	for i := range 2 {
		if err := os.WriteFile(file, bytes.Repeat([]byte("{}"), 3+i), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := s.soon("plan x", slow, file); got != 8 || err != nil {
			t.Errorf("while a newer one is read: %d, %v", got, err)
		}
	}
	close(goOn)
	if got, err := s.of(slow, file); got != 7 || err != nil || begun > 2 {
		t.Errorf("then: %d, %v, begun %d times", got, err, begun)
	}
}
