package main

import (
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/swing"
)

// pauseRounds says how many times there and back; scripts/bench/pause.sh sets it.
const pauseRounds = "STOWAGE_PAUSE_ROUNDS"

// Switchovers there and back, under light load: every one is a pause of
// writes, which is measured, and nothing is lost in any.
func TestPauses(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv(pauseRounds))
	if err != nil {
		rounds = 2
		t.Parallel() // times are not looked at
	}
	f := startOneWriter(t, farm.PrimaryReplica)
	f.wanted = "anywhere"
	took, last := map[string]time.Duration{}, time.Now()
	x := f.begin(farm.A, func(point string) error {
		if name, ok := strings.CutPrefix(point, "after cutover/"); ok {
			took[name] += time.Since(last)
		}
		last = time.Now()
		return nil
	})
	if err := x.upTo("gather"); err != nil {
		t.Fatal(err)
	}
	for n := range rounds {
		if err := x.step("cutover", false); err != nil {
			t.Fatalf("round %d, there: %v", n, err)
		}
		if err := x.step("cutover", true); err != nil {
			t.Fatalf("round %d, back: %v", n, err)
		}
	}
	all := x.pauses()
	if len(all) != 2*rounds {
		t.Errorf("%d pauses in %d switchovers", len(all), 2*rounds)
	}
	for _, s := range []string{"gather", "attach", "start", "seed"} {
		if err := x.step(s, true); err != nil {
			t.Errorf("undo %s: %v", s, err)
		}
	}
	f.checkOneWriter()
	sort.Float64s(all)
	for _, name := range swing.CutoverPhases { // there only: on the way back the step has another name
		t.Logf("phase %-8s %5.1f ms", name, float64(took[name])/float64(time.Millisecond)/float64(rounds))
	}
	s := f.load.Stop()
	t.Logf("pauses=%d p50=%.1f p99=%.1f max=%.1f failed=%d retried=%d acknowledged=%d client_p50=%.1f client_max=%.1f",
		len(all), all[len(all)/2], all[min(len(all)-1, len(all)*99/100)], all[len(all)-1], s.Failed, s.Retried, s.Acknowledged, s.Pauses.P50, s.MaxPauseMillis)
}
