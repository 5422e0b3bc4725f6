package undo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/move"
)

// A move that fails for good at any point is taken back: exit 4, both old
// sides serve and take writes, nothing of the new instance is left. Behind the
// point of no return it can only go forward: exit 5, and resume finishes it. In
// `make test-all` a third of the points are taken by two commits in turn; STOWAGE_ALL_POINTS=1
// takes all.
func TestFailAtEveryPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: failures at every step of a move")
	}
	book, _ := move.ByName(move.Replace)
	points := book.Points()
	farmtest.SideBySide(t, func(run func(string, func(*testing.T))) {
		for lane, mine := range farmtest.Dealt(farmtest.InTurn(farmtest.SampleOf(points, 3), farmtest.Turn()), farmtest.Hands(4, farmtest.Lanes)) {
			run(fmt.Sprintf("lane%d", lane), func(t *testing.T) { failInTurn(t, mine) })
		}
	})
}

func failInTurn(t *testing.T, points []string) {
	f := farmtest.StartFarm(t)
	// Both old sides first: what the plan wants to leave.
	for n, point := range points {
		plan := fmt.Sprintf("try-%d", n)
		f.Must("plan", "--name", plan)
		before := f.Places()
		p := farmtest.RunProgram(t, "step @ "+point, "move", plan, "-C", f.Dir)
		if !strings.Contains(p.Stderr, farmtest.MarkOfKill+point) {
			t.Fatalf("the move never met %q: exit %d\n%s", point, p.Code, p.Stderr)
		}
		if farmtest.IsBehindReturn(point) {
			if p.Code != farmtest.ExitUnknown {
				t.Fatalf("failed at %q behind the point of no return: exit %d\n%s", point, p.Code, p.Stderr)
			}
			f.Must("resume")
			f.CheckNow()
			f.TurnAround()
			continue
		}
		if p.Code != farmtest.ExitFailed {
			t.Fatalf("failed at %q: exit %d, want %d\n%s", point, p.Code, farmtest.ExitFailed, p.Stderr)
		}
		if now := f.Places(); now != before {
			t.Errorf("failed at %q: farm.yaml says %s, was %s", point, now, before)
		}
		if left, _ := filepath.Glob(f.Dir + "/hosts/ssd*/*"); len(left) > 0 && f.Onto == "r630-ssd" {
			t.Errorf("failed at %q: left behind %v", point, left)
		}
		f.Wanted = "anywhere"
		f.CheckNow()
	}
	f.CheckWhole()
}

// Ctrl-C lets the running steps end, says how to go on, and leaves no gate
// closed; resume finishes the move.
func TestInterruptedMoveGoesOn(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	args := []string{"move", "first", "-C", f.Dir}
	for _, wait := range []time.Duration{400, 900, 1500} {
		code, stderr := interruptAfter(t, wait*time.Millisecond, args...)
		if code == farmtest.ExitInterrupted && strings.Contains(stderr, "preflight: interrupted") {
			continue // a slow machine: nothing has begun
		}
		if code == farmtest.ExitFine {
			break // it was faster than we
		}
		if code != farmtest.ExitInterrupted || !strings.Contains(stderr, "stowage resume") {
			t.Fatalf("interrupted after %v ms: exit %d\n%s", wait, code, stderr)
		}
		args = []string{"resume", "-C", f.Dir}
		st := farmtest.RunProgram(t, "", "status", "-C", f.Dir)
		if strings.Contains(st.Stdout, "GATE CLOSED") || !strings.Contains(st.Stdout, "interrupted") {
			t.Errorf("status after an interrupt:\n%s", st.Stdout)
		}
	}
	if p := farmtest.RunProgram(t, "", args...); p.Code != farmtest.ExitFine {
		t.Errorf("exit %d\n%s", p.Code, p.Stderr)
	}
	f.CheckWhole()
}

func interruptAfter(t *testing.T, wait time.Duration, args ...string) (int, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), farmtest.LiveProgram(t), args...)
	cmd.Env = append(os.Environ(), "PATH="+farmtest.BinDir(t)+":"+os.Getenv("PATH"))
	var errOut strings.Builder
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(wait, func() { _ = cmd.Process.Signal(syscall.SIGINT) })
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), errOut.String()
}

// A demo that is interrupted leaves nothing: no process, no port, no data.
func TestInterruptedDemoCleansUp(t *testing.T) {
	for _, wait := range []time.Duration{300, 1200, 3000} {
		dir, err := os.MkdirTemp("/var/tmp", "stowage-ctrlc-*")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		code, stderr := interruptAfter(t, wait*time.Millisecond, "demo", "-C", dir, "--pairs", "2", "--hosts", "2", "--shards", "1")
		if code != farmtest.ExitInterrupted {
			t.Errorf("demo interrupted after %d ms: exit %d\n%s", wait, code, stderr)
		}
		if left := farmtest.ProcessesIn(dir); len(left) > 0 {
			t.Errorf("demo interrupted after %d ms left processes %v", wait, left)
		}
		if left, _ := filepath.Glob(dir + "/hosts/*"); len(left) > 0 {
			t.Errorf("demo interrupted after %d ms left %v", wait, left)
		}
	}
}

// While one process moves, another waits or is refused; it never works beside it.
func TestTwoMovesAtOnce(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	first := f.HoldAt("before out")
	second := farmtest.RunProgram(t, "", "move", "first", "-C", f.Dir)
	if second.Code != farmtest.ExitRefused {
		t.Errorf("a second move: exit %d, want %d\n%s", second.Code, farmtest.ExitRefused, second.Stderr)
	}
	waits := f.Start("resume")
	f.Await(waits, "it waits for the first", func() bool { return strings.Contains(waits.Out.String(), "waiting for it to end") })
	if p := first.LetGo(false); p.Code != farmtest.ExitFine {
		t.Errorf("the first move: exit %d\n%s", p.Code, p.Stderr)
	}
	waits.Ends(t, farmtest.ExitFine)
	f.CheckWhole()
}

// A plan is carried out as it was reviewed, or not at all.
func TestDriftedPlanIsRefused(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	path := f.Dir + "/farm.yaml"
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(was), "labels: {rack: r2}}\n  - {name: ssd01", "labels: {rack: r9}}\n  - {name: ssd01", 1)
	changed = strings.Replace(changed, "address: 127.0.", "address: 127.0.9", 1)
	if changed == string(was) {
		t.Fatal("the test did not change farm.yaml")
	}
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	p := farmtest.RunProgram(t, "", "move", "first", "-C", f.Dir)
	if p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "has changed since the plan was made") || !strings.Contains(p.Stderr, "db001") {
		t.Errorf("a plan for another farm: exit %d\n%s", p.Code, p.Stderr)
	}
	if err := os.WriteFile(path, was, 0o644); err != nil {
		t.Fatal(err)
	}
	f.Must("move", "first")
	for _, args := range [][]string{{"move", "first"}, {"move", "first", "--dry-run"}} {
		again := farmtest.RunProgram(t, "", append(args, "-C", f.Dir)...)
		if again.Code != farmtest.ExitFine || !strings.Contains(again.Stdout, "nothing to do") {
			t.Errorf("%v of a plan that is done: exit %d\n%s%s", args, again.Code, again.Stdout, again.Stderr)
		}
	}
	f.CheckWhole()
}

// A client keeps a transaction open while its side is to leave: the gate stays
// open, the other clients go on, and the switch comes when the transaction has
// ended.
func TestLongTransactionOnlyDelays(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	tx := f.OpenTransaction(farm.B)
	// It ends after the move has come to it, however long the steps before take.
	go func() {
		leaves := func(e farm.Event) bool { return e.Kind == farm.StepStarted && e.Step == "out" }
		for n := 0; n < 1200 && !slices.ContainsFunc(f.Events(), leaves); n++ {
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(5 * time.Second) // it is waited for by then
		_ = tx.Rollback()
	}()
	p := farmtest.RunProgram(t, "", "move", "first", "-C", f.Dir)
	if p.Code != farmtest.ExitFine || !strings.Contains(p.Stderr, "hold work open") {
		t.Errorf("with a long transaction: exit %d\n%s", p.Code, p.Stderr)
	}
	for _, e := range f.Events() {
		if e.Kind == farm.GateOpened && e.Text == "backed out" {
			t.Errorf("a gate was closed for nothing at step %s of side %s", e.Step, e.Side)
		}
	}
	f.CheckWhole()
}

// A report that runs for long on the twin, and began there before any client of
// the side was sent to it, holds nothing up: it cannot be one of theirs.
func TestLongWorkOfTheTwinsOwnClients(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	tx := f.OpenTransaction(farm.A)
	time.Sleep(4 * time.Second) // what is younger by the clocks of two machines may be of clients that were sent over: it is waited for
	done := make(chan farmtest.Program)
	go func() { done <- farmtest.RunProgram(t, "", "move", "first", "-C", f.Dir) }()
	for movedB := false; !movedB; time.Sleep(100 * time.Millisecond) {
		for _, e := range f.Events() {
			movedB = movedB || e.Side == farm.B && e.Step == "retire" && e.Kind == farm.StepDone
			if e.Side == farm.B && e.Kind == farm.StepWaiting && e.Phase == "ready" {
				t.Fatalf("side B waited for %s", e.Text)
			}
		}
		select {
		case p := <-done:
			t.Fatalf("the move ended with the transaction open: exit %d\n%s", p.Code, p.Stderr)
		default:
		}
	}
	// Side A is next, and for it the transaction is a client's own.
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	if p := <-done; p.Code != farmtest.ExitFine {
		t.Errorf("exit %d\n%s", p.Code, p.Stderr)
	}
	f.CheckWhole()
}

// A client that runs one transaction of seconds after the other leaves no good
// moment. The gate is tried again, and waits longer each time, until one ends
// behind it.
func TestBackToBackTransactions(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.LongTransactions(ctx, "alice", 2500*time.Millisecond) }()
	f.Must("move", "first")
	stop()
	if err := <-done; err != nil {
		t.Errorf("the client of long transactions: %v", err)
	}
	f.CheckWhole()
}
