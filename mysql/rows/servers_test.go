package rows

import (
	"log/slog"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
)

// patience is the budget of what should take milliseconds: generous, because
// the machine may be busy, and only spent when a test fails.
const patience = 30 * time.Second

var (
	admin       = mysqltest.Account(mariadbtest.Stowage)
	replication = mysqltest.Account(mariadbtest.Repl)
	quiet       = slog.New(slog.DiscardHandler)
)

// start gives a running instance and its Server.
func start(t testing.TB, name string, options ...string) (*mariadbtest.Instance, *mysql.Server) {
	t.Helper()
	i := mariadbtest.Start(t, name, options...)
	return i, mysqltest.Open(t, i)
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

// eventually waits until claim holds.
func eventually(t testing.TB, what string, claim func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !claim(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came: %s", what)
		}
	}
}
