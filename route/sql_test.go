package route_test

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
	"stowage/route"
	"stowage/route/routetest"
)

func newSQL(t *testing.T, address, database string) *route.Shared {
	t.Helper()
	account := mysqltest.Account(mariadbtest.Stowage)
	server := mysql.Open("routing", address, account, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { server.Close() })
	table := server.RoutingTable(database)
	if err := table.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	return route.NewShared(table, "SQL table "+database+".stowage_routing at "+address, 0)
}

func TestSQLConforms(t *testing.T) {
	t.Parallel()
	db := mariadbtest.Start(t, "routing")
	wire := routetest.NewWire(t, db.Address)
	var tables atomic.Int64
	database := ""
	routetest.Subject{
		Changes: 200,
		Open: func(t *testing.T, pairs map[farm.PairName]*route.Pair) route.Router {
			database = fmt.Sprintf("routing_%d", tables.Add(1))
			db.Exec(t, "CREATE DATABASE "+database)
			return create(t, newSQL(t, wire.Address, database), pairs)
		},
		Again: func(t *testing.T) route.Router { return newSQL(t, db.Address, database) },
		Cut: func(t *testing.T) func() {
			wire.Cut()
			return wire.Heal
		},
		Spoil: func(t *testing.T) {
			db.Exec(t, "UPDATE "+database+".stowage_routing SET document = '{' WHERE name = 'pairs/dbshard001'")
		},
	}.Run(t)
}

func TestSQLLosesRequestsAndAnswers(t *testing.T) {
	t.Parallel()
	db := mariadbtest.Start(t, "routing")
	db.Exec(t, "CREATE DATABASE routing")
	wire := routetest.NewWire(t, db.Address)
	r := newSQL(t, wire.Address, "routing")
	create(t, r, onePair())
	loseRequestsAndAnswers(t, r, wire, "COMMIT")
}

// A server that takes no writes, or has no table, is said so.
func TestSQLRefusals(t *testing.T) {
	t.Parallel()
	db := mariadbtest.Start(t, "routing")
	db.Exec(t, "CREATE DATABASE routing")
	account := mysqltest.Account(mariadbtest.Stowage)
	server := mysql.Open("routing", db.Address, account, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { server.Close() })
	none := route.NewShared(server.RoutingTable("routing"), "SQL table", 0)
	wantHint(t, "without a table", func() error { _, err := none.Read(t.Context()); return err }, farm.ErrInput, "no routing table can be read: there is none")
	r := newSQL(t, db.Address, "routing")
	create(t, r, onePair())
	wantHint(t, "made twice", func() error { return r.Create(t.Context(), onePair()) }, nil, "file already exists")
	before, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db.Exec(t, "REVOKE ALL ON *.* FROM stowage@'%'", "GRANT SELECT ON *.* TO stowage@'%'")
	server.Close()
	reader := route.NewShared(mysql.Open("routing", db.Address, account, slog.New(slog.DiscardHandler)).RoutingTable("routing"), "SQL table", 0)
	wantHint(t, "without the privilege", func() error {
		return reader.Change(t.Context(), pairName, func(p *route.Pair) error { p.CloseGate(farm.A); return nil })
	}, nil, "command denied")
	after, err := reader.Read(t.Context())
	if err != nil || after.Generation != before.Generation {
		t.Errorf("generation %d after %d: %v", after.Generation, before.Generation, err)
	}
}
