package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/host"
	"stowage/internal/heard"
	"stowage/internal/mariadbtest"
	"stowage/record"
)

// farRecorded is a workspace of two servers, each on a host with an agent.
type farRecorded struct {
	*farmtest.Recorded
	engine string
	agents map[farm.HostName]*farmtest.NetAgent
	before [2]string
}

func startFarRecorded(t *testing.T) *farRecorded {
	t.Helper()
	if _, err := host.NewLocal(slog.New(slog.DiscardHandler)); err != nil {
		t.Skipf("NOT TESTED: recording by agents: %v", err)
	}
	r := &farRecorded{Recorded: farmtest.StartRecorded(t), engine: freeAddress(t), agents: map[farm.HostName]*farmtest.NetAgent{}}
	path := filepath.Join(r.Dir, "farm.yaml")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw = append([]byte(fmt.Sprintf("agents: {engine: %q}\n", r.engine)), raw...)
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if p := farmtest.RunProgram(t, "", "agent", "certs", "-C", r.Dir); p.Code != 0 {
		t.Fatalf("certs: exit %d\n%s", p.Code, p.Stderr)
	}
	t.Cleanup(r.stopAgents)
	r.startAgent("h1", "")
	r.startAgent("h2", "")
	r.before = [2]string{r.A.Value(t, farmtest.SlowSettings), r.B.Value(t, farmtest.SlowSettings)}
	return r
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (r *farRecorded) agentDir(h farm.HostName) string {
	return filepath.Join(r.Dir, "agent-"+string(h))
}

// startAgent starts one, to be killed at a point of a recording.
func (r *farRecorded) startAgent(h farm.HostName, kill string) {
	r.T.Helper()
	a := &farmtest.NetAgent{Args: []string{farmtest.LiveProgram(r.T), "agent", "--host", string(h), "--engine", r.engine, "--listen", "127.0.0.1:0",
		"--data", r.agentDir(h), "--certificates", filepath.Join(r.Dir, ".stowage/certificates/hosts", string(h))}}
	a.Start(r.T, farmtest.KillAt+"="+kill)
	r.agents[h] = a
}

func (r *farRecorded) stopAgents() {
	for h, a := range r.agents {
		_ = a.Cmd.Process.Kill()
		<-a.Exited
		if r.T.Failed() {
			r.T.Logf("agent of %s said:\n%s", h, &a.Said)
		}
	}
}

// running is one run of the program.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    bytes.Buffer
	err    heard.Log
	exited chan struct{}
}

// record begins `digest record` and waits until both servers log everything.
func (r *farRecorded) record(args ...string) *running {
	r.T.Helper()
	x := r.begin(args...)
	r.await(x, r.A)
	r.await(x, r.B)
	return x
}

func (r *farRecorded) begin(args ...string) *running {
	r.T.Helper()
	x := &running{t: r.T, exited: make(chan struct{})}
	x.cmd = exec.Command(farmtest.LiveProgram(r.T), append([]string{"digest", "record", "-C", r.Dir, "--reserve", "1MB", "--max-running", "0", "--json"}, args...)...)
	x.cmd.Env = append(os.Environ(), "PATH="+farmtest.BinDir(r.T)+":"+os.Getenv("PATH"))
	x.cmd.Stdout, x.cmd.Stderr = &x.out, &x.err
	if err := x.cmd.Start(); err != nil {
		r.T.Fatal(err)
	}
	go func() { _ = x.cmd.Wait(); close(x.exited) }()
	r.T.Cleanup(func() { _ = x.cmd.Process.Kill(); <-x.exited })
	return x
}

// await waits until the window of a server is open.
func (r *farRecorded) await(x *running, i *mariadbtest.Instance) {
	r.T.Helper()
	for end := time.Now().Add(2 * time.Minute); i.Value(r.T, "SELECT @@GLOBAL.slow_query_log") != "1"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			r.T.Fatalf("%s is never recorded\n%s", i.Name, &x.err)
		}
	}
}

// end waits for the program and reads its summary.
func (x *running) end() (code int, s farmtest.RecordAnswer) {
	x.t.Helper()
	select {
	case <-x.exited:
	case <-time.After(4 * time.Minute):
		x.t.Fatalf("the recording does not end\n%s", &x.err)
	}
	if x.out.Len() > 0 {
		if err := json.Unmarshal(x.out.Bytes(), &s); err != nil {
			x.t.Fatalf("%v\n%s", err, x.out.String())
		}
	}
	return x.cmd.ProcessState.ExitCode(), s
}

// ask sends a statement of one class n times. A session writes its line after
// its answer and before it reads what comes next: when the ping is answered, all
// are in the log.
func (r *farRecorded) ask(i *mariadbtest.Instance, n int, what string) {
	r.T.Helper()
	db := i.DB(r.T, mariadbtest.App, "")
	defer db.Close()
	db.SetMaxOpenConns(1)
	for range n {
		if _, err := db.Exec("SELECT 7 AS " + what); err != nil {
			r.T.Fatal(err)
		}
	}
	if err := db.Ping(); err != nil {
		r.T.Fatal(err)
	}
}

// kept counts a class in a digest of the workspace.
func (r *farRecorded) kept(name, what string) int {
	r.T.Helper()
	p := farmtest.RunProgram(r.T, "", "digest", name, "-C", r.Dir, "--json")
	var d struct {
		Classes []struct {
			Fingerprint string `json:"fingerprint"`
			Count       int    `json:"count"`
		} `json:"classes"`
	}
	if err := json.Unmarshal([]byte(p.Stdout), &d); err != nil {
		r.T.Fatalf("%s: %v\n%s%s", name, err, p.Stdout, p.Stderr)
	}
	for _, c := range d.Classes {
		if c.Fingerprint == "select ? as "+what {
			return c.Count
		}
	}
	return 0
}

// asBeforeSoon waits until everything is as before, there and here.
func (r *farRecorded) asBeforeSoon(when string) {
	r.T.Helper()
	for n, i := range []*mariadbtest.Instance{r.A, r.B} {
		for end := time.Now().Add(time.Minute); i.Value(r.T, farmtest.SlowSettings) != r.before[n] && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
	}
	for end := time.Now().Add(time.Minute); len(r.leftovers()) > 0 && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	r.AsBefore(r.A, r.before[0], when)
	r.AsBefore(r.B, r.before[1], when)
	if left := r.leftovers(); len(left) > 0 {
		r.T.Errorf("%s: %v are left", when, left)
	}
}

// leftovers are journals and logins that agents keep, and files of logs.
func (r *farRecorded) leftovers() (all []string) {
	for _, pattern := range []string{"agent-*/record/*.json", "agent-*/record/*.login"} {
		found, _ := filepath.Glob(filepath.Join(r.Dir, pattern))
		all = append(all, found...)
	}
	for _, i := range []*mariadbtest.Instance{r.A, r.B} {
		found, _ := filepath.Glob(filepath.Join(i.Datadir, "stowage-record-*"))
		all = append(all, found...)
	}
	return all
}

// nothingOrdered: the workspace waits for nothing any more, and agents keep no
// digest.
func (r *farRecorded) nothingOrdered(when string) {
	r.T.Helper()
	for _, pattern := range []string{".stowage/record/ordered/*.json", "agent-*/record/outcomes/*.digest", "agent-*/record/outcomes/*.part"} {
		if found, _ := filepath.Glob(filepath.Join(r.Dir, pattern)); len(found) > 0 {
			r.T.Errorf("%s: %v are left", when, found)
		}
	}
}

func TestRecordByAgents(t *testing.T) {
	t.Parallel() // it mostly waits
	r := startFarRecorded(t)
	r.counts(t)
	r.agentKilled(t)
	r.programKilled(t)
	r.agentIsLate(t)
	r.agentIsAway(t)
	r.oneOfTwoFails(t)
}

// An agent that answers when the other records already is taken in for what is
// left of the window, and that is said.
func (r *farRecorded) agentIsLate(t *testing.T) {
	r.stopAgent("h2")
	x := r.begin("--save", "joined", "--for", "1h", "--wait", "20s", "--filter", "user = app")
	r.await(x, r.A)
	r.startAgent("h2", "")
	r.await(x, r.B)
	r.ask(r.A, 20, "of_a")
	r.ask(r.B, 10, "of_b")
	if err := x.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	code, s := x.end()
	if code != farmtest.ExitFindings || len(s.Instances) != 2 || s.Instances[0].Late != 0 || s.Instances[1].Late <= 0 || s.Instances[1].Error != "" {
		t.Errorf("exit %d\n%s\n%s", code, x.out.String(), &x.err)
	}
	if !strings.Contains(x.err.String(), "1 of 2 agents have not answered yet") {
		t.Errorf("it is not said: %s", &x.err)
	}
	if a, b := r.kept("joined", "of_a"), r.kept("joined", "of_b"); a != 20 || b != 10 {
		t.Errorf("20 and 10 were sent, %d and %d counted", a, b)
	}
	r.asBeforeSoon("after a late agent")
	r.nothingOrdered("after a late agent")
}

// One that does not come at all is named, and the other is recorded.
func (r *farRecorded) agentIsAway(t *testing.T) {
	r.stopAgent("h2")
	x := r.begin("--save", "alone", "--for", "2s", "--wait", "20s")
	code, s := x.end()
	if code != farmtest.ExitFailed || len(s.Instances) != 2 || s.Instances[0].Error != "" || !strings.Contains(s.Instances[1].Error, "the agent of h2 has not answered") {
		t.Errorf("exit %d\n%s\n%s", code, x.out.String(), &x.err)
	}
	if said := x.err.String(); !strings.Contains(said, "waiting for agents: 1 of 2 have answered") || strings.Count(said, "stowage agent status") != 1 {
		t.Errorf("it is not said: %s", said)
	}
	r.startAgent("h2", "")
	r.nothingOrdered("beside an agent that is away")
}

func (r *farRecorded) stopAgent(h farm.HostName) {
	a := r.agents[h]
	_ = a.Cmd.Process.Kill()
	<-a.Exited
}

// Agents record, and only digests come: what was sent is what is counted, also
// when the engine dies meanwhile. Ctrl-C ends all windows in order.
func (r *farRecorded) counts(t *testing.T) {
	x := r.record("--save", "both", "--for", "1h", "--filter", "user = app", "--piece", "20kB")
	engines := farmtest.EnginesOf(x.cmd.Process.Pid)
	if len(engines) != 1 {
		t.Fatalf("engines: %v", engines)
	}
	for n := range 3 { // into several files of the log
		if n == 1 { // it is started again, and the windows go on
			if err := syscall.Kill(engines[0], syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
		r.ask(r.A, 100, "of_a")
		r.ask(r.B, 50, "of_b")
	}
	if err := x.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	code, s := x.end()
	if code != 0 || len(s.Instances) != 2 {
		t.Fatalf("exit %d\n%s\n%s", code, x.out.String(), &x.err)
	}
	for _, i := range s.Instances {
		if i.Stopped != record.StopInterrupted || i.Error != "" || i.Events == 0 || len(i.SettingsRestored) < 5 || i.Pieces < 2 {
			t.Errorf("%+v", i)
		}
	}
	if a, b := r.kept("both", "of_a"), r.kept("both", "of_b"); a != 300 || b != 150 {
		t.Errorf("300 and 150 were sent, %d and %d counted", a, b)
	}
	if s.Events != s.Instances[0].Events+s.Instances[1].Events {
		t.Errorf("%d events in all: %s", s.Events, x.out.String())
	}
	r.asBeforeSoon("after Ctrl-C")
	r.nothingOrdered("after Ctrl-C")
	r.noPassword()
}

// A window that ends by itself, beside a server that is not there.
func (r *farRecorded) oneOfTwoFails(t *testing.T) {
	r.B.Stop(t)
	x := r.begin("--save", "one", "--for", "50ms")
	code, s := x.end()
	if code != farmtest.ExitFailed || s.Instances[0].Error != "" || s.Instances[0].Stopped != record.StopTime || !strings.Contains(s.Instances[1].Error, "p1b") {
		t.Errorf("exit %d\n%s\n%s", code, x.out.String(), &x.err)
	}
	r.nothingOrdered("beside one that failed")
}

func (r *farRecorded) noPassword() {
	r.T.Helper()
	secret := []byte(mariadbtest.Stowage.Password())
	for _, dir := range []string{".stowage", "agent-h1", "agent-h2"} {
		err := filepath.WalkDir(filepath.Join(r.Dir, dir), func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			if bytes.Contains(raw, secret) {
				r.T.Errorf("%s holds a password in the clear", path)
			}
			return err
		})
		if err != nil {
			r.T.Error(err)
		}
	}
}

// The agent is killed with kill -9 in the middle of a window, and started
// again: the settings are put back, and what is there of the log comes, with
// the word that it was cut short.
func (r *farRecorded) agentKilled(t *testing.T) {
	x := r.record("--save", "cut", "--for", "1h", "--filter", "user = app")
	r.ask(r.A, 40, "of_a")
	r.ask(r.B, 30, "of_b")
	r.stopAgent("h1")
	r.startAgent("h1", "")
	for end := time.Now().Add(time.Minute); r.A.Value(t, farmtest.SlowSettings) != r.before[0]; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the settings are not put back")
		}
	}
	if r.B.Value(t, "SELECT @@GLOBAL.slow_query_log") != "1" {
		t.Error("the other window has ended too")
	}
	r.ask(r.B, 3, "of_b")
	if err := x.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	code, s := x.end()
	if code != farmtest.ExitFailed || len(s.Instances) != 2 || s.Instances[0].Stopped != record.StopCut || !strings.Contains(s.Instances[0].Error, "killed") || s.Instances[1].Error != "" {
		t.Errorf("exit %d\n%s\n%s", code, x.out.String(), &x.err)
	}
	if a, b := r.kept("cut", "of_a"), r.kept("cut", "of_b"); a != 40 || b != 33 {
		t.Errorf("40 and 33 were sent, %d and %d counted", a, b)
	}
	r.asBeforeSoon("after the kill of an agent")
	r.nothingOrdered("after the kill of an agent")
}

// The program is killed: the windows end when their time is up, and what came
// of them is fetched later.
func (r *farRecorded) programKilled(t *testing.T) {
	x := r.record("--save", "late", "--for", "4s", "--filter", "user = app")
	_ = x.cmd.Process.Kill()
	<-x.exited
	r.ask(r.A, 20, "of_a")
	r.asBeforeSoon("after the kill of the program")
	log := filepath.Join(r.Dir, "some.log")
	if err := os.WriteFile(log, []byte("# Time: 261121 10:00:00\n# User@Host: app[app] @ h []\n# Query_time: 0.1  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795000000;\nSELECT 1;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := farmtest.RunProgram(t, "", "digest", log, "-C", r.Dir).Stderr; !strings.Contains(said, "p1a, p1b") || !strings.Contains(said, "--restore") {
		t.Errorf("it is not said: %s", said)
	}
	p := farmtest.RunProgram(t, "", "digest", "record", "--restore", "-C", r.Dir)
	if p.Code != 0 || !strings.Contains(p.Stdout, "kept as late-p1a") {
		t.Fatalf("exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	if n := r.kept("late-p1a", "of_a"); n != 20 {
		t.Errorf("20 were sent, %d counted", n)
	}
	r.nothingOrdered("fetched")
}

// The agent is killed with kill -9 at every step of a recording, and started
// again: the server is as before, and the outcome is said.
func TestRecordingAgentKilledAtEveryStep(t *testing.T) {
	if testing.Short() || os.Getenv("STOWAGE_AGENT_FAULTS") == "" {
		t.Skip("SKIPPED: agents killed at every step of a recording; STOWAGE_AGENT_FAULTS=1 runs them (make agents)")
	}
	r := startFarRecorded(t)
	defer r.Load(r.A)()
	points := slices.DeleteFunc(record.Points(r.Plan()), func(p string) bool { return strings.HasSuffix(p, " rotate") })
	for _, point := range points {
		r.stopAgent("h1")
		r.startAgent("h1", "stowage @ "+point)
		x := r.begin("p1a", "--save", "x", "--for", "1s")
		select {
		case <-r.agents["h1"].Exited:
		case <-time.After(time.Minute):
			t.Fatalf("never killed at %q\n%s", point, &x.err)
		}
		r.startAgent("h1", "")
		code, s := x.end()
		if len(s.Instances) != 1 || code != farmtest.ExitFailed && code != farmtest.ExitFine {
			t.Fatalf("killed at %q: exit %d\n%s\n%s", point, code, x.out.String(), &x.err)
		}
		t.Logf("killed at %q: exit %d, %d events, %s", point, code, s.Instances[0].Events, s.Instances[0].Stopped)
		r.asBeforeSoon("after a kill at " + point)
		r.nothingOrdered("after a kill at " + point)
		if t.Failed() {
			return
		}
	}
}
