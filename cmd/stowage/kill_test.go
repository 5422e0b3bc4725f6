package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/demo"
	"stowage/demo/load"
	"stowage/farm"
	"stowage/move"
	"stowage/mysql"
	"stowage/route"
)

// lanes is how many farms of one pair a victim's points are dealt out to. All
// are moved side by side: after a kill most of the time is spent waiting for
// the engine to miss a heartbeat.
const lanes = 8

// The program, the engine, or both are killed with kill -9 before and after
// every step of a move and at both ends of every phase, as move.Points lists
// them, with clients writing all the time. Each farm takes every eighth point:
// the victim dies there, the move is resumed, the victim dies at the next, and
// so on until nothing is left to kill it.
func TestKillAtEveryPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: kills at every step of a move")
	}
	points := move.Points()
	sideBySide(t, func(run func(name string, test func(*testing.T))) {
		for v, victim := range []string{"stowage", "both", "engine"} {
			for lane := range lanes {
				var mine []string
				for i := (lane + 3*v) % lanes; i < len(points); i += lanes {
					mine = append(mine, points[i])
				}
				run(fmt.Sprintf("%s/lane%d", victim, lane), func(t *testing.T) { killInTurn(t, victim, mine) })
			}
		}
	})
}

// sideBySide runs tests at the same time, more of them than there are cores:
// they mostly wait.
func sideBySide(t *testing.T, list func(run func(string, func(*testing.T)))) {
	var wg sync.WaitGroup
	tokens := make(chan struct{}, 12)
	list(func(name string, test func(*testing.T)) {
		wg.Go(func() {
			tokens <- struct{}{}
			defer func() { <-tokens }()
			t.Run(name, test)
		})
	})
	wg.Wait()
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

// liveFarm is one pair under load, with a plan named first.
type liveFarm struct {
	t     *testing.T
	dir   string
	load  *load.Load
	plans int
	onto  string
	// wanted is the host type both sides must be on; "anywhere" asks nothing.
	wanted string
}

func startFarm(t *testing.T) *liveFarm {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "stowage-kill-*")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f := &liveFarm{t: t, dir: dir, onto: "r630-ssd"}
	log := slog.New(slog.DiscardHandler)
	t.Cleanup(func() {
		if f.load != nil {
			f.load.Stop()
		}
		if err := demo.Down(context.Background(), dir, log); err != nil { // the test's own context has ended
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	serially(func() {
		o := demo.Options{Dir: dir, Pairs: 1, Shards: 2, Hosts: 2, Rows: 50, Tell: func(string) {}}
		if err := demo.Up(t.Context(), o, log); err != nil {
			t.Fatal(err)
		}
	})
	_, fm, app, err := demoAccess(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.load, err = load.Start(t.Context(), load.Options{Routing: dir + "/routing.json", Dir: loadDir(dir), Shards: shardsOf(fm),
		User: app.User, Password: app.Password, Clients: 4, Rate: 40, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	f.must("plan", "--name", "first")
	return f
}

// serially keeps two tests from choosing the same addresses for their farms.
func serially(do func()) {
	oneAtATime <- struct{}{}
	defer func() { <-oneAtATime }()
	do()
}

var oneAtATime = make(chan struct{}, 1)

func (f *liveFarm) must(args ...string) {
	f.t.Helper()
	if p := runProgram(f.t, "", append(args, "-C", f.dir)...); p.code != 0 {
		f.t.Fatalf("stowage %s: exit %d\n%s", strings.Join(args, " "), p.code, p.stderr)
	}
}

// turnAround clears the place the farm came from and makes a plan that goes
// back there.
func (f *liveFarm) turnAround() {
	f.t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	used := map[farm.HostName]bool{}
	for _, h := range fm.HostsInUse() {
		used[h] = true
	}
	for _, h := range fm.Hosts {
		if !used[h.Name] {
			os.RemoveAll(f.dir + "/" + h.Dir)
		}
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
	t := f.t
	t.Helper()
	s := f.load.Stop()
	if s.Failed+s.StaleReads+s.UnknownLeft != 0 || s.Acknowledged == 0 {
		t.Errorf("clients met failed %d, stale %d, unknown %d, acknowledged %d\n%v %v", s.Failed, s.StaleReads, s.UnknownLeft, s.Acknowledged, s.Failures, s.Stale)
	}
	if s.Retried > 0 {
		t.Logf("retried %d times (a client slept through a gate): %v", s.Retried, s.Retries)
	}
	a := &app{stdout: os.Stdout, stderr: os.Stderr, dir: f.dir, log: slog.New(slog.DiscardHandler)}
	v, err := a.verify(t.Context(), f.dir)
	if err != nil {
		t.Fatal(err)
	}
	if !v.Whole() {
		t.Errorf("the ledger is not whole: %+v", v)
	}
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	f.checkServing(fm)
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
