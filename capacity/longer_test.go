package capacity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stowage/farm"
)

// TestTheLongerHistoryIsTaken, whole: of two that know the same, the one that reaches further back; of equals, our own. What only one knows stays.
func TestTheLongerHistoryIsTaken(t *testing.T) {
	series := func(name string, r farm.ResourceName, source string, days int) Series {
		s := Series{Kind: OfHost, Name: name, Resource: r, Source: source}
		for d := days; d >= 0; d-- { // the newest first: order does not matter
			s.Samples = append(s.Samples, Sample{At: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, d), Value: 1})
		}
		return s
	}
	own := []Series{series("h1", farm.Disk, "due", 3), series("h2", farm.Disk, "due", 90), series("h3", farm.Disk, "due", 60), series("h4", farm.Disk, "due", 1)}
	other := []Series{series("h1", farm.Disk, "prom /srv", 60), series("h1", farm.Disk, "prom /new", 2), series("h2", farm.Disk, "prom /srv", 60), series("h3", farm.Disk, "prom /srv", 60), series("h1", farm.CPU, "prom", 60)}
	var got []string
	for _, s := range Longer(own, other) {
		got = append(got, fmt.Sprintf("%s %s %s %d%s", s.Name, s.Resource, s.Source, len(s.Samples), strings.TrimPrefix(": "+s.Remark, ": taken")))
	}
	want := []string{"h2 disk due 91: ", "h3 disk due 61: ", "h4 disk due 2: ", "h1 disk prom /srv 61 from prom /srv, which has 60 days; the own history has 3 days",
		"h1 disk prom /new 3 from prom /new, which has 2 days; the own history has 3 days", "h1 cpu prom 61: "}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if len(own) != 4 || own[0].Source != "due" {
		t.Error("what was given has changed")
	}
}

// TestARemarkIsInTheRow, beside what the forecast itself remarks.
func TestARemarkIsInTheRow(t *testing.T) {
	f := &farm.Farm{HostTypes: []farm.HostType{{Name: "t", Capacity: farm.Resources{farm.Disk: 100}}}, Hosts: []farm.Host{{Name: "h1", Type: "t"}}}
	rows := Assess(f, []Series{{Kind: OfHost, Name: "h1", Resource: farm.Disk, Source: "prom", Remark: "from prom", Samples: []Sample{{At: time.Now(), Value: 1}}}})
	if len(rows) != 1 || len(rows[0].Remarks) == 0 || rows[0].Remarks[0] != "from prom" {
		t.Errorf("%+v", rows)
	}
}
