package traffic

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

var quiet = slog.New(slog.DiscardHandler)

// start gives a running instance and its Server.
func start(t testing.TB, name string, options ...string) (*mariadbtest.Instance, *mysql.Server) {
	t.Helper()
	i := mariadbtest.Start(t, name, options...)
	return i, mysqltest.Open(t, i)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
