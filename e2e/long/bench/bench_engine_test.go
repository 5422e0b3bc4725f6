package bench

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/host"
	"stowage/internal/heard"
)

// TestBenchEngineKilled: kill -9 in the middle of a run leaves files, and no server at work on them; the next run removes them first.
func TestBenchEngineKilled(t *testing.T) {
	t.Parallel() // it mostly waits
	if _, err := host.FindPrograms(); err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	self := farmtest.LiveProgram(t)
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	bench := func(args ...string) *exec.Cmd {
		cmd := exec.Command(self, append([]string{"bench", "engine", dir, "--cells", "innodb-16k", "--loads", "update", "--rows", "1000", "--clients", "2", "--min-runs", "1", "--max-runs", "1"}, args...)...)
		return cmd
	}
	var said heard.Log
	first := bench("--runtime", "5m")
	first.Stderr = &said
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Process.Kill() })
	servers := filepath.Join(dir, ".stowage-bench", "servers") + "/"
	waitUntil(t, "a server is being measured", func() bool {
		return strings.Contains(said.String(), "loaded innodb-16k-again (2 of 2)") && len(serversOf(t, servers)) == 1
	})
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err == nil || first.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("it was to be killed: %v\n%s", err, said.String())
	}
	waitUntil(t, "servers die with us", func() bool { return len(serversOf(t, servers)) == 0 })
	if _, err := os.Stat(servers); err != nil {
		t.Fatalf("nothing was left to sweep: %v", err)
	}
	out, err := bench("--runtime", "500ms").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "that a killed run had left") {
		t.Errorf("the next run: %v\n%s", err, out)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

// serversOf are the processes that were given an option file below dir.
func serversOf(t *testing.T, dir string) (found []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte("--defaults-file="+dir)) {
			found = append(found, path)
		}
	}
	return found
}
