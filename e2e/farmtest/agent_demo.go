package farmtest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"stowage/farm"
)

// relativePaths are those of farm.yaml that are below the workspace: an agent knows no workspace.
var relativePaths = regexp.MustCompile(`(dir|datadir|config): hosts/`)

// GiveAgents gives each host of a demo farm an agent, a process that listens on the host's own address of the loopback. They share this machine, so that servers of any
// flavor run as they are; machines that can be cut off have MariaDB: NetFarm.
func (f *LiveFarm) GiveAgents() {
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
	for _, h := range fm.Hosts {
		f.startAgent(h, engine)
	}
}

// startAgent starts the agent of one host, until the test ends.
func (f *LiveFarm) startAgent(h farm.Host, engine string) {
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
}
