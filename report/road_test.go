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
	if err := write(&b, f, ""); err != nil {
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
