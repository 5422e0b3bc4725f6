package host_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stowage/host"
	"stowage/internal/keeper"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
	"stowage/vault"
)

// binlogWork is what a child of a test does until it is killed.
type binlogWork struct {
	Archive *archiving
	Replay  *host.Replaying
}

type archiving struct {
	Instance    host.Instance
	Index, Into string
}

const binlogWorkEnv = "STOWAGE_TEST_BINLOGS"

// TestWorkToBeKilled is no test: it is the process that the tests below kill.
func TestWorkToBeKilled(t *testing.T) {
	text := os.Getenv(binlogWorkEnv)
	if text == "" {
		t.Skip("SKIPPED: only other tests run this")
	}
	var w binlogWork
	must(t, json.Unmarshal([]byte(text), &w))
	l := local(t)
	if w.Replay != nil {
		must(t, l.Replay(t.Context(), *w.Replay))
		return
	}
	for {
		_, err := l.ArchiveBinlogs(t.Context(), w.Archive.Instance, w.Archive.Index, w.Archive.Into)
		must(t, err)
	}
}

// killed runs work in a process, which is killed when now returns, unless it has ended by then: now is told to return by stop. whole says
// that it ended well.
func killed(t testing.TB, w binlogWork, now func(stop <-chan struct{})) (whole bool) {
	t.Helper()
	text, err := json.Marshal(w)
	must(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestWorkToBeKilled$")
	cmd.Env = append(os.Environ(), binlogWorkEnv+"="+string(text))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 10 * time.Second
	must(t, keeper.Start(cmd))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		now(stop)
		_ = cmd.Process.Kill() // no process any more, where it has ended
	}()
	err = cmd.Wait()
	close(stop)
	<-stopped
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return false
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return true
}

// soon is a moment between two numbers of milliseconds.
func soon(from, to int) func(<-chan struct{}) {
	return func(stop <-chan struct{}) {
		select {
		case <-stop:
		case <-time.After(time.Duration(from+rand.IntN(to-from)) * time.Millisecond):
		}
	}
}

// written is the moment at which a server has written so many transactions more.
func written(db *sql.DB, more int) func(<-chan struct{}) {
	count := func() (n int) {
		var name string
		_ = db.QueryRow("SHOW GLOBAL STATUS LIKE 'Binlog_commits'").Scan(&name, &n) // 0 when it cannot be asked
		return n
	}
	first := count()
	return func(stop <-chan struct{}) {
		for count() < first+more {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}
}

// TestArchiverKilled: killed at random moments while clients write, its archive is whole after each, and has everything in the end.
func TestArchiverKilled(t *testing.T) {
	t.Parallel()
	l := local(t)
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	s := mariadbtest.Start(t, "s", "--max-binlog-size=256K")
	into := archiveOf(t)
	stop := load(t, s)
	w := binlogWork{Archive: &archiving{Instance: sourceOf(s), Index: filepath.Join(s.Datadir, "bl.index"), Into: into}}
	for range rounds {
		killed(t, w, soon(30, 150))
		must(t, l.CheckBinlogs(t.Context(), into))
	}
	stop()
	a := archive(t, l, s, into)
	if len(a.Gaps) > 0 || len(a.Forks) > 0 || a.Position != s.Value(t, "SELECT @@gtid_binlog_pos") {
		t.Errorf("%+v", a)
	}
	must(t, l.CheckBinlogs(t.Context(), into))
	sameFiles(t, s, into, a)
	t.Logf("%d kills, %d files, %d bytes", rounds, a.Files, a.Bytes)
}

// TestTornArchive: whatever is at the end of the archive's files behind a writer that was killed, or lost with the power, is mended: half a
// transaction, half a mark, zeros, no marks at all, a file with nothing but its head.
func TestTornArchive(t *testing.T) {
	t.Parallel()
	l := local(t)
	s := mariadbtest.Start(t, "s")
	into := archiveOf(t)
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100))", "INSERT d.a (v) VALUES ('first')", "FLUSH BINARY LOGS")
	for n := range 10 {
		s.Exec(t, "INSERT d.a (v) VALUES ('before')")
		a := archive(t, l, s, into)
		file := filepath.Join(into, a.Identity, a.Last.File)
		s.Exec(t, "INSERT d.a (v) VALUES ('behind')")
		live, err := os.ReadFile(filepath.Join(s.Datadir, a.Last.File))
		must(t, err)
		switch n {
		case 0: // half of what comes next
			add(t, file, live[a.Last.Offset:a.Last.Offset+50])
		case 1: // all of it, and no mark
			add(t, file, live[a.Last.Offset:])
		case 2: // zeros, as a file system may leave them
			add(t, file, make([]byte, 300))
		case 3: // something else, longer than what the server has
			add(t, file, []byte(strings.Repeat("not this ", 1000)))
		case 4:
			add(t, file+".marks", []byte(`{"offset":12`))
		case 5:
			must(t, os.Remove(file+".marks"))
		case 6: // no marks, and zeros
			must(t, os.Remove(file+".marks"))
			add(t, file, make([]byte, 300))
		case 7: // marks, and not what they say
			must(t, os.Truncate(file, a.Last.Offset-30))
		case 8: // a byte of its head
			flip(t, file, 100)
			if err := l.CheckBinlogs(t.Context(), into); err == nil || !strings.Contains(err.Error(), a.Last.File) {
				t.Errorf("a byte of the head: %v", err)
			}
		case 9: // whose log it is
			add(t, filepath.Join(into, a.Identity, "log.json"), []byte("garbage"))
		}
		state, err := l.ArchiveState(t.Context(), into)
		must(t, err)
		if n != 1 && n != 7 && n != 8 && state.Last != a.Last {
			t.Errorf("%d: torn, it ends at %s, and had ended at %s", n, state.Last, a.Last)
		}
		a = archive(t, l, s, into)
		must(t, l.CheckBinlogs(t.Context(), into))
		sameFiles(t, s, into, a)
		if len(a.Forks) > n/9 || len(a.Gaps) > 0 { // a log.json that cannot be read is told as one
			t.Errorf("%d: %+v", n, a)
		}
	}
}

func add(t testing.TB, path string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.Write(b)
	must(t, errors.Join(err, f.Close()))
}

func flip(t testing.TB, path string, at int) {
	t.Helper()
	raw, err := os.ReadFile(path)
	must(t, err)
	raw[at] ^= 1
	must(t, os.WriteFile(path, raw, 0o640))
}

// TestServerKilledWhileItWrites: its last file may end in the middle of a transaction; that is left out, and the log goes on in the next.
func TestServerKilledWhileItWrites(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	l := local(t)
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	s := mariadbtest.Start(t, "s", "--innodb-log-file-size=64M")
	into := archiveOf(t)
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(2000))", "CREATE TABLE d.old (id INT, x INT, y INT) WITH SYSTEM VERSIONING")
	for range rounds {
		db := s.DB(t, mariadbtest.App, "d")
		ended := make(chan error)
		for range 3 {
			go func() {
				var err error
				for err == nil {
					_, err = db.Exec("INSERT a (v) VALUES (REPEAT('x', 2000)), (REPEAT('y', 2000)), (REPEAT('z', 2000))")
				}
				ended <- err
			}()
		}
		for end := time.Now().Add(time.Duration(100+rand.IntN(200)) * time.Millisecond); time.Now().Before(end); {
			archive(t, l, s, into)
		}
		s.Kill()
		for range 3 {
			<-ended // that it lost its server
		}
		archive(t, l, s, into) // what a server that is down has left
		s.Restart(t)
	}
	s.Exec(t, "INSERT d.a (v) VALUES ('last')")
	a := archive(t, l, s, into)
	must(t, l.CheckBinlogs(t.Context(), into))
	if len(a.Gaps) > 0 || len(a.Forks) > 0 || a.Position != s.Value(t, "SELECT @@gtid_binlog_pos") || a.Files < int64(rounds) {
		t.Errorf("%+v", a)
	}
	target := mariadbtest.Start(t, "target", "--innodb-log-file-size=64M")
	must(t, l.Replay(t.Context(), replaying(target, into, begin(t, into, a), a.Last)))
	if is, was := contents(t, target), contents(t, s); is.sum != was.sum {
		t.Errorf("%s %v, want %s %v", is.sum, is.rows, was.sum, was.rows)
	}
}

// TestArchiveOnAFullDisk: it says so, what was there stays, and with room again it goes on.
func TestArchiveOnAFullDisk(t *testing.T) {
	t.Parallel()
	l := local(t)
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("NOT TESTED: no small file system: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(disk, 0)) })
	into, err := host.ArchiveDir(vault.Place{Dir: disk}, "shard")
	must(t, err)
	s := mariadbtest.Start(t, "s")
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT PRIMARY KEY, v VARCHAR(200))", "INSERT d.a VALUES (0, 'first')")
	was := archive(t, l, s, into)
	s.Exec(t, "USE d", "INSERT a SELECT seq, REPEAT('x', 200) FROM seq_1_to_3000", "FLUSH BINARY LOGS", "INSERT a VALUES (-1, 'last')")
	for range 3 {
		_, err := l.ArchiveBinlogs(t.Context(), sourceOf(s), "", into)
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("a full disk: %v", err)
		}
		state, err := l.ArchiveState(t.Context(), into)
		must(t, err)
		if state.Last != was.Last {
			t.Errorf("%+v, want %+v", state, was)
		}
	}
	must(t, unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, "size=64m"))
	a := archive(t, l, s, into)
	sameFiles(t, s, into, a)
	must(t, l.CheckBinlogs(t.Context(), into))
}

// TestReplayKilled: a replay that is killed again and again, with its programs, ends with what one that was not killed ends with.
func TestReplayKilled(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	l := local(t)
	kills := 20
	if testing.Short() {
		kills = 6
	}
	s := mariadbtest.Start(t, "s")
	into := archiveOf(t)
	all := history(t, s, true, nil)
	a := archive(t, l, s, into)
	target := mariadbtest.Start(t, "target", "--read-only=1", "--binlog-format=STATEMENT")
	w := replaying(target, into, begin(t, into, a), a.Last)
	db := target.DB(t, mariadbtest.App, "")
	done := 0
	for whole := false; !whole; {
		when := func(stop <-chan struct{}) { <-stop }
		if done < kills {
			when = written(db, rand.IntN(8))
		}
		if whole = killed(t, binlogWork{Replay: &w}, when); !whole {
			done++
		}
		alone(t, target)
		w.Reached = target.Value(t, "SELECT @@gtid_binlog_pos")
	}
	last := all[len(all)-1]
	if c := contents(t, target); c.sum != last.sum || !samePosition(w.Reached, a.Position) {
		t.Errorf("at %s: %s %v; want %s: %s %v", w.Reached, c.sum, c.rows, a.Position, last.sum, last.rows)
	}
	if done == 0 {
		t.Error("it was never killed")
	}
	t.Logf("%d kills", done)
}

// alone waits until no session of a killed replay is left.
func alone(t testing.TB, s *mariadbtest.Instance) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if s.Value(t, "SELECT COUNT(*) FROM information_schema.processlist WHERE command <> 'Daemon' AND id <> CONNECTION_ID() AND user = 'stowage'") == "0" {
			return
		}
		if time.Now().After(end) {
			t.Fatal("a session of a killed replay is still there")
		}
	}
}
