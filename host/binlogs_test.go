package host_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/binlog"
	"stowage/host"
	"stowage/internal/mariadbtest"
	"stowage/internal/turns"
	"stowage/vault"
)

// archiveOf is where the tests keep the binary logs of a server.
func archiveOf(t testing.TB) string {
	t.Helper()
	dir, err := host.ArchiveDir(vault.Place{Dir: t.TempDir()}, "shard")
	must(t, err)
	return dir
}

// archive brings what a server has written since into its archive.
func archive(t testing.TB, l *host.Local, s *mariadbtest.Instance, into string) host.Archived {
	t.Helper()
	a, err := l.ArchiveBinlogs(t.Context(), sourceOf(s), filepath.Join(s.Datadir, "bl.index"), into)
	must(t, err)
	return a
}

// sameFiles compares the archive's files with the server's, byte by byte: those that are closed are equal. The server writes events of its own
// into the last one at any time (binlog checkpoints).
func sameFiles(t testing.TB, s *mariadbtest.Instance, into string, a host.Archived) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(into, a.Identity, "bl.0?????"))
	must(t, err)
	if int64(len(paths)) != a.Files || len(paths) == 0 {
		t.Fatalf("%d files; the archive says %d", len(paths), a.Files)
	}
	bytesOf := int64(0)
	for _, p := range paths {
		is, err := os.ReadFile(p)
		must(t, err)
		was, err := os.ReadFile(filepath.Join(s.Datadir, filepath.Base(p)))
		must(t, err)
		was[binlog.InUseByte] &^= binlog.InUseBit
		if isLast := filepath.Base(p) == a.Last.File; !bytes.Equal(is, was) && !(isLast && bytes.HasPrefix(was, is)) {
			t.Errorf("%s has %d bytes, the server's has %d, and they differ", filepath.Base(p), len(is), len(was))
		}
		bytesOf += int64(len(is))
	}
	if bytesOf != a.Bytes {
		t.Errorf("%d bytes; the archive says %d", bytesOf, a.Bytes)
	}
}

// TestArchiveFollowsTheLog: whatever the server does between two calls, the archive has its files, and one byte is another: the mark that a
// file is in use. A call that finds nothing appends nothing.
func TestArchiveFollowsTheLog(t *testing.T) {
	t.Parallel()
	l := local(t)
	s := mariadbtest.Start(t, "s", "--max-binlog-size=64K", "--gtid-domain-id=5")
	into := archiveOf(t)
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(2000))")
	var a host.Archived
	for n := range 12 {
		s.Exec(t, "USE d", fmt.Sprintf("INSERT d.a (v) SELECT REPEAT('%c', seq) FROM seq_1_to_%d", 'a'+n, 10+200*(n%3)))
		switch n {
		case 3:
			s.Exec(t, "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
		case 5:
			s.Kill()
			s.Restart(t)
		case 8:
			s.Restart(t)
		}
		a = archive(t, l, s, into)
		sameFiles(t, s, into, a)
		if pos := s.Value(t, "SELECT @@gtid_binlog_pos"); a.Position != pos {
			t.Fatalf("position %s; the server says %s", a.Position, pos)
		}
	}
	if len(a.Gaps) > 0 || len(a.Forks) > 0 || a.Files < 8 {
		t.Errorf("%+v", a)
	}
	for tries := 0; ; tries++ {
		again := archive(t, l, s, into)
		if again.Position != a.Position || again.Until.Before(a.Until) || tries > 100 {
			t.Fatalf("again: %+v, and before: %+v", again, a)
		}
		if a = again; a.Appended == 0 {
			break
		}
	}
	must(t, l.CheckBinlogs(t.Context(), into))
	state, err := l.ArchiveState(t.Context(), into)
	must(t, err)
	if state.Last != a.Last || state.Bytes != a.Bytes {
		t.Errorf("%+v, want %+v", state, a)
	}
}

// TestArchiveNamesGapsAndForks: what a server removed before it was archived is a gap; a server that was made anew, whose log was cut, or
// of which a byte differs has another log, and what was archived stays.
func TestArchiveNamesGapsAndForks(t *testing.T) {
	t.Parallel()
	l := local(t)
	s := mariadbtest.Start(t, "s")
	into := archiveOf(t)
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY)", "INSERT d.a VALUES ()")
	first := archive(t, l, s, into)

	s.Exec(t, "INSERT d.a VALUES ()", "FLUSH BINARY LOGS", "INSERT d.a VALUES ()", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
	purge(t, s, "bl.000004")
	gapped := archive(t, l, s, into)
	if gapped.Identity != first.Identity || len(gapped.Gaps) != 1 || gapped.Gaps[0].Has == gapped.Gaps[0].Next || gapped.Gaps[0].After != first.Last {
		t.Fatalf("%+v, and before it %+v", gapped, first)
	}

	// A hole in the names with nothing in it is none in the log.
	s.Exec(t, "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
	purge(t, s, "bl.000006")
	s.Exec(t, "INSERT d.a VALUES ()")
	if a := archive(t, l, s, into); len(a.Gaps) != 1 || a.Identity != first.Identity || a.Files != 3 {
		t.Fatalf("%+v", a)
	}

	// The log loses its end, as after a power cut.
	s.Exec(t, "INSERT d.a VALUES ()")
	whole := archive(t, l, s, into)
	s.Kill()
	must(t, os.Truncate(filepath.Join(s.Datadir, whole.Last.File), whole.Last.Offset-20))
	before, err := os.ReadFile(filepath.Join(into, whole.Identity, whole.Last.File))
	must(t, err)
	cut := archive(t, l, s, into)
	if cut.Identity == whole.Identity || len(cut.Forks) != 1 || !strings.Contains(cut.Forks[0], fmt.Sprintf("%d were archived", whole.Last.Offset)) {
		t.Fatalf("%+v, and before it %+v", cut, whole)
	}
	after, err := os.ReadFile(filepath.Join(into, whole.Identity, whole.Last.File))
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Error("what was archived has changed")
	}
	if again := archive(t, l, s, into); again.Identity != cut.Identity || len(again.Forks) != 1 {
		t.Errorf("again: %+v", again)
	}

	// Another server under the same name, with files of the same names.
	other := mariadbtest.Start(t, "other")
	other.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT)")
	made := archive(t, l, other, into)
	if made.Identity == cut.Identity || len(made.Forks) != 2 || made.Files != 1 {
		t.Errorf("%+v", made)
	}

	// A byte of a transaction that was archived.
	other.Kill()
	path := filepath.Join(other.Datadir, made.Last.File)
	raw, err := os.ReadFile(path)
	must(t, err)
	raw[made.Last.Offset-10] ^= 1
	must(t, os.WriteFile(path, raw, 0o644))
	_, err = l.ArchiveBinlogs(t.Context(), sourceOf(other), filepath.Join(other.Datadir, "bl.index"), into)
	var fault *binlog.Fault
	if !errors.As(err, &fault) || fault.Cut {
		t.Errorf("a byte that differs: %v", err)
	}
	if a, err := l.ArchiveState(t.Context(), into); err != nil || len(a.Forks) != 3 || a.Last.Offset >= made.Last.Offset {
		t.Errorf("%+v, %v", a, err)
	}
}

// purge removes files from the server's log. It does not remove one whose transactions may not be on the disk yet (a binlog checkpoint).
func purge(t testing.TB, s *mariadbtest.Instance, to string) {
	t.Helper()
	for range 200 {
		s.Exec(t, "PURGE BINARY LOGS TO '"+to+"'")
		raw, err := os.ReadFile(filepath.Join(s.Datadir, "bl.index"))
		must(t, err)
		if strings.HasPrefix(string(raw), "./"+to+"\n") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the server does not purge its log to %s", to)
}

// TestArchiveWhileTheServerPurges: it rewrites its index in place and removes files at any moment. That can make gaps, and no error, no fork
// and no gap that was none: what is between two gaps is whole.
func TestArchiveWhileTheServerPurges(t *testing.T) {
	turns.One(t, 6)
	t.Parallel()
	l := local(t)
	s := mariadbtest.Start(t, "s")
	into := archiveOf(t)
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY)")
	db := s.DB(t, mariadbtest.Stowage, "d")
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	done := make(chan error)
	go func() {
		var err error
		for n := 0; n < rounds && err == nil; n++ {
			for _, st := range []string{"INSERT a VALUES ()", "FLUSH BINARY LOGS", "PURGE BINARY LOGS BEFORE NOW(6)"} {
				if err == nil {
					_, err = db.Exec(st)
				}
			}
			time.Sleep(10 * time.Millisecond) // so that there are many calls
		}
		done <- err
	}()
	calls := 0
	for running := true; running; calls++ {
		select {
		case err := <-done:
			must(t, err)
			running = false
		default:
		}
		archive(t, l, s, into)
	}
	a := archive(t, l, s, into)
	must(t, l.CheckBinlogs(t.Context(), into))
	if len(a.Forks) > 0 || a.Position != s.Value(t, "SELECT @@gtid_binlog_pos") {
		t.Errorf("%+v", a)
	}
	for _, g := range a.Gaps {
		if g.Has == g.Next {
			t.Errorf("%s", g)
		}
	}
	t.Logf("%d calls, %d files, %d gaps", calls, a.Files, len(a.Gaps))
}
