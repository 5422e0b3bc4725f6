package main

import (
	"crypto/tls"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/browsertest"
	"stowage/internal/turns"
	"stowage/serve"
)

// walks is how many tests here walk through pages; with -short one of them does.
const walks = 5

// pagesOf are the pages that the rail lists, and those behind them.
func pagesOf(s *servedScene) []string {
	out := []string{"/bench/show?f=bench/new.json", "/bench/show?f=bench/old.json&f=bench/new.json", "/bench/show?f=bench/decision.yaml", "/bench/show?f=bench/broken.json", "/nowhere"}
	for _, p := range serve.APIPaths() {
		switch p = strings.TrimPrefix(p, "/api"); p {
		case "/overview":
			out = append(out, "/")
		case "/bench/show":
		default:
			out = append(out, p)
		}
	}
	return out
}

// walkAll walks through the scenes of serve, each beside a move, or a roll, that tells something new all the time, and the pages that have most to show there:
// with -short one page of four, others with each commit.
func walkAll(t *testing.T, each func(w *browsertest.Site, page string)) {
	t.Helper()
	full := servedWorkspace(t)
	lookedAt(t, full)
	n := farmtest.Turn()
	for _, scene := range []struct {
		dir   string
		pages []string
		tell  farm.Event
	}{
		{full, nil, farm.Event{Run: toldRun, Pair: "dbshard002", Side: "B", Step: "seed"}},
		{rolledWorkspace(t, 60), []string{"/rolls", "/moves"}, farm.Event{Run: rolledRun, Host: "db0056", Step: "preflight"}},
		{backedWorkspace(t), []string{"/backups"}, farm.Event{}},
		{reshapedWorkspace(t), []string{"/reshape"}, farm.Event{}},
	} {
		s := serveNow(t, scene.dir)
		w := &browsertest.Site{Page: browsertest.Drive(t), Base: s.base, May: mayFail}
		w.Visit(s.link)
		w.Loaded() // the page that entering leads to
		if scene.tell.Run != "" {
			tellOn(t, scene.dir, scene.tell)
		}
		if scene.pages == nil {
			scene.pages = pagesOf(s)
		}
		for _, page := range scene.pages {
			if n++; !testing.Short() || n%4 == 0 {
				each(w, page)
			}
		}
	}
}

// tellOn tells of a step that goes on, until the test ends.
func tellOn(t *testing.T, dir string, e farm.Event) {
	t.Helper()
	x := openTeller(t, dir)
	stop, ended := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-ended })
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			r := x.store.Record()
			e.Kind, e.Time, e.Text = farm.StepProgress, time.Now(), fmt.Sprint("told ", n)
			r.Add(e)
			if err := r.Close(); err != nil {
				t.Error(err)
				return
			}
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
}

// mayFail are the pages that ought to fail, which the console says.
func mayFail(page, said string) bool {
	return page == "/nowhere" && strings.Contains(said, "404") || strings.Contains(page, "broken") && strings.Contains(said, "422")
}

// TestPagesAreAccessible has axe look at every page, light and dark and, where there is something to open, opened.
func TestPagesAreAccessible(t *testing.T) {
	turns.OneOf(t, 0, walks)
	t.Parallel() // it mostly waits
	looks := 0
	walkAll(t, func(w *browsertest.Site, page string) {
		for _, scheme := range []string{"light", "dark"} {
			w.Prefer("screen", scheme)
			w.Open(page)
			w.Eval("document.querySelectorAll('details').forEach((d) => { d.open = true; })", nil)
			var rules []string
			if scheme == "dark" {
				rules = []string{"color-contrast"} // what else there is to find was found in the light
			}
			for _, f := range w.Axe(rules...) {
				t.Errorf("%s, %s: %v", page, scheme, f)
			}
			w.Picture(page + "-" + scheme)
			looks++
		}
	})
	t.Logf("axe has looked %d times", looks)
}

// TestPagesByKeyboard goes through every page with the tab key: it comes to all links, buttons, filters and parts that open, each with an outline in sight, and to the
// link that skips the rail first. Enter opens what opens.
func TestPagesByKeyboard(t *testing.T) {
	turns.OneOf(t, 1, walks)
	t.Parallel() // it mostly waits
	reached, opened := 0, 0
	walkAll(t, func(w *browsertest.Site, page string) {
		w.Prefer("screen", "light")
		stops, parts := w.Walk(page, page != "/nowhere")
		reached, opened = reached+stops, opened+parts
	})
	t.Logf("the tab key came to %d stops, %d of which open", reached, opened)
}

// TestReportByKeyboard does so in the report, which is a file of its own behind the rail's last link and has no rail.
func TestReportByKeyboard(t *testing.T) {
	turns.OneOf(t, 2, walks)
	t.Parallel() // it mostly waits
	s := serveNow(t, servedWorkspace(t))
	w := &browsertest.Site{Page: browsertest.Drive(t), Base: s.base}
	w.Visit(s.link)
	w.Loaded() // the page that entering leads to
	w.Prefer("screen", "light")
	stops, parts := w.Walk("/report", false)
	if stops == 0 || parts == 0 {
		t.Errorf("the tab key came to %d stops, %d of which open", stops, parts)
	}
	for _, f := range w.Axe() {
		t.Errorf("/report: %v", f)
	}
}

// onPaper says what would be cut off a page, or dark, as it is printed. What is too wide Chromium makes smaller, down to two thirds (version 156, by the scale in the
// PDF: 1:1 at 600 px, 1:1.42 at 1,000, 1:1.5 at 1,210 and at 1,500).
const onPaper = `(() => {
  var faults = [], at = getComputedStyle(document.body).backgroundColor;
  if (at !== 'rgb(255, 255, 255)') faults.push('the paper is ' + at);
  if (getComputedStyle(document.documentElement).colorScheme !== 'light') faults.push('it is for the dark');
  if (document.documentElement.scrollWidth > 1.5 * innerWidth) faults.push('it is ' + document.documentElement.scrollWidth + ' wide, on ' + innerWidth);
  document.querySelectorAll('.rail, .tools, .skip, button').forEach((e) => { if (e.checkVisibility()) faults.push('there is ' + e.outerHTML.slice(0, 80)); });
  document.querySelectorAll('main *').forEach((e) => {
    var style = getComputedStyle(e);
    if (!e.checkVisibility() || e.closest('svg') || e.closest('.unseen') || style.position === 'absolute') return;
    if (style.overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1 || style.overflowY !== 'visible' && e.scrollHeight > e.clientHeight + 2) {
      faults.push('cut: ' + e.tagName + '.' + e.className + ' ' + e.scrollWidth + 'x' + e.scrollHeight + ' in ' + e.clientWidth + 'x' + e.clientHeight + ': ' + e.textContent.trim().slice(0, 60));
    }
  });
  return faults;
})()`

// TestPagesOnPaper prints every page from a browser that prefers dark: on white, nothing is cut off at the width of A4 within its margins, and what is to be clicked is not there.
func TestPagesOnPaper(t *testing.T) {
	turns.OneOf(t, 3, walks)
	t.Parallel() // it mostly waits
	walkAll(t, func(w *browsertest.Site, page string) {
		if page == "/nowhere" {
			return
		}
		w.Size(703, 1032) // 186 by 273 mm
		w.Prefer("print", "dark")
		w.Open(page)
		var faults []string
		w.Eval(onPaper, &faults)
		for i, f := range faults {
			if i < 6 {
				t.Errorf("%s: %s", page, f)
			}
		}
		w.Picture(page + "-paper")
	})
}

// TestATeamInABrowser: a viewer comes by HTTPS and HTTP/2, pastes a token, wrong at first, and the page says that it is no longer live when the token was removed.
func TestATeamInABrowser(t *testing.T) {
	turns.OneOf(t, 4, walks)
	t.Parallel() // it mostly waits
	cert, key := certificateFiles(t, t.TempDir(), farmtest.NewAuthority(t), "127.0.0.1")
	pair, err := readCertificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	const token = "ann-0123456789abcdef01234567"
	var list atomic.Pointer[[]serve.Viewer]
	list.Store(&[]serve.Viewer{{Name: "ann", Token: token}})
	s := serveNow(t, servedWorkspace(t), func(o *serve.Options) {
		o.Viewers = func() []serve.Viewer { return *list.Load() }
		o.Certificate = func() *tls.Certificate { return pair }
	})
	p := browsertest.Drive(t)
	p.TrustAnybody()
	p.Visit(s.base + "/moves")
	send := func(text string) {
		t.Helper()
		p.Press("Tab")
		p.Type(text)
		p.Press("Enter")
		p.Loaded()
	}
	send("a-wrong-token-of-some-length")
	for _, scheme := range []string{"light", "dark"} {
		p.Prefer("screen", scheme)
		for _, f := range p.Axe() {
			t.Errorf("the form, %s: %v", scheme, f)
		}
		p.Picture("enter-" + scheme)
	}
	var now struct{ Path, Text, Protocol string }
	const read = "({Path: location.pathname, Text: document.body.innerText, Protocol: performance.getEntriesByType('navigation')[0].nextHopProtocol})"
	if p.Eval(read, &now); now.Path != "/enter" || !strings.Contains(now.Text, "No viewer has this token.") || now.Protocol != "h2" {
		t.Errorf("a wrong token: %+v", now)
	}
	send(token)
	if p.Eval(read, &now); now.Path != "/" || !strings.Contains(now.Text, "Farm small") {
		t.Fatalf("signed in: %+v", now)
	}
	says := func(want string) {
		t.Helper()
		farmtest.Await(t, "the page says "+want, func() bool {
			var text string
			p.Eval("document.querySelector('[data-link]').textContent", &text)
			return strings.HasPrefix(text, want)
		})
	}
	says("live")
	list.Store(&[]serve.Viewer{})
	says("not live")
	p.Visit(s.base + "/moves")
	if p.Eval(read, &now); !strings.Contains(now.Text, "Who is there?") {
		t.Errorf("the token was removed: %+v", now)
	}
}
