package load_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"stowage/demo/load"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
	"stowage/route"
)

// TestGatedSwings: both homes go to the other side and back, again and again,
// under load; routing.json vanishes for a moment in between, and clients wait.
func TestGatedSwings(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	p := newPair(t, 3)
	begun := time.Now()
	l := p.start(t, p.options(6, 250))
	for range 3 {
		for _, home := range farm.SideNames {
			awaitAcks(t, l, 20)
			p.swing(t, home, home, home.Twin())
			awaitAcks(t, l, 20)
			p.swing(t, home, home.Twin(), home)
		}
	}
	path := p.router.Path()
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	awaitWaiting(t, l)
	writeFile(t, path, `{"format_version": 1, "gener`)
	awaitWaiting(t, l)
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	p.swing(t, farm.A, farm.A, farm.B)
	awaitAcks(t, l, 20)

	s := l.Stop()
	wantClean(t, s)
	if s.Retried != 0 || s.UnknownResolved != 0 {
		t.Errorf("retried %d, unknown %d in gated swings: %+v", s.Retried, s.UnknownResolved, s.Retries)
	}
	if s.GateWaits == 0 || s.Pauses.Count < s.GateWaits || s.MaxPauseMillis <= 0 {
		t.Errorf("no client waited at a gate: %+v", s)
	}
	wantWhole(t, p.verify(t, 0), s.Acknowledged)
	if v := p.verify(t, 0); v.Unledgered != 0 || v.TornLines != 0 {
		t.Errorf("unledgered %d, torn %d without a kill", v.Unledgered, v.TornLines)
	}
	checkSamples(t, p.options(6, 0).Dir, begun, s)
}

// checkSamples: the logs hold every query of the run, and no other time.
func checkSamples(t *testing.T, dir string, begun time.Time, s load.Summary) {
	t.Helper()
	all, err := load.Latency(dir, begun, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if least := 5*s.Acknowledged + s.Reads; all.Count < least || all.P50 <= 0 || all.P99 < all.P50 || all.Max < all.P99 {
		t.Errorf("latency %+v, want at least %d queries in order", all, least)
	}
	kinds, err := load.LatencyByKind(dir, begun, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if kinds["commit"].Count != s.Acknowledged {
		t.Errorf("%d commits in the sample log, %d acknowledged", kinds["commit"].Count, s.Acknowledged)
	}
	pauses, err := load.Pauses(dir, begun, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if pauses != s.Pauses {
		t.Errorf("pauses in the log %+v, in the summary %+v", pauses, s.Pauses)
	}
	none, err := load.Latency(dir, begun.Add(-time.Hour), begun)
	if err != nil || none.Count != 0 {
		t.Errorf("latency before the run: %+v %v", none, err)
	}
}

// TestClosedGateIsWaitedOut: clients of the closed home stand still, nobody
// fails, and the pause is measured.
func TestClosedGateIsWaitedOut(t *testing.T) {
	t.Parallel() // it mostly waits
	p := newPair(t, 1)
	l := p.start(t, p.options(4, 100))
	awaitAcks(t, l, 20)
	p.change(t, func(pair *route.Pair) { pair.CloseGate(farm.A); pair.CloseGate(farm.B) })
	time.Sleep(200 * time.Millisecond) // what had passed the second look ends
	before := l.Now().Acknowledged
	time.Sleep(800 * time.Millisecond)
	if after := l.Now().Acknowledged; after != before {
		t.Errorf("%d writes were made behind closed gates", after-before)
	}
	p.change(t, func(pair *route.Pair) { pair.OpenGate(farm.A); pair.OpenGate(farm.B) })
	awaitAcks(t, l, 20)
	s := l.Stop()
	wantClean(t, s)
	if s.MaxPauseMillis < 800 || s.Retried != 0 {
		t.Errorf("max pause %.0f ms, retried %d, want at least 800 and 0", s.MaxPauseMillis, s.Retried)
	}
	wantWhole(t, p.verify(t, 0), s.Acknowledged)
}

// TestStopBehindClosedGate: Stop does not wait for a gate.
func TestStopBehindClosedGate(t *testing.T) {
	t.Parallel() // it mostly waits
	p := newPair(t, 1)
	l := p.start(t, p.options(2, 0))
	awaitAcks(t, l, 5)
	p.change(t, func(pair *route.Pair) { pair.CloseGate(farm.A); pair.CloseGate(farm.B) })
	for _, side := range p.sides {
		awaitTransactions(t, side)
	}
	awaitStill(t, l)
	s := l.Stop()
	wantClean(t, s)
	if s.Abandoned != 2 {
		t.Errorf("abandoned %d, want the 2 clients that waited", s.Abandoned)
	}
	wantWhole(t, p.verify(t, 0), s.Acknowledged)
}

// TestUngatedFlipIsSeen: without a gate, and with the peer behind, clients
// notice that their own writes are missing.
func TestUngatedFlipIsSeen(t *testing.T) {
	t.Parallel() // it mostly waits
	p := newPair(t, 1)
	l := p.start(t, p.options(4, 200))
	awaitAcks(t, l, 20)
	b := p.sides[farm.B]
	b.Exec(t, "STOP SLAVE SQL_THREAD")
	awaitAcks(t, l, 40)
	p.change(t, func(pair *route.Pair) { pair.Serve(farm.A, farm.B, b.Address, 100) })
	for end := time.Now().Add(30 * time.Second); l.Now().StaleReads == 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	s := l.Stop()
	if s.StaleReads == 0 || len(s.Stale) == 0 || !strings.Contains(s.Stale[0].Error, "acknowledged") {
		t.Errorf("stale reads %d %+v, want some with details", s.StaleReads, s.Stale)
	}
	b.Exec(t, "START SLAVE SQL_THREAD")
	wantWhole(t, p.verify(t, 0), s.Acknowledged)
}

// TestFencedServer: a client that meets error 1290 runs the transaction again
// and counts it; nothing fails.
func TestFencedServer(t *testing.T) {
	t.Parallel() // it mostly waits
	p := newPair(t, 1)
	l := p.start(t, p.options(4, 100))
	awaitAcks(t, l, 20)
	p.sides[farm.A].Exec(t, "SET GLOBAL read_only=1")
	for end := time.Now().Add(30 * time.Second); l.Now().Retried == 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	p.sides[farm.A].Exec(t, "SET GLOBAL read_only=0")
	awaitAcks(t, l, 50)
	s := l.Stop()
	wantClean(t, s)
	if s.Retried == 0 || len(s.Retries) == 0 || !strings.Contains(s.Retries[0].Error, "read-only") {
		t.Errorf("retried %d %+v, want some with details", s.Retried, s.Retries)
	}
	wantWhole(t, p.verify(t, 0), s.Acknowledged)
}

// TestLateForAShardThatLeft: a statement that the network kept while its shard
// went elsewhere finds no table. With routing written since its look that is no
// failure, but the transaction again; without, it is one. (A line that was cut
// for a second and a half: the kernel sent the statement again when it was
// healed.)
func TestLateForAShardThatLeft(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	for _, leaves := range []bool{true, false} {
		t.Run(fmt.Sprintf("leaves %v", leaves), func(t *testing.T) {
			p := newPair(t, 1)
			l := p.start(t, p.options(4, 100))
			awaitAcks(t, l, 20)
			p.sides[farm.A].Exec(t, "STOP SLAVE SQL_THREAD") // the other side goes on writing to tables that will be gone here
			late := p.holdStatements(t, farm.A)
			if leaves {
				p.change(t, func(pair *route.Pair) { pair.Shards = nil })
			}
			late() // they come when the tables are gone
			for end := time.Now().Add(30 * time.Second); l.Now().Retried+l.Now().Failed == 0 && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
			p.sides[farm.A].Exec(t, append(p.renamed("_gone", ""), "START SLAVE SQL_THREAD")...)
			if leaves {
				p.change(t, func(pair *route.Pair) { pair.Shards = p.shards[pairName] })
			}
			awaitAcks(t, l, 20)
			s := l.Stop()
			if !leaves {
				if s.Failed == 0 || !strings.Contains(s.Failures[0].Error, "1146") {
					t.Errorf("a table is missing, and nothing failed: %+v", s)
				}
				return
			}
			wantClean(t, s)
			if s.Retried == 0 || !strings.Contains(s.Retries[0].Error, "1146") {
				t.Errorf("retried %d %+v, want some with details", s.Retried, s.Retries)
			}
			wantWhole(t, p.verify(t, 0), s.Acknowledged)
		})
	}
}

// renamed are the statements, of one session and not replicated, that give the
// shard's tables other names.
func (p *pairUnderTest) renamed(from, to string) []string {
	out := []string{"SET SESSION sql_log_bin = 0"}
	for _, table := range []string{"counters", "receipts", "listings"} {
		out = append(out, fmt.Sprintf("RENAME TABLE `%[1]s`.`%[2]s%[3]s` TO `%[1]s`.`%[2]s%[4]s`", p.shards[pairName][0], table, from, to))
	}
	return append(out, "SET SESSION sql_log_bin = 1")
}

// holdStatements keeps whatever clients send to a side from now on, until the
// answer is called: then the tables have other names first.
func (p *pairUnderTest) holdStatements(t *testing.T, side farm.SideName) (late func()) {
	t.Helper()
	server, shard := p.sides[side], p.shards[pairName][0]
	db := server.DB(t, mariadbtest.Stowage, "")
	holder, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lock := fmt.Sprintf("LOCK TABLES `%s`.counters WRITE, `%[1]s`.receipts WRITE, `%[1]s`.listings WRITE", shard)
	if _, err := holder.ExecContext(t.Context(), lock); err != nil {
		t.Fatal(err)
	}
	const waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table metadata lock' AND "
	await := func(what, query string) {
		for end := time.Now().Add(30 * time.Second); server.Value(t, query) == "0"; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s is not waiting", what)
			}
		}
	}
	await("a client", waiting+"USER = 'app'")
	return func() {
		var renaming sync.WaitGroup
		renaming.Go(func() { server.Exec(t, p.renamed("", "_gone")...) })
		await("the rename", waiting+"INFO LIKE 'RENAME%'")
		if _, err := holder.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Error(err)
		}
		renaming.Wait()
		holder.Close()
	}
}

// TestKilledServer: kill -9 of a side in the middle of commits. The clients
// find out what became of them, and go on when it is back.
func TestKilledServer(t *testing.T) {
	t.Parallel() // it mostly waits
	p := newPair(t, 1)
	l := p.start(t, p.options(8, 0))
	a := p.sides[farm.A]
	for range 3 {
		awaitAcks(t, l, 60)
		a.Kill()
		time.Sleep(100 * time.Millisecond)
		a.Restart(t)
		a.Exec(t, "START SLAVE")
	}
	awaitAcks(t, l, 60)
	s := l.Stop()
	wantClean(t, s)
	if s.Retried == 0 {
		t.Error("no client noticed that its server was killed")
	}
	t.Logf("retried %d, unknown resolved %d, left %d", s.Retried, s.UnknownResolved, s.UnknownLeft)
	wantWhole(t, p.verify(t, 0), s.Acknowledged)
}

// TestKilledLoad: kill -9 of the process that runs the clients. What it was
// acknowledged is in its ledger; the next run goes on from there.
func TestKilledLoad(t *testing.T) {
	t.Parallel() // it mostly waits
	const routing, dir = "STOWAGE_LOAD_TEST_ROUTING", "STOWAGE_LOAD_TEST_DIR"
	if path := os.Getenv(routing); path != "" {
		l, err := load.Start(context.Background(), load.Options{Routing: path, Dir: os.Getenv(dir), Clients: 6,
			User: string(mariadbtest.App), Password: mariadbtest.App.Password()})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		l.Stop()
		return
	}
	p := newPair(t, 2)
	o := p.options(6, 0)
	for range 3 {
		child := exec.Command(os.Args[0], "-test.run=^TestKilledLoad$")
		child.Env = append(os.Environ(), routing+"="+o.Routing, dir+"="+o.Dir)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		awaitLedger(t, o.Dir)
		if err := errors.Join(child.Process.Kill()); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait()
	}
	// A line that the kill cut in two.
	f, err := os.OpenFile(o.Dir+"/ledger/client-01.tsv", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("client-01\tetsy_sh"); err != nil {
		t.Fatal(err)
	}
	f.Close()

	l := p.start(t, o)
	awaitAcks(t, l, 50)
	s := l.Stop()
	wantClean(t, s)
	v := p.verify(t, 0)
	if !v.Whole() || v.Acknowledged <= s.Acknowledged || v.TornLines != 1 || s.TornLines != 1 {
		t.Errorf("verdict %+v after %d writes of the last run, want nothing lost and one torn line", v, s.Acknowledged)
	}
	if v.Unledgered > 3*6 {
		t.Errorf("%d writes unledgered, at most one for each kill and client", v.Unledgered)
	}
}

// awaitLedger waits until the ledgers grow by 4 kB.
func awaitLedger(t *testing.T, dir string) {
	t.Helper()
	size := func() (sum int64) {
		files, _ := os.ReadDir(dir + "/ledger")
		for _, f := range files {
			if st, err := f.Info(); err == nil {
				sum += st.Size()
			}
		}
		return sum
	}
	from := size()
	for end := time.Now().Add(time.Minute); size() < from+4096; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the load writes no ledger")
		}
	}
}

// TestStartRefuses: each with a word about what was meant, and nothing left
// running.
func TestStartRefuses(t *testing.T) {
	t.Parallel() // it mostly waits
	p := newPair(t, 1)
	p.start(t, p.options(1, 10))
	for name, c := range map[string]struct {
		edit func(*load.Options)
		kind error
		want string
	}{
		"too many clients":  {func(o *load.Options) { o.Clients = 65 }, farm.ErrInput, "1 to 64"},
		"no clients":        {func(o *load.Options) { o.Clients = 0 }, farm.ErrInput, "1 to 64"},
		"same directory":    {func(o *load.Options) {}, farm.ErrRefused, "another load is running"},
		"no routing":        {func(o *load.Options) { o.Routing += ".none" }, os.ErrNotExist, "routing.json.none"},
		"wrong password":    {func(o *load.Options) { o.Dir += "2"; o.Password = "x" }, nil, "Access denied"},
		"no schema":         {func(o *load.Options) { o.Dir += "3"; o.Shards = shards("etsy_shard_9999") }, nil, "etsy_shard_9999"},
		"pair not in table": {func(o *load.Options) { o.Dir += "4"; o.Shards = map[farm.PairName][]farm.ShardName{"x": nil} }, farm.ErrInput, "x"},
	} {
		o := p.options(2, 10)
		c.edit(&o)
		l, err := load.Start(t.Context(), o)
		if err == nil {
			l.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) {
			t.Errorf("%s: %v, want %q (%v)", name, err, c.want, c.kind)
		}
	}
}

func shards(names ...farm.ShardName) map[farm.PairName][]farm.ShardName {
	return map[farm.PairName][]farm.ShardName{pairName: names}
}

// TestSecondLook holds a client's first statement on a row lock while its
// route goes to the other side: when the answer comes, the client must not
// write where it no longer belongs.
func TestSecondLook(t *testing.T) {
	t.Parallel() // it mostly waits
	p := newPair(t, 1)
	a, b := p.sides[farm.A], p.sides[farm.B]
	l := p.start(t, p.options(1, 0)) // client-01: slot 193, home A
	awaitAcks(t, l, 10)
	lock, err := a.DB(t, mariadbtest.Stowage, "etsy_shard_0001").Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec("SELECT n FROM counters WHERE client = 'client-01' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	awaitStill(t, l)
	mariadbtest.AwaitApplied(t, b, a)
	p.change(t, func(pair *route.Pair) { pair.Serve(farm.A, farm.B, b.Address, 100) })
	at := time.Now()
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	awaitAcks(t, l, 10)
	s := l.Stop()
	wantClean(t, s)
	if s.RolledBack != 1 || s.Pauses.Count != 1 || s.MaxPauseMillis < 100 {
		t.Errorf("rolled back %d, pauses %+v, want the one that was held", s.RolledBack, s.Pauses)
	}
	ledger, err := os.ReadFile(p.options(1, 0).Dir + "/ledger/client-01.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(ledger)), "\n") {
		f := strings.Split(line, "\t")
		ns, err := strconv.ParseInt(f[5], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if after := time.Unix(0, ns).After(at); after != (f[3] == "B") {
			t.Errorf("ledger line %q is on the wrong side: the route changed at %d", line, at.UnixNano())
		}
	}
	wantWhole(t, p.verify(t, 0), s.Acknowledged)
}

// awaitStill waits until the load has made no progress for 150 ms.
func awaitStill(t *testing.T, l *load.Load) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		before := l.Now()
		time.Sleep(150 * time.Millisecond)
		if after := l.Now(); after.Acknowledged == before.Acknowledged && after.Reads == before.Reads {
			return
		}
	}
	t.Fatal("the load never stood still")
}
