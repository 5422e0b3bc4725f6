package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/e2e/farmtest"
)

// TestBenchKilled: kill -9 in the middle of writing leaves files, and no fio at work on them; the next run removes them first.
func TestBenchKilled(t *testing.T) {
	t.Parallel() // it mostly waits
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("NOT TESTED: there is no fio on this machine (scripts/setup.sh test installs it)")
	}
	self := farmtest.LiveProgram(t)
	dir := t.TempDir()
	data := filepath.Join(dir, ".stowage-bench", "data")
	bench := func(args ...string) *exec.Cmd {
		cmd := exec.Command(self, append([]string{"bench", "run", dir, "--size", "32MiB", "--min-runs", "1", "--max-runs", "1", "--steps", "RND16K-W-Q8T1"}, args...)...)
		return cmd
	}

	var said strings.Builder
	first := bench("--runtime", "5m")
	first.Stderr = &said
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Process.Kill() })
	waitUntil(t, "fio writes", func() bool { return changes(data) })
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err == nil || first.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("it was to be killed: %v\n%s", err, said.String())
	}
	if _, err := os.Stat(data); err != nil {
		t.Fatalf("nothing was left to sweep: %v", err)
	}
	waitUntil(t, "fio ends with us", func() bool { return !changes(data) })

	out, err := bench("--runtime", "300ms").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "that a killed run had left") {
		t.Errorf("the next run: %v\n%s", err, out)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

// changes says whether somebody writes to a file.
func changes(path string) bool {
	before, err := os.Stat(path)
	if err != nil {
		return false
	}
	time.Sleep(200 * time.Millisecond)
	after, err := os.Stat(path)
	return err == nil && (after.ModTime() != before.ModTime() || after.Size() != before.Size())
}

func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) { // a bench waits for a quiet moment before it measures
		if time.Now().After(end) {
			t.Fatalf("not within five minutes: %s", what)
		}
	}
}
