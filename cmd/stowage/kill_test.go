package main

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/farm"
	"stowage/move"
	"stowage/mysql"
	"stowage/route"
)

// lanes is how many farms the points of a series are dealt out to. All are
// moved side by side: after a kill most of the time is spent waiting for the
// engine to miss a heartbeat.
const lanes = 8

// The program, the engine, or both are killed with kill -9 before and after
// every step of a move and at both ends of every phase, as its runbook lists
// them, with clients writing all the time. Each farm takes its share of the
// points: the victim dies there, the move is resumed, the victim dies at the
// next, and so on until nothing is left to kill it.
//
// In `make test` the program dies at every point, at every second one together
// with the engine, which dies alone at every eighth; STOWAGE_ALL_POINTS=1 takes
// every victim at every point.
func TestKillAtEveryPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at every step of a move")
	}
	book, _ := move.ByName(move.Replace)
	points := book.Points()
	share := map[string][]string{"stowage": points, "both": points, "engine": points}
	hands := map[string]int{"stowage": lanes, "both": lanes, "engine": lanes}
	if !allPoints() {
		share = map[string][]string{"stowage": every(points, 2, 0), "both": every(points, 2, 1), "engine": every(points, 8, 3)}
		hands = map[string]int{"stowage": 4, "both": 4, "engine": 2}
	}
	sideBySide(t, func(run func(name string, test func(*testing.T))) {
		for _, victim := range []string{"engine", "stowage", "both"} {
			for lane, mine := range dealt(share[victim], hands[victim]) {
				run(fmt.Sprintf("%s/lane%d", victim, lane), func(t *testing.T) { killInTurn(t, victim, mine) })
			}
		}
	})
}

// every is every nth of a list, beginning at an offset.
func every(points []string, n, offset int) (out []string) {
	for i := offset; i < len(points); i += n {
		out = append(out, points[i])
	}
	return out
}

// dealt deals a list out to so many hands, in turn.
func dealt(points []string, hands int) [][]string {
	out := make([][]string, hands)
	for lane := range out {
		out[lane] = every(points, hands, lane)
	}
	return out
}

// sideBySide runs the parts of a test at the same time, and beside other tests.
func sideBySide(t *testing.T, list func(run func(string, func(*testing.T)))) {
	t.Parallel()
	list(func(name string, test func(*testing.T)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	})
}

func killInTurn(t *testing.T, victim string, points []string) {
	f := startFarm(t)
	args := []string{"move", "first", "-C", f.dir}
	for _, point := range points {
		p := runProgram(t, victim+" @ "+point, args...)
		if !strings.Contains(p.stderr, markOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.code, p.stderr)
		}
		if victim == "engine" {
			// It goes on by itself. The next point is on the same road, which
			// is walked to its end: begin another.
			if p.code != 0 {
				t.Fatalf("with the engine killed at %q: exit %d\n%s", point, p.code, p.stderr)
			}
			f.turnAround()
			args = []string{"move", f.plan(), "-C", f.dir}
			continue
		}
		if p.code != -1 {
			t.Fatalf("killed at %q, and yet exit %d\n%s", point, p.code, p.stderr)
		}
		args = []string{"move", "resume", "-C", f.dir}
	}
	if p := runProgram(t, "", args...); p.code != 0 {
		t.Fatalf("last resume: exit %d\n%s", p.code, p.stderr)
	}
	f.checkWhole()
}

func (f *liveFarm) must(args ...string) {
	f.t.Helper()
	if p := runWith(f.t, f.env(""), append(args, "-C", f.dir)...); p.code != 0 {
		f.t.Fatalf("stowage %s: exit %d\n%s", strings.Join(args, " "), p.code, p.stderr)
	}
}

// freeHosts is the farm as it is, and its hosts that carry nothing.
func (f *liveFarm) freeHosts() (fm *farm.Farm, free []farm.Host) {
	f.t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	used := fm.HostsInUse()
	for _, h := range fm.Hosts {
		if !slices.Contains(used, h.Name) {
			free = append(free, h)
		}
	}
	return fm, free
}

// turnAround clears the place the farm came from and makes a plan that goes
// back there.
func (f *liveFarm) turnAround() {
	f.t.Helper()
	_, free := f.freeHosts()
	for _, h := range free {
		os.RemoveAll(f.dir + "/" + h.Dir)
	}
	f.onto = map[string]string{"r630-ssd": "platter-22", "platter-22": "r630-ssd"}[f.onto]
	goals := fmt.Sprintf("onto: [%s]\nspread_labels: [rack]\nparallel: 1\nsoak: 50ms\n", f.onto)
	if err := os.WriteFile(f.dir+"/goals.yaml", []byte(goals), 0o644); err != nil {
		f.t.Fatal(err)
	}
	f.plans++
	f.must("plan", "--name", f.plan())
}

func (f *liveFarm) plan() string { return fmt.Sprintf("turn-%d", f.plans) }

// checkWhole stops the clients and holds every promise against the servers.
func (f *liveFarm) checkWhole() {
	f.t.Helper()
	f.checkLedger()
	f.checkNow()
}

// checkServing reads from routing and servers that both sides serve, take
// writes, follow each other, and stand where the plan wants them.
func (f *liveFarm) checkServing(fm *farm.Farm) {
	t := f.t
	t.Helper()
	table, err := route.ReadFile(f.dir + "/routing.json")
	if err != nil {
		t.Fatal(err)
	}
	admin, err := mysql.ReadAccount(f.dir+"/accounts.cnf", "stowage")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range fm.Pairs {
		for _, side := range farm.SideNames {
			address := fm.Address(p.Sides[side])
			if h, _ := fm.Host(p.Sides[side].Host); string(h.Type) != f.onto && f.wanted == "" {
				t.Errorf("%s %s is on %s of type %s, want %s", p.Name, side, h.Name, h.Type, f.onto)
			}
			r := table.Pairs[p.Name]
			if r.GateIsClosed(side) || r.Share(side, side) != 100 || r.Sides[side].Address != address {
				t.Errorf("routing of %s %s: %+v, want open and all at %s", p.Name, side, r, address)
			}
			s := mysql.Open(p.Instance(side), address, admin, slog.New(slog.DiscardHandler))
			defer s.Close()
			if on, err := s.IsReadOnly(t.Context()); err != nil || on {
				t.Errorf("%s %s is left read-only: %v %v", p.Name, side, on, err)
			}
			repl, err := s.Replication(t.Context())
			if err != nil || !repl.Running() || !repl.Follows(fm.Address(p.Sides[side.Twin()])) {
				t.Errorf("%s %s does not follow its twin: %+v %v", p.Name, side, repl, err)
			}
		}
	}
}

// Killed at moments nobody chose.
func TestKillAtAnyMoment(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at any moment of a move")
	}
	sideBySide(t, func(run func(string, func(*testing.T))) {
		for lane := range 4 {
			run(fmt.Sprintf("lane%d", lane), func(t *testing.T) {
				f := startFarm(t)
				args := []string{"move", "first", "-C", f.dir}
				for i := range 4 {
					killAfter(t, time.Duration(250+450*i+137*lane)*time.Millisecond, args...)
					if st := runProgram(t, "", "move", "status", "-C", f.dir); strings.Contains(st.stdout, "no move has been begun") {
						continue // a slow machine: killed before anything was recorded or touched
					}
					args = []string{"move", "resume", "-C", f.dir}
				}
				if p := runProgram(t, "", args...); p.code != 0 {
					t.Fatalf("last resume: exit %d\n%s", p.code, p.stderr)
				}
				f.checkWhole()
			})
		}
	})
}
