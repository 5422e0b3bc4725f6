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
)

// thread hands functions to the thread that starts processes.
var thread = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread() // never unlocked, and the loop never ends
		for f := range work {
			f()
		}
	}()
	return work
})

// Start is cmd.Start, and the kernel sends the process SIGKILL when this program ends.
// Safe for concurrent use.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	done := make(chan error)
	thread() <- func() { done <- cmd.Start() }
	return <-done
}

// Run is cmd.Run, with the same end.
func Run(cmd *exec.Cmd) error {
	if err := Start(cmd); err != nil {
		return err
	}
	return cmd.Wait()
}
