package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/placement"
)

// Four plans took ten hosts to three; the report spoke of the last one's six to
// three.
func TestReportCoversTheRoad(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f := Facts{
		Farm: "ten", Made: noon.Add(time.Hour), Zone: time.UTC, Findings: []farm.Finding{
			{Check: "a", Severity: farm.Warning, Subject: "x", Text: "is open"}, {Check: "b", Severity: farm.Warning, Subject: "y", Text: "is known"}, {Check: "b", Severity: farm.Warning, Subject: "z", Text: "is new"}},
		Accepted: []farm.Accepted{{Check: "b", Subject: "y", Why: "until Friday", By: "anna"}},
		Ledger:   &farm.Ledger{By: "orders", Acknowledged: 134476},
		Plan:     &placement.Plan{Name: "fourth", HostsBefore: 6, HostsUsed: 3, LowerBound: 3},
		Road: &Road{HostsBefore: 10, HostsNow: 3, From: noon, First: &placement.Plan{Name: "first", HostsBefore: 10, HostsUsed: 8}, Legs: []Leg{
			{Run: "move-first-1", Subject: "first", End: "failed", Started: noon, Seconds: 60, Moved: 1, Begun: 2, Gates: []float64{163.2}},
			{Run: "move-fourth-1", Subject: "fourth", End: "done", Started: noon.Add(time.Minute), Seconds: 30, Moved: 2, Begun: 2, Gates: []float64{93.61}}}},
	}
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"10 hosts would become 3", `<section id="road">`, "move-first-1", "<td class=\"n\">1 of 2</td>", "163 ms", "93.6 ms", "sides or shards moved: 3, in 2 moves",
		"134,476 acknowledged writes", `<section id="ledger">`, "Stowage has not checked it", `<section id="accepted">`, "until Friday"} {
		if !strings.Contains(page, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if strings.Contains(page, "queries failed") {
		t.Error("a figure that nobody gave is shown")
	}
	_, open, _ := strings.Cut(page, `<section id="findings">`)
	open, settled, _ := strings.Cut(open, `<section id="accepted">`)
	if strings.Contains(open, "is known") || !strings.Contains(open, "is new") || !strings.Contains(open, "is open") || !strings.Contains(settled, "is known") {
		t.Error("accepted findings are not told from others")
	}
}

// A side that came back is shown beside its steady state, and one that was not measured with the reason.
func TestReportShowsTheFirstMinuteAfterAReturn(t *testing.T) {
	minutes := []FirstMinute{
		{Pair: "p1", Side: farm.A, Twin: "p1b", From: at(1), Seconds: 60.2, Source: "performance_schema", Statements: 12345, Millis: 0.51, Steady: 0.5, Ratio: 1.02},
		{Pair: "p2", Side: farm.A, From: at(2), Seconds: 9.7, Source: "QUERY_RESPONSE_TIME", IsPercentile: true, Statements: 300, Millis: 8, Steady: 2, Ratio: 4, CutShort: "the run ended"},
		{Pair: "p3", Side: farm.B, From: at(3), NotMeasured: "p3a, p3b: nothing counts"},
	}
	events := []farm.Event{{Pair: "p1", Side: farm.A, Kind: farm.StepStarted, Step: "in", Time: at(0)}, {Pair: "p1", Side: farm.A, Kind: farm.StepDone, Step: "in", Time: at(1)}}
	roll := inventRoll(3)
	roll.Minutes = minutes
	for name, f := range map[string]Facts{"a move": {Run: "move-1", Events: events, Minutes: minutes}, "an act": {Acts: []Act{{Run: "side-1", Kind: "side", Events: events, Minutes: minutes}}}, "a roll": {Roll: &roll}} {
		f.Farm, f.Made, f.Zone = "ten", at(100), time.UTC
		var b bytes.Buffer
		if err := Write(&b, f); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"A statement took 1.02 times as long as in the steady state in the median of 2 sides, 4.00 times at most; 1 not measured.",
			`<th scope="row">p1/A</th>`, "60 s", "12,345", "1.02×", "beside its twin p1b, by performance_schema", "p95 ", "beside itself, before it left, by QUERY_RESPONSE_TIME; no whole minute: the run ended",
			"not measured: p3a, p3b: nothing counts"} {
			if strings.Count(b.String(), want) != 1 && want != "p95 " && want != "60 s" {
				t.Errorf("the report of %s has %q %d times", name, want, strings.Count(b.String(), want))
			}
		}
	}
}

// An act that no page was made for has its section, its step names and its
// place in the table of contents; the move keeps its own.
func TestReportShowsEveryAct(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	event := func(kind farm.EventKind, seconds int, text string) farm.Event {
		return farm.Event{Run: "toy-box-2", Pair: "dbshard001", Side: farm.A, Kind: kind, Step: "fill", Time: noon.Add(time.Duration(seconds) * time.Second), Text: text}
	}
	f := Facts{Farm: "ten", Made: noon.Add(time.Hour), Zone: time.UTC, Acts: []Act{
		{Run: "toy-box-2", Kind: "toy", Subject: "box", State: "done", Forward: []string{"dbshard001/A, by anna"}, Events: []farm.Event{
			event(farm.StepStarted, 0, ""), event(farm.StepFailed, 2, "no room"), event(farm.StepStarted, 3, ""), event(farm.StepDone, 7, "")}},
		{Run: "other-1", Kind: "other", Subject: "<none>", State: "running"},
	}}
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{`<section id="toy-box-2"><h2>Toy box</h2>`, "1 of 1 part done in 7.0 s; the run is done.", "made again or taken back: 1", "by anna",
		`<li><a href="#toy-box-2">Toy box</a></li>`, `id="tl-t-toy-box-2"`, `<th scope="row">fill</th>`, "Other &lt;none&gt;", "0 of 0 parts done"} {
		if !strings.Contains(page, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if strings.Contains(page, `<section id="move">`) || strings.Contains(page, "First minute after return") {
		t.Error("the report shows a move, or a side that came back, and there was none")
	}
}
