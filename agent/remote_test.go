package agent_test

import (
	"log/slog"
	"testing"

	"stowage/host"
	"stowage/host/hosttest"
	"stowage/internal/turns"
)

// here is this machine, which ends what a test has left whatever has become of
// its agents.
func here(t testing.TB) *host.Local {
	t.Helper()
	l, err := host.NewLocal(slog.New(slog.DiscardHandler))
	must(t, err)
	return l
}

// needsMariaDB skips loudly where there is none.
func needsMariaDB(t testing.TB) {
	t.Helper()
	if _, err := host.NewLocal(nil); err != nil {
		t.Skipf("NOT TESTED: %v, so nothing that needs real servers was run", err)
	}
}

// TestRemote: a host with an agent, behind a real engine that demands
// certificates, keeps all promises that this machine keeps.
func TestRemote(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	needsMariaDB(t)
	r := newRig(t)
	hosttest.Run(t, r.agent("db017"))
}
