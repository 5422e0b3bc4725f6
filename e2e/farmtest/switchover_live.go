package farmtest

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/move"
	"stowage/mysql"
	"stowage/session"
	"stowage/store"
)

// AnotherReplica follows the pair's primary from its first transaction on.
func (f *LiveFarm) AnotherReplica() *mariadbtest.Instance {
	t := f.T
	t.Helper()
	// The demo's first transactions drop an account that is not there.
	third := mariadbtest.Start(t, "third", "--slave-skip-errors=1396", "--read-only=ON", "--log-slave-updates=ON", "--gtid-strict-mode=ON", "--gtid-domain-id=1")
	admin, err := mysql.ReadAccount(f.Dir+"/accounts.cnf", "stowage")
	if err != nil {
		t.Fatal(err)
	}
	repl, err := mysql.ReadAccount(f.Dir+"/accounts.cnf", "replication")
	if err != nil {
		t.Fatal(err)
	}
	third.Exec(t, "SET sql_log_bin = 0", "CREATE OR REPLACE USER "+admin.User+"@'%' IDENTIFIED BY '"+admin.Password+"'",
		"GRANT ALL ON *.* TO "+admin.User+"@'%'", "RESET MASTER", "SET GLOBAL gtid_slave_pos = ''")
	if err := f.Open("third", third.Address).Follow(t.Context(), f.Server(farm.A).Address(), repl, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	return third
}

func (f *LiveFarm) Open(name farm.InstanceName, address string) *mysql.Server {
	f.T.Helper()
	admin, err := mysql.ReadAccount(f.Dir+"/accounts.cnf", "stowage")
	if err != nil {
		f.T.Fatal(err)
	}
	s := mysql.Open(name, address, admin, QuietLog())
	f.T.Cleanup(func() { s.Close() })
	return s
}

func (f *LiveFarm) Password(group string) string {
	f.T.Helper()
	a, err := mysql.ReadAccount(f.Dir+"/accounts.cnf", group)
	if err != nil {
		f.T.Fatal(err)
	}
	return a.Password
}

func (f *LiveFarm) Server(side farm.SideName) *mysql.Server {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	return f.Open(fm.Pairs[0].Instance(side), fm.Address(fm.Pairs[0].Sides[side]))
}

// Root is a session of the owner's at the console of an instance's host.
func (f *LiveFarm) Root(side farm.SideName) *sql.DB {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	datadir := fm.Pairs[0].Sides[side].Datadir
	if !filepath.IsAbs(datadir) {
		datadir = filepath.Join(f.Dir, datadir)
	}
	return f.Dial("unix", filepath.Join(datadir, "mysqld.sock"), "root", "")
}

func (f *LiveFarm) Dial(network, address, user, password string) *sql.DB {
	f.T.Helper()
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = user, password, network, address
	cfg.InterpolateParams, cfg.Logger = true, &driver.NopLogger{}
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		f.T.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	f.T.Cleanup(func() { db.Close() })
	return db
}

// driven is one part of a move that is carried out in this process, step by
// step.
type driven struct {
	t      *testing.T
	moving *move.Act
	job    string
	part   engine.Part
	state  json.RawMessage

	mu     sync.Mutex
	events []farm.Event
}

// Begin begins the move of one side.
func (f *LiveFarm) Begin(side farm.SideName, border func(string) error) *driven {
	t := f.T
	t.Helper()
	args := f.Instance(side)
	moving, kept := f.act(border)
	run, findings, err := move.InstanceMove{Pair: "dbshard001", Side: side, To: farm.HostName(args[4])}.Begin(t.Context(), moving)
	if err != nil {
		t.Fatal(err, findings)
	}
	x := &driven{t: t, moving: moving}
	moving.Sink = func(e farm.Event) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.events = append(x.events, e)
	}
	var job engine.Job
	if _, err := kept.LatestDocument("job", run.ID, &job); err != nil {
		t.Fatal(err)
	}
	x.job, x.part = job.ID, job.Lanes[0].Parts[0]
	return x
}

// act is what carries a move out, in this process.
func (f *LiveFarm) act(border func(string) error) (*move.Act, *store.Store) {
	t := f.T
	t.Helper()
	s, err := session.Open(session.Options{Dir: f.Dir, Log: QuietLog()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	goals, err := act.Goals(s)
	if err == nil {
		err = s.Prepare()
	}
	if err != nil {
		t.Fatal(err)
	}
	return move.NewAct(&act.Act{Session: s, Conductor: &act.Conductor{Log: QuietLog(), Border: border}}, act.SwingSettings(goals), false), s.Store
}

func (x *driven) Step(name string, undo bool) error {
	now, err := x.moving.Conductor.Do(x.t.Context(), engine.Call{Job: x.job, Subject: x.part.Subject, Step: name, Undo: undo,
		Args: x.part.Args, State: x.state, Attempt: 1}, func(string) {})
	if err == nil && !undo {
		x.state = now
	}
	return err
}

// UpTo carries out all steps up to and with the one that is named.
func (x *driven) UpTo(last string) error {
	for _, s := range x.part.Steps {
		if err := x.Step(s.Name, false); err != nil || s.Name == last {
			return err
		}
	}
	return nil
}

// Pauses are how long gates were closed.
func (x *driven) Pauses() (out []float64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.events {
		if e.Kind == farm.GateOpened {
			out = append(out, e.Millis)
		}
	}
	return out
}

func (x *driven) GateClosed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.events {
		if e.Kind == farm.GateClosed {
			return true
		}
	}
	return false
}

// FreshInstance is the owner's session on the instance that is being made.
func (f *LiveFarm) FreshInstance() *sql.DB {
	return f.Dial("unix", f.Dir+"/hosts/ssd01/dbshard001a/data/mysqld.sock", "root", "")
}
