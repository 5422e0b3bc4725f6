package act

import (
	"strings"

	"stowage/engine"
	"stowage/farm"
	"stowage/placement"
)

// sparesByDefault is how many pairs may fail by themselves before no other pair
// begins: what fails three has most likely a cause that they share.
const sparesByDefault = 2

// Spares is how many lanes may fail before no other begins.
func Spares(g placement.Goals) int {
	if g.AfterFailure == placement.StopAfterFailure {
		return 0
	}
	return sparesByDefault
}

// LimitStreams gives a job the budgets of its plan: how many sides may be on
// their way to one host, rack and network. A lane holds what it needs from its
// beginning to its end, all or nothing; the engine lets none starve.
func LimitStreams(job *engine.Job, now *farm.Farm, b placement.Budgets) {
	for i := range job.Lanes {
		lane := &job.Lanes[i]
		held := map[string]bool{}
		hosts := append([]string(nil), lane.Holds...)
		hold := func(token string, n int) {
			if n > 0 && !held[token] {
				held[token] = true
				job.Budgets[token] = n
				lane.Holds = append(lane.Holds, token)
			}
		}
		for _, token := range hosts {
			name, ok := strings.CutPrefix(token, "host ")
			if !ok {
				continue
			}
			if b.StreamsPerHost > 0 {
				job.Budgets[token] = b.StreamsPerHost
			}
			h, _ := now.Host(farm.HostName(name))
			for _, l := range []struct {
				label string
				n     int
			}{{"rack", b.StreamsPerRack}, {"network", b.StreamsPerNetwork}} {
				if value := h.Labels[l.label]; value != "" {
					hold(l.label+" "+value, l.n)
				}
			}
		}
	}
}
