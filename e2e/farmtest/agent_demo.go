package farmtest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"

	"stowage/farm"
)

// relativePaths are those of farm.yaml that are below the workspace: an agent knows no workspace.
var relativePaths = regexp.MustCompile(`(dir|datadir|config): hosts/`)

// GiveAgents gives each host of a demo farm an agent, a process that listens on the host's own address of the loopback. They share this machine, so that servers of any
// flavor run as they are; machines that can be cut off have MariaDB: NetFarm. They end with the test.
func (f *LiveFarm) GiveAgents() map[farm.HostName]*NetAgent {
	t := f.T
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	engine := l.Addr().String()
	l.Close()
	path := filepath.Join(f.Dir, "farm.yaml")
	text, err := os.ReadFile(path)
	if err == nil {
		text = relativePaths.ReplaceAll(text, []byte("$1: "+f.Dir+"/hosts/"))
		err = os.WriteFile(path, append(fmt.Appendf(nil, "agents: {engine: %q}\n", engine), text...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if p := RunWith(t, f.Env(""), "agent", "certs", "-C", f.Dir); p.Code != ExitFine {
		t.Fatalf("agent certs: exit %d\n%s", p.Code, p.Stderr)
	}
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	agents := map[farm.HostName]*NetAgent{}
	for _, h := range fm.Hosts {
		agents[h.Name] = f.startAgent(h, engine)
	}
	return agents
}

// startAgent starts the agent of one host, until the test ends.
func (f *LiveFarm) startAgent(h farm.Host, engine string) *NetAgent {
	a := &NetAgent{Args: []string{LiveProgram(f.T), "agent", "--host", string(h.Name), "--engine", engine, "--listen", h.Address + ":7234",
		"--data", filepath.Join(f.Dir, "agent-"+string(h.Name)), "--certificates", filepath.Join(f.Dir, ".stowage/certificates/hosts", string(h.Name))}}
	a.Start(f.T, f.Env("")...)
	f.T.Cleanup(func() {
		_ = a.Cmd.Process.Signal(syscall.SIGTERM)
		<-a.Exited
		if f.T.Failed() {
			f.T.Logf("agent of %s said:\n%s", h.Name, &a.Said)
		}
	})
	return a
}

// Crash ends an agent with SIGKILL, and starts it again.
func (f *LiveFarm) Crash(a *NetAgent) {
	_ = a.Cmd.Process.Kill()
	<-a.Exited
	a.Start(f.T, f.Env("")...)
}

// CrashAt runs a verb, and crashes an agent when a step of its run begins. The run comes out well.
func (f *LiveFarm) CrashAt(a *NetAgent, step, kind string, args ...string) {
	f.T.Helper()
	before, _ := RunOfKind(f.Dir, kind)
	b := f.Start(args...)
	f.Await(b, kind+" at "+step, func() bool {
		id, events := RunOfKind(f.Dir, kind)
		return id != before && slices.ContainsFunc(events, func(e farm.Event) bool { return e.Step == step && e.Kind == farm.StepStarted })
	})
	f.Crash(a)
	b.Ends(f.T, ExitFine)
}

// Did says what an agent has done, by its own notes: one JSON object a line.
func (a *NetAgent) Did(t testing.TB) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(a.Args[slices.Index(a.Args, "--data")+1], "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
