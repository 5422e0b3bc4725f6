package route_test

import (
	"context"
	"database/sql"
	"net"
	"sync/atomic"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"stowage/internal/mariadbtest"
)

// Why a name is no way of routing: a pool that holds a connection stays where it
// is when the name leads elsewhere, and writes there as before; nobody can close
// a name, so two clients write on two servers at once. (Here the name is resolved
// anew for each connection. A resolver that caches makes it worse.)
func TestNameThatChangesMovesNoConnection(t *testing.T) {
	t.Parallel()
	a, b := mariadbtest.Start(t, "dbshard001a"), mariadbtest.Start(t, "dbshard001b")
	var name atomic.Value // what "db" leads to
	name.Store(a.Address)
	driver.RegisterDialContext("by-name", func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", name.Load().(string))
	})
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = string(mariadbtest.App), mariadbtest.App.Password(), "by-name", "db"
	connector, err := driver.NewConnector(cfg)
	must(t, err)
	pool, fresh := sql.OpenDB(connector), sql.OpenDB(connector)
	defer pool.Close()
	defer fresh.Close()
	serves := func(db *sql.DB) (id int) {
		t.Helper()
		must(t, db.QueryRow("SELECT @@server_id").Scan(&id))
		return id
	}
	before := serves(pool)
	name.Store(b.Address)
	if kept, now := serves(pool), serves(fresh); kept != before || now == before {
		t.Errorf("the pool is sent to server %d, a new client to %d; the name led to %d first: if names move connections, docs/reference/routing.md is wrong", kept, now, before)
	}
}
