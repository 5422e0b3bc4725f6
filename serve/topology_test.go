package serve

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/report"
)

// TestPairsAreOnMoves: the pairs stand on Moves whatever else is known, and a group of them has an address of its own.
func TestPairsAreOnMoves(t *testing.T) {
	s := newStage()
	cookie := s.enter(t)
	s.set(func(m *Move) { m.Lanes = []Lane{{Name: "shop1/A", Step: "seed", Number: 1, Of: 2, State: "at work"}} })
	var asked string
	board := s.Topology
	s.Topology = func(now Move, group string) (report.TopologyBoard, error) {
		asked = group
		return board(now, group)
	}
	a := s.ask("GET", "/moves?group=rack+7", here, cookie)
	text := body(t, a)
	for _, want := range []string{`<div data-topology="2 1 rack 7" data-group="rack 7">`, `<div data-part="pairs-head"><p>two pairs</p></div>`, `<div data-part="pairs-0"><p>shop1/A seed</p></div>`, "<style>.drawn { color: red }</style>"} {
		if !strings.Contains(text, want) {
			t.Errorf("/moves does not have %q", want)
		}
	}
	if asked != "rack 7" || a.Header.Get("Content-Security-Policy") != policy(".drawn { color: red }") {
		t.Errorf("asked for %q, policy %s", asked, a.Header.Get("Content-Security-Policy"))
	}
	s.Topology = func(Move, string) (report.TopologyBoard, error) {
		return report.TopologyBoard{}, &farm.Error{Op: "read", Subject: "routing.json:1", Err: errors.New("it is not JSON"), Hint: "write it again"}
	}
	if text := body(t, s.ask("GET", "/moves", here, cookie)); !strings.Contains(text, "routing.json:1") || !strings.Contains(text, "shop1/A") {
		t.Error("where the pairs cannot be read, /moves does not say so beside its lanes")
	}
}

// TestStreamOfPairs: a page of pairs is sent the block in which something has changed, and no other page is.
func TestStreamOfPairs(t *testing.T) {
	s := newStage()
	s.set(func(m *Move) { m.Lanes = []Lane{{Name: "shop1/A", Step: "seed"}, {Name: "shop2/A", Step: "seed"}} })
	said := func(has map[string]string, pairs bool) string {
		now := s.look(t.Context())
		if pairs {
			s.addTopology(&now, "")
		}
		return string(s.news(now, false, has))
	}
	has := map[string]string{}
	if first := said(has, true); !strings.Contains(first, `"pairs-0":"\u003cp\u003eshop1/A seed`) || !strings.Contains(first, `"pairs-1":`) || !strings.Contains(first, `"pairs":"2 1 "`) {
		t.Errorf("at first: %s", first)
	}
	before := s.look(t.Context())
	s.addTopology(&before, "")
	s.set(func(m *Move) { m.Lanes[1].Step = "warm" })
	s.live.at = s.live.at.Add(-s.Every)
	after := s.look(t.Context())
	s.addTopology(&after, "")
	if before.id == after.id {
		t.Error("a step of a pair does not change the state")
	}
	if then := said(has, true); strings.Contains(then, `"pairs-0":`) || !strings.Contains(then, `shop2/A warm`) {
		t.Errorf("then: %s", then)
	}
	if other := said(map[string]string{}, false); strings.Contains(other, `"pairs-`) {
		t.Errorf("a page without pairs is told of them: %s", other)
	}
}

// TestWhatTakesLongIsSaid: a page does not wait for a plan of a hundred megabytes: it says that it is being read, and is loaded again.
func TestWhatTakesLongIsSaid(t *testing.T) {
	s := newStage()
	cookie := s.enter(t)
	plans := []Plan{{Name: "old", Made: "2026-11-20T10:00:00Z", HostsBefore: 4, HostsUsed: 2}, {Name: "large", BeingRead: "plan large, 151 MB"}}
	s.Plans = func() ([]Plan, error) { return plans, nil }
	for _, path := range []string{"/", "/plan"} {
		a := s.ask("GET", path, here, cookie)
		text := body(t, a)
		if a.StatusCode != http.StatusOK || a.Header.Get("Refresh") == "" || strings.Count(text, "Being read: plan large, 151 MB.") != 1 || strings.Contains(text, "Cannot be read") {
			t.Errorf("%s: %d, Refresh %q\n%s", path, a.StatusCode, a.Header.Get("Refresh"), text)
		}
	}
	if a := s.ask("GET", "/plan?name=old", here, cookie); !strings.Contains(body(t, a), "plan old") {
		t.Error("a plan that is there is not shown while another is read")
	}
	if a := s.ask("GET", "/api/plan", here, cookie); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("the newest plan is not known, and /api/plan says %d", a.StatusCode)
	}
	plans[1] = Plan{Name: "large", Made: "2026-11-21T10:00:00Z"}
	s.Plan = func(name string) (Shown, error) { return Shown{}, BeingRead{"plan " + name + ", 151 MB"} }
	if a := s.ask("GET", "/plan?name=large", here, cookie); a.Header.Get("Refresh") == "" || !strings.Contains(body(t, a), "Being read: plan large, 151 MB.") {
		t.Error("a paper that takes long is not said to be read")
	}
	if a := s.ask("GET", "/bench", here, cookie); a.Header.Get("Refresh") != "" {
		t.Error("a page that is whole is loaded again")
	}
}

// TestTablesOfLanesAreBounded: the move of a large farm has a hundred thousand lanes, and the table is sent with every change.
func TestTablesOfLanesAreBounded(t *testing.T) {
	s := newStage()
	cookie := s.enter(t)
	s.set(func(m *Move) {
		m.Done = 1000
		for i := range 2000 {
			m.Lanes = append(m.Lanes, Lane{Name: "x", State: "at work", IsDone: i%2 == 0})
		}
	})
	text := body(t, s.ask("GET", "/moves", here, cookie))
	if n := strings.Count(text, `<th scope="row">x</th>`); n != 2*mostLanes || !strings.Contains(text, "1600 lanes more are not listed here") {
		t.Errorf("%d lanes are listed", n)
	}
}
