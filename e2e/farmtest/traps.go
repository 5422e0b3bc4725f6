package farmtest

import (
	"database/sql"
	"path/filepath"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
)

// console is root at the server's own socket, where read_only and privileges
// do not reach.
func (f *LiveFarm) console(side farm.SideName) *sql.DB {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	cfg := driver.NewConfig()
	cfg.User, cfg.Net = "root", "unix"
	cfg.Addr = filepath.Join(f.Dir, fm.Pairs[0].Sides[side].Datadir, "mysqld.sock")
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		f.T.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1) // session settings stay with their statements
	f.T.Cleanup(func() { db.Close() })
	return db
}

func (f *LiveFarm) Sql(side farm.SideName, statements ...string) {
	f.T.Helper()
	db := f.console(side)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			f.T.Fatalf("%s: %v", s, err)
		}
	}
}

func (f *LiveFarm) Value(side farm.SideName, query string) string {
	f.T.Helper()
	db := f.console(side)
	defer db.Close()
	var v string
	if err := db.QueryRow(query).Scan(&v); err != nil {
		f.T.Fatalf("%s: %v", query, err)
	}
	return v
}

// Idle opens connections of an application that does nothing.
func (f *LiveFarm) Idle(side farm.SideName, n int) (closeAll func()) {
	f.T.Helper()
	db, _ := f.appDB(side)
	for range n {
		if _, err := db.Conn(f.T.Context()); err != nil {
			f.T.Fatal(err)
		}
	}
	return func() { db.Close() }
}
