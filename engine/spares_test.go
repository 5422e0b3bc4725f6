package engine

import (
	"fmt"
	"strings"
	"testing"
)

// TestOtherLanesGoOnAfterFailuresOfTheirOwn: with two failures spared, lanes
// begin until the third; a lane that somebody aborted, or that is stuck, is none
// of its own.
func TestOtherLanesGoOnAfterFailuresOfTheirOwn(t *testing.T) {
	_, c := startEngine(t)
	serve(t, c, "", &obeyer{}, 4)
	for name, tc := range map[string]struct {
		fails map[int]string // lane: what its second step answers
		want  string
	}{
		"one":     {map[int]string{1: "permanent"}, "done undone done done done done"},
		"three":   {map[int]string{0: "permanent", 1: "permanent", 3: "permanent"}, "undone undone done undone not-started not-started"},
		"unknown": {map[int]string{1: "unknown"}, "done unknown not-started not-started not-started not-started"},
	} {
		t.Run(name, func(t *testing.T) {
			job := Job{ID: "spare-" + name, Kind: "test", Budgets: map[string]int{"one": 1}, Spares: 2}
			for i := range 6 {
				o := orders{}
				if how := tc.fails[i]; how != "" {
					o = orders{Fail: map[string]string{"two": how}, Text: "no"}
				}
				job.Lanes = append(job.Lanes, Lane{Name: fmt.Sprint(i), Holds: []string{"one"},
					Parts: []Part{{Subject: name + fmt.Sprint(i), Args: o.args(), Steps: steps("one?", "two")}}})
			}
			var ends []string
			for _, lane := range run(t, c, job).Lanes {
				ends = append(ends, string(lane.End))
			}
			if got := strings.Join(ends, " "); got != tc.want {
				t.Errorf("lanes ended %q, want %q", got, tc.want)
			}
		})
	}
}
