package swing

import (
	"fmt"
	"slices"
	"time"
)

// warmth is how long the same reads took on the side and on its twin, without the way there.
type warmth struct {
	here, twin []time.Duration
	misses     int64 // pages that the side read from disk for them, at most
}

// readFloor is a difference that no client notices, and that a busy machine makes: one read of a flash disk.
const readFloor = 200 * time.Microsecond

// add takes what one read took.
func (w *warmth) add(here, twin time.Duration) {
	w.here, w.twin = append(w.here, max(0, here)), append(w.twin, max(0, twin))
}

// isWarm judges: enough reads, and no slower than the tolerance allows.
func (w *warmth) isWarm(s Settings) bool {
	here, twin := p95(w.here), p95(w.twin)
	return len(w.here) >= s.WarmReads && here <= time.Duration(float64(twin)*s.WarmWithin)+readFloor
}

// isFull reports whether fewer than one read in twenty can have waited for the disk: what is slow then is not the buffer pool, and more warming does not help.
func (w *warmth) isFull(s Settings) bool {
	return len(w.here) >= s.WarmReads && w.misses*20 < int64(len(w.here))
}

func (w *warmth) String() string {
	return fmt.Sprintf("p95 of %d reads: %s here, %s on the twin", len(w.here), millis(p95(w.here)), millis(p95(w.twin)))
}

// p95 is the least time that 95 of 100 do not exceed; 0 of none.
func p95(took []time.Duration) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	return sorted[(len(sorted)*95+99)/100-1]
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }
