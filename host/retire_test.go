package host_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"stowage/host"
	"stowage/host/hosttest"
)

// TestRetiredServerIsStartedByMistake: a retired server of a file that others
// start with, too, does not come up when it is started again, without a line in
// that file; nothing that it holds has changed; and its note says how it comes up.
func TestRetiredServerIsStartedByMistake(t *testing.T) {
	l := local(t)
	m, is := together(t, ".s1", ".s2")
	before, err := os.ReadFile(m.Config)
	must(t, err)
	info, err := os.Stat(is[0].Datadir)
	must(t, err)
	got, err := l.Retire(t.Context(), is[0], patience, "It lives elsewhere now.")
	if err != nil || !got.Closed || got.Why != "" {
		t.Fatalf("retired: %+v, %v", got, err)
	}
	if again, err := l.Retire(t.Context(), is[0], patience, "It lives elsewhere now."); err != nil || again != got {
		t.Errorf("again: %+v, %v", again, err)
	}
	if err := m.Try(t, 0); err == nil {
		t.Error("it was started again, and came up")
	}
	if pid, err := l.Running(t.Context(), is[0]); err != nil || pid != 0 {
		t.Errorf("process %d runs, %v", pid, err)
	}
	m.Restart(t, 1) // its neighbour
	if got := hosttest.Value(t, is[1], "SELECT @@read_only"); got != "0" {
		t.Errorf("its neighbour starts with read_only %s", got)
	}
	if after, err := os.ReadFile(m.Config); err != nil || string(after) != string(before) {
		t.Errorf("the file became\n%s", after)
	}
	note, err := os.ReadFile(filepath.Join(is[0].Datadir, host.RetiredNote))
	if os.Geteuid() != 0 && errors.Is(err, fs.ErrPermission) {
		return // it is closed to us, too
	}
	must(t, err)
	found := regexp.MustCompile(`(?m)^chmod ([0-7]{4}) (.+)$`).FindStringSubmatch(string(note))
	if found == nil || found[2] != is[0].Datadir || !strings.HasPrefix(string(note), "It lives elsewhere now.\n") {
		t.Fatalf("the note is\n%s", note)
	}
	mode, err := strconv.ParseUint(found[1], 8, 32)
	must(t, err)
	must(t, syscall.Chmod(found[2], uint32(mode)))
	if now, err := os.Stat(is[0].Datadir); err != nil || now.Mode() != info.Mode() {
		t.Errorf("opened as the note says it has mode %v, had %v", now.Mode(), info.Mode())
	}
	must(t, m.Try(t, 0))
}

// TestRetiredServerKeepsItsFence: where a closed directory would not keep a server
// out, or is not ours to close, it stays open, and why is said.
func TestRetiredServerKeepsItsFence(t *testing.T) {
	l := local(t)
	m, is := together(t, ".s1", ".s2")
	open := func(i host.Instance) {
		t.Helper()
		if info, err := os.Stat(i.Datadir); err != nil || info.Mode().Perm() == 0 {
			t.Errorf("%s: %v, %v", i.Name, info.Mode(), err)
		}
	}
	must(t, l.Stop(t.Context(), is[0], patience))
	if got, err := l.Retire(t.Context(), is[0], patience, ""); err != nil || got.Closed || !strings.Contains(got.Why, "stopped before") {
		t.Errorf("one that had stopped: %+v, %v", got, err)
	}
	open(is[0])
	within := is[1]
	within.Config = filepath.Join(within.Datadir, "my.cnf")
	if got, err := l.Retire(t.Context(), within, patience, ""); err != nil || got.Closed || !strings.Contains(got.Why, "option file is in its data directory") {
		t.Errorf("an option file in the data directory: %+v, %v", got, err)
	}
	open(within)
	must(t, m.Try(t, 0))
	if os.Geteuid() == 0 {
		must(t, os.Chown(is[0].Datadir, 0, -1))
		must(t, os.Chmod(is[0].Datadir, 0o777))
		if got, err := l.Retire(t.Context(), is[0], patience, ""); err != nil || got.Closed || !strings.Contains(got.Why, "belongs to root, and its server runs as mysql") {
			t.Errorf("a directory of somebody else's: %+v, %v", got, err)
		}
		open(is[0])
	}
	made, _ := hosttest.Filled(t, l, "made")
	must(t, l.Start(t.Context(), made, patience))
	if got, err := l.Retire(t.Context(), made, patience, ""); err != nil || got != (host.Retired{}) {
		t.Errorf("one that Stowage made: %+v, %v", got, err)
	}
	open(made)
}
