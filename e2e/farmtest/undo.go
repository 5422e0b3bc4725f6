package farmtest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
	"stowage/store"
)

func IsBehindReturn(point string) bool {
	return strings.Contains(point, " retire")
}

// Places are where farm.yaml has the sides.
func (f *LiveFarm) Places() string {
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	var out []string
	for _, p := range fm.Pairs {
		for _, side := range farm.SideNames {
			out = append(out, fmt.Sprintf("%s/%s@%s", p.Name, side, fm.Address(p.Sides[side])))
		}
	}
	return strings.Join(out, " ")
}

// CheckNow is checkServing while clients go on.
func (f *LiveFarm) CheckNow() {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	f.checkServing(fm)
}

// ProcessesIn are the processes with dir in their command line.
func ProcessesIn(dir string) []string {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var out []string
	for _, l := range lines {
		raw, err := os.ReadFile(l)
		if err == nil && strings.Contains(string(raw), dir) {
			out = append(out, strings.ReplaceAll(string(raw), "\x00", " "))
		}
	}
	return out
}

// OpenTransaction is a transaction of an application with a write in it.
func (f *LiveFarm) OpenTransaction(side farm.SideName) *sql.Tx {
	t := f.T
	t.Helper()
	_, fm, app, err := FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	pair := fm.Pairs[0]
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = app.User, app.Password, "tcp", fm.Address(pair.Sides[side])
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(fmt.Sprintf("UPDATE `%s`.listings SET title = 'long' WHERE id = 1", pair.Shards[0].Name)); err != nil {
		t.Fatal(err)
	}
	return tx
}

// Events are those of the newest move, while it runs too.
func (f *LiveFarm) Events() []farm.Event {
	f.T.Helper()
	s, err := store.Open(f.Dir + "/.stowage/stowage.db")
	if err != nil {
		f.T.Fatal(err)
	}
	defer s.Close()
	run, err := s.LatestRun("move")
	if err != nil {
		return nil // not begun yet
	}
	events, _, err := s.Events(run.ID, 0)
	if err != nil {
		f.T.Fatal(err)
	}
	return events
}

// LongTransactions follows docs/reference/routing.md, one transaction at a time.
func (f *LiveFarm) LongTransactions(ctx context.Context, key string, each time.Duration) error {
	follow, err := route.Follow(f.Dir + "/routing.json")
	if err != nil {
		return err
	}
	_, fm, app, err := FarmAccess(f.Dir)
	if err != nil {
		return err
	}
	pair := fm.Pairs[0]
	for ctx.Err() == nil {
		_, address, err := follow.AwaitOpen(ctx, pair.Name, key)
		if err != nil {
			return nil // stopped while it waited
		}
		same := func() bool {
			r, now, ok := follow.Lookup(pair.Name, key)
			return ok && now == address && r.Gate == route.Open
		}
		if err := longTransaction(app, address, pair.Shards[0].Name, each, same); err != nil {
			return err
		}
	}
	return nil
}

// longTransaction ends without an error, and without having done anything, when
// its route changes before the server has seen it: rules 4 and 5.
func longTransaction(app mysql.Account, address string, shard farm.ShardName, each time.Duration, same func() bool) error {
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = app.User, app.Password, "tcp", address
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	_, err = tx.Exec(fmt.Sprintf("UPDATE `%s`.listings SET price = price + 1 WHERE id = 2", shard))
	if !same() {
		_ = tx.Rollback() // rule 4; where the server is gone, rule 5
		return nil
	}
	if err != nil {
		return err
	}
	time.Sleep(each)
	return tx.Commit()
}
