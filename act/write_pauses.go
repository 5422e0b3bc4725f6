package act

import (
	"fmt"

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
	took := farm.Millis(w.Max)
	if w.Times > 1 {
		took = fmt.Sprintf("%s (median), %s (p99), %s (longest)", farm.Millis(w.P50), farm.Millis(w.P99), took)
	}
	return "writes paused for " + took + " in " + farm.Counted(w.Times, "switchover")
}

// isWritePause reports whether an event ends a pause of all writes of a pair.
func isWritePause(e farm.Event) bool { return e.Kind == farm.GateOpened && e.Step == "cutover" }

// WritePauses are those of the run; nil when there was no switchover in it.
func (b *Board) WritePauses() *WritePauses {
	if len(b.Held) == 0 {
		return nil
	}
	at := func(q float64) float64 { return farm.Rank(b.Held, q) }
	return &WritePauses{Times: len(b.Held), P50: at(0.5), P99: at(0.99), Max: at(1)}
}
