package move

import (
	"fmt"
	"sort"

	"stowage/farm"
)

// WritePauses are how long clients could not write in the switchovers of a
// run, in milliseconds: from the first write that was held to the first that
// was possible again. A cutover that was given up counts as well: they were
// held in it.
type WritePauses struct {
	Times int     `json:"times"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}

func (w WritePauses) String() string {
	return fmt.Sprintf("writes paused for %.0f ms (median), %.0f ms (p99), %.0f ms (longest) in %d switchovers", w.P50, w.P99, w.Max, w.Times)
}

// isWritePause reports whether an event ends a pause of all writes of a pair.
func isWritePause(e farm.Event) bool { return e.Kind == farm.GateOpened && e.Step == "cutover" }

// WritePauses are those of the run; nil when there was no switchover in it.
func (b *Board) WritePauses() *WritePauses {
	if len(b.Held) == 0 {
		return nil
	}
	sorted := append([]float64(nil), b.Held...)
	sort.Float64s(sorted)
	at := func(q float64) float64 { return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))] }
	return &WritePauses{Times: len(sorted), P50: at(0.5), P99: at(0.99), Max: at(1)}
}
