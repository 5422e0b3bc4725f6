package host_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"stowage/host"
	"stowage/internal/mariadbtest"
)

// hastened counts how often it is told that clients wait, and looks at the copying process at the first bytes.
type hastened struct {
	slowly
	times atomic.Int32
}

func (h *hastened) Hasten() { h.times.Add(1) }

// TestSendHastensAtTheLock: mariadb-backup has a lower priority than servers, and before it stops the server's commits the receiver is told, once.
func TestSendHastensAtTheLock(t *testing.T) {
	lockedOn(t, mariadbtest.MariaDB10)
	lockedOn(t, mariadbtest.MariaDB11)
}

func lockedOn(t *testing.T, name string) {
	t.Run(name, func(t *testing.T) {
		line := mariadbtest.Named(t, name)
		t.Setenv("PATH", line.Path())
		l := local(t)
		s := line.Start(t, "source")
		s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
		var groups []string
		w := &hastened{slowly: slowly{first: func() { groups = groupsOfChildren(t, "--stream=mbstream") }}}
		must(t, l.Send(t.Context(), host.Origin{Gently: true, Instance: sourceOf(s), Login: loginTo(s)}, w))
		if n := w.times.Load(); n != 1 {
			t.Errorf("told %d times", n)
		}
		if _, err := os.Stat("/proc/self/autogroup"); err != nil {
			t.Skip("NOT TESTED: the kernel groups no processes by session")
		}
		if len(groups) != 1 || !strings.HasSuffix(groups[0], "nice 10") {
			t.Errorf("the priorities of the copying processes' sessions: %q", groups)
		}
	})
}

// groupsOfChildren are what the kernel says of the sessions of this process's children that have an argument.
func groupsOfChildren(t *testing.T, argument string) (out []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	must(t, err)
	for _, path := range stats {
		raw, _ := os.ReadFile(path) // it may have ended
		_, rest, _ := strings.Cut(string(raw), ") ")
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if f := strings.Fields(rest); len(f) < 2 || f[1] != strconv.Itoa(os.Getpid()) || !strings.Contains(string(line), argument) {
			continue
		}
		group, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "autogroup"))
		out = append(out, strings.TrimSpace(string(group)))
	}
	return out
}
