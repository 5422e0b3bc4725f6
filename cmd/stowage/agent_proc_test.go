package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"stowage/farm"
	"stowage/internal/heard"
	"stowage/internal/netlab"
)

// netAgent is an agent, a process of its own.
type netAgent struct {
	cmd    *exec.Cmd
	args   []string
	in     *netlab.Machine // where it lives; nil: here
	exited chan struct{}
	said   heard.Log
}

func (a *netAgent) start(t testing.TB, env ...string) {
	t.Helper()
	a.cmd, a.exited = exec.Command(a.args[0], a.args[1:]...), make(chan struct{})
	a.cmd.Env = append(append(os.Environ(), playsProgram+"=1"), env...)
	a.cmd.Stderr = &a.said
	do := func(f func() error) error { return f() }
	if a.in != nil {
		do = a.in.Do
	}
	if err := do(a.cmd.Start); err != nil {
		t.Fatal(err)
	}
	go func() { _ = a.cmd.Wait(); close(a.exited) }()
}

// engineAddress is where agents dial the engine: on this side of the bridge.
func (f *netFarm) engineAddress() string { return f.lab.Gateway() + ":7233" }

// startAgent starts the agent of a host in its machine.
func (f *netFarm) startAgent(h farm.HostName) {
	f.t.Helper()
	own := filepath.Join(f.dir, "agent-"+string(h))
	a := &netAgent{in: f.hosts[h], args: []string{os.Args[0], "agent", "--host", string(h), "--engine", f.engineAddress(),
		"--listen", f.hosts[h].Address + ":7234", "--data", own, "--certificates", filepath.Join(f.dir, ".stowage/certificates/hosts", string(h))}}
	a.start(f.t)
	f.agents[h] = a
}

// killAgent ends an agent as a crash would, and starts it again after a while.
func (f *netFarm) killAgent(h farm.HostName, away time.Duration) {
	f.t.Helper()
	a := f.agents[h]
	_ = a.cmd.Process.Kill()
	<-a.exited
	time.Sleep(away)
	f.startAgent(h)
}
