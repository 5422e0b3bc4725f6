package side

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
)

// warmSeconds= says for how long is measured, and that `make bench` measures, on disks that it has slowed down: STOWAGE_WARM_GROUP= is
// the control group of side B.
const warmSeconds, warmGroup = "STOWAGE_WARM_SECONDS", "STOWAGE_WARM_GROUP"

// A side that was restarted comes back warm, judged by reads of its twin. How much that is worth only the bench can say: here no disk is
// slow, and times are not looked at.
func TestRestartedSideComesBackWarm(t *testing.T) {
	seconds, rounds, rows := farmtest.Number(warmSeconds, 0), farmtest.Number("ROUNDS", 1), 600_000
	if seconds == 0 {
		seconds, rounds, rows = 2, 1, 100_000
	}
	s := farmtest.StartColdSide(t, rows)
	if tasks := os.Getenv(warmGroup); tasks != "" {
		s.Apart(tasks)
	}
	s.Read(8)
	s.Settle(time.Duration(2*seconds) * time.Second)
	during := time.Duration(seconds) * time.Second
	var warm, cold []float64
	for n := range rounds {
		for _, without := range []bool{false, true} {
			// What was not warmed is sent away by the ramp, as it should be; to see what it would have cost the limits are taken away.
			s.F.Goals(map[bool]string{true: "ramp: {latency: x100000, floor: 50s}\n"}[without])
			steady, before := s.P95(during)
			began := time.Now()
			said := s.ComesBack(without)
			out := time.Since(began)
			first, after := s.P95(during)
			ratio := first.Seconds() / steady.Seconds()
			if without {
				cold = append(cold, ratio)
			} else {
				warm = append(warm, ratio)
			}
			t.Logf("round %d, cold %v: p95 %v of %d reads before, %v of %d after: %.2f; out %v", n, without, steady, before, first, after, ratio, out)
			for line := range strings.Lines(said) {
				if strings.Contains(line, "warm") || strings.Contains(line, "reads") {
					t.Log(strings.TrimSpace(line))
				}
			}
		}
	}
	slices.Sort(warm)
	slices.Sort(cold)
	t.Logf("rounds=%d warm=%.3f warmmost=%.3f cold=%.3f coldleast=%.3f", rounds, warm[len(warm)/2], warm[len(warm)-1], cold[len(cold)/2], cold[0])
	p := farmtest.RunProgram(t, "", "log", "-C", s.F.Dir)
	if said := p.Stdout; !strings.Contains(said, "warm: p95 of ") && !strings.Contains(said, "not warm after ") {
		t.Errorf("no event says how warm it is:\n%s", said)
	}
	s.F.CheckLedger()
}
