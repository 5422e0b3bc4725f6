package main

import (
	"testing"

	"stowage/act"
)

// A gate that is a write pause was once said twice, in two lines.
func TestHowLongClientsWaitedIsSaidOnce(t *testing.T) {
	for _, x := range []struct {
		s    moveSummary
		want string
	}{
		{moveSummary{}, "no gate was closed"},
		{moveSummary{Gates: 1, GateMax: 12}, "1 gate was closed for 12.0 ms"},
		{moveSummary{Gates: 2, GateP50: 10, GateP95: 12, GateMax: 12}, "2 gates were closed for 10.0 ms (median), 12.0 ms (p95), 12.0 ms (longest)"},
		{moveSummary{Gates: 1, GateMax: 35, WritePauses: &act.WritePauses{Times: 1, P50: 35, P99: 35, Max: 35}}, "writes paused for 35.0 ms in 1 switchover"},
		{moveSummary{Gates: 2, GateMax: 35, WritePauses: &act.WritePauses{Times: 2, P50: 30, P99: 35, Max: 35}}, "writes paused for 30.0 ms (median), 35.0 ms (p99), 35.0 ms (longest) in 2 switchovers"},
		{moveSummary{Gates: 3, GateP50: 20, GateP95: 35, GateMax: 35, WritePauses: &act.WritePauses{Times: 1, Max: 35}},
			"writes paused for 35.0 ms in 1 switchover; 3 gates were closed for 20.0 ms (median), 35.0 ms (p95), 35.0 ms (longest)"},
	} {
		if got := x.s.paused(); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
