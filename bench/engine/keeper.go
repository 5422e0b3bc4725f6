package engine

import (
	"os/exec"
	"runtime"
)

// keeper starts processes on a thread of its own. The kernel kills them when the thread that started them is gone, so that thread lives
// for as long as the bench, and no longer than the program, however that ends.
type keeper struct{ work chan func() }

func newKeeper() *keeper {
	k := &keeper{work: make(chan func())}
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread goes with this goroutine
		for f := range k.work {
			f()
		}
	}()
	return k
}

// start is cmd.Start.
func (k *keeper) start(cmd *exec.Cmd) error {
	done := make(chan error)
	k.work <- func() { done <- cmd.Start() }
	return <-done
}

// close ends the thread. All processes must be gone.
func (k *keeper) close() { close(k.work) }
