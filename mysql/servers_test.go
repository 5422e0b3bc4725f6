package mysql

import (
	"log/slog"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
)

// patience is the budget of what should take milliseconds: generous, because
// the machine may be busy, and only spent when a test fails.
const patience = 30 * time.Second

var (
	admin       = Account{User: string(mariadbtest.Stowage), Password: mariadbtest.Stowage.Password()}
	replication = Account{User: string(mariadbtest.Repl), Password: mariadbtest.Repl.Password()}
)

// open gives a Server for a test instance.
func open(t testing.TB, i *mariadbtest.Instance) *Server {
	t.Helper()
	s := Open(farm.InstanceName(i.Name), i.Address, admin, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { s.Close() })
	return s
}

// start gives a running instance and its Server.
func start(t testing.TB, name string, options ...string) (*mariadbtest.Instance, *Server) {
	t.Helper()
	i := mariadbtest.Start(t, name, options...)
	return i, open(t, i)
}

// follow makes replica follow source.
func follow(t testing.TB, replica *Server, source *mariadbtest.Instance) {
	t.Helper()
	must(t, replica.Follow(t.Context(), source.Address, replication, patience))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// position is everything a server has written or applied.
func position(t testing.TB, s *Server) Position {
	t.Helper()
	p, err := s.BinlogPosition(t.Context())
	must(t, err)
	return p
}

// within fails the test when work takes as long as limit: for calls that must
// not sit out a long budget.
func within(t testing.TB, limit time.Duration, work func() error) error {
	t.Helper()
	begin := time.Now()
	err := work()
	if took := time.Since(begin); took >= limit {
		t.Errorf("took %v, must not sit out its budget (limit %v)", took, limit)
	}
	return err
}

// eventually waits until claim holds.
func eventually(t testing.TB, what string, claim func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !claim(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came: %s", what)
		}
	}
}
