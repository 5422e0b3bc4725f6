package steer

import (
	"slices"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/internal/browsertest"
)

// Somebody looks at every page in Chromium while a move copies under load and
// then waits for a person: Moves shows by itself how the copy goes on, the
// console is silent, nothing is asked of another address, axe finds nothing,
// and the tab key comes to everything.
func TestPagesInABrowserBesideAMove(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	f.Goals("soak: 50ms\nbudgets: {disk_write: 1MB/s}\n")
	f.Must("plan", "--name", "slow")
	base, link := farmtest.ServePages(t, f.Dir)
	w := &browsertest.Site{Page: browsertest.Drive(t), Base: base}
	w.Visit(link)
	w.Loaded() // the page that entering leads to
	b := f.Start("move", "slow", "--approve-before", "retire")
	f.Await(b, "bytes move", func() bool { return f.Copied() > 0 })

	w.Open("/moves")
	lanes := func() (text string) {
		w.Eval("document.querySelector('#lanes')?.innerText || ''", &text)
		return text
	}
	seen := lanes()
	for range 3 {
		f.Await(b, "the lanes on the page change", func() bool { now := lanes(); changed := now != seen; seen = now; return changed })
	}
	if !strings.Contains(seen, "dbshard001/B") {
		t.Errorf("the lanes are\n%s", seen)
	}
	var pages []string
	w.Eval("Array.from(document.querySelectorAll('.rail nav a')).map((a) => a.getAttribute('href'))", &pages)
	for _, want := range []string{"/", "/moves", "/plan", "/load", "/report"} {
		if !slices.Contains(pages, want) {
			t.Errorf("the rail has %v, not %s", pages, want)
		}
	}
	reached, opened := 0, 0
	for _, page := range pages {
		w.Open(page)
		for _, finding := range w.Axe() {
			t.Errorf("%s: %v", page, finding)
		}
		stops, parts := w.Walk(page, page != "/report") // that is a file, as stowage report writes it: it has no rail
		reached, opened = reached+stops, opened+parts
	}
	t.Logf("%d pages; the tab key came to %d stops, %d of which open", len(pages), reached, opened)
	if s := f.Status(); s.State != "running" {
		t.Errorf("the move is %s before all pages were seen", s.State)
	}
	f.Await(b, "a side waits", func() bool { return len(f.Status().Waiting) == 1 })
	f.Must("approve", "retire")
	f.Await(b, "the other side waits", func() bool { w := f.Status().Waiting; return len(w) == 1 && w[0].Part == "dbshard001/A" })
	f.Must("approve", "retire")
	b.Ends(t, farmtest.ExitFine)
	f.CheckWhole()
}
