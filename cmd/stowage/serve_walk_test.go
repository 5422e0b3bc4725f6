package main

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/url"
	"slices"
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

// visitor is a browser that has entered a workspace in which everything was done, while a move goes on in it.
type visitor struct {
	*browsertest.Page
	t    *testing.T
	base string
}

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
func walkAll(t *testing.T, each func(w *visitor, page string)) {
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
		w := &visitor{browsertest.Drive(t), t, s.base}
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

// open goes to a page. The console is silent, and nothing was asked of anybody else.
func (w *visitor) open(page string) {
	w.t.Helper()
	w.Visit(w.base + page)
	for _, said := range w.Console() {
		if page == "/nowhere" && strings.Contains(said, "404") || strings.Contains(page, "broken") && strings.Contains(said, "422") {
			continue
		}
		w.t.Errorf("%s: the console says %s", page, said)
	}
	for _, address := range w.Asked() {
		if at, err := url.Parse(address); err != nil || at.Scheme != "data" && w.base != at.Scheme+"://"+at.Host {
			w.t.Errorf("%s asks for %s", page, address)
		}
	}
}

// TestPagesAreAccessible has axe look at every page, light and dark and, where there is something to open, opened.
func TestPagesAreAccessible(t *testing.T) {
	turns.One(t, 2)
	t.Parallel() // it mostly waits
	looks, minor := 0, map[string]bool{}
	walkAll(t, func(w *visitor, page string) {
		for _, scheme := range []string{"light", "dark"} {
			w.Prefer("screen", scheme)
			w.open(page)
			w.Eval("document.querySelectorAll('details').forEach((d) => { d.open = true; })", nil)
			var rules []string
			if scheme == "dark" {
				rules = []string{"color-contrast"} // what else there is to find was found in the light
			}
			for _, f := range w.Axe(rules...) {
				if f.IsGrave() {
					t.Errorf("%s, %s: %v", page, scheme, f)
				} else if !minor[f.ID] {
					minor[f.ID] = true
					t.Logf("not grave, %s: %v", page, f)
				}
			}
			w.Picture(page + "-" + scheme)
			looks++
		}
	})
	t.Logf("axe has looked %d times", looks)
}

// stop is what the tab key has come to.
type stop struct {
	What    string // tag, where it leads, its first words, and which of several alike; "": the end of the page
	Outline string // as it is drawn
	IsSeen  bool   // there is an outline, and the element is in the window
	IsTop   bool   // it is in front of main
}

// stopsScript defines stops, which are all that a person should come to, and stopNow, which is where the focus is.
const stopsScript = `
var stops = () => Array.from(document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')).filter((e) =>
  e.tabIndex >= 0 && !e.disabled && !(e.type === 'radio' && !e.checked && document.querySelector('input[name="' + e.name + '"]:checked')) && e.getClientRects().length > 0 && e.checkVisibility({visibilityProperty: true}));
var what = (e) => [e.tagName.toLowerCase(), e.id, e.getAttribute('href'), e.dataset.key, (e.getAttribute('aria-label') || e.value || e.textContent || '').trim().slice(0, 40)].filter(Boolean).join(' ');
var named = (all) => { var n = {}; return all.map((e) => { var w = what(e); n[w] = (n[w] || 0) + 1; return w + (n[w] > 1 ? ' (' + n[w] + ')' : ''); }); };
var stopNow = () => {
  var e = document.activeElement;
  if (!e || e === document.body) return {What: ''};
  var all = stops(), names = named(all), style = getComputedStyle(e), box = e.getBoundingClientRect();
  return {What: names[all.indexOf(e)] || what(e), Outline: style.outlineStyle + ' ' + style.outlineWidth + ' ' + style.outlineColor,
    IsSeen: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 && box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight,
    IsTop: !e.closest('main')};
};
named(stops())`

// TestPagesByKeyboard goes through every page with the tab key: it comes to all links, buttons, filters and parts that open, each with an outline in sight, and to the
// link that skips the rail first. Enter opens what opens.
func TestPagesByKeyboard(t *testing.T) {
	turns.One(t, 2)
	t.Parallel() // it mostly waits
	reached, opened := 0, 0
	walkAll(t, func(w *visitor, page string) {
		w.Prefer("screen", "light")
		w.open(page)
		var all []string
		w.Eval(stopsScript, &all)
		left := map[string]bool{}
		for _, name := range all {
			left[name] = true
		}
		for n := range 2*len(all) + 10 {
			w.Press("Tab")
			var at stop
			if w.Eval("stopNow()", &at); at.What == "" {
				break
			}
			if strings.Contains(at.What, skipLink) {
				if n > 0 {
					break // round
				}
				w.skips(page)
			}
			if n == 0 && page != "/nowhere" && !strings.Contains(at.What, skipLink) {
				t.Errorf("%s: the first stop is %+v", page, at)
			}
			if !at.IsSeen {
				t.Errorf("%s: nobody sees that the focus is on %s (outline %s)", page, at.What, at.Outline)
			}
			if strings.HasPrefix(at.What, "summary") {
				var wasOpen, isOpen bool
				const isOpenNow = "document.activeElement.parentElement.open"
				w.Eval(isOpenNow, &wasOpen)
				w.Press("Enter")
				if w.Eval(isOpenNow, &isOpen); isOpen == wasOpen {
					t.Errorf("%s: Enter on %s does nothing", page, at.What)
				}
				w.Press("Enter")
				opened++
			}
			delete(left, at.What)
			reached++
		}
		for _, name := range slices.Sorted(maps.Keys(left)) {
			t.Errorf("%s: the tab key does not come to %s", page, name)
		}
	})
	t.Logf("the tab key came to %d stops, %d of which open", reached, opened)
}

// skipLink is the first stop of each page that has a rail.
const skipLink = "#content Skip to the content"

// skips follows it, and then begins the page anew.
func (w *visitor) skips(page string) {
	w.t.Helper()
	w.Press("Enter")
	w.Press("Tab")
	var next stop
	if w.Eval("stopNow()", &next); next.IsTop && !strings.Contains(next.What, skipLink) {
		w.t.Errorf("%s: behind the link that skips the rail comes %+v", page, next)
	}
	w.open(page)
	w.Eval(stopsScript, nil)
	w.Press("Tab")
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
	turns.One(t, 2)
	t.Parallel() // it mostly waits
	walkAll(t, func(w *visitor, page string) {
		if page == "/nowhere" {
			return
		}
		w.Size(703, 1032) // 186 by 273 mm
		w.Prefer("print", "dark")
		w.open(page)
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
