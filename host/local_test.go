package host_test

import (
	"log/slog"
	"testing"

	"stowage/host"
	"stowage/host/hosttest"
)

func newLog() *slog.Logger { return slog.New(slog.DiscardHandler) }

// local gives this machine, or skips where MariaDB is not installed.
func local(t testing.TB) *host.Local {
	t.Helper()
	l, err := host.NewLocal(newLog())
	if err != nil {
		t.Skipf("NOT TESTED: %v, so nothing that needs real servers was run", err)
	}
	return l
}

func TestLocal(t *testing.T) { hosttest.Run(t, local(t)) }
