package farmtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/demo"
	"stowage/demo/load"
	"stowage/farm"
	"stowage/host"
	"stowage/roll"
	"stowage/route"
	"stowage/session"
	"stowage/swing"
	"stowage/workspace"
)

// RolledFarm is a farm under load whose hosts are rolled.
type RolledFarm struct {
	F     *LiveFarm
	Trace string // a file to which commands add a line, with the name of their host
	rolls int
}

// StartRolledFarm is two pairs, each side on a host of its own.
func StartRolledFarm(t *testing.T) *RolledFarm {
	t.Helper()
	t.Parallel() // it mostly waits
	f := Raise(t, demo.Options{Pairs: 2, Shards: 1, Hosts: 2, Rows: 50}, 40, nil)
	return &RolledFarm{F: f, Trace: filepath.Join(t.TempDir(), "trace")}
}

// Rolled is what `roll --json` prints of hosts.
type Rolled struct {
	Run   string         `json:"run"`
	State string         `json:"state"`
	Hosts []roll.HostEnd `json:"hosts"`

	Minutes []swing.FirstMinute `json:"first_minutes"`
}

// Run runs the program, which must end with a code and say something.
func (r *RolledFarm) Run(code int, want string, args ...string) Program {
	r.F.T.Helper()
	return r.Killed("", code, want, args...)
}

// Killed is Run with a border at which the program dies.
func (r *RolledFarm) Killed(kill string, code int, want string, args ...string) Program {
	r.F.T.Helper()
	p := RunProgram(r.F.T, kill, append([]string{"-C", r.F.Dir}, args...)...)
	if p.Code != code || !strings.Contains(p.Stdout+p.Stderr, want) {
		r.F.T.Fatalf("stowage %s (kill %q): exit %d, want %d and %q\n%s%s", strings.Join(args, " "), kill, p.Code, code, want, p.Stdout, p.Stderr)
	}
	return p
}

// Read is what was printed with --json.
func (r *RolledFarm) Read(p Program) (out Rolled) {
	r.F.T.Helper()
	if err := json.Unmarshal([]byte(p.Stdout), &out); err != nil {
		r.F.T.Fatalf("%v\n%s", err, p.Stdout)
	}
	return out
}

// LongestOut is for how long the host was out that was it longest, in seconds.
func (r Rolled) LongestOut() (longest float64) {
	for _, h := range r.Hosts {
		longest = max(longest, h.SecondsOut)
	}
	return longest
}

// Lost is how many queries have failed. The clients of the demo try again where a server refuses them or hangs up, and ask what became of a commit: those are queries that a
// client without that would have lost.
func Lost(s load.Summary) int64 { return s.Failed + s.Retried + s.UnknownResolved + s.UnknownLeft }

// Figure is a row of docs/measuring/benchmarks.md, as scripts/bench/roll.sh reads it. ledger says whether it is whole, out is for how many seconds one host was out at most.
func Figure(t *testing.T, what string, s load.Summary, ledger string, out string) {
	t.Helper()
	t.Logf("FIGURE\t%s\t%d\t%d\t%s\t%s", what, Lost(s), s.Acknowledged, ledger, out)
}

// Lines is how often a command has run on a host.
func (r *RolledFarm) Lines(h farm.HostName) int {
	raw, _ := os.ReadFile(r.Trace) // not there: nothing has run
	n := 0
	for line := range strings.Lines(string(raw)) {
		if strings.TrimSpace(line) == string(h) {
			n++
		}
	}
	return n
}

// Forget takes the trace away.
func (r *RolledFarm) Forget() { _ = os.Remove(r.Trace) }

// Once has the hosts of a plan rolled, with a kill at a border on the way, and continued: each command has run once.
func (r *RolledFarm) Once(kill, at, name string) Rolled {
	t := r.F.T
	t.Helper()
	r.Forget()
	p := RunProgram(t, kill+" @ "+at, "-C", r.F.Dir, "roll", name, "--json")
	if !strings.Contains(p.Stdout+p.Stderr, MarkOfKill+at) {
		t.Fatalf("never met %q: exit %d\n%s%s", at, p.Code, p.Stdout, p.Stderr)
	}
	return r.Read(r.Run(ExitFine, "", "resume", "--json"))
}

// File writes a file of the workspace.
func (r *RolledFarm) File(name, text string) {
	r.F.T.Helper()
	path := r.F.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.F.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.F.T.Fatal(err)
	}
}

// AddsALine is a command that does, and nothing else.
func (r *RolledFarm) AddsALine() []string {
	return []string{"/bin/sh", "-c", `echo "$STOWAGE_HOST" >> ` + r.Trace}
}

// Plan writes a plan under a new name, and gives that.
func (r *RolledFarm) Plan(args ...string) string {
	r.F.T.Helper()
	r.rolls++
	name := fmt.Sprintf("test-%d", r.rolls)
	verb := []string{"roll"}
	if args[0] == "options" {
		verb, args = append(verb, args[0]), args[1:]
	}
	r.Run(ExitFine, "is served by one side", append(append(verb, "--name", name), args...)...)
	return name
}

// AllServe fails the test unless every side serves its own clients and its option file is not fenced.
func (r *RolledFarm) AllServe() {
	r.F.T.Helper()
	table, err := route.ReadFile(r.F.Dir + "/routing.json")
	if err != nil {
		r.F.T.Fatal(err)
	}
	for name, p := range table.Pairs {
		for _, side := range farm.SideNames {
			if p.Share(side, side) != 100 || p.GateIsClosed(side) {
				r.F.T.Errorf("side %s of %s serves %g %% of its clients (gate closed: %v)", side, name, p.Share(side, side), p.GateIsClosed(side))
			}
		}
	}
	for instance, text := range r.OptionFiles() {
		if strings.Contains(text, "out of rotation") {
			r.F.T.Errorf("the option file of %s:\n%s", instance, text)
		}
	}
}

// Processes are the servers of the farm, by instance: process numbers, as their pid files have them.
func (r *RolledFarm) Processes() map[farm.InstanceName]string { return r.beside("mysqld.pid") }

// beside is a file of every server, in the directory around its data.
func (r *RolledFarm) beside(name string) map[farm.InstanceName]string {
	r.F.T.Helper()
	_, fm, _, err := FarmAccess(r.F.Dir)
	if err != nil {
		r.F.T.Fatal(err)
	}
	out := map[farm.InstanceName]string{}
	for _, p := range fm.Pairs {
		for side, at := range p.Sides {
			text, err := os.ReadFile(filepath.Join(filepath.Dir(r.F.Path(at.Datadir)), name))
			if err != nil {
				r.F.T.Fatal(err)
			}
			out[p.Instance(side)] = string(text)
		}
	}
	return out
}

// OptionFile is the path of a server's option file.
func (r *RolledFarm) OptionFile(i farm.InstanceName) string {
	r.F.T.Helper()
	_, fm, _, err := FarmAccess(r.F.Dir)
	if err != nil {
		r.F.T.Fatal(err)
	}
	for _, p := range fm.Pairs {
		for side, at := range p.Sides {
			if p.Instance(side) == i {
				return filepath.Join(filepath.Dir(r.F.Path(at.Datadir)), "my.cnf")
			}
		}
	}
	r.F.T.Fatalf("farm.yaml has no %s", i)
	return ""
}

// RestartAll restarts every server, one after the other, with its clients on it.
func (r *RolledFarm) RestartAll() {
	t := r.F.T
	t.Helper()
	ws, fm, _, err := FarmAccess(r.F.Dir)
	if err != nil {
		t.Fatal(err)
	}
	local, err := host.NewLocal(QuietLog())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range fm.Pairs {
		for _, side := range farm.SideNames {
			h, _ := fm.Host(p.Sides[side].Host)
			i := session.InstanceAt(ws, p.Instance(side), h.Address, p.Sides[side])
			if err := local.Stop(t.Context(), i, time.Minute); err != nil {
				t.Fatal(err)
			}
			if err := local.Start(t.Context(), i, time.Minute); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // as such loops do, until it is "up"
		}
	}
}

// StartRolledWriters is two pairs with one writer (or two single instances), each server on a host of its own, for whoever rolls them. Each pair has an account
// that read_only does not stop, as farms have.
func StartRolledWriters(t *testing.T, topology farm.Topology) *RolledFarm {
	t.Helper()
	t.Parallel() // it mostly waits
	f := Raise(t, demo.Options{Topology: topology, Pairs: 2, Shards: 1, Hosts: 2, Rows: 50}, 40, nil)
	if topology == farm.PrimaryReplica {
		for _, q := range []string{"CREATE USER 'boss'@'10.9.8.7' IDENTIFIED BY 'x'", "GRANT ALL PRIVILEGES ON *.* TO 'boss'@'10.9.8.7'"} {
			if _, err := f.Root(farm.A).Exec(q); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &RolledFarm{F: f, Trace: filepath.Join(t.TempDir(), "trace")}
}

// OptionFiles are the texts of all option files, by instance.
func (r *RolledFarm) OptionFiles() map[farm.InstanceName]string { return r.beside("my.cnf") }

// WritersServe fails the test unless each pair is what farm.yaml says: the primary serves and takes writes, the replica follows it, takes none, and is named
// for reads; and unless option files and accounts are what they were.
func (r *RolledFarm) WritersServe(files map[farm.InstanceName]string) {
	t := r.F.T
	t.Helper()
	r.F.Onto, r.F.Wanted = "", "anywhere"
	r.F.CheckOneServes()
	for instance, text := range r.OptionFiles() {
		if files[instance] != text {
			t.Errorf("the option file of %s was\n%s\nand is\n%s", instance, files[instance], text)
		}
	}
	_, fm, _, err := FarmAccess(r.F.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for side := range fm.Pairs[0].Sides {
		if got := r.F.Value(side, "SELECT COUNT(*) FROM mysql.global_priv WHERE COALESCE(JSON_VALUE(Priv, '$.account_locked'), 0) NOT IN (0, 'false') AND User = 'boss'"); got != "0" {
			t.Errorf("side %s locks an account that it did not lock before", side)
		}
	}
}

// Replicas are those that routing names for reads that may be old.
func (r *RolledFarm) Replicas(pair farm.PairName) []string {
	r.F.T.Helper()
	table, err := route.ReadFile(r.F.Dir + "/routing.json")
	if err != nil {
		r.F.T.Fatal(err)
	}
	return table.Pairs[pair].Replicas
}

// TypeOptions makes farm.yaml what it was, and gives the type of the first host options: names and values.
func (r *RolledFarm) TypeOptions(was []byte, options ...string) {
	t := r.F.T
	t.Helper()
	r.File("farm.yaml", string(was))
	ws, fm, _, err := FarmAccess(r.F.Dir)
	if err != nil {
		t.Fatal(err)
	}
	err = ws.EditFarm(func(e *workspace.Edit) error {
		for i := 0; i < len(options); i += 2 {
			e.SetHostTypeOption(fm.Hosts[0].Type, options[i], options[i+1])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
