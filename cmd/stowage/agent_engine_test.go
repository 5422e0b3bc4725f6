package main

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// Killed while preflight asks hosts through it, the engine is started again, and
// preflight goes on: when it was just starting, and when it had calls that no
// agent had answered yet. (The move was refused, exit code 3: its pairs could not
// be asked.)
func TestEngineKilledDuringPreflight(t *testing.T) {
	t.Parallel() // it mostly waits
	f := startNetFarm(t, 1, 50)
	b := f.start("move", "first", "--dry-run")
	f.killEngineOf(b)
	b.ends(t, exitFine)

	for _, h := range netHosts {
		a := f.agents[h]
		_ = a.cmd.Process.Kill()
		<-a.exited
	}
	b = f.start("move", "first")
	f.await(b, "the engine listens", func() bool {
		c, err := net.DialTimeout("tcp", f.engineAddress(), time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	time.Sleep(500 * time.Millisecond) // for the first calls; without them it is killed a little earlier
	f.killEngineOf(b)
	for _, h := range netHosts {
		f.startAgent(h)
	}
	b.ends(t, exitFine)
	f.checkWhole()
}

// killEngineOf kills the engine of a program as soon as there is one.
func (f *netFarm) killEngineOf(b *background) {
	f.t.Helper()
	for end := time.Now().Add(waitLimit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for _, pid := range enginesOf(b.cmd.Process.Pid) {
			f.did(syscall.Kill(pid, syscall.SIGKILL))
			return
		}
	}
	f.t.Fatalf("it never starts an engine\n%s", &b.out)
}
