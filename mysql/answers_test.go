package mysql

import (
	"strings"
	"syscall"
	"testing"

	"stowage/internal/mariadbtest"
)

// A server that hangs takes connections, and says nothing: it is called so, and not waited for as long as a statement may take.
func TestServerThatHangsIsCalledSo(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "hangs")
	s := open(t, i)
	if err := s.Answers(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, i)
	if err := syscall.Kill(i.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(i.PID(), syscall.SIGCONT) }()
	if err := s.Answers(t.Context()); err == nil || !strings.Contains(err.Error(), "hangs") {
		t.Errorf("a server that is stopped: %v", err)
	}
}
