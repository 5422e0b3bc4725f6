package main

import (
	"fmt"
	"strings"
	"testing"

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
// single instance. In `make test` one farm for each victim takes every eighth
// point; STOWAGE_ALL_POINTS=1 takes all.
func TestKillAtEveryPointOfASwitchover(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at every step of a switchover")
	}
	sideBySide(t, func(run func(name string, test func(*testing.T))) {
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
	f := startOneWriter(t, x.topology)
	f.wanted = "anywhere"
	args := f.instance(x.side)
	for _, point := range points {
		p := runProgram(t, victim+" @ "+point, args...)
		if !strings.Contains(p.stderr, markOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.code, p.stderr)
		}
		if victim == "engine" {
			if p.code != exitFine {
				t.Fatalf("with the engine killed at %q: exit %d\n%s", point, p.code, p.stderr)
			}
			args = f.instance(x.side)
			continue
		}
		if p.code != -1 {
			t.Fatalf("killed at %q, and yet exit %d\n%s", point, p.code, p.stderr)
		}
		args = []string{"move", "resume", "-C", f.dir}
	}
	if p := runProgram(t, "", args...); p.code != exitFine {
		t.Fatalf("last resume: exit %d\n%s", p.code, p.stderr)
	}
	f.checkOneWriter()
}

// inLanes deals points out to farms, beginning at an offset. In `make test`
// there is one farm, and the points of the others are left out.
func inLanes(points []string, offset int) [][]string {
	if !allPoints() {
		return [][]string{every(points, lanes, offset%lanes)}
	}
	return dealt(points, lanes)
}

// As TestFailAtEveryPoint: what fails for good is taken back, losing nothing.
func TestFailAtEveryPointOfASwitchover(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: failures at every step of a switchover")
	}
	sideBySide(t, func(run func(string, func(*testing.T))) {
		for k, x := range successions {
			book, _ := move.ByName(x.book)
			for lane, mine := range inLanes(book.Points(), 3*k) {
				run(fmt.Sprintf("%s/%s/lane%d", x.topology, x.book, lane), func(t *testing.T) { failSuccession(t, x, inTurn(mine, turn())) })
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
	f := startOneWriter(t, x.topology)
	f.wanted = "anywhere"
	for _, point := range points {
		before := f.addresses()
		p := runProgram(t, "step @ "+point, f.instance(x.side)...)
		if !strings.Contains(p.stderr, markOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.code, p.stderr)
		}
		if isBehindReturn(point) {
			if p.code != exitUnknown {
				t.Fatalf("failed at %q behind the point of no return: exit %d\n%s", point, p.code, p.stderr)
			}
			f.must("move", "resume")
			f.checkOneServes()
			continue
		}
		if p.code != exitFailed {
			t.Fatalf("failed at %q: exit %d, want %d\n%s", point, p.code, exitFailed, p.stderr)
		}
		if now := f.addresses(); now != before {
			t.Errorf("failed at %q: farm.yaml says %s, was %s", point, now, before)
		}
		f.checkOneServes()
	}
	f.checkOneWriter()
}

// addresses are where farm.yaml has the sides there are.
func (f *liveFarm) addresses() string {
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	var out []string
	for _, p := range fm.Pairs {
		for _, side := range p.SideNames() {
			out = append(out, fmt.Sprintf("%s/%s@%s", p.Name, side, fm.Address(p.Sides[side])))
		}
	}
	return strings.Join(out, " ")
}
