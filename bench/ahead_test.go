package bench

import (
	"testing"
	"time"

	"stowage/bench/result"
)

// TestWhatIsAhead: on a storage on which everything takes half as long again as it is meant to, what is said to be left is what will be left, whether
// the step that lasts twenty times as long was early or late, and also where an earlier session did a part of a round.
func TestWhatIsAhead(t *testing.T) {
	r := newRunner(Order{Profile: Full(), Seed: 5})
	p := r.order.Profile
	r.result = &result.Result{}
	for _, s := range p.Steps {
		r.result.Steps = append(r.result.Steps, r.rows(s)...)
	}
	slow := func(d time.Duration) time.Duration { return d * 3 / 2 }
	runs, least, _ := p.Estimate()
	left, done := slow(least-aaRuns*p.timeOf(Step{})), 0
	for round := 1; round <= p.MinRuns; round++ {
		order := r.shuffled(r.wanted(round), round)
		for i, s := range order {
			left, done = left-slow(p.timeOf(s)), done+1
			r.row(s.ID).Samples = append(r.row(s.ID).Samples, result.Sample{Round: round})
			if done == runs/2 { // another session, which has not learned how slow it is
				r.taken, r.meant = 0, 0
			}
			r.taken, r.meant = r.taken+slow(p.timeOf(s)), r.meant+p.timeOf(s)
			gotRuns, got := r.ahead(round, order[i+1:])
			if gotRuns != runs-done || (got-left).Abs() > time.Second {
				t.Fatalf("round %d, %s: %d runs and %v ahead, want %d and %v", round, s.ID, gotRuns, got, runs-done, left)
			}
		}
	}
	if done != runs || left != slow(aaRuns*p.timeOf(Step{})) {
		t.Errorf("%d of %d runs, %v left", done, runs, left)
	}
}

// TestAheadSkipsWhatAnEarlierSessionDid: of a round that was cut short only the rest counts.
func TestAheadSkipsWhatAnEarlierSessionDid(t *testing.T) {
	r := newRunner(Order{Profile: Quick()})
	r.result = &result.Result{}
	for _, s := range r.order.Profile.Steps {
		r.result.Steps = append(r.result.Steps, r.rows(s)...)
	}
	steps := r.order.Profile.Steps
	r.row(steps[3].ID).Samples = []result.Sample{{Round: 1}}
	if runs, _ := r.ahead(1, steps[1:]); runs != len(steps)-2+2*len(steps) {
		t.Errorf("%d runs ahead", runs)
	}
}
