package serve

import (
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stowage/report"
)

func rollOf(racks ...template.HTML) Roll {
	return Roll{Board: report.RollBoard{Plan: "roll-001 1", Head: "<p>1 of 2 hosts done</p>", Racks: racks, Now: "<p>pauses</p>"}, IsOpen: true, Spoken: "roll roll-001 running: 1 of 2 hosts done", JSON: map[string]int{"done": 1}}
}

// TestRollsPage: the grid, what is out and the tables are there without JavaScript, each part where the stream replaces it.
func TestRollsPage(t *testing.T) {
	s := newStage()
	s.roll = rollOf("<ul><li>db001</li></ul>", "<ul><li>db002</li></ul>")
	cookie := s.enter(t)
	text := body(t, s.ask("GET", "/rolls", here, cookie))
	for _, want := range []string{`data-part="roll"><p>1 of 2 hosts done</p>`, `data-part="rack-0"><ul><li>db001`, `data-part="rack-1"><ul><li>db002`, `data-part="roll-now"><p>pauses`, `data-roll="roll-001 1"`, "<p>each host</p>", "<noscript>", ">Rolls<"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not have %q\n%s", want, text)
		}
	}
	s.mu.Lock()
	s.roll = Roll{Text: "No host was rolled yet."}
	s.live.at = s.live.at.AddDate(-1, 0, 0)
	s.mu.Unlock()
	if text := body(t, s.ask("GET", "/rolls", here, cookie)); !strings.Contains(text, "No host was rolled yet.") || strings.Contains(text, "data-roll") {
		t.Errorf("without a roll:\n%s", text)
	}
	if a := s.ask("GET", "/api/rolls", here, cookie); a.StatusCode != http.StatusNotFound {
		t.Errorf("without a roll: %d", a.StatusCode)
	}
}

// TestRacksThatChangeAreSent: a page about a roll is sent each part once, and then what has changed; other pages are sent none of it.
func TestRacksThatChangeAreSent(t *testing.T) {
	s := newStage()
	sent := func(aboutRoll bool, has map[string]string) (parts []string, spoken string) {
		t.Helper()
		var now state
		now.roll = s.roll
		s.say(&now)
		var news struct {
			Parts  map[string]string
			Spoken string
			Roll   string
		}
		if err := json.Unmarshal(s.news(now, aboutRoll, has), &news); err != nil || news.Roll != "roll-001 1" {
			t.Fatal(err, news.Roll)
		}
		for name := range news.Parts {
			parts = append(parts, name)
		}
		slices.Sort(parts)
		return parts, news.Spoken
	}
	s.roll = rollOf("a", "b", "c")
	page, other := map[string]string{}, map[string]string{}
	if got, spoken := sent(true, page); !slices.Equal(got, []string{"banner", "move", "rack-0", "rack-1", "rack-2", "roll", "roll-now"}) || !strings.Contains(spoken, "1 of 2 hosts done") {
		t.Errorf("first: %v, %q", got, spoken)
	}
	if got, _ := sent(false, other); !slices.Equal(got, []string{"banner", "move"}) {
		t.Errorf("a page about something else is sent %v", got)
	}
	s.roll = rollOf("a", "B", "c")
	if got, _ := sent(true, page); !slices.Equal(got, []string{"rack-1"}) {
		t.Errorf("a host has gone on: %v", got)
	}
	if got, _ := sent(true, page); len(got) != 0 {
		t.Errorf("nothing is new: %v", got)
	}
}
