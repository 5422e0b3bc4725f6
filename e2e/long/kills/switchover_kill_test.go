package kills

import (
	"fmt"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/move"
)

// succession is a runbook of a pair with one writer, and where it is tried.
type succession struct {
	book     string
	topology farm.Topology
	side     farm.SideName
}

var successions = []succession{
	{move.Switchover, farm.PrimaryReplica, farm.A},
	{move.Switchover, farm.Single, farm.A},
	{move.Replica, farm.PrimaryReplica, farm.B},
}

// As TestKillAtEveryPoint, for the primary of a pair, its replica, and a
// single instance. In `make test-all` one farm for each victim takes every eighth
// point; STOWAGE_ALL_POINTS=1 takes all.
func TestKillAtEveryPointOfASwitchover(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at every step of a switchover")
	}
	farmtest.SideBySide(t, func(run func(name string, test func(*testing.T))) {
		for k, x := range successions {
			book, _ := move.ByName(x.book)
			points := book.Points()
			for v, victim := range []string{"stowage", "both", "engine"} {
				for lane, mine := range inLanes(points, 3*v+k) {
					run(fmt.Sprintf("%s/%s/%s/lane%d", x.topology, x.book, victim, lane), func(t *testing.T) { killSuccession(t, x, victim, mine) })
				}
			}
		}
	})
}

// A few of these points, in the run of every day: those around the decision.
func TestKillAroundTheDecision(t *testing.T) {
	t.Parallel() // it mostly waits
	killSuccession(t, successions[0], "stowage", []string{"after cutover/lock", "before cutover/flip", "after cutover/flip"})
}

func killSuccession(t *testing.T, x succession, victim string, points []string) {
	f := farmtest.StartOneWriter(t, x.topology)
	f.Wanted = "anywhere"
	args := f.Instance(x.side)
	for _, point := range points {
		p := farmtest.RunProgram(t, victim+" @ "+point, args...)
		if !strings.Contains(p.Stderr, farmtest.MarkOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.Code, p.Stderr)
		}
		if victim == "engine" {
			if p.Code != farmtest.ExitFine {
				t.Fatalf("with the engine killed at %q: exit %d\n%s", point, p.Code, p.Stderr)
			}
			args = f.Instance(x.side)
			continue
		}
		if p.Code != -1 {
			t.Fatalf("killed at %q, and yet exit %d\n%s", point, p.Code, p.Stderr)
		}
		args = []string{"resume", "-C", f.Dir}
	}
	if p := farmtest.RunProgram(t, "", args...); p.Code != farmtest.ExitFine {
		t.Fatalf("last resume: exit %d\n%s", p.Code, p.Stderr)
	}
	f.CheckOneWriter()
}

// inLanes deals points out to farms, beginning at an offset. In `make test-all`
// there is one farm, and the points of the others are left out.
func inLanes(points []string, offset int) [][]string {
	if !farmtest.AllPoints() {
		return [][]string{farmtest.Every(points, farmtest.Lanes, offset%farmtest.Lanes)}
	}
	return farmtest.Dealt(points, farmtest.Lanes)
}

// As TestFailAtEveryPoint: what fails for good is taken back, losing nothing.
func TestFailAtEveryPointOfASwitchover(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: failures at every step of a switchover")
	}
	farmtest.SideBySide(t, func(run func(string, func(*testing.T))) {
		for k, x := range successions {
			book, _ := move.ByName(x.book)
			for lane, mine := range inLanes(book.Points(), 3*k) {
				run(fmt.Sprintf("%s/%s/lane%d", x.topology, x.book, lane), func(t *testing.T) { failSuccession(t, x, farmtest.InTurn(mine, farmtest.Turn())) })
			}
		}
	})
}

// A few of these points, in the run of every day.
func TestFailAroundTheDecision(t *testing.T) {
	t.Parallel() // it mostly waits
	failSuccession(t, successions[0], []string{"after cutover/lock", "after cutover/open", "before soak"})
}

func failSuccession(t *testing.T, x succession, points []string) {
	f := farmtest.StartOneWriter(t, x.topology)
	f.Wanted = "anywhere"
	for _, point := range points {
		before := f.Addresses()
		p := farmtest.RunProgram(t, "step @ "+point, f.Instance(x.side)...)
		if !strings.Contains(p.Stderr, farmtest.MarkOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.Code, p.Stderr)
		}
		if farmtest.IsBehindReturn(point) {
			if p.Code != farmtest.ExitUnknown {
				t.Fatalf("failed at %q behind the point of no return: exit %d\n%s", point, p.Code, p.Stderr)
			}
			f.Must("resume")
			f.CheckOneServes()
			continue
		}
		if p.Code != farmtest.ExitFailed {
			t.Fatalf("failed at %q: exit %d, want %d\n%s", point, p.Code, farmtest.ExitFailed, p.Stderr)
		}
		if now := f.Addresses(); now != before {
			t.Errorf("failed at %q: farm.yaml says %s, was %s", point, now, before)
		}
		f.CheckOneServes()
	}
	f.CheckOneWriter()
}
