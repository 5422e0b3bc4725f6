package browsertest

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Site is the pages of one address, which its Page walks through.
type Site struct {
	*Page
	Base string                       // such as http://127.0.0.1:7700
	May  func(page, said string) bool // what the console may say of a page; nil: nothing
}

// Open goes to a page. It is an error when the console says anything, or when
// anything is asked of another address.
func (s *Site) Open(page string) {
	s.t.Helper()
	s.Visit(s.Base + page)
	for _, said := range s.Console() {
		if s.May == nil || !s.May(page, said) {
			s.t.Errorf("%s: the console says %s", page, said)
		}
	}
	for _, address := range s.Asked() {
		if at, err := url.Parse(address); err != nil || at.Scheme != "data" && s.Base != at.Scheme+"://"+at.Host {
			s.t.Errorf("%s asks for %s", page, address)
		}
	}
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

// Walk opens a page and goes through it with the tab key. It is an error when
// the key does not come to a link, button, filter or part that opens, when
// nobody sees where it is, or when Enter does not open what opens. The first
// stop of a page with a rail is the link that skips it. Walk returns how many
// stops there were, and how many of them open.
func (s *Site) Walk(page string, hasRail bool) (reached, opened int) {
	s.t.Helper()
	s.Open(page)
	var all []string
	s.Eval(stopsScript, &all)
	left := map[string]bool{}
	for _, name := range all {
		left[name] = true
	}
	for n := range 2*len(all) + 10 {
		s.Press("Tab")
		var at stop
		if s.Eval("stopNow()", &at); at.What == "" {
			break
		}
		isSkip := strings.Contains(at.What, skipLink)
		if isSkip && n > 0 {
			break // round
		}
		if isSkip {
			s.skips(page)
		} else if n == 0 && hasRail {
			s.t.Errorf("%s: the first stop is %+v", page, at)
		}
		if !at.IsSeen {
			s.t.Errorf("%s: nobody sees that the focus is on %s (outline %s)", page, at.What, at.Outline)
		}
		if strings.HasPrefix(at.What, "summary") {
			s.opens(page, at)
			opened++
		}
		delete(left, at.What)
		reached++
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		s.t.Errorf("%s: the tab key does not come to %s", page, name)
	}
	return reached, opened
}

// opens opens the part whose head has the focus, and closes it.
func (s *Site) opens(page string, at stop) {
	s.t.Helper()
	const isOpenNow = "document.activeElement.parentElement.open"
	var wasOpen, isOpen bool
	s.Eval(isOpenNow, &wasOpen)
	s.Press("Enter")
	if s.Eval(isOpenNow, &isOpen); isOpen == wasOpen {
		s.t.Errorf("%s: Enter on %s does nothing", page, at.What)
	}
	s.Press("Enter")
}

// skipLink is the first stop of each page that has a rail.
const skipLink = "#content Skip to the content"

// skips follows it, and then begins the page anew.
func (s *Site) skips(page string) {
	s.t.Helper()
	s.Press("Enter")
	s.Press("Tab")
	var next stop
	if s.Eval("stopNow()", &next); next.IsTop && !strings.Contains(next.What, skipLink) {
		s.t.Errorf("%s: behind the link that skips the rail comes %+v", page, next)
	}
	s.Open(page)
	s.Eval(stopsScript, nil)
	s.Press("Tab")
}
