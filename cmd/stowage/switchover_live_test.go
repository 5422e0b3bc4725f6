package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/engine"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/move"
	"stowage/mysql"
	"stowage/route"
)

// A plan moves both sides of a pair with one writer under load, the replica
// first, with another replica that farm.yaml does not know of.
func TestMoveOfAPrimaryReplicaPair(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startOneWriter(t, farm.PrimaryReplica)
	third := f.anotherReplica()
	f.must("plan", "--name", "first")
	p := runProgram(t, "", "move", "first", "-C", f.dir)
	if p.code != exitFine {
		t.Fatalf("exit %d\n%s", p.code, p.stderr)
	}
	if !strings.Contains(p.stdout, "writes paused for") {
		t.Errorf("no headline about the pause:\n%s", p.stdout)
	}
	if st := runProgram(t, "", "move", "status", "-C", f.dir); !strings.Contains(st.stdout, "writes paused for") {
		t.Errorf("status does not tell the pause:\n%s", st.stdout)
	}
	t.Log(strings.TrimSpace(p.stdout))
	f.checkOneWriter()
	primary := f.server(farm.A)
	at, err := primary.BinlogPosition(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := f.open("third", third.Address)
	if err := s.WaitFor(t.Context(), at, 30*time.Second); err != nil {
		t.Errorf("the other replica was left behind: %v", err)
	}
	r, err := s.Replication(t.Context())
	if err != nil || !r.Follows(primary.Address()) || !r.Running() {
		t.Errorf("the other replica follows %s:%d (%v), want %s", r.Host, r.Port, err, primary.Address())
	}
	for _, shard := range []string{"etsy_shard_0001", "etsy_shard_0002"} {
		query := "SELECT CONCAT(COUNT(*), ' ', COALESCE(SUM(CRC32(CONCAT_WS('#', client, seq))), 0)) FROM " + shard + ".receipts"
		var has string
		if err := f.dial("tcp", third.Address, "stowage", f.password("stowage")).QueryRow(query).Scan(&has); err != nil {
			t.Fatal(err)
		}
		if want := f.value(farm.A, query); has != want {
			t.Errorf("receipts of %s on the other replica: %s, on the primary %s", shard, has, want)
		}
	}
}

func TestMoveOfASingleInstance(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startOneWriter(t, farm.Single)
	for range 2 { // there and back
		p := runProgram(t, "", f.instance(farm.A)...)
		if p.code != exitFine || !strings.Contains(p.stdout, "writes paused for") {
			t.Fatalf("exit %d\n%s%s", p.code, p.stdout, p.stderr)
		}
	}
	f.wanted = "anywhere"
	f.checkOneWriter()
}

// anotherReplica follows the pair's primary from its first transaction on.
func (f *liveFarm) anotherReplica() *mariadbtest.Instance {
	t := f.t
	t.Helper()
	// The demo's first transactions drop an account that is not there.
	third := mariadbtest.Start(t, "third", "--slave-skip-errors=1396", "--read-only=ON", "--log-slave-updates=ON", "--gtid-strict-mode=ON", "--gtid-domain-id=1")
	admin, err := mysql.ReadAccount(f.dir+"/accounts.cnf", "stowage")
	if err != nil {
		t.Fatal(err)
	}
	repl, err := mysql.ReadAccount(f.dir+"/accounts.cnf", "replication")
	if err != nil {
		t.Fatal(err)
	}
	third.Exec(t, "SET sql_log_bin = 0", "CREATE OR REPLACE USER "+admin.User+"@'%' IDENTIFIED BY '"+admin.Password+"'",
		"GRANT ALL ON *.* TO "+admin.User+"@'%'", "RESET MASTER", "SET GLOBAL gtid_slave_pos = ''")
	if err := f.open("third", third.Address).Follow(t.Context(), f.server(farm.A).Address(), repl, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	return third
}

func (f *liveFarm) open(name farm.InstanceName, address string) *mysql.Server {
	f.t.Helper()
	admin, err := mysql.ReadAccount(f.dir+"/accounts.cnf", "stowage")
	if err != nil {
		f.t.Fatal(err)
	}
	s := mysql.Open(name, address, admin, quietLog())
	f.t.Cleanup(func() { s.Close() })
	return s
}

func (f *liveFarm) password(group string) string {
	f.t.Helper()
	a, err := mysql.ReadAccount(f.dir+"/accounts.cnf", group)
	if err != nil {
		f.t.Fatal(err)
	}
	return a.Password
}

func (f *liveFarm) server(side farm.SideName) *mysql.Server {
	f.t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.open(fm.Pairs[0].Instance(side), fm.Address(fm.Pairs[0].Sides[side]))
}

// root is a session of the owner's at the console of an instance's host.
func (f *liveFarm) root(side farm.SideName) *sql.DB {
	f.t.Helper()
	_, fm, _, err := demoAccess(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.dial("unix", f.dir+"/"+fm.Pairs[0].Sides[side].Datadir+"/mysqld.sock", "root", "")
}

func (f *liveFarm) dial(network, address, user, password string) *sql.DB {
	f.t.Helper()
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = user, password, network, address
	cfg.InterpolateParams, cfg.Logger = true, &driver.NopLogger{}
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	f.t.Cleanup(func() { db.Close() })
	return db
}

// A writer whom read_only does not stop, who keeps its session for as long as
// it can and follows no gate, loses nothing: what it was acknowledged is on
// the new primary, and nothing else is on the old one.
func TestSuperWriterDuringASwitchover(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startOneWriter(t, farm.PrimaryReplica)
	f.wanted = "anywhere"
	for _, text := range []string{"CREATE DATABASE bosses", "CREATE TABLE bosses.did (n BIGINT PRIMARY KEY)",
		"CREATE USER boss@'%' IDENTIFIED BY 'boss'", "GRANT ALL ON *.* TO boss@'%'"} {
		if _, err := f.root(farm.A).Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	b := &boss{f: f}
	var wg sync.WaitGroup
	wg.Go(func() { b.work(ctx) })
	p := runProgram(t, "", f.instance(farm.A)...)
	stop()
	wg.Wait()
	if p.code != exitFine || !strings.Contains(p.stderr, "boss") {
		t.Fatalf("exit %d, want %d and a word about boss\n%s", p.code, exitFine, p.stderr)
	}
	if b.acknowledged == 0 || b.cut == 0 {
		t.Errorf("the writer was acknowledged %d and cut %d times: it was not there", b.acknowledged, b.cut)
	}
	if n := f.value(farm.A, "SELECT COUNT(*) FROM bosses.did"); n != strconv.Itoa(b.acknowledged) {
		t.Errorf("%s rows on the new primary, %d were acknowledged", n, b.acknowledged)
	}
	f.checkOneWriter()
}

// boss writes one number after the other, wherever routing sends it when it
// connects.
type boss struct {
	f                 *liveFarm
	acknowledged, cut int
}

func (b *boss) work(ctx context.Context) {
	for ctx.Err() == nil {
		t, err := route.ReadFile(b.f.dir + "/routing.json")
		if err != nil {
			continue
		}
		cfg := driver.NewConfig()
		cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = "boss", "boss", "tcp", t.Pairs["dbshard001"].Sides[farm.A].Address
		cfg.Logger = &driver.NopLogger{}
		connector, _ := driver.NewConnector(cfg)
		db := sql.OpenDB(connector)
		db.SetMaxOpenConns(1)
		b.session(ctx, db)
		db.Close()
	}
}

// session writes until something fails. What became of a number whose answer
// was lost is read back by the next session before it goes on.
func (b *boss) session(ctx context.Context, db *sql.DB) {
	conn, err := db.Conn(context.Background())
	if err != nil {
		time.Sleep(5 * time.Millisecond)
		return
	}
	defer conn.Close()
	for ctx.Err() == nil {
		n, there := b.acknowledged+1, 0
		if err := conn.QueryRowContext(context.Background(), "SELECT COUNT(*) FROM bosses.did WHERE n = "+strconv.Itoa(n)+" FOR UPDATE").Scan(&there); err != nil {
			b.cut++
			return
		}
		if there == 0 {
			if _, err := conn.ExecContext(context.Background(), "INSERT bosses.did VALUES ("+strconv.Itoa(n)+")"); err != nil {
				b.cut++
				return
			}
		}
		b.acknowledged++
		time.Sleep(time.Millisecond)
	}
}

// A long transaction on the primary only delays the cutover: nobody is held
// while it is open.
func TestLongTransactionDelaysASwitchover(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startOneWriter(t, farm.PrimaryReplica)
	tx := f.openTransaction(farm.A)
	args := f.instance(farm.A)
	done := make(chan program)
	go func() { done <- runProgram(t, "", args...) }()
	for waits := false; !waits; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(f.dir + "/.stowage/stowage.db"); err != nil {
			continue // it has not begun
		}
		for _, e := range f.events() {
			waits = waits || e.Step == "cutover" && e.Kind == farm.StepWaiting && e.Phase == "ready"
			if e.Kind == farm.GateClosed {
				t.Fatalf("clients are held while the transaction is open")
			}
		}
		select {
		case p := <-done:
			t.Fatalf("the move ended with the transaction open: exit %d\n%s", p.code, p.stderr)
		default:
		}
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	if p := <-done; p.code != exitFine {
		t.Fatalf("exit %d\n%s", p.code, p.stderr)
	}
	f.wanted = "anywhere"
	f.checkOneWriter()
}

// driven is one part of a move that is carried out in this process, step by
// step.
type driven struct {
	t     *testing.T
	act   *move.Act
	job   string
	part  engine.Part
	state json.RawMessage

	mu     sync.Mutex
	events []farm.Event
}

// begin begins the move of one side.
func (f *liveFarm) begin(side farm.SideName, border func(string) error) *driven {
	t := f.t
	t.Helper()
	args := f.instance(side)
	a := &app{stdout: new(strings.Builder), stderr: new(strings.Builder), dir: f.dir, log: quietLog(), border: border}
	d, act, done, err := a.act("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	run, findings, err := move.InstanceMove{Pair: "dbshard001", Side: side, To: farm.HostName(args[4])}.Begin(t.Context(), act)
	if err != nil {
		t.Fatal(err, findings)
	}
	x := &driven{t: t, act: act}
	act.Mover.Sink = func(e farm.Event) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.events = append(x.events, e)
	}
	var job engine.Job
	if _, err := d.store.LatestDocument("job", run.ID, &job); err != nil {
		t.Fatal(err)
	}
	x.job, x.part = job.ID, job.Lanes[0].Parts[0]
	return x
}

func (x *driven) step(name string, undo bool) error {
	now, err := x.act.Mover.Do(x.t.Context(), engine.Call{Job: x.job, Subject: x.part.Subject, Step: name, Undo: undo,
		Args: x.part.Args, State: x.state, Attempt: 1}, func(string) {})
	if err == nil && !undo {
		x.state = now
	}
	return err
}

// upTo carries out all steps up to and with the one that is named.
func (x *driven) upTo(last string) error {
	for _, s := range x.part.Steps {
		if err := x.step(s.Name, false); err != nil || s.Name == last {
			return err
		}
	}
	return nil
}

// pauses are how long gates were closed.
func (x *driven) pauses() (out []float64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.events {
		if e.Kind == farm.GateOpened {
			out = append(out, e.Millis)
		}
	}
	return out
}

func (x *driven) gateClosed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.events {
		if e.Kind == farm.GateClosed {
			return true
		}
	}
	return false
}

// A new instance that is behind must not become the primary, and nobody must
// be held for finding that out.
func TestReplicaBehindIsRefusedBeforeTheGateCloses(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startOneWriter(t, farm.Single)
	for _, text := range []string{"CREATE DATABASE late", "CREATE TABLE late.row (id INT PRIMARY KEY, n INT)", "INSERT late.row VALUES (1, 0)"} {
		if _, err := f.root(farm.A).Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	x := f.begin(farm.A, func(point string) error {
		if point != "before cutover" {
			return nil
		}
		// A row of the replica is locked, and then changed on the primary: it cannot catch up, however slow the machine.
		locked, err := f.freshInstance().Begin()
		if err != nil {
			return err
		}
		var n int
		if err := locked.QueryRow("SELECT n FROM late.row WHERE id = 1 FOR UPDATE").Scan(&n); err != nil {
			return err
		}
		_, err = f.root(farm.A).Exec("UPDATE late.row SET n = n + 1")
		return err
	})
	if err := x.upTo("cutover"); !errors.Is(err, mysql.ErrBehind) && (err == nil || !strings.Contains(err.Error(), mysql.ErrBehind.Error())) {
		t.Errorf("with a replica that is behind: %v", err)
	}
	if x.gateClosed() {
		t.Error("clients were held")
	}
	f.wanted = "anywhere"
	f.checkOneWriter()
}

// freshInstance is the owner's session on the instance that is being made.
func (f *liveFarm) freshInstance() *sql.DB {
	return f.dial("unix", f.dir+"/hosts/ssd01/dbshard001a/data/mysqld.sock", "root", "")
}

// A cutover that does not get what it waits for within its time gives up:
// nobody stays held, locked or fenced, and the next attempt goes through.
func TestSwitchoverGivesUpInTime(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startOneWriter(t, farm.Single)
	var held *sql.Conn
	x := f.begin(farm.A, func(point string) error {
		if point == "before cutover/fence" && held == nil { // somebody's lock, that read_only waits for
			var err error
			if held, err = f.root(farm.A).Conn(context.Background()); err != nil {
				return err
			}
			_, err = held.ExecContext(context.Background(), "LOCK TABLES etsy_shard_0001.listings WRITE")
			return err
		}
		return nil
	})
	err := x.upTo("cutover")
	if err == nil {
		t.Fatal("it went through somebody's lock")
	}
	if _, err := held.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Error(err)
	}
	pauses := x.pauses()
	if len(pauses) != 1 || pauses[0] > 30_000 {
		t.Fatalf("clients were held for %v ms", pauses)
	}
	f.wanted = "anywhere"
	if was := f.value(farm.A, "SELECT @@read_only"); was != "0" {
		t.Errorf("the primary is left fenced: read_only %s", was)
	}
	time.Sleep(300 * time.Millisecond)
	if was := f.value(farm.A, "SELECT @@read_only"); was != "0" {
		t.Errorf("a statement that was given up has fenced the primary: read_only %s", was)
	}
	t.Logf("given up after %.0f ms: %v", pauses[0], err)
	if err := x.step("cutover", false); err != nil {
		t.Errorf("the next attempt: %v", err)
	}
	for _, name := range []string{"soak", "retire"} {
		if err := x.step(name, false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.checkOneWriter()
}
