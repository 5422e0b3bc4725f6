package guards

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/turns"
)

// TestResumeAfterAKillInEarlyPreflight: a move is killed while it asks whether it may
// begin. A resume spoke of the run before, which had ended; it speaks of this one,
// and the move can be begun.
func TestResumeAfterAKillInEarlyPreflight(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	if p := farmtest.RunProgram(t, "step @ before seed", "move", "first", "-C", f.Dir); p.Code != farmtest.ExitFailed {
		t.Fatalf("a run before: exit %d\n%s", p.Code, p.Stderr)
	}
	f.Must("plan", "--name", "second")
	_, fm, _, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	local, err := host.NewLocal(farmtest.QuietLog())
	if err != nil {
		t.Fatal(err)
	}
	pair := fm.Pairs[0]
	pid, err := local.Running(context.Background(), f.At(pair.Instance(farm.B), farmtest.PlaceOf(fm, pair.Name, farm.B)))
	if err != nil || pid == 0 {
		t.Fatalf("process %d, %v", pid, err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // preflight cannot come to an end
		t.Fatal(err)
	}
	b := f.Start("move", "second")
	f.Await(b, "it has the workspace", func() bool {
		held, _ := os.ReadFile(f.Path(".stowage/turn"))
		return strings.Contains(string(held), "move second")
	})
	b.Kill()
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"status", "resume"} {
		p := farmtest.RunProgram(t, "", verb, "-C", f.Dir)
		if said := p.Stdout + p.Stderr; p.Code != farmtest.ExitFine || !strings.Contains(said, "stowage move second of ") || !strings.Contains(said, "was ended in preflight: it had not begun") {
			t.Errorf("%s: exit %d\n%s", verb, p.Code, said)
		}
	}
	f.Must("move", "second")
	f.CheckWhole()
}

// TestKilledBeforeTheRunWasRecorded: the server ids of the plan were spent, nothing else was done, and the same plan was refused for its
// server ids.
func TestKilledBeforeTheRunWasRecorded(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	for range 2 {
		if p := farmtest.RunProgram(t, "stowage @ before run", "move", "first", "-C", f.Dir); p.Code != -1 {
			t.Fatalf("it was to be killed: exit %d\n%s", p.Code, p.Stderr)
		}
	}
	f.Must("move", "first")
	f.CheckWhole()
}
