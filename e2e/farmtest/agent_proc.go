package farmtest

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

// NetAgent is an agent, a process of its own.
type NetAgent struct {
	Cmd    *exec.Cmd
	Args   []string
	in     *netlab.Machine // where it lives; nil: here
	Exited chan struct{}
	Said   heard.Log
}

func (a *NetAgent) Start(t testing.TB, env ...string) {
	t.Helper()
	a.Cmd, a.Exited = exec.Command(a.Args[0], a.Args[1:]...), make(chan struct{})
	a.Cmd.Env = append(os.Environ(), env...)
	a.Cmd.Stderr = &a.Said
	do := func(f func() error) error { return f() }
	if a.in != nil {
		do = a.in.Do
	}
	if err := do(a.Cmd.Start); err != nil {
		t.Fatal(err)
	}
	go func() { _ = a.Cmd.Wait(); close(a.Exited) }()
}

// EngineAddress is where agents dial the engine: on this side of the bridge.
func (f *NetFarm) EngineAddress() string { return f.Lab.Gateway() + ":7233" }

// StartAgent starts the agent of a host in its machine.
func (f *NetFarm) StartAgent(h farm.HostName) {
	f.T.Helper()
	own := filepath.Join(f.Dir, "agent-"+string(h))
	a := &NetAgent{in: f.Hosts[h], Args: []string{LiveProgram(f.T), "agent", "--host", string(h), "--engine", f.EngineAddress(),
		"--listen", f.Hosts[h].Address + ":7234", "--data", own, "--certificates", filepath.Join(f.Dir, ".stowage/certificates/hosts", string(h))}}
	if f.Allow != "" {
		a.Args = append(a.Args, "--allow", f.Allow)
	}
	if f.Private != "" {
		its := f.PrivateOf(h)
		f.Did(os.MkdirAll(its, 0o700))
		a.Args = append([]string{"unshare", "--mount", "sh", "-ec", `mount --bind "$0" "$1"; shift; exec "$@"`, its, f.Private}, a.Args...)
	}
	f.agents.Lock()
	defer f.agents.Unlock()
	a.Start(f.T, "STOWAGE_BOOT_ID_FILE="+filepath.Join(own, "boot_id"))
	f.Agents[h] = a
}

// PrivateOf is where the files lie that a machine has in Private.
func (f *NetFarm) PrivateOf(h farm.HostName) string {
	return filepath.Join(f.Dir, "agent-"+string(h), "private")
}

// AgentOf is the agent that was started last on a host.
func (f *NetFarm) AgentOf(h farm.HostName) *NetAgent {
	f.agents.Lock()
	defer f.agents.Unlock()
	return f.Agents[h]
}

// KillAgent ends an agent as a crash would, and starts it again after a while.
func (f *NetFarm) KillAgent(h farm.HostName, away time.Duration) {
	f.T.Helper()
	a := f.AgentOf(h)
	_ = a.Cmd.Process.Kill()
	<-a.Exited
	time.Sleep(away)
	f.StartAgent(h)
}
