package keeper_test

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

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
