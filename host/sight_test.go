package host

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestFileIsReadableByRootAlone: whether a server reads a file is asked under its
// account, for each file and each directory above it, and no other thread of the
// program loses its rights by that.
func TestFileIsReadableByRootAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: other accounts take root")
	}
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534, Groups: []uint32{4711}}
	top := t.TempDir()
	open, closed := filepath.Join(top, "open"), filepath.Join(top, "closed")
	for _, dir := range []string{filepath.Dir(top), top, open} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]bool{}
	put := func(name string, mode os.FileMode, gid int, may bool) {
		t.Helper()
		files[name] = may
		for _, err := range []error{os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte("[mysqld]\n"), 0o600), os.Chown(name, 0, gid), os.Chmod(name, mode)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	put(filepath.Join(open, "a.cnf"), 0o644, 0, true)
	put(filepath.Join(open, "b.cnf"), 0o600, 0, false)
	put(filepath.Join(open, "c.cnf"), 0o640, 65534, true)
	put(filepath.Join(open, "e.cnf"), 0o640, 4711, true)
	put(filepath.Join(open, "f.cnf"), 0o640, 4712, false)
	put(filepath.Join(closed, "d.cnf"), 0o644, 0, false)
	var all sync.WaitGroup
	for range 50 {
		for name, want := range files {
			all.Go(func() {
				if got := mayRead(nobody, name); got != want {
					t.Errorf("%s is readable: %v", name, got)
				}
				if _, err := os.ReadFile(filepath.Join(closed, "d.cnf")); err != nil {
					t.Errorf("root lost its rights: %v", err)
				}
			})
		}
	}
	all.Wait()
	for end := time.Now().Add(2 * time.Minute); len(threadsOfOthers(t)) > 0; time.Sleep(time.Millisecond) { // a thread ends after its answer
		if time.Now().After(end) {
			t.Fatalf("threads %v are still the account's", threadsOfOthers(t))
		}
	}
}

// threadsOfOthers are our threads that are not root's.
func threadsOfOthers(t *testing.T) (all []string) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if info, err := os.Stat(task); err == nil && info.Sys().(*syscall.Stat_t).Uid != 0 {
			all = append(all, task)
		}
	}
	return all
}

// TestFilesAreAskedForOnceInOneLook: a program was started for each option file,
// twice, and each file was read twice, so that two answers could be of two states.
func TestFilesAreAskedForOnceInOneLook(t *testing.T) {
	name := filepath.Join(t.TempDir(), "my.cnf")
	put := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("[mysqld]\nport = 1\n")
	seen, p, i := lookAs(nil), process{files: []string{name, name + ".none"}, series: series{"10.11", true}}, Instance{Config: name}
	as := func(text string) string { return text }
	before := seen.lines(p, i, as)
	put("[mysqld]\nport = 2\n")
	if again := seen.lines(p, i, as); len(before) != 1 || !slices.Equal(before, again) || len(seen.files) != 1 || len(seen.skipped) > 0 {
		t.Errorf("one look: %v, then %v; files %v", before, again, seen.files)
	}
	if later := lookAs(nil).lines(p, i, as); len(later) != 1 || later[0].Value != "2" {
		t.Errorf("the next look: %v", later)
	}
}
