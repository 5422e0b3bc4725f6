// Package keeper starts processes that the kernel kills when we are gone, however we end.
//
// The kernel reads PR_SET_PDEATHSIG by the thread, not by the process: it kills a child when the thread that started it has ended,
// though the program lives on. A Go thread ends with a goroutine that was locked to it and never let it go, as one that took on
// another account's rights must; whatever that thread had started before dies then. So one thread starts all such processes, and
// never ends.
package keeper

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// thread hands functions to the thread that starts processes, and low to another, whose priority they inherit.
var (
	thread = sync.OnceValue(func() chan<- func() { return starter(func() {}) })
	low    = sync.OnceValue(func() chan<- func() { return starter(lower) })
)

func starter(begin func()) chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread() // never unlocked, and the loop never ends
		begin()
		for f := range work {
			f()
		}
	}()
	return work
}

// lower lowers the priority of this thread alone. One that is lower already stays so.
func lower() {
	self := unix.Gettid()
	if was, err := unix.Getpriority(unix.PRIO_PROCESS, self); err == nil { // the system call says 20 less the niceness
		_ = unix.Setpriority(unix.PRIO_PROCESS, self, max(20-was, niceness)) // whoever has a low priority may always have a lower one
	}
}

// Start is cmd.Start, and the kernel sends the process SIGKILL when this program ends.
// Safe for concurrent use.
func Start(cmd *exec.Cmd) error { return start(thread(), cmd) }

// StartGently is Start with a priority below that of servers, for all threads that the process will have. It is in a session of its own.
func StartGently(cmd *exec.Cmd) error {
	apart(cmd)
	err := start(low(), cmd)
	if err == nil {
		setSession(cmd.Process.Pid, niceness)
	}
	return err
}

func start(on chan<- func(), cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	done := make(chan error)
	on <- func() { done <- cmd.Start() }
	return <-done
}

// Run is cmd.Run, with the same end.
func Run(cmd *exec.Cmd) error { return wait(cmd, Start(cmd)) }

// RunGently is Run with the priority of StartGently.
func RunGently(cmd *exec.Cmd) error { return wait(cmd, StartGently(cmd)) }

func wait(cmd *exec.Cmd, err error) error {
	if err != nil {
		return err
	}
	return cmd.Wait()
}
