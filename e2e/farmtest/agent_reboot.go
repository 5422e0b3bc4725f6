package farmtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stowage/farm"
)

// Reboots lets commands of the agents start their machines again: `SCRIPT` of the returned path, which an agent may run. A machine that goes down loses its agent, what
// carries the command out, and its servers, all with kill -9; a second later it is another start of itself, with its agent and without its servers. count is how often
// each has done so. Call it before the agents are started.
func (f *NetFarm) Reboots() (script string, count func(farm.HostName) int) {
	f.T.Helper()
	down := filepath.Join(f.Dir, "going-down")
	f.Did(os.MkdirAll(down, 0o777))
	script = filepath.Join(f.Dir, "reboot.sh")
	f.Did(os.WriteFile(script, []byte("#!/bin/sh\necho $PPID > "+down+"/$STOWAGE_HOST.part && mv "+down+"/$STOWAGE_HOST.part "+down+"/$STOWAGE_HOST\n"), 0o755))
	f.Allow = filepath.Join(f.Dir, "allowed")
	f.Did(os.WriteFile(f.Allow, []byte(script+"\n"), 0o644))
	all := slices.Sorted(maps.Keys(f.Hosts))
	for _, h := range all {
		f.bootAs(h, 1)
	}
	var mu sync.Mutex
	boots := map[farm.HostName]int{}
	over := make(chan struct{})
	var watching sync.WaitGroup
	f.T.Cleanup(func() { close(over); watching.Wait() })
	watching.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
			for _, h := range all {
				raw, err := os.ReadFile(filepath.Join(down, string(h)))
				if err != nil {
					continue
				}
				_ = os.Remove(filepath.Join(down, string(h)))
				mu.Lock()
				boots[h]++
				n := boots[h]
				mu.Unlock()
				carrier, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
				watching.Go(func() { f.reboot(h, carrier, n+1) }) // several may go down at once
			}
		}
	})
	return script, func(h farm.HostName) int {
		mu.Lock()
		defer mu.Unlock()
		return boots[h]
	}
}

// bootAs makes a machine the nth start of itself.
func (f *NetFarm) bootAs(h farm.HostName, n int) {
	own := filepath.Join(f.Dir, "agent-"+string(h))
	f.Did(os.MkdirAll(own, 0o700))
	f.Did(os.WriteFile(filepath.Join(own, "boot_id"), fmt.Appendf(nil, "start-%d\n", n), 0o644))
}

// reboot is what a machine does, as seen from outside.
func (f *NetFarm) reboot(h farm.HostName, carrier, n int) {
	a := f.AgentOf(h)
	_ = a.Cmd.Process.Kill()
	<-a.Exited
	if carrier > 1 {
		_ = syscall.Kill(carrier, syscall.SIGKILL) // it may have ended
	}
	pids, _ := filepath.Glob(filepath.Join(f.Dir, "hosts", string(h), "*", "*.pid"))
	more, _ := filepath.Glob(filepath.Join(f.Dir, "hosts", string(h), "*", "*", "*.pid"))
	for _, file := range append(pids, more...) {
		raw, _ := os.ReadFile(file)
		if pid, _ := strconv.Atoi(strings.TrimSpace(string(raw))); pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	time.Sleep(time.Second)
	f.bootAs(h, n)
	f.StartAgent(h)
}
