package rows

import (
	"log/slog"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/mysql"
)

// patience is the budget of what should take milliseconds: generous, because
// the machine may be busy, and only spent when a test fails.
const patience = 30 * time.Second

var (
	admin       = mysql.Account{User: string(mariadbtest.Stowage), Password: mariadbtest.Stowage.Password()}
	replication = mysql.Account{User: string(mariadbtest.Repl), Password: mariadbtest.Repl.Password()}
	quiet       = slog.New(slog.DiscardHandler)
)

// open gives a Server for a test instance.
func open(t testing.TB, i *mariadbtest.Instance) *mysql.Server {
	t.Helper()
	s := mysql.Open(farm.InstanceName(i.Name), i.Address, admin, quiet)
	t.Cleanup(func() { s.Close() })
	return s
}

// start gives a running instance and its Server.
func start(t testing.TB, name string, options ...string) (*mariadbtest.Instance, *mysql.Server) {
	t.Helper()
	i := mariadbtest.Start(t, name, options...)
	return i, open(t, i)
}

// follow makes replica follow source.
func follow(t testing.TB, replica *mysql.Server, source *mariadbtest.Instance) {
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
func position(t testing.TB, s *mysql.Server) mysql.Position {
	t.Helper()
	p, err := s.BinlogPosition(t.Context())
	must(t, err)
	return p
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
