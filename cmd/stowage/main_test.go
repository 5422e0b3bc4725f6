package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stowage/farm"
)

// TestMain lets the test binary be the program itself: with playsProgram set it
// runs the arguments it is given and, when told so, kills what it is told to
// kill at a border between two steps.
func TestMain(m *testing.M) {
	if os.Getenv(playsProgram) == "" {
		_ = flag.Set("test.parallel", farmsAtOnce) // unless -parallel says otherwise
		// Tests that are the program themselves find its engine.
		if bin, err := filepath.Abs("../../bin"); err == nil {
			_ = os.Setenv("PATH", bin+":"+os.Getenv("PATH"))
		}
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr, killer(os.Getenv(killAt))))
}

// farmsAtOnce is how many tests that call t.Parallel run at once. Each has a farm
// of two to four servers (some 300 MB) and mostly waits for them, so there are
// more than cores.
const farmsAtOnce = "6"

const (
	playsProgram = "STOWAGE_TEST_PROGRAM"
	killAt       = "STOWAGE_TEST_KILL" // "stowage|engine|both|step @ point|point", "hold @ point|point"
	markOfKill   = "killed at "
)

// killer is a border that kills, once, when a point is met. A step is killed
// by failing in a way that no retry mends; of several points each fails once.
func killer(order string) func(string) error {
	victim, at, ok := strings.Cut(order, " @ ")
	if !ok {
		return nil
	}
	if victim == "hold" {
		return holder(at, os.Getenv(goDir))
	}
	var met sync.Map
	return func(point string) error {
		if !slices.Contains(strings.Split(at, "|"), point) {
			return nil
		}
		if _, before := met.LoadOrStore(point, true); before {
			return nil
		}
		fmt.Fprintln(os.Stderr, markOfKill+point)
		if victim == "step" {
			return fmt.Errorf("%w: a test says so", farm.ErrRefused)
		}
		if victim != "stowage" {
			for _, pid := range engines() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if victim != "engine" {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
		return nil
	}
}

// engines are the processes of our own that run stowage-engine.
func engines() []int {
	var out []int
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, t := range tasks {
		raw, err := os.ReadFile(t)
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(raw)) {
			pid, _ := strconv.Atoi(field)
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if bytes.Contains(line, []byte("stowage-engine")) {
				out = append(out, pid)
			}
		}
	}
	return out
}

// program is one run of the program as a process of its own.
type program struct {
	code           int // exit code, -1 when it was killed
	stdout, stderr string
}

func runProgram(t *testing.T, kill string, args ...string) program {
	t.Helper()
	return runWith(t, []string{killAt + "=" + kill}, args...)
}

// runWith runs the program with more in its environment.
func runWith(t *testing.T, env []string, args ...string) program {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), playsProgram+"=1", "PATH="+binDir(t)+":"+os.Getenv("PATH")), env...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	_ = cmd.Run() // the exit code tells
	return program{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// binDir holds stowage-engine.
func binDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "stowage-engine")); err != nil {
		t.Fatalf("bin/stowage-engine is missing: make build makes it")
	}
	return dir
}

// killAfter starts the program and kills it after a while.
func killAfter(t *testing.T, wait time.Duration, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), playsProgram+"=1", "PATH="+binDir(t)+":"+os.Getenv("PATH"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
}
