package kills

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/move"
)

// The program, the engine, or both are killed with kill -9 before and after
// every step of a move and at both ends of every phase, as its runbook lists
// them, with clients writing all the time. Each farm takes its share of the
// points: the victim dies there, the move is resumed, the victim dies at the
// next, and so on until nothing is left to kill it.
//
// In `make test-all` the program dies at every point, at every second one together
// with the engine, which dies alone at every eighth; STOWAGE_ALL_POINTS=1 takes
// every victim at every point.
func TestKillAtEveryPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at every step of a move")
	}
	book, _ := move.ByName(move.Replace)
	points := book.Points()
	share := map[string][]string{"stowage": points, "both": points, "engine": points}
	hands := map[string]int{"stowage": farmtest.Lanes, "both": farmtest.Lanes, "engine": farmtest.Lanes}
	if !farmtest.AllPoints() {
		share = map[string][]string{"stowage": farmtest.Every(points, 2, 0), "both": farmtest.Every(points, 2, 1), "engine": farmtest.Every(points, 8, 3)}
		hands = map[string]int{"stowage": 4, "both": 4, "engine": 2}
	}
	farmtest.SideBySide(t, func(run func(name string, test func(*testing.T))) {
		for _, victim := range []string{"engine", "stowage", "both"} {
			for lane, mine := range farmtest.Dealt(share[victim], hands[victim]) {
				run(fmt.Sprintf("%s/lane%d", victim, lane), func(t *testing.T) { killInTurn(t, victim, mine) })
			}
		}
	})
}

func killInTurn(t *testing.T, victim string, points []string) {
	f := farmtest.StartFarm(t)
	args := []string{"move", "first", "-C", f.Dir}
	for _, point := range points {
		p := farmtest.RunProgram(t, victim+" @ "+point, args...)
		if !strings.Contains(p.Stderr, farmtest.MarkOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.Code, p.Stderr)
		}
		if victim == "engine" {
			// It goes on by itself. The next point is on the same road, which
			// is walked to its end: begin another.
			if p.Code != 0 {
				t.Fatalf("with the engine killed at %q: exit %d\n%s", point, p.Code, p.Stderr)
			}
			f.TurnAround()
			args = []string{"move", f.Plan(), "-C", f.Dir}
			continue
		}
		if p.Code != -1 {
			t.Fatalf("killed at %q, and yet exit %d\n%s", point, p.Code, p.Stderr)
		}
		args = []string{"resume", "-C", f.Dir}
	}
	if p := farmtest.RunProgram(t, "", args...); p.Code != 0 {
		t.Fatalf("last resume: exit %d\n%s", p.Code, p.Stderr)
	}
	f.CheckWhole()
}

// Killed at moments nobody chose.
func TestKillAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at any moment of a move")
	}
	farmtest.SideBySide(t, func(run func(string, func(*testing.T))) {
		for lane := range 4 {
			run(fmt.Sprintf("lane%d", lane), func(t *testing.T) {
				f := farmtest.StartFarm(t)
				args := []string{"move", "first", "-C", f.Dir}
				for i := range 4 {
					farmtest.KillAfter(t, time.Duration(250+450*i+137*lane)*time.Millisecond, args...)
					if st := farmtest.RunProgram(t, "", "status", "-C", f.Dir); strings.Contains(st.Stdout, "no run has begun") {
						continue // a slow machine: killed before anything was recorded or touched
					}
					args = []string{"resume", "-C", f.Dir}
				}
				if p := farmtest.RunProgram(t, "", args...); p.Code != 0 {
					t.Fatalf("last resume: exit %d\n%s", p.Code, p.Stderr)
				}
				f.CheckWhole()
			})
		}
	})
}
