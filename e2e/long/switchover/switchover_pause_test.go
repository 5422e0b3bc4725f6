package switchover

import (
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
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
	f := farmtest.StartOneWriter(t, farm.PrimaryReplica)
	f.Wanted = "anywhere"
	took, last := map[string]time.Duration{}, time.Now()
	x := f.Begin(farm.A, func(point string) error {
		if name, ok := strings.CutPrefix(point, "after cutover/"); ok {
			took[name] += time.Since(last)
		}
		last = time.Now()
		return nil
	})
	if err := x.UpTo("gather"); err != nil {
		t.Fatal(err)
	}
	for n := range rounds {
		if err := x.Step("cutover", false); err != nil {
			t.Fatalf("round %d, there: %v", n, err)
		}
		if err := x.Step("cutover", true); err != nil {
			t.Fatalf("round %d, back: %v", n, err)
		}
	}
	all := x.Pauses()
	if len(all) != 2*rounds {
		t.Errorf("%d pauses in %d switchovers", len(all), 2*rounds)
	}
	for _, s := range []string{"gather", "attach", "start", "seed"} {
		if err := x.Step(s, true); err != nil {
			t.Errorf("undo %s: %v", s, err)
		}
	}
	f.CheckOneWriter()
	sort.Float64s(all)
	for _, name := range swing.CutoverPhases { // there only: on the way back the step has another name
		t.Logf("phase %-8s %5.1f ms", name, float64(took[name])/float64(time.Millisecond)/float64(rounds))
	}
	s := f.Load.Stop()
	t.Logf("pauses=%d p50=%.1f p99=%.1f max=%.1f failed=%d retried=%d acknowledged=%d client_p50=%.1f client_max=%.1f",
		len(all), all[len(all)/2], all[min(len(all)-1, len(all)*99/100)], all[len(all)-1], s.Failed, s.Retried, s.Acknowledged, s.Pauses.P50, s.MaxPauseMillis)
}
