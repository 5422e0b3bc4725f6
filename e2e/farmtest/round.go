package farmtest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"stowage/act"
	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
)

// Round is one move of a farm under load, with faults, to its end.
type Round struct {
	Faults  []string `json:"faults"`
	Codes   []int    `json:"codes"`  // of the program and of each resume
	Missed  []string `json:"missed"` // faults whose moment never came
	Log     []string `json:"log"`
	Wrong   []string `json:"wrong"`   // nothing, or the round has failed
	Why     []string `json:"why"`     // what the program said last, of each end that no fault explains
	Forward int      `json:"forward"` // how often a person let a shard settle whose way back was lost
	Seconds float64  `json:"seconds"`
	Said    string   `json:"-"` // on standard error
}

// End is how the round ended, for a summary.
func (r Round) End() string {
	switch {
	case len(r.Wrong) > 0:
		return "FAILED"
	case r.Codes[len(r.Codes)-1] == ExitFine && r.Forward > 0:
		return "forward"
	case r.Codes[len(r.Codes)-1] == ExitFine:
		return "done"
	case r.Codes[len(r.Codes)-1] == ExitRefused:
		return "refused"
	}
	return "undone"
}

// mostResumes bounds a round: each resume comes after a kill, or after a step
// that gave up while a server was away.
const mostResumes = 6

// WithFaults moves something while faults strike, resumes until it has ended, and
// compares every promise with the servers.
func (f *LiveFarm) WithFaults(j Journey, faults []Fault) Round {
	f.T.Helper()
	if f.Load == nil { // they have rested since the last round
		if err := f.StartClients(); err != nil {
			f.T.Fatal(err)
		}
	}
	began := time.Now()
	r := Round{}
	s := f.Striker(j)
	for _, x := range faults {
		r.Faults = append(r.Faults, x.String())
	}
	f.Wanted = "anywhere"
	pending, before := faults, f.lastRun()
	args := j.args
	for len(r.Codes) <= mostResumes {
		var code int
		said := len(r.Said)
		code, pending = f.struck(s, pending, args, &r)
		r.Codes = append(r.Codes, code)
		why := LastWords(r.Said[said:])
		s.Note("exit %d %s", code, why)
		if !Explains(faults, code) {
			r.Why = append(r.Why, fmt.Sprintf("exit %d: %s", code, why))
		}
		if code == ExitFine || code == ExitFailed || code == ExitRefused || code == ExitUsage {
			break
		}
		if code == ExitUnknown || code == ExitInterrupted {
			s.Finish()
			s.Healing.Wait() // whoever looks at the pair brings its servers back first
		}
		if f.lastRun() == before {
			continue // killed before anything was recorded
		}
		st := RunProgram(f.T, "", "status", "-C", f.Dir)
		if wrong := f.ClosedGates(st.Stdout); wrong != "" {
			r.Wrong = append(r.Wrong, wrong)
		}
		args = []string{"resume", "-C", f.Dir}
	}
	s.Finish()
	for _, x := range pending {
		r.Missed = append(r.Missed, x.String())
	}
	s.Healing.Wait()
	last := r.Codes[len(r.Codes)-1]
	// A server that is away while preflight asks: nothing was touched.
	refused := last == ExitRefused && strings.Contains(r.Said, "preflight found blockers")
	if last != ExitFine && last != ExitFailed && !refused {
		r.Wrong = append(r.Wrong, fmt.Sprintf("the move does not end: exit codes %v", r.Codes))
	}
	r.Wrong = append(r.Wrong, f.WrongNow(30*time.Second)...)
	r.Wrong = append(r.Wrong, f.wrongLedger()...)
	r.Log, r.Seconds = s.Log, time.Since(began).Seconds()
	return r
}

// Explains reports whether an exit code is what one of the faults is meant to
// bring about. Others are fine, too, where a machine is slow or a server stays
// away for long; but then somebody will ask why.
func Explains(faults []Fault, code int) bool {
	by := map[int][]string{ExitInterrupted: {"interrupt"}, -1: {"stowage", "both"}, ExitFailed: {"fail"}, ExitUnknown: {"fail"}}
	return code == ExitFine || slices.ContainsFunc(faults, func(x Fault) bool { return slices.Contains(by[code], x.What) })
}

// LastWords are the error that a program ended with, and its hint.
func LastWords(stderr string) string {
	at := strings.LastIndex("\n"+stderr, "\nstowage: ")
	if at < 0 {
		return ""
	}
	return strings.Join(strings.Fields(stderr[at:]), " ")
}

// lastRun names the run that was begun last, or is empty.
func (f *LiveFarm) lastRun() string {
	kept, err := keptIn(f.Dir)
	if err != nil {
		return ""
	}
	defer kept.Close()
	runs, err := kept.Runs("")
	if err != nil || len(runs) == 0 {
		return ""
	}
	return runs[0].ID
}

// firstStep is the border from which faults count their time.
const firstStep = "before preflight"

// struck runs the program once with faults, and returns its exit code and the
// faults whose moment has not come.
func (f *LiveFarm) struck(s *Striker, faults []Fault, args []string, r *Round) (int, []Fault) {
	leave, err := os.MkdirTemp(f.Dir, "go-")
	if err != nil {
		f.T.Fatal(err)
	}
	defer os.RemoveAll(leave)
	points := []string{firstStep}
	for _, x := range faults {
		if x.At != "" {
			points = append(points, x.At)
		}
	}
	ctx, cancel := context.WithTimeout(f.T.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, LiveProgram(f.T), args...)
	cmd.Env = append(os.Environ(), KillAt+"=hold @ "+strings.Join(points, "|"), goDir+"="+leave,
		"PATH="+BinDir(f.T)+":"+os.Getenv("PATH"))
	pipe, err := cmd.StderrPipe()
	if err != nil {
		f.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.T.Fatal(err)
	}
	var mu sync.Mutex
	done := map[int]bool{}
	strike := func(n int) {
		mu.Lock()
		was := done[n]
		done[n] = true
		mu.Unlock()
		if !was {
			s.Strike(faults[n], cmd.Process)
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
		r.Said += lines.Text() + "\n"
		if strings.Contains(lines.Text(), act.LostWords+" since") {
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
		release(f.T, leave, point, text)
	}
	_ = cmd.Wait() // the exit code tells
	for _, x := range timers {
		x.Stop()
	}
	var left []Fault
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
func (f *LiveFarm) goesForward(s *Striker, r *Round) {
	if st := f.Status(); st.Steering == nil || !slices.ContainsFunc(st.Steering.Lost, act.LostWay.IsOpen) {
		return // the screen says it more than once, and somebody has decided
	}
	if p := RunProgram(f.T, "", "undo", "-C", f.Dir); p.Code != ExitRefused {
		r.Wrong = append(r.Wrong, fmt.Sprintf("undo without a way back: exit %d\n%s", p.Code, p.Stderr))
	}
	p := RunProgram(f.T, "", "approve", Forward, "--reason", "chaos", "-C", f.Dir)
	s.Note("a person goes forward: exit %d %s", p.Code, LastWords(p.Stderr))
	if p.Code == ExitFine {
		r.Forward++
	}
}

// closedGates: a gate that routing shows closed while nothing runs must be
// named by status.
func (f *LiveFarm) ClosedGates(status string) string {
	table, err := route.ReadFile(f.Dir + "/routing.json")
	if err != nil {
		return err.Error()
	}
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		return err.Error()
	}
	for _, p := range fm.Pairs {
		for _, s := range p.Shards {
			if len(table.Serves(s.Name)) != 1 && !strings.Contains(status, "SHARD HELD: clients of "+string(s.Name)) {
				return fmt.Sprintf("%s is held, and status does not say so:\n%s", s.Name, status)
			}
		}
	}
	for name, p := range table.Pairs {
		for _, side := range farm.SideNames {
			if p.GateIsClosed(side) && !strings.Contains(status, fmt.Sprintf("GATE CLOSED: clients of %s side %s", name, side)) {
				return fmt.Sprintf("the gate of %s %s is closed, and status does not say so:\n%s", name, side, status)
			}
		}
	}
	return ""
}

// wrongLedger stops the clients and compares the ledger with all sides.
func (f *LiveFarm) wrongLedger() []string {
	waited := f.Load.Stop().GateShards
	out := f.lostOrDoubled()
	if f.Column != "" {
		out = append(out, (&AlteredFarm{F: f}).unequal(WaitLimit)...)
	}
	for shard, n := range waited {
		if len(f.goesAlone) > 0 && !slices.Contains(f.goesAlone, shard) {
			out = append(out, fmt.Sprintf("%d transactions of %s, which nobody moved, waited", n, shard))
		}
	}
	f.Load = nil
	return out
}

// account is a group of accounts.cnf.
func (f *LiveFarm) account(group string) mysql.Account {
	f.T.Helper()
	a, err := mysql.ReadAccount(f.Dir+"/accounts.cnf", group)
	if err != nil {
		f.T.Fatal(err)
	}
	return a
}

// anotherPlan is a plan for the next round: on with what was undone, or back
// where the farm came from.
func (f *LiveFarm) anotherPlan() string {
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	arrived := true
	for _, h := range fm.HostsInUse() {
		at, _ := fm.Host(h)
		arrived = arrived && string(at.Type) == f.Onto
	}
	f.clearUnused()
	if arrived {
		f.Onto = map[string]string{"r630-ssd": "platter-22", "platter-22": "r630-ssd"}[f.Onto]
	}
	goals := fmt.Sprintf("onto: [%s]\nspread_labels: [rack]\nparallel: 1\nsoak: 50ms\n", f.Onto)
	if err := os.WriteFile(f.Dir+"/goals.yaml", []byte(goals), 0o644); err != nil {
		f.T.Fatal(err)
	}
	f.plans++
	f.Must("plan", "--name", f.Plan())
	return f.Plan()
}
