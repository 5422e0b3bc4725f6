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

// TestLanesThatWaitForABusyHostLeaveTheFarmFull: half of the lanes go to one host. While others wait that do not, as many run as the
// farm allows.
func TestLanesThatWaitForABusyHostLeaveTheFarmFull(t *testing.T) {
	const atOnce = 16
	job := Job{Budgets: map[string]int{"farm": atOnce, "host busy": 2}}
	for i := range 200 {
		host := "host busy"
		if i%2 == 1 {
			host = fmt.Sprint("host ", i)
			job.Budgets[host] = 2
		}
		job.Lanes = append(job.Lanes, Lane{Holds: []string{"farm", host}})
	}
	b := newBudget(job)
	var running []int
	others := 100
	for ended := 0; ended < len(job.Lanes); ended++ {
		for lane, ok := b.next(); ok; lane, ok = b.next() {
			running = append(running, lane)
			others -= lane % 2
		}
		if others > 0 && len(running) != atOnce {
			t.Fatalf("%d lanes run while %d wait that could, the farm allows %d", len(running), others, atOnce)
		}
		b.release(job.Lanes[running[0]].Holds)
		running = running[1:]
	}
}

// TestSeizedTokensAreNotGivenOut: what a lane holds that has begun before is not free.
func TestSeizedTokensAreNotGivenOut(t *testing.T) {
	b := newBudget(Job{Budgets: map[string]int{"x": 2}, Lanes: []Lane{{Holds: []string{"x"}}, {Holds: []string{"x"}}, {Holds: []string{"x"}}}})
	b.seize(2)
	if lane, ok := b.next(); !ok || lane != 0 {
		t.Errorf("next is %d, %v; want 0", lane, ok)
	}
	if lane, ok := b.next(); ok {
		t.Errorf("lane %d began beyond the budget", lane)
	}
	b.release([]string{"x"})
	if lane, ok := b.next(); !ok || lane != 1 {
		t.Errorf("next is %d, %v; want 1", lane, ok)
	}
}
