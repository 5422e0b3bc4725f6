// Package mysqltest opens Stowage's connections to throw-away servers, for tests of packages above mysql.
package mysqltest

import (
	"log/slog"
	"testing"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/mysql"
)

// Account is one of the accounts that every throw-away server has.
func Account(of mariadbtest.Account) mysql.Account {
	return mysql.Account{User: string(of), Password: of.Password()}
}

// Open gives a running instance's Server, as Stowage's own account, until the test ends.
func Open(t testing.TB, i *mariadbtest.Instance) *mysql.Server {
	t.Helper()
	return OpenAs(t, i, mariadbtest.Stowage)
}

// OpenAs is Open as another account.
func OpenAs(t testing.TB, i *mariadbtest.Instance, as mariadbtest.Account) *mysql.Server {
	t.Helper()
	s := mysql.Open(farm.InstanceName(i.Name), i.Address, Account(as), slog.New(slog.DiscardHandler))
	t.Cleanup(func() { s.Close() })
	return s
}

// Position is everything a server has written or applied.
func Position(t testing.TB, s *mysql.Server) mysql.Position {
	t.Helper()
	p, err := s.BinlogPosition(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}
