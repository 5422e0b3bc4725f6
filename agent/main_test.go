package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/agent"
	"stowage/command"
	"stowage/engine"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/heard"
)

// roleVar is set in a copy of this test program that shall be an agent.
const roleVar = "AGENT_TEST_OPTIONS"

// TestMain lets the test program be an agent of its own process.
func TestMain(m *testing.M) {
	if os.Getenv(carrierVar) != "" {
		if err := command.Carry(os.Args[len(os.Args)-1], nil); err != nil {
			fmt.Fprintln(os.Stderr, "carry:", err)
			os.Exit(1)
		}
		return
	}
	raw := os.Getenv(roleVar)
	if raw == "" {
		os.Exit(m.Run())
	}
	if err := playAgent(raw); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

// played is what an agent of a test is told.
type played struct {
	Host                               farm.HostName
	Engine, Listen, Data, Certificates string
}

func playAgent(raw string) error {
	var p played
	if err := json.Unmarshal([]byte(raw), &p); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	id, err := agent.ReadIdentity(p.Certificates, time.Now())
	if err != nil {
		return err
	}
	l, err := host.NewLocal(log)
	if err != nil {
		return err
	}
	a, err := agent.New(agent.Options{Recorder: patientRecorder{}, Looker: echo{}, Commander: commandsOf(p.Data), Host: p.Host, Engine: p.Engine, Listen: p.Listen, Data: p.Data, Version: "test", Identity: id, Machine: l, Log: log})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Println("up")
	return a.Run(ctx)
}

// rig is an engine, an authority and agents, each a process of its own.
type rig struct {
	t       testing.TB
	dir     string
	server  *engine.Server
	address string
	certs   *agent.Authority
	board   *agent.Switchboard
	opts    engine.Options
	id      *agent.Identity
	agents  map[farm.HostName]*process
}

func newRig(t testing.TB) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, dir: dir, agents: map[farm.HostName]*process{}}
	var err error
	r.certs, err = agent.OpenAuthority(filepath.Join(dir, "certs"), time.Now())
	must(t, err)
	mine, err := r.certs.Controller(time.Now(), false)
	must(t, err)
	r.id, err = agent.ReadIdentity(mine.Dir, time.Now())
	must(t, err)
	r.opts = engine.Options{Binary: engineBinary(t), Dir: filepath.Join(dir, "engine"), Grace: time.Second}
	its, err := r.certs.Engine(time.Now(), false)
	must(t, err)
	eid, err := agent.ReadIdentity(its.Dir, time.Now())
	must(t, err)
	cert, key, ca := eid.Files()
	r.opts.Certificates = engine.Certificates{Cert: cert, Key: key, CA: ca}
	r.opts.TLS = r.id.Client(agent.EngineName)
	r.server, err = engine.Start(t.Context(), r.opts)
	must(t, err)
	t.Cleanup(func() { _ = r.server.Close() })
	r.address = r.server.Address()
	r.board = r.program(1)
	return r
}

// program is one run of the program that asks; a later one has a higher term.
func (r *rig) program(term int64) *agent.Switchboard {
	r.t.Helper()
	c, err := engine.Dial(r.t.Context(), r.address, r.opts)
	must(r.t, err)
	asker := c.Asker()
	r.t.Cleanup(func() { asker.Close(); c.Close() })
	board, err := agent.NewSwitchboard(asker, r.id, "test", term, slog.New(slog.DiscardHandler))
	must(r.t, err)
	return board
}

type process struct {
	cmd    *exec.Cmd
	told   played
	exited chan struct{}
	said   heard.Log
}

// agent starts the agent of a host and gives that host.
func (r *rig) agent(name farm.HostName) *agent.Remote {
	r.t.Helper()
	issued, err := r.certs.Host(name, time.Now(), false)
	must(r.t, err)
	r.start(&process{told: played{Host: name, Engine: r.address, Listen: "127.0.0.1:0", Data: filepath.Join(r.dir, "data-"+string(name)), Certificates: issued.Dir}})
	r.t.Cleanup(func() { // one for all processes of this host: it comes after what tests do with it
		p := r.agents[name]
		p.kill(syscall.SIGTERM)
		if r.t.Failed() {
			r.t.Logf("agent of %s said:\n%s", name, &p.said)
		}
	})
	return r.board.Host(name)
}

func (r *rig) start(p *process) {
	r.t.Helper()
	raw, err := json.Marshal(p.told)
	must(r.t, err)
	p.cmd, p.exited = exec.Command(os.Args[0]), make(chan struct{})
	p.cmd.Env = append(os.Environ(), roleVar+"="+string(raw))
	p.cmd.Stderr = &p.said
	must(r.t, p.cmd.Start())
	r.agents[p.told.Host] = p
	go func() { _ = p.cmd.Wait(); close(p.exited) }()
}

// again kills the agent of a host and starts it again.
func (r *rig) again(name farm.HostName) {
	r.t.Helper()
	p := r.agents[name]
	p.kill(syscall.SIGKILL)
	r.start(&process{told: p.told})
}

func (p *process) kill(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.exited:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v (hint: %s)", err, farm.Hint(err))
	}
}

func engineBinary(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs("../bin/stowage-engine")
	must(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Skip("NOT TESTED: agents. bin/stowage-engine is missing: make build makes it")
	}
	return path
}

// auditOf are the lines of an agent's audit log.
func (r *rig) auditOf(name farm.HostName) []map[string]any {
	r.t.Helper()
	raw, err := os.ReadFile(filepath.Join(r.agents[name].told.Data, "audit.jsonl"))
	must(r.t, err)
	var out []map[string]any
	for line := range strings.Lines(string(raw)) {
		var l map[string]any
		must(r.t, json.Unmarshal([]byte(line), &l))
		out = append(out, l)
	}
	return out
}
