package engine

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestBudgetProperties: whatever the lanes hold and in whatever order they end, no token is ever over its budget, every lane gets
// its turn, no lane that could start is left waiting without a reservation, and the same history gives the same decisions.
func TestBudgetProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := Job{Budgets: map[string]int{}}
		var tokens []string
		for i := range rapid.IntRange(1, 4).Draw(t, "tokens") {
			tokens = append(tokens, fmt.Sprint("t", i))
			job.Budgets[tokens[i]] = rapid.IntRange(1, 3).Draw(t, "budget")
		}
		for range rapid.IntRange(1, 40).Draw(t, "lanes") {
			job.Lanes = append(job.Lanes, Lane{Holds: rapid.SliceOfNDistinct(rapid.SampledFrom(tokens), 0, len(tokens), rapid.ID[string]).Draw(t, "holds")})
		}
		b, twin := newBudget(job), newBudget(job)
		var running, started []int
		for len(started) < len(job.Lanes) || len(running) > 0 {
			for {
				lane, ok := b.next()
				lane2, ok2 := twin.next()
				if lane != lane2 || ok != ok2 {
					t.Fatalf("not deterministic: %d %v, %d %v", lane, ok, lane2, ok2)
				}
				if !ok {
					break
				}
				if slices.Contains(started, lane) {
					t.Fatalf("lane %d started twice", lane)
				}
				started, running = append(started, lane), append(running, lane)
				for _, token := range tokens {
					if n := holders(job, running, token); n > job.Budgets[token] {
						t.Fatalf("%s held %d times, budget %d", token, n, job.Budgets[token])
					}
				}
			}
			if len(running) == 0 {
				t.Fatalf("deadlock: %d of %d lanes started", len(started), len(job.Lanes))
			}
			i := rapid.IntRange(0, len(running)-1).Draw(t, "ends")
			b.release(job.Lanes[running[i]].Holds)
			twin.release(job.Lanes[running[i]].Holds)
			running = slices.Delete(running, i, i+1)
		}
	})
}

func holders(job Job, running []int, token string) int {
	n := 0
	for _, lane := range running {
		if slices.Contains(job.Lanes[lane].Holds, token) {
			n++
		}
	}
	return n
}

// TestBigLaneDoesNotStarve: a lane that needs two tokens stands before a hundred small ones, of which there is always one running
// on either token.
func TestBigLaneDoesNotStarve(t *testing.T) {
	job := Job{Budgets: map[string]int{"x": 1, "y": 1}}
	job.Lanes = []Lane{{Holds: []string{"x"}}, {Holds: []string{"x", "y"}}}
	for i := range 100 {
		job.Lanes = append(job.Lanes, Lane{Holds: []string{[]string{"y", "x"}[i%2]}})
	}
	b := newBudget(job)
	var running []int
	for place := 0; ; {
		for lane, ok := b.next(); ok; lane, ok = b.next() {
			if lane == 1 {
				if place > 2*maxOvertaken {
					t.Errorf("the big lane came in place %d", place)
				}
				return
			}
			running = append(running, lane)
			place++
		}
		b.release(job.Lanes[running[0]].Holds)
		running = running[1:]
	}
}
