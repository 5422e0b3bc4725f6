package capacity

import (
	"strings"
	"testing"
	"time"

	"stowage/farm"
)

// TestASeriesThatEndedEarlier says when it was last measured, and its days count from the newest sample of all. Two days are none.
func TestASeriesThatEndedEarlier(t *testing.T) {
	f := &farm.Farm{Name: "f", HostTypes: []farm.HostType{{Name: "t", Capacity: farm.Resources{farm.Disk: 1000}}}}
	end := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	var all []Series
	for i, age := range []int{0, 2, 30, 900} {
		name := []string{"now", "today", "month", "years"}[i]
		f.Hosts = append(f.Hosts, farm.Host{Name: farm.HostName(name), Type: "t"})
		s := Series{Kind: OfHost, Name: name, Resource: farm.Disk, Source: "due"}
		for d := range 60 {
			s.Samples = append(s.Samples, Sample{At: end.AddDate(0, 0, -d-age), Value: 600 - 4*float64(d)})
		}
		all = append(all, s)
	}
	days := map[string]float64{}
	for _, r := range Assess(f, all) {
		days[r.Name] = *r.Days.Mid
		said := strings.Join(r.Remarks, "; ")
		if isStale := r.Name == "month" || r.Name == "years"; isStale != strings.Contains(said, "last measured ") {
			t.Errorf("%s: %q", r.Name, said)
		}
		if r.Name == "month" && !strings.Contains(said, "last measured 2026-10-29, 30 days before the newest sample of all") {
			t.Error(said)
		}
	}
	if days["now"] < 95 || days["today"] != days["now"] || days["month"] != days["now"]-30 || days["years"] != 0 {
		t.Errorf("%v", days)
	}
}
