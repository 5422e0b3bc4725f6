package host_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stowage/host"
	"stowage/host/hosttest"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/internal/turns"
	"stowage/mysql"
	"stowage/mysql/rows"
)

var admin = mysqltest.Account(mariadbtest.Stowage)

func loginTo(i *mariadbtest.Instance) host.Login {
	return host.Login{User: admin.User, Password: admin.Password, Address: i.Address}
}

// sourceOf is a test server as the instance a backup is taken of.
func sourceOf(i *mariadbtest.Instance) host.Instance {
	return host.Instance{Name: "source", Address: i.Host, Port: i.Port, Datadir: i.Datadir, Config: i.Config}
}

func receive(t *testing.T, l *host.Local, i host.Instance, r io.Reader) error {
	t.Helper()
	_, err := l.Receive(t.Context(), host.Destination{Instance: i}, r)
	return err
}

// seed copies source to i and says where the copy stands.
func seed(t *testing.T, l *host.Local, source *mariadbtest.Instance, i host.Instance) host.SeedPoint {
	t.Helper()
	pr, pw := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := l.Send(t.Context(), host.Origin{Instance: sourceOf(source), Login: loginTo(source)}, pw)
		pw.CloseWithError(err)
		sent <- err
	}()
	err := receive(t, l, i, pr)
	pr.CloseWithError(io.ErrClosedPipe)
	must(t, errors.Join(<-sent, err))
	at, err := l.Prepare(t.Context(), i)
	must(t, err)
	return at
}

// load writes to both sides of a ring until it is stopped: many small
// transactions, so that a seed meets them in every state.
func load(t *testing.T, sides ...*mariadbtest.Instance) (stop func()) {
	t.Helper()
	sides[0].Exec(t, "CREATE DATABASE d", "CREATE TABLE d.w (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL, KEY (v))",
		"CREATE TABLE d.hot (id INT PRIMARY KEY, n BIGINT NOT NULL)", "INSERT d.hot VALUES (1,0),(2,0),(3,0),(4,0)")
	for _, s := range sides[1:] {
		mariadbtest.AwaitApplied(t, s, sides[0])
	}
	var ended atomic.Bool
	done := make(chan error)
	writers := 0
	for s, side := range sides {
		for w := range 2 {
			writers++
			row := 2*s + w + 1 // each writer has a row of its own: two sides must not write the same
			db := side.DB(t, mariadbtest.App, "d")
			go func() {
				var err error
				for k := 0; err == nil && !ended.Load(); k++ {
					time.Sleep(time.Millisecond) // leave the replicas a share of a small machine
					if _, err = db.Exec("INSERT w (v) VALUES (?),(?),(?)", k, k+1, k+2); err == nil {
						_, err = db.Exec("UPDATE hot SET n = n + 1 WHERE id = ?", row)
					}
				}
				done <- err
			}()
		}
	}
	return func() {
		ended.Store(true)
		for range writers {
			if err := <-done; err != nil {
				t.Errorf("writer: %v", err)
			}
		}
	}
}

// TestSeedUnderLoadAttaches: the source is itself a replica that applies in
// parallel, the hardest case. The GTID a backup notes down lies behind the
// data in a few seeds of a hundred; file and offset, translated on the source,
// are exact in all. A wrong one shows as a duplicate key, or a missing row.
func TestSeedUnderLoadAttaches(t *testing.T) {
	turns.One(t, 6)
	t.Parallel() // it mostly waits
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	l := local(t)
	parallel := []string{"--slave-parallel-threads=4", "--slave-parallel-mode=optimistic"}
	ai, bi := mariadbtest.Start(t, "a", parallel...), mariadbtest.Start(t, "b", parallel...)
	mariadbtest.Ring(t, ai, bi)
	defer load(t, ai, bi)()
	source := mysql.Open("b", bi.Address, admin, newLog())
	defer source.Close()
	ctx := t.Context()
	for round := range rounds {
		i := place(t, l, fmt.Sprintf("copy%d", round))
		must(t, l.Claim(ctx, i, "test"))
		at := seed(t, l, bi, i)
		p, err := source.PositionAt(ctx, at.File, at.Offset)
		must(t, err)
		hosttest.Config(t, l, i, bi, map[string]string{"server_id": fmt.Sprint(ai.ServerID + 100000 + uint32(round)), "read_only": "ON"})
		err = l.Start(ctx, i, patience)
		if errors.Is(err, host.ErrPrepared) {
			t.Logf("round %d: the copy held prepared transactions", round)
			must(t, l.RollbackPrepared(ctx, i))
			err = l.Start(ctx, i, patience)
		}
		must(t, err)
		server := mysql.Open(i.Name, i.Dial(), admin, newLog())
		defer server.Close()
		must(t, server.Adopt(ctx, p))
		must(t, server.Follow(ctx, bi.Address, mysql.Account{User: "repl", Password: mariadbtest.Repl.Password()}, patience))
		goal, err := source.BinlogPosition(ctx)
		must(t, err)
		must(t, server.WaitFor(ctx, goal, patience))
		must(t, server.StopReplicating(ctx))
		snap, err := rows.Snapshot(ctx, source)
		must(t, err)
		must(t, server.StopAt(ctx, snap.At, patience))
		differ, err := rows.Comparison{Copy: server}.Compare(ctx, snap, nil)
		must(t, err)
		must(t, snap.Close())
		if len(differ.Mismatches) > 0 {
			t.Fatalf("round %d: the copy differs: %v", round, differ.Mismatches)
		}
		must(t, l.Stop(ctx, i, patience))
		must(t, l.Remove(ctx, i, "test"))
	}
}

// TestPreparedTransactions: a copy taken between the two phases of a commit
// does not start until that transaction is decided. A server waiting for an
// acknowledgement that never comes is in that state for as long as we like.
func TestPreparedTransactions(t *testing.T) {
	l := local(t)
	s := mariadbtest.Start(t, "source", "--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1", "--rpl-semi-sync-master-timeout=600000",
		"--rpl-semi-sync-master-wait-point=AFTER_SYNC")
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT d.t VALUES (1)", "SET GLOBAL rpl_semi_sync_master_enabled=1")
	go s.DB(t, mariadbtest.App, "d").ExecContext(context.Background(), "INSERT t VALUES (2)")
	for end := time.Now().Add(patience); s.Value(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for semi-sync%'") != "1"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the commit does not wait")
		}
	}
	s.Kill()
	i := place(t, l, "copy")
	must(t, l.Claim(t.Context(), i, "test"))
	must(t, l.CopyDatadir(t.Context(), sourceOf(s), i))
	logs, err := filepath.Glob(filepath.Join(i.Datadir, "bl.*"))
	must(t, err)
	for _, path := range logs { // a copy comes without binary logs
		must(t, os.Remove(path))
	}
	hosttest.Config(t, l, i, s, map[string]string{"rpl_semi_sync_master_timeout": ""})
	for range 2 {
		if err := l.Start(t.Context(), i, 10*time.Minute); !errors.Is(err, host.ErrPrepared) {
			t.Fatalf("start: %v, want ErrPrepared", err)
		}
	}
	for range 2 { // the second time there is nothing left to roll back
		must(t, l.RollbackPrepared(t.Context(), i))
	}
	must(t, l.Start(t.Context(), i, patience)) // the old complaint in its log is not taken for a new one
	if got := hosttest.Value(t, i, "SELECT GROUP_CONCAT(id) FROM d.t"); got != "1" {
		t.Errorf("the table holds %s, want 1", got)
	}
}

func TestSendFailsWithItsCause(t *testing.T) {
	l := local(t)
	s := mariadbtest.Start(t, "source")
	wrong := loginTo(s)
	wrong.Password = "secret-word"
	nobody := loginTo(s)
	nobody.Address = "127.0.77.254:1"
	for _, test := range []struct {
		name  string
		login host.Login
		w     io.Writer
		says  string
	}{
		{"wrong password", wrong, io.Discard, "Access denied"},
		{"nobody listens", nobody, io.Discard, "onnect"},
		{"a receiver that fails", loginTo(s), failing{}, "disk of the receiver is full"},
	} {
		err := l.Send(t.Context(), host.Origin{Instance: sourceOf(s), Login: test.login}, test.w)
		if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "back up source") {
			t.Errorf("%s: %v, want %q", test.name, err, test.says)
		}
		if err != nil && strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%s: the error shows the password: %v", test.name, err)
		}
	}
	if err := l.Send(t.Context(), host.Origin{Instance: sourceOf(s), Login: host.Login{Address: "no port"}}, io.Discard); err == nil {
		t.Error("an address without a port")
	}
	nothingLeft(t)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk of the receiver is full") }

// slowly lets a stream through until it is told to look, then holds it.
type slowly struct {
	once  atomic.Bool
	first func()
}

func (s *slowly) Write(p []byte) (int, error) {
	if s.once.CompareAndSwap(false, true) {
		s.first()
	}
	return len(p), nil
}

// TestSendEndsWithItsSource: the source dies in the middle of the stream.
func TestSendEndsWithItsSource(t *testing.T) {
	l := local(t)
	s := mariadbtest.Start(t, "source")
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
	began := time.Now()
	err := l.Send(t.Context(), host.Origin{Instance: sourceOf(s), Login: loginTo(s)}, &slowly{first: func() { s.Kill() }})
	if err == nil || !strings.Contains(err.Error(), "back up source: ") || !strings.Contains(err.Error(), "Lost connection") && !strings.Contains(err.Error(), "gone away") && !strings.Contains(err.Error(), "rror") {
		t.Errorf("the source died: %v, want the backup's own words", err)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("took %v to see that the source is dead", took)
	}
	nothingLeft(t)
}

func TestSendEndsWithItsContext(t *testing.T) {
	l := local(t)
	s := mariadbtest.Start(t, "source")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := l.Send(ctx, host.Origin{Instance: sourceOf(s), Login: loginTo(s)}, &slowly{first: cancel}); err == nil {
		t.Error("an interrupted backup passes for a whole one")
	}
	nothingLeft(t)
}

// nothingLeft fails when a program of a backup, running or dead and not waited for, or
// its login file is still there.
func nothingLeft(t *testing.T) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	must(t, err)
	me := fmt.Sprint(os.Getpid())
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(raw), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == me && fields[0] == "Z" {
			t.Errorf("a zombie: %s", raw)
		}
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == me && bytes.Contains(raw, []byte("(mariadb-backup)")) {
			t.Errorf("a backup still runs: %s", raw)
		}
	}
	if logins := loginFiles(); len(logins) > 0 {
		t.Errorf("login files are left: %v", logins)
	}
}

// loginFiles are the directories with the login of a backup of this process,
// beside the data of any instance of a test or among the temporary files.
func loginFiles() []string {
	var out []string
	name := fmt.Sprintf(".stowage-seed-%d-*", os.Getpid())
	servers := cmp.Or(os.Getenv("FARMS"), os.TempDir()) // where mariadbtest has them
	for _, in := range []string{os.TempDir(), filepath.Join(servers, "stowage-mariadbtest-*", "*")} {
		found, _ := filepath.Glob(filepath.Join(in, name))
		out = append(out, found...)
	}
	return out
}

// TestPasswordIsInNoCommandLine: while a backup runs, its login stands in a
// file that only the servers' account can read, and nowhere else.
func TestPasswordIsInNoCommandLine(t *testing.T) {
	l := local(t)
	s := mariadbtest.Start(t, "source")
	const password = `odd-"pass'word# \ é`
	s.Exec(t, "CREATE USER odd IDENTIFIED BY '"+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password)+"'", "GRANT ALL ON *.* TO odd")
	seen := false
	look := func() {
		seen = true
		processes, err := filepath.Glob("/proc/[0-9]*")
		must(t, err)
		for _, p := range processes {
			for _, file := range []string{"cmdline", "environ"} {
				if raw, _ := os.ReadFile(filepath.Join(p, file)); bytes.Contains(raw, []byte("odd-")) {
					t.Errorf("%s/%s holds the password", p, file)
				}
			}
		}
		if len(loginFiles()) == 0 {
			t.Error("no login file: this test looks in the wrong place")
		}
		for _, dir := range loginFiles() {
			for path, mode := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, filepath.Join(dir, "login.cnf"): 0o600} {
				if st, err := os.Stat(path); err != nil || st.Mode() != mode {
					t.Errorf("%s has mode %v, %v; want %v", path, st.Mode(), err, mode)
				}
			}
		}
	}
	login := host.Login{User: "odd", Password: password, Address: s.Address}
	must(t, l.Send(t.Context(), host.Origin{Instance: sourceOf(s), Login: login}, &slowly{first: look}))
	if !seen {
		t.Error("nothing was sent")
	}
	nothingLeft(t)
}

// TestLoginOfAKilledProgramIsRemoved: a program that was killed in a backup
// leaves its login beside the source; the next backup removes it.
func TestLoginOfAKilledProgramIsRemoved(t *testing.T) {
	l := local(t)
	s := mariadbtest.Start(t, "source")
	left := filepath.Join(filepath.Dir(s.Datadir), ".stowage-seed-99999999-x") // no process has that id
	must(t, os.Mkdir(left, 0o700))
	must(t, l.Send(t.Context(), host.Origin{Instance: sourceOf(s), Login: loginTo(s)}, io.Discard))
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", left, err)
	}
	nothingLeft(t)
}

// TestCutStream: a stream that ends early is never a copy.
func TestCutStream(t *testing.T) {
	l := local(t)
	s := mariadbtest.Start(t, "source")
	var whole bytes.Buffer
	must(t, l.Send(t.Context(), host.Origin{Instance: sourceOf(s), Login: loginTo(s)}, &whole))
	i := place(t, l, "copy")
	must(t, l.Claim(t.Context(), i, "test"))
	for name, r := range map[string]io.Reader{
		"nothing":            strings.NewReader(""),
		"half":               bytes.NewReader(whole.Bytes()[:whole.Len()/2]),
		"all but some":       bytes.NewReader(whole.Bytes()[:whole.Len()-2000]),
		"not a stream":       strings.NewReader(strings.Repeat("not a stream ", 1000)),
		"a sender's failure": io.MultiReader(bytes.NewReader(whole.Bytes()[:whole.Len()/2]), broken{}),
	} {
		must(t, l.Wipe(t.Context(), i, "test"))
		err := receive(t, l, i, r)
		if name == "a sender's failure" && err == nil {
			t.Errorf("%s: not noticed", name)
		}
		if err == nil {
			_, err = l.Prepare(t.Context(), i)
		}
		if err == nil {
			t.Errorf("%s: passes for a copy", name)
		}
	}
	must(t, l.Wipe(t.Context(), i, "test"))
	must(t, receive(t, l, i, &whole))
	first, err := l.Prepare(t.Context(), i)
	must(t, err)
	again, err := l.Prepare(t.Context(), i)
	if err != nil || again != first {
		t.Errorf("prepared again it is at %v, %v; was %v", again, err, first)
	}
	hosttest.Config(t, l, i, s, nil)
	must(t, l.Start(t.Context(), i, patience))
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("cable is cut") }

// TestSeedPointFile: the third field, a GTID, is not looked at.
func TestSeedPointFile(t *testing.T) {
	l := local(t)
	s := mariadbtest.Start(t, "source", "--skip-log-bin")
	i := place(t, l, "copy")
	must(t, l.Claim(t.Context(), i, "test"))
	var whole bytes.Buffer
	must(t, l.Send(t.Context(), host.Origin{Instance: sourceOf(s), Login: loginTo(s)}, &whole))
	must(t, receive(t, l, i, &whole))
	if _, err := l.Prepare(t.Context(), i); err == nil || !strings.Contains(err.Error(), "log_bin") {
		t.Errorf("a source without binary log: %v", err)
	}
	for text, want := range map[string]string{
		"bl.000007\t1234\t1-2-3\n": "{bl.000007 1234 ", "bl.000007\t1234\n": "{bl.000007 1234 ", "bl.000007": "want file and offset", "bl.000007 x": "invalid syntax",
	} {
		must(t, os.WriteFile(filepath.Join(i.Datadir, "xtrabackup_binlog_info"), []byte(text), 0o644))
		at, err := l.Prepare(t.Context(), i)
		if got := fmt.Sprint(at, " ", err); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
