package undo

import (
	"syscall"
	"testing"
	"time"

	"stowage/e2e/farmtest"
)

// BACKOUT_PERSISTS: the side dies in the middle of `out`, behind its fence, and
// does not answer when it should be opened again. The gate is not left closed,
// nor the side fenced, and the lane does not end unknown.
func TestBackOutPersists(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	h := f.HoldAt("before out/barrier")
	i := h.Instance(farmtest.Fault{Whom: farmtest.Peer})
	pid, err := h.Host.Running(t.Context(), i)
	if err != nil || pid == 0 {
		t.Fatal(pid, err)
	}
	// It does not answer, and it is there: a frozen machine. So its option file
	// is no way to be sure. It outlasts the limits of two statements.
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(70*time.Second, func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	p := h.LetGo(false)
	if p.Code != farmtest.ExitFine && p.Code != farmtest.ExitFailed {
		t.Errorf("exit %d\n%s", p.Code, p.Stderr)
	}
	f.ExpectWhole()
}
