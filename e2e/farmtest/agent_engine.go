package farmtest

import (
	"syscall"
	"time"
)

// KillEngineOf kills the engine of a program as soon as there is one.
func (f *NetFarm) KillEngineOf(b *background) {
	f.T.Helper()
	for end := time.Now().Add(WaitLimit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, pid := range EnginesOf(b.cmd.Process.Pid) {
			f.Did(syscall.Kill(pid, syscall.SIGKILL))
			return
		}
	}
	f.T.Fatalf("it never starts an engine\n%s", &b.Out)
}
