package keeper_test

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stowage/internal/keeper"
)

// TestProcessesOutliveThreads: the thread that asked for a process ends, and the process goes on; it ends with Kill.
func TestProcessesOutliveThreads(t *testing.T) {
	cmds := make([]*exec.Cmd, 8)
	var all sync.WaitGroup
	for n := range cmds {
		cmds[n] = exec.Command("sleep", "600")
		all.Add(1)
		go func() {
			defer all.Done()
			runtime.LockOSThread() // and not unlocked: the thread ends with the goroutine
			if err := keeper.Start(cmds[n]); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	time.Sleep(100 * time.Millisecond) // the threads are gone a moment after their goroutines
	for _, c := range cmds {
		if c.Process == nil {
			continue
		}
		if err := c.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("process %d: %v", c.Process.Pid, err)
		}
		if err := c.Process.Kill(); err != nil {
			t.Error(err)
		}
		state, err := c.Process.Wait()
		if err != nil || state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Errorf("%v, %v", state, err)
		}
	}
}

// TestGently: the process and what it starts have the low priority, and one that is started beside it has ours.
func TestGently(t *testing.T) {
	ours, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	niceness := func(start func(*exec.Cmd) error) (all []string) {
		t.Helper()
		var out bytes.Buffer
		cmd := exec.Command("sh", "-c", "ps -o ni= -p $$; sh -c 'ps -o ni= -p $$'")
		cmd.Stdout = &out
		if err := start(cmd); err != nil {
			t.Fatal(err)
		}
		return strings.Fields(out.String())
	}
	want := strconv.Itoa(max(20-ours, 10))
	if got := niceness(keeper.RunGently); len(got) != 2 || got[0] != want || got[1] != want {
		t.Errorf("niceness %q, want %s", got, want)
	}
	if got := niceness(keeper.Run); len(got) != 2 || got[0] != strconv.Itoa(20-ours) {
		t.Errorf("niceness %q, want ours, %d", got, 20-ours)
	}
}

func TestRun(t *testing.T) {
	out := &limited{}
	cmd := exec.Command("echo", "here")
	cmd.Stdout = out
	if err := keeper.Run(cmd); err != nil || string(*out) != "here\n" {
		t.Errorf("%q, %v", *out, err)
	}
	if err := keeper.Run(exec.Command("/nonexistent")); err == nil {
		t.Error("a program that is not there ran")
	}
}

type limited []byte

func (l *limited) Write(p []byte) (int, error) { *l = append(*l, p...); return len(p), nil }

// TestSessionsAreLowered: beside other sessions, too, the process has the low priority; Restore takes that back.
func TestSessionsAreLowered(t *testing.T) {
	if _, err := os.Stat("/proc/self/autogroup"); err != nil {
		t.Skip("NOT TESTED: the kernel groups no processes by session")
	}
	group := func(pid int) (id, nice string) {
		t.Helper()
		raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/autogroup")
		if err != nil {
			t.Fatal(err)
		}
		id, nice, _ = strings.Cut(strings.TrimSpace(string(raw)), " nice ")
		return id, nice
	}
	ours, nice := group(os.Getpid())
	for what, start := range map[string]func(*exec.Cmd) error{
		"gently": keeper.StartGently,
		"lowered": func(cmd *exec.Cmd) error {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := keeper.Start(cmd); err != nil {
				return err
			}
			keeper.Lower(cmd.Process.Pid)
			return nil
		},
	} {
		cmd := exec.Command("sleep", "600")
		if err := start(cmd); err != nil {
			t.Fatal(err)
		}
		if id, n := group(cmd.Process.Pid); id == ours || n != "10" {
			t.Errorf("%s: group %s with niceness %s; ours is %s", what, id, n, ours)
		}
		keeper.Restore(cmd.Process.Pid)
		if _, n := group(cmd.Process.Pid); n != "0" {
			t.Errorf("%s: restored to niceness %s", what, n)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if id, n := group(os.Getpid()); id != ours || n != nice {
		t.Errorf("our own group went from %s, %s to %s, %s", ours, nice, id, n)
	}
}
