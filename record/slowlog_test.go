package record

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"stowage/digest"
	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/mysql/traffic"
)

// What clients sent is counted, exactly, over several files of the log, none
// of which is kept; the server is as before; our own statements are not in it.
func TestCountsAcrossRotations(t *testing.T) {
	b := start(t, "rotate", odd...)
	b.r.Options.PieceBytes = 150 << 10
	before := b.settings()
	var want map[string]int
	x := b.during(b.r.SlowLog, func() {
		for range 3 { // three pieces at least: a window looks five times a second
			want = b.ask(4, 400)
			time.Sleep(look)
		}
	})
	for class := range want {
		want[class] *= 3
	}
	if x.err != nil {
		t.Fatal(x.err)
	}
	classes(t, x.d, want)
	if x.res.Pieces < 3 {
		t.Errorf("the log was cut into %d pieces; this test wants several", x.res.Pieces)
	}
	if x.res.Stopped != StopInterrupted || x.res.Bytes < 500<<10 || x.res.Events != x.d.Events() || x.res.Seconds <= 0 {
		t.Errorf("result %+v", x.res)
	}
	if len(x.res.SettingsRestored) == 0 || x.res.HasFindings() {
		t.Errorf("result %+v", x.res)
	}
	if r := x.d.Report(); r.FirstSeen == nil || r.BlockSeconds == 0 {
		t.Errorf("the digest has no blocks of time: %+v", r)
	}
	same(t, before, b.settings())
	b.nothingLeft()
}

// A log that was on gets none of our events, and has its file back.
func TestTheirLogStaysTheirs(t *testing.T) {
	b := start(t, "theirs", "--slow-query-log=1", "--slow-query-log-file=theirs.log", "--long-query-time=10")
	before := b.settings()
	stays := b.i.DB(t, mariadbtest.App, "d")
	x := b.during(b.r.SlowLog, func() {
		b.ask(2, 50)
		if err := stays.Ping(); err != nil {
			t.Error(err)
		}
	})
	if x.err != nil {
		t.Fatal(x.err)
	}
	if x.res.SessionsLeft != 1 || !x.res.SlowLogIsOn || !x.res.HasFindings() {
		t.Errorf("a session that goes on logging everything into their log is not a finding: %+v", x.res)
	}
	classes(t, x.d, map[string]int{"select v from t where id = ?": 100})
	if err := stays.Close(); err != nil {
		t.Error(err)
	}
	same(t, before, b.settings())
	b.i.Exec(t, "SET SESSION long_query_time = 0", "SELECT 'after the window'")
	text := readUntil(t, filepath.Join(b.i.Datadir, "theirs.log"), "after the window")
	if strings.Contains(text, "WHERE id") {
		t.Errorf("what we recorded is in their log:\n%s", text)
	}
	b.nothingLeft()
}

func readUntil(t *testing.T, path, text string) string {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		raw, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(raw), text) {
			return string(raw)
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not come to hold %q: %v", path, text, err)
		}
	}
}

// Sessions of before are counted, and those that keep our settings.
func TestSessionsThatAreMissed(t *testing.T) {
	b := start(t, "missed", odd...)
	old := b.i.DB(t, mariadbtest.App, "d")
	old.SetMaxOpenConns(1)
	if err := old.Ping(); err != nil {
		t.Fatal(err)
	}
	brief, err := b.i.DB(t, mariadbtest.App, "d").Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	young := b.i.DB(t, mariadbtest.App, "d")
	x := b.during(b.r.SlowLog, func() {
		if _, err := old.Exec("SELECT 'of an old session'"); err != nil {
			t.Error(err)
		}
		if err := brief.Close(); err != nil {
			t.Error(err)
		}
		if _, err := young.Exec("SELECT v FROM t WHERE id = 1"); err != nil {
			t.Error(err)
		}
	})
	if x.err != nil {
		t.Fatal(x.err)
	}
	classes(t, x.d, map[string]int{"select ?": 0, "select v from t where id = ?": 1})
	if x.res.SessionsNotCaptured < 2 || x.res.StillNotCaptured < 1 || x.res.SessionsLeft < 1 {
		t.Errorf("result %+v: want the two of before and the one that came", x.res)
	}
}

// A window in which only a pool was at work said "0 events" and that all was well.
func TestAWindowOfPoolsSaysWhatSeesThem(t *testing.T) {
	b := start(t, "pools", odd...)
	pool := b.i.DB(t, mariadbtest.App, "d")
	pool.SetMaxOpenConns(1)
	if err := pool.Ping(); err != nil {
		t.Fatal(err)
	}
	x := b.during(b.r.SlowLog, func() {
		if _, err := pool.Exec("SELECT 'of a pool'"); err != nil {
			t.Error(err)
		}
	})
	if x.err != nil || x.res.Events != 0 || !x.res.HasFindings() || !strings.Contains(strings.Join(x.res.Notes, " "), "--from network") {
		t.Errorf("%v: %+v", x.err, x.res)
	}
}

// The end of a window cut the guard's statement short, which closed our session: the login of the next one was recorded, as an event of clients.
func TestTheEndOfAWindowRecordsNothingOfOurs(t *testing.T) {
	b := start(t, "ends", odd...)
	pool := b.i.DB(t, mariadbtest.App, "d")
	pool.SetMaxOpenConns(1)
	if err := pool.Ping(); err != nil {
		t.Fatal(err)
	}
	b.r.Options.For = 3 * pace / 2
	b.r.Progress = func(p Progress) {
		if p.Began { // the server stands still from before the guard looks until after the window is over
			go func() {
				time.Sleep(7 * pace / 10)
				_ = syscall.Kill(b.i.PID(), syscall.SIGSTOP)
				time.Sleep(6 * pace / 5)
				_ = syscall.Kill(b.i.PID(), syscall.SIGCONT)
			}()
		}
	}
	res, d, err := b.r.SlowLog(t.Context(), b.target())
	if err != nil || res.Events != 0 || !res.OnlyPools() || res.Stopped != StopTime {
		t.Errorf("%v: %+v, %+v", err, res, d.Report().Classes)
	}
}

// Every bound ends the window by itself, with its reason, and all is put back.
func TestBounds(t *testing.T) {
	t.Parallel() // it mostly waits
	tests := []struct {
		name  string
		set   func(*Options)
		works bool // statements are sent while it lasts
		want  Stop
	}{
		{"time", func(o *Options) { o.For = 300 * time.Millisecond }, false, StopTime},
		{"bytes", func(o *Options) { o.MaxBytes = 100 << 10 }, true, StopBytes},
		{"threads", func(o *Options) { o.MaxRunning = 4 }, false, StopRunning},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := start(t, "bound", odd...)
			tt.set(&b.r.Options)
			before := b.settings()
			res, d, err := b.alone(tt.works, tt.want == StopRunning)
			if err != nil || d == nil {
				t.Fatalf("%+v: %v", res, err)
			}
			if res.Stopped != tt.want || res.Stopped.IsEarly() != (tt.want == StopRunning) {
				t.Errorf("it stopped because of %s (%s), want %s", res.Stopped, res.Detail, tt.want)
			}
			same(t, before, b.settings())
			b.nothingLeft()
		})
	}
}

// alone records until a bound ends the window.
func (b *bench) alone(works, sleeps bool) (Result, *digest.Digest, error) {
	ctx, stop := context.WithCancel(b.t.Context())
	defer stop()
	idle := make(chan struct{})
	b.r.Progress = func(p Progress) {
		if !p.Began {
			return
		}
		go func() {
			defer close(idle)
			for works && ctx.Err() == nil {
				if b.askOnce(0, 50) != nil {
					return
				}
			}
		}()
		for range 8 {
			if sleeps {
				go func() { _, _ = b.i.DB(b.t, mariadbtest.App, "").ExecContext(ctx, "SELECT SLEEP(30)") }()
			}
		}
	}
	began := false
	tell := b.r.Progress
	b.r.Progress = func(p Progress) {
		began = began || p.Began
		tell(p)
	}
	res, d, err := b.r.SlowLog(ctx, b.target())
	stop()
	if began {
		<-idle
	}
	return res, d, err
}

// A file system is never filled: the window ends while the reserve is there.
func TestDiskIsNeverFilled(t *testing.T) {
	b := start(t, "disk", odd...)
	b.r.Options.LogDir = mountSmall(t, b.i, 12)
	b.r.Options.Reserve = 8 << 20
	b.r.Options.For = 5 * time.Minute // the disk ends the window, however slowly a busy machine fills it
	before := b.settings()
	var least atomic.Int64
	least.Store(1 << 40)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if free, err := (Here{}).FreeBytes(ctx, b.r.Options.LogDir); err == nil {
				least.Store(min(free, least.Load()))
			}
			time.Sleep(time.Millisecond)
		}
	}()
	res, d, err := b.alone(true, false)
	if err != nil || res.Stopped != StopDisk || d.Events() == 0 {
		t.Errorf("%+v: %v", res, err)
	}
	if least.Load() < 4<<20 {
		t.Errorf("only %d bytes were left free, %d were to stay", least.Load(), b.r.Options.Reserve)
	}
	same(t, before, b.settings())
	b.nothingLeft()

	b.r.Options.Reserve = 100 << 20
	_, _, err = b.r.SlowLog(t.Context(), b.target())
	if !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "must stay free") {
		t.Errorf("with less room than the reserve: %v", err)
	}
	b.nothingLeft()
}

// What a person changes during the window stays, and is said.
func TestAPersonsChangeStays(t *testing.T) {
	b := start(t, "person", odd...)
	x := b.during(b.r.SlowLog, func() {
		b.ask(1, 20)
		b.i.Exec(t, "SET GLOBAL long_query_time = 1.25")
	})
	if x.err != nil {
		t.Fatal(x.err)
	}
	if got := b.i.Value(t, "SELECT FORMAT(@@GLOBAL.long_query_time, 2)"); got != "1.25" {
		t.Errorf("long_query_time is %s, a person had set 1.25", got)
	}
	if len(x.res.SettingsLeft) != 1 || x.res.SettingsLeft[0].Name != "long_query_time" || x.res.SettingsLeft[0].Now != "1.250000" || !x.res.HasFindings() {
		t.Errorf("it is not said: %+v", x.res)
	}
	if got := b.i.Value(t, "SELECT @@GLOBAL.slow_query_log_file"); got != "theirs.log" {
		t.Errorf("slow_query_log_file is %s", got)
	}
	b.nothingLeft()
}

// A log that somebody sends elsewhere ends the window and stays where it is.
func TestALogSentElsewhereEndsTheWindow(t *testing.T) {
	t.Parallel() // it mostly waits
	b := start(t, "elsewhere", odd...)
	b.r.Progress = func(p Progress) {
		if p.Began {
			b.i.Exec(t, "SET GLOBAL slow_query_log_file = 'mine.log'")
		}
	}
	res, _, err := b.r.SlowLog(t.Context(), b.target())
	if err != nil || res.Stopped != StopChanged {
		t.Errorf("%+v: %v", res, err)
	}
	if got := b.i.Value(t, "SELECT @@GLOBAL.slow_query_log_file"); got != "mine.log" {
		t.Errorf("slow_query_log_file is %s, a person had set mine.log", got)
	}
	b.nothingLeft()
}

// Whatever step fails, all is put back: at once where that step was not the
// putting back itself, else by Restore.
func TestEveryStepMayFail(t *testing.T) {
	t.Parallel() // it mostly waits
	b := start(t, "fails", odd...)
	b.r.Options.For = time.Millisecond
	before := b.settings()
	s := as(mariadbtest.Stowage)("plan", b.i.Address)
	defer s.Close()
	l, err := traffic.OpenSlowLog(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	plan, err := l.Plan(t.Context(), "x", 1)
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("a test says so")
	for _, point := range Points(plan) {
		if strings.HasSuffix(point, " rotate") {
			continue // TestRotationMayFail
		}
		met := false
		b.r.Border = func(p string) error {
			if p == point && !met {
				met = true
				return failed
			}
			return nil
		}
		_, _, err := b.r.SlowLog(t.Context(), b.target())
		if !met {
			t.Fatalf("%q was never met", point)
		}
		isBack := strings.Contains(point, "restore")
		if err != nil && !errors.Is(err, failed) || err == nil && !isBack {
			t.Errorf("failed at %q: %v", point, err) // a restore is tried again
		}
		same(t, before, b.settings())
		b.r.Border = nil
		b.restoreAll()
		b.nothingLeft()
		if t.Failed() {
			t.Fatalf("after a failure at %q", point)
		}
	}
}

func TestRotationMayFail(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, point := range []string{"before rotate", "after rotate", "before digest", "after digest"} {
		b := start(t, "rotfail", odd...)
		b.r.Options.PieceBytes = 20 << 10
		before := b.settings()
		b.r.Border = func(p string) error {
			if p == point {
				return errors.New("a test says so")
			}
			return nil
		}
		res, _, err := b.alone(true, false)
		if err == nil || res.Stopped != StopFailed {
			t.Errorf("failed %s: %+v, %v", point, res, err)
		}
		same(t, before, b.settings())
		b.nothingLeft()
	}
}

func (b *bench) restoreAll() {
	b.t.Helper()
	left, err := Left(b.r.Dir)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, n := range left {
		if _, err := b.r.Restore(b.t.Context(), n, Here{}, as(mariadbtest.Stowage)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// A server that restarts has its own settings again: nothing is put over them.
func TestServerRestarts(t *testing.T) {
	t.Parallel() // it mostly waits
	b := start(t, "restarts", odd...)
	began := make(chan struct{})
	b.r.Progress = func(p Progress) {
		if p.Began {
			close(began)
		}
	}
	done := make(chan taken, 1)
	go func() {
		res, d, err := b.r.SlowLog(t.Context(), b.target())
		done <- taken{res, d, err}
	}()
	<-began
	b.ask(1, 30)
	for b.i.Value(t, "SELECT VARIABLE_VALUE >= 6 FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'UPTIME'") != "1" {
		time.Sleep(look) // a restart is known by an uptime that is three seconds too short
	}
	b.i.Kill()
	b.i.SetOptions("--long-query-time=2.25")
	x := <-done
	if !errors.Is(x.err, farm.ErrOutcomeUnknown) || x.res.Stopped != StopServer || x.d == nil || x.d.Events() < 60 {
		t.Errorf("while it is down: %+v: %v", x.res, x.err)
	}
	b.i.Restart(t)
	out, err := b.r.Restore(t.Context(), "restarts", Here{}, as(mariadbtest.Stowage))
	if err != nil || !out.Restarted || len(out.Settings)+len(out.Left) > 0 {
		t.Errorf("when it is up again: %+v: %v", out, err)
	}
	if got := b.i.Value(t, "SELECT FORMAT(@@GLOBAL.long_query_time, 2)"); got != "2.25" {
		t.Errorf("long_query_time is %s, want the 2.25 of the option file", got)
	}
	b.nothingLeft()
}

// Without a privilege there is one message, which names it, and no change.
func TestPrivilegesAreNamed(t *testing.T) {
	b := start(t, "poor", odd...)
	before := b.settings()
	target := b.target()
	target.Server = as(mariadbtest.App)
	_, d, err := b.r.SlowLog(t.Context(), target)
	if d != nil || !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "account app lacks the privilege SUPER") {
		t.Errorf("got %v", err)
	}
	same(t, before, b.settings())
	b.nothingLeft()
}

// What cannot be recorded safely is refused before anything is touched.
func TestRefusals(t *testing.T) {
	general := start(t, "general", append(odd, "--general-log=1")...)
	if _, _, err := general.r.SlowLog(t.Context(), general.target()); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "general log") {
		t.Errorf("a general log in a table: %v", err)
	}
	general.nothingLeft()

	b := start(t, "busy", odd...)
	b.r.Options.MaxRunning = 4
	for range 8 {
		go func() { _, _ = b.i.DB(t, mariadbtest.App, "").ExecContext(t.Context(), "SELECT SLEEP(30)") }()
	}
	for end := time.Now().Add(20 * time.Second); b.i.Value(t, "SELECT COUNT(*) > 7 FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP%'") != "1"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server never became busy")
		}
	}
	if _, _, err := b.r.SlowLog(t.Context(), b.target()); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "Threads_running") {
		t.Errorf("a busy server: %v", err)
	}
	b.nothingLeft()

	far := b.target()
	far.Address = "192.0.2.1:3306"
	if _, _, err := b.r.SlowLog(t.Context(), far); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "not an address of this machine") {
		t.Errorf("another machine: %v", err)
	}
	b.r.Options.LogDir = filepath.Join(b.i.Dir, "closed")
	if err := os.Mkdir(b.r.Options.LogDir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.r.Options.MaxRunning = 0
	before := b.settings()
	if _, _, err := b.r.SlowLog(t.Context(), b.target()); !errors.Is(err, farm.ErrInput) || !strings.Contains(farm.Hint(err), "--log-dir") {
		t.Errorf("a directory that the server may not enter: %v (%s)", err, farm.Hint(err))
	}
	same(t, before, b.settings())
	b.nothingLeft()
}

// Two recordings do not meet on one server, whichever workspace they are of.
func TestOneRecordingAtATime(t *testing.T) {
	b := start(t, "twice", odd...)
	other := &Recorder{Dir: filepath.Join(t.TempDir(), "other"), Options: b.r.Options, Log: b.r.Log}
	x := b.during(b.r.SlowLog, func() {
		if _, _, err := b.r.SlowLog(t.Context(), b.target()); !errors.Is(err, farm.ErrRefused) {
			t.Errorf("the same workspace: %v", err)
		}
		if _, _, err := other.SlowLog(t.Context(), b.target()); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "another recording") {
			t.Errorf("another workspace: %v", err)
		}
		if left, err := Left(b.r.Dir); err != nil || len(left) > 0 {
			t.Errorf("a living recording counts as left behind: %v %v", left, err)
		}
	})
	if x.err != nil {
		t.Error(x.err)
	}
	b.nothingLeft()
}

// A server that falls behind its source is left alone.
func TestLagEndsTheWindow(t *testing.T) {
	t.Parallel() // it mostly waits
	b := start(t, "lags", odd...)
	b.r.Options.MaxLag = time.Second
	source := mariadbtest.Start(t, "source")
	source.Exec(t, "CREATE DATABASE e", "CREATE TABLE e.t (id INT PRIMARY KEY)")
	mariadbtest.Replicate(t, b.i, source)
	mariadbtest.AwaitApplied(t, b.i, source)
	lock, err := b.i.DB(t, mariadbtest.Stowage, "").Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	b.r.Progress = func(p Progress) {
		if !p.Began {
			return
		}
		if _, err := lock.ExecContext(t.Context(), "LOCK TABLES e.t WRITE"); err != nil {
			t.Error(err)
		}
		source.Exec(t, "INSERT e.t VALUES (1)")
	}
	res, _, err := b.r.SlowLog(t.Context(), b.target())
	if err != nil || res.Stopped != StopLag {
		t.Errorf("%+v: %v", res, err)
	}
	if _, err := lock.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Error(err)
	}
	b.nothingLeft()
}

// Two at once, one of which cannot: the other is whole.
func TestSeveralAtOnce(t *testing.T) {
	t.Parallel() // it mostly waits
	a, b := start(t, "one", odd...), start(t, "two", odd...)
	b.r.Dir, b.r.Options.For, a.r.Options.For = a.r.Dir, 6*time.Second, 6*time.Second // a busy machine needs four for the statements
	dead := Target{Instance: "dead", Address: "127.0.77.254:1", Server: as(mariadbtest.Stowage), Place: Here{}}
	asked := make(chan map[string]int, 2)
	a.r.Progress = func(p Progress) {
		if !p.Began {
			return
		}
		x := map[farm.InstanceName]*bench{"one": a, "two": b}[p.Instance]
		go func() {
			x.t = t
			asked <- x.ask(2, map[farm.InstanceName]int{"one": 30, "two": 50}[p.Instance])
		}()
	}
	got := make([]taken, 3)
	Each(t.Context(), []Target{a.target(), dead, b.target()}, 3, func(ctx context.Context, i int, x Target) {
		got[i].res, got[i].d, got[i].err = a.r.SlowLog(ctx, x)
	})
	<-asked
	<-asked
	if got[0].err != nil || got[2].err != nil || got[1].err == nil {
		t.Fatalf("errors %v, %v, %v", got[0].err, got[1].err, got[2].err)
	}
	classes(t, got[0].d, map[string]int{"select v from t where id = ?": 60})
	classes(t, got[2].d, map[string]int{"select v from t where id = ?": 100})
	if err := got[0].d.Merge(got[2].d); err != nil {
		t.Fatal(err)
	}
	classes(t, got[0].d, map[string]int{"select v from t where id = ?": 160})
	a.nothingLeft()
	b.nothingLeft()
}

func TestRestoreOrder(t *testing.T) {
	in := []traffic.SlowLogSetting{{Name: fileSetting}, {Name: "long_query_time"}, {Name: switchSetting}}
	var got []string
	for _, s := range restoreOrder(in) {
		got = append(got, s.Name)
	}
	if strings.Join(got, " ") != "slow_query_log long_query_time slow_query_log_file" {
		t.Errorf("order %v", got)
	}
}
