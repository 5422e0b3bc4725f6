package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/farm"
	"stowage/move"
	"stowage/mysql"
	"stowage/route"
)

// round is one move of a farm under load, with faults, to its end.
type round struct {
	Faults  []string `json:"faults"`
	Codes   []int    `json:"codes"`  // of the program and of each resume
	Missed  []string `json:"missed"` // faults whose moment never came
	Log     []string `json:"log"`
	Wrong   []string `json:"wrong"`   // nothing, or the round has failed
	Why     []string `json:"why"`     // what the program said last, of each end that no fault explains
	Forward int      `json:"forward"` // how often a person let a shard settle whose way back was lost
	Seconds float64  `json:"seconds"`
	stderr  string
}

// end is how the round ended, for a summary.
func (r round) end() string {
	switch {
	case len(r.Wrong) > 0:
		return "FAILED"
	case r.Codes[len(r.Codes)-1] == exitFine && r.Forward > 0:
		return "forward"
	case r.Codes[len(r.Codes)-1] == exitFine:
		return "done"
	case r.Codes[len(r.Codes)-1] == exitRefused:
		return "refused"
	}
	return "undone"
}

// mostResumes bounds a round: each resume comes after a kill, or after a step
// that gave up while a server was away.
const mostResumes = 6

// withFaults moves something while faults strike, resumes until it has ended, and
// holds every promise against the servers.
func (f *liveFarm) withFaults(j journey, faults []fault) round {
	f.t.Helper()
	if f.load == nil { // they have rested since the last round
		if err := f.startClients(); err != nil {
			f.t.Fatal(err)
		}
	}
	began := time.Now()
	r := round{}
	s := f.striker(j)
	for _, x := range faults {
		r.Faults = append(r.Faults, x.String())
	}
	f.wanted = "anywhere"
	pending, before := faults, f.lastRun()
	args := j.args
	for len(r.Codes) <= mostResumes {
		var code int
		said := len(r.stderr)
		code, pending = f.struck(s, pending, args, &r)
		r.Codes = append(r.Codes, code)
		why := lastWords(r.stderr[said:])
		s.note("exit %d %s", code, why)
		if !explains(faults, code) {
			r.Why = append(r.Why, fmt.Sprintf("exit %d: %s", code, why))
		}
		if code == exitFine || code == exitFailed || code == exitRefused || code == exitUsage {
			break
		}
		if code == exitUnknown || code == exitInterrupted {
			s.finish()
			s.healing.Wait() // whoever looks at the pair brings its servers back first
		}
		if f.lastRun() == before {
			continue // killed before anything was recorded
		}
		st := runProgram(f.t, "", "move", "status", "-C", f.dir)
		if wrong := f.closedGates(st.stdout); wrong != "" {
			r.Wrong = append(r.Wrong, wrong)
		}
		args = []string{"move", "resume", "-C", f.dir}
	}
	s.finish()
	for _, x := range pending {
		r.Missed = append(r.Missed, x.String())
	}
	s.healing.Wait()
	last := r.Codes[len(r.Codes)-1]
	// A server that is away while preflight asks: nothing was touched.
	refused := last == exitRefused && strings.Contains(r.stderr, "preflight found blockers")
	if last != exitFine && last != exitFailed && !refused {
		r.Wrong = append(r.Wrong, fmt.Sprintf("the move does not end: exit codes %v", r.Codes))
	}
	r.Wrong = append(r.Wrong, f.wrongNow(30*time.Second)...)
	r.Wrong = append(r.Wrong, f.wrongLedger()...)
	r.Log, r.Seconds = s.log, time.Since(began).Seconds()
	return r
}

// explains reports whether an exit code is what one of the faults is meant to
// bring about. Others are fine, too, where a machine is slow or a server stays
// away for long; but then somebody will ask why.
func explains(faults []fault, code int) bool {
	by := map[int][]string{exitInterrupted: {"interrupt"}, -1: {"stowage", "both"}, exitFailed: {"fail"}, exitUnknown: {"fail"}}
	return code == exitFine || slices.ContainsFunc(faults, func(x fault) bool { return slices.Contains(by[code], x.What) })
}

// lastWords are the error that a program ended with, and its hint.
func lastWords(stderr string) string {
	at := strings.LastIndex("\n"+stderr, "\nstowage: ")
	if at < 0 {
		return ""
	}
	return strings.Join(strings.Fields(stderr[at:]), " ")
}

func TestRoundKeepsWhatNoFaultExplains(t *testing.T) {
	said := "something first\nstowage: move first: interrupted: start engine: no\n  -> then: stowage move resume\n"
	if got, want := lastWords(said), "stowage: move first: interrupted: start engine: no -> then: stowage move resume"; got != want {
		t.Errorf("last words %q, want %q", got, want)
	}
	if got := lastWords("stowage: x\n"); got != "stowage: x" || lastWords("nothing\n") != "" {
		t.Errorf("last words %q", got)
	}
	long := []fault{{What: "long"}, {What: "interrupt"}}
	if explains(long[:1], exitInterrupted) || !explains(long, exitInterrupted) || !explains(nil, exitFine) || explains(long, exitFailed) {
		t.Error("a long transaction explains no interrupt, an interrupt does; nothing explains that a side was undone")
	}
}

// lastRun names the run that was begun last, or is empty.
func (f *liveFarm) lastRun() string {
	a := &app{dir: f.dir, log: quietLog()}
	d, err := a.open()
	if err != nil {
		return ""
	}
	defer d.close()
	run, err := d.store.LatestRun("move")
	if err != nil {
		return ""
	}
	return run.ID
}

// firstStep is the border from which faults count their time.
const firstStep = "before preflight"

// struck runs the program once with faults, and returns its exit code and the
// faults whose moment has not come.
func (f *liveFarm) struck(s *striker, faults []fault, args []string, r *round) (int, []fault) {
	leave, err := os.MkdirTemp(f.dir, "go-")
	if err != nil {
		f.t.Fatal(err)
	}
	defer os.RemoveAll(leave)
	points := []string{firstStep}
	for _, x := range faults {
		if x.At != "" {
			points = append(points, x.At)
		}
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), playsProgram+"=1", killAt+"=hold @ "+strings.Join(points, "|"), goDir+"="+leave,
		"PATH="+binDir(f.t)+":"+os.Getenv("PATH"))
	pipe, err := cmd.StderrPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	var mu sync.Mutex
	done := map[int]bool{}
	strike := func(n int) {
		mu.Lock()
		was := done[n]
		done[n] = true
		mu.Unlock()
		if !was {
			s.strike(faults[n], cmd.Process)
		}
	}
	var timers []*time.Timer
	begin := func(early bool) {
		for n, x := range faults {
			if x.At == "" && x.Early == early {
				timers = append(timers, time.AfterFunc(x.After, func() { strike(n) }))
			}
		}
	}
	begin(true)
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		r.stderr += lines.Text() + "\n"
		if strings.Contains(lines.Text(), move.LostWords+" since") {
			f.goesForward(s, r)
		}
		point, held := strings.CutPrefix(lines.Text(), markOfHold)
		if !held {
			continue
		}
		if point == firstStep {
			begin(false)
		}
		text := ""
		for n, x := range faults {
			if x.At == point {
				strike(n)
				if x.What == "fail" {
					text = mustFail
				}
			}
		}
		release(f.t, leave, point, text)
	}
	_ = cmd.Wait() // the exit code tells
	for _, x := range timers {
		x.Stop()
	}
	var left []fault
	for n, x := range faults {
		mu.Lock()
		if !done[n] {
			left = append(left, x)
		}
		done[n] = true
		mu.Unlock()
	}
	return cmd.ProcessState.ExitCode(), left
}

// goesForward is the person who is asked when the way back of a shard is lost:
// undo is refused, and the shard goes on without. A program that has been killed
// since it said so asks again.
func (f *liveFarm) goesForward(s *striker, r *round) {
	st := runProgram(f.t, "", "move", "status", "-C", f.dir)
	if !strings.Contains(st.stdout, move.LostWords) {
		return // somebody was asked already
	}
	if p := runProgram(f.t, "", "move", "undo", "-C", f.dir); p.code != exitRefused {
		r.Wrong = append(r.Wrong, fmt.Sprintf("undo without a way back: exit %d\n%s", p.code, p.stderr))
	}
	p := runProgram(f.t, "", "move", "approve", forward, "--reason", "chaos", "-C", f.dir)
	s.note("a person goes forward: exit %d %s", p.code, lastWords(p.stderr))
	if p.code == exitFine {
		r.Forward++
	}
}

// closedGates: a gate that routing shows closed while nothing runs must be
// named by move status.
func (f *liveFarm) closedGates(status string) string {
	table, err := route.ReadFile(f.dir + "/routing.json")
	if err != nil {
		return err.Error()
	}
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		return err.Error()
	}
	for _, p := range fm.Pairs {
		for _, s := range p.Shards {
			if len(table.Serves(s.Name)) != 1 && !strings.Contains(status, "SHARD HELD: clients of "+string(s.Name)) {
				return fmt.Sprintf("%s is held, and move status does not say so:\n%s", s.Name, status)
			}
		}
	}
	for name, p := range table.Pairs {
		for _, side := range farm.SideNames {
			if p.GateIsClosed(side) && !strings.Contains(status, fmt.Sprintf("GATE CLOSED: clients of %s side %s", name, side)) {
				return fmt.Sprintf("the gate of %s %s is closed, and move status does not say so:\n%s", name, side, status)
			}
		}
	}
	return ""
}

// wrongLedger stops the clients and holds the ledger against all sides.
func (f *liveFarm) wrongLedger() []string {
	waited := f.load.Stop().GateShards
	out := f.lostOrDoubled()
	for shard, n := range waited {
		if len(f.goesAlone) > 0 && !slices.Contains(f.goesAlone, shard) {
			out = append(out, fmt.Sprintf("%d transactions of %s, which nobody moved, waited", n, shard))
		}
	}
	f.load = nil
	return out
}

// account is a group of accounts.cnf.
func (f *liveFarm) account(group string) mysql.Account {
	f.t.Helper()
	a, err := mysql.ReadAccount(f.dir+"/accounts.cnf", group)
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}

// anotherPlan is a plan for the next round: on with what was undone, or back
// where the farm came from.
func (f *liveFarm) anotherPlan() string {
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	arrived := true
	for _, h := range fm.HostsInUse() {
		at, _ := fm.Host(h)
		arrived = arrived && string(at.Type) == f.onto
	}
	f.clearUnused()
	if arrived {
		f.onto = map[string]string{"r630-ssd": "platter-22", "platter-22": "r630-ssd"}[f.onto]
	}
	goals := fmt.Sprintf("onto: [%s]\nspread_labels: [rack]\nparallel: 1\nsoak: 50ms\n", f.onto)
	if err := os.WriteFile(f.dir+"/goals.yaml", []byte(goals), 0o644); err != nil {
		f.t.Fatal(err)
	}
	f.plans++
	f.must("plan", "--name", f.plan())
	return f.plan()
}
