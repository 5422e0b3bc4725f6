package switchover

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/mysql"
	"stowage/route"
)

// A plan moves both sides of a pair with one writer under load, the replica
// first, with another replica that farm.yaml does not know of.
func TestMoveOfAPrimaryReplicaPair(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartOneWriter(t, farm.PrimaryReplica)
	third := f.AnotherReplica()
	f.Must("plan", "--name", "first")
	p := farmtest.RunProgram(t, "", "move", "first", "-C", f.Dir)
	if p.Code != farmtest.ExitFine {
		t.Fatalf("exit %d\n%s", p.Code, p.Stderr)
	}
	if !strings.Contains(p.Stdout, "writes paused for") {
		t.Errorf("no headline about the pause:\n%s", p.Stdout)
	}
	if st := farmtest.RunProgram(t, "", "status", "-C", f.Dir); !strings.Contains(st.Stdout, "writes paused for") {
		t.Errorf("status does not tell the pause:\n%s", st.Stdout)
	}
	t.Log(strings.TrimSpace(p.Stdout))
	f.CheckOneWriter()
	primary := f.Server(farm.A)
	at, err := primary.BinlogPosition(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := f.Open("third", third.Address)
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
		if err := f.Dial("tcp", third.Address, "stowage", f.Password("stowage")).QueryRow(query).Scan(&has); err != nil {
			t.Fatal(err)
		}
		if want := f.Value(farm.A, query); has != want {
			t.Errorf("receipts of %s on the other replica: %s, on the primary %s", shard, has, want)
		}
	}
}

func TestMoveOfASingleInstance(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartOneWriter(t, farm.Single)
	for range 2 { // there and back
		p := farmtest.RunProgram(t, "", f.Instance(farm.A)...)
		if p.Code != farmtest.ExitFine || !strings.Contains(p.Stdout, "writes paused for") {
			t.Fatalf("exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
		}
	}
	f.Wanted = "anywhere"
	f.CheckOneWriter()
}

// A writer whom read_only does not stop, who keeps its session for as long as
// it can and follows no gate, loses nothing: what it was acknowledged is on
// the new primary, and nothing else is on the old one.
func TestSuperWriterDuringASwitchover(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartOneWriter(t, farm.PrimaryReplica)
	f.Wanted = "anywhere"
	for _, text := range []string{"CREATE DATABASE bosses", "CREATE TABLE bosses.did (n BIGINT PRIMARY KEY)",
		"CREATE USER boss@'%' IDENTIFIED BY 'boss'", "GRANT ALL ON *.* TO boss@'%'"} {
		if _, err := f.Root(farm.A).Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	b := &boss{f: f}
	var wg sync.WaitGroup
	wg.Go(func() { b.work(ctx) })
	p := farmtest.RunProgram(t, "", f.Instance(farm.A)...)
	stop()
	wg.Wait()
	if p.Code != farmtest.ExitFine || !strings.Contains(p.Stderr, "boss") {
		t.Fatalf("exit %d, want %d and a word about boss\n%s", p.Code, farmtest.ExitFine, p.Stderr)
	}
	if b.acknowledged == 0 || b.cut == 0 {
		t.Errorf("the writer was acknowledged %d and cut %d times: it was not there", b.acknowledged, b.cut)
	}
	if n := f.Value(farm.A, "SELECT COUNT(*) FROM bosses.did"); n != strconv.Itoa(b.acknowledged) {
		t.Errorf("%s rows on the new primary, %d were acknowledged", n, b.acknowledged)
	}
	f.CheckOneWriter()
}

// boss writes one number after the other, wherever routing sends it when it
// connects.
type boss struct {
	f                 *farmtest.LiveFarm
	acknowledged, cut int
}

func (b *boss) work(ctx context.Context) {
	for ctx.Err() == nil {
		t, err := route.ReadFile(b.f.Dir + "/routing.json")
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
	f := farmtest.StartOneWriter(t, farm.PrimaryReplica)
	tx := f.OpenTransaction(farm.A)
	args := f.Instance(farm.A)
	done := make(chan farmtest.Program)
	go func() { done <- farmtest.RunProgram(t, "", args...) }()
	for waits := false; !waits; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(f.Dir + "/.stowage/stowage.db"); err != nil {
			continue // it has not begun
		}
		for _, e := range f.Events() {
			waits = waits || e.Step == "cutover" && e.Kind == farm.StepWaiting && e.Phase == "ready"
			if e.Kind == farm.GateClosed {
				t.Fatalf("clients are held while the transaction is open")
			}
		}
		select {
		case p := <-done:
			t.Fatalf("the move ended with the transaction open: exit %d\n%s", p.Code, p.Stderr)
		default:
		}
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	if p := <-done; p.Code != farmtest.ExitFine {
		t.Fatalf("exit %d\n%s", p.Code, p.Stderr)
	}
	f.Wanted = "anywhere"
	f.CheckOneWriter()
}

// A new instance that is behind must not become the primary, and nobody must
// be held for finding that out.
func TestReplicaBehindIsRefusedBeforeTheGateCloses(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartOneWriter(t, farm.Single)
	for _, text := range []string{"CREATE DATABASE late", "CREATE TABLE late.row (id INT PRIMARY KEY, n INT)", "INSERT late.row VALUES (1, 0)"} {
		if _, err := f.Root(farm.A).Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	x := f.Begin(farm.A, func(point string) error {
		if point != "before cutover" {
			return nil
		}
		// A row of the replica is locked, and then changed on the primary: it cannot catch up, however slow the machine.
		locked, err := f.FreshInstance().Begin()
		if err != nil {
			return err
		}
		var n int
		if err := locked.QueryRow("SELECT n FROM late.row WHERE id = 1 FOR UPDATE").Scan(&n); err != nil {
			return err
		}
		_, err = f.Root(farm.A).Exec("UPDATE late.row SET n = n + 1")
		return err
	})
	if err := x.UpTo("cutover"); !errors.Is(err, mysql.ErrBehind) && (err == nil || !strings.Contains(err.Error(), mysql.ErrBehind.Error())) {
		t.Errorf("with a replica that is behind: %v", err)
	}
	if x.GateClosed() {
		t.Error("clients were held")
	}
	f.Wanted = "anywhere"
	f.CheckOneWriter()
}

// A cutover that does not get what it waits for within its time gives up:
// nobody stays held, locked or fenced, and the next attempt goes through.
func TestSwitchoverGivesUpInTime(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartOneWriter(t, farm.Single)
	var held *sql.Conn
	x := f.Begin(farm.A, func(point string) error {
		if point == "before cutover/fence" && held == nil { // somebody's lock, that read_only waits for
			var err error
			if held, err = f.Root(farm.A).Conn(context.Background()); err != nil {
				return err
			}
			_, err = held.ExecContext(context.Background(), "LOCK TABLES etsy_shard_0001.listings WRITE")
			return err
		}
		return nil
	})
	err := x.UpTo("cutover")
	if err == nil {
		t.Fatal("it went through somebody's lock")
	}
	if _, err := held.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Error(err)
	}
	pauses := x.Pauses()
	if len(pauses) != 1 || pauses[0] > 30_000 {
		t.Fatalf("clients were held for %v ms", pauses)
	}
	f.Wanted = "anywhere"
	if was := f.Value(farm.A, "SELECT @@read_only"); was != "0" {
		t.Errorf("the primary is left fenced: read_only %s", was)
	}
	time.Sleep(300 * time.Millisecond)
	if was := f.Value(farm.A, "SELECT @@read_only"); was != "0" {
		t.Errorf("a statement that was given up has fenced the primary: read_only %s", was)
	}
	t.Logf("given up after %.0f ms: %v", pauses[0], err)
	if err := x.Step("cutover", false); err != nil {
		t.Errorf("the next attempt: %v", err)
	}
	for _, name := range []string{"soak", "retire"} {
		if err := x.Step(name, false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.CheckOneWriter()
}
