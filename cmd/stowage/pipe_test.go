package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestReaderThatGoesAwayInterrupts: stowage bench run DIR | head left its files, and fio, behind.
func TestReaderThatGoesAwayInterrupts(t *testing.T) {
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("NOT TESTED: there is no fio")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(self, "bench", "run", dir, "--size", "32M", "--steps", "LOG4K-FDS-Q1T1", "--runtime", "1s", "--min-runs", "200", "--max-runs", "200")
	cmd.Env = append(os.Environ(), playsProgram+"=1")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute): // it would measure for more than three
		_ = cmd.Process.Kill()
		t.Fatal("it goes on although nobody reads it")
	}
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("it ended with %d, want %d", code, exitInterrupted)
	}
	if _, err := os.Stat(filepath.Join(dir, ".stowage-bench")); !os.IsNotExist(err) {
		t.Errorf("its files are still there: %v", err)
	}
}
