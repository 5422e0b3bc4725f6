package roll

import (
	"slices"
	"strings"
	"testing"
	"time"

	"stowage/act"
	"stowage/command"
	"stowage/farm"
	"stowage/host"
	"stowage/roll/agenda"
	"stowage/session"
	"stowage/sides"
)

func TestValuesAreComparedAsServersReadThem(t *testing.T) {
	for _, x := range []struct {
		is, want string
		same     bool
	}{
		{"93415538688", "87G", true}, {"134217728", "128M", true}, {"ON", "1", true}, {"OFF", "false", true}, {"ROW", "row", true}, {"0.5", "0.50", true}, {"", `""`, true},
		{"93415538687", "87G", false}, {"ON", "OFF", false}, {"128M", "128K", false}, {"G", "0", false},
	} {
		if got := farm.SameOption(x.is, x.want); got != x.same {
			t.Errorf("%q and %q: %v", x.is, x.want, got)
		}
	}
}

// Options stay where they were written when the fence goes, and a file without a fence gets none.
func TestOptionsAreWrittenBesideTheFence(t *testing.T) {
	i := host.Instance{Name: "p1a"}
	own := "[client]\nuser = x\n[mysqld]\nmax_connections = 100\n# mine\n"
	want := "[client]\nuser = x\n[mysqld]\nmax_connections = 300\n# mine\ninnodb_io_capacity = 2000\n"
	values := map[string]string{"max_connections": "300", "innodb_io_capacity": "2000"}
	if got := withOptions(i, own, values); got != want {
		t.Errorf("got\n%s", got)
	}
	fenced := withOptions(i, host.FenceOptions(i, own), values)
	if !host.IsFenced(i, fenced) || host.UnfenceOptions(i, fenced) != want {
		t.Errorf("got\n%s", fenced)
	}
	if again := withOptions(i, fenced, values); again != fenced {
		t.Errorf("written again:\n%s", again)
	}
}

func TestWhatIsKnownOfAHost(t *testing.T) {
	outcome := func(code int, unknown string) *command.Outcome {
		return &command.Outcome{Code: code, Runs: 1, Unknown: unknown}
	}
	x := Rolled{}.with(Did{Step: 0, Command: outcome(0, "")}).with(Did{Step: 1, Command: outcome(4, ""), Failed: "exit code 4"})
	if _, known, ok := x.did(0); !known || !ok {
		t.Error("a step that is done is not")
	}
	if _, known, ok := x.did(1); !known || ok {
		t.Error("a step that failed is done")
	}
	if _, known, ok := x.did(2); known || ok {
		t.Error("a step that has not begun is known")
	}
	if d, failed := x.Failed(); !failed || d.Step != 1 {
		t.Errorf("%+v", d)
	}
	if code, runs, ok := x.Code(); code != 4 || runs != 1 || !ok {
		t.Error(code, runs, ok)
	}
	x.Accepted = []int{1}
	if _, _, ok := x.did(1); !ok {
		t.Error("a step that a person has remedied is not done")
	}
	if _, failed := x.Failed(); failed {
		t.Error("what was remedied keeps the host out")
	}
	noted := Rolled{}.with(Did{Step: 0, Command: outcome(9, ""), Failed: "x", Noted: true})
	if _, _, ok := noted.did(0); !ok {
		t.Error("a failure that is noted only keeps the host out")
	}
	now := time.Now()
	if s := (Rolled{}).SecondsOut(now); s != 0 {
		t.Error(s)
	}
	if s := (Rolled{Out: now.Add(-3 * time.Second)}).SecondsOut(now); s != 3 {
		t.Error(s)
	}
	if s := (Rolled{Out: now.Add(-3 * time.Second), Back: now.Add(-time.Second)}).SecondsOut(now); s != 2 {
		t.Error(s)
	}
}

// Everything from the work on can only go forward, and what is before it can be taken back or has done nothing.
func TestStepsOfAHost(t *testing.T) {
	for _, b := range RollKind(nil).Runbooks {
		var names []string
		forward := false
		for _, s := range b.Steps {
			names = append(names, s.Name)
			forward = forward || s.Name == StepWork
			if s.NoReturn != forward || forward && s.Undo != nil || s.Name == "out" && s.Undo == nil {
				t.Errorf("%s: step %s: no return %v, undo %v", b.Name, s.Name, s.NoReturn, s.Undo != nil)
			}
		}
		if got := strings.Join(names, " "); got != "window preflight out work return catch-up check warm in" {
			t.Errorf("%s: %s", b.Name, got)
		}
	}
	for want, steps := range map[string][]agenda.Step{
		ByCommand:  {{Command: []string{"a"}}},
		ByRestart:  {{Restart: true}},
		ByPackages: {{Packages: map[string]string{"ab": "1"}}},
		ByPlaybook: {{Options: map[string]string{"a": "b"}}, {Restart: true}},
	} {
		if got := bookFor(agenda.Work{Steps: steps}, agenda.Host{Instances: []agenda.Instance{{Role: agenda.Replica}}}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got := bookFor(agenda.Work{Steps: steps}, agenda.Host{Instances: []agenda.Instance{{}, {Role: agenda.Primary}}}); got != want+OneWriter {
			t.Errorf("%s, want %s", got, want+OneWriter)
		}
	}
}

// What may be out together is what lanes can hold together.
func TestLanesHoldWhatLimitsThem(t *testing.T) {
	f := &farm.Farm{Hosts: []farm.Host{{Name: "db1", Labels: map[string]string{"rack": "r1", "power": "a"}}, {Name: "db2", Labels: map[string]string{"rack": "r2", "power": "a"}}}}
	f.Pairs = []farm.Pair{{Name: "p1", Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{farm.A: {Host: "db1", Port: 1}, farm.B: {Host: "db2", Port: 1}}}}
	work := agenda.Work{Hosts: []string{"db*"}, Steps: []agenda.Step{{Restart: true}}}
	p, _, err := agenda.Make(f, work, agenda.Rules{Limits: agenda.Limits{Hosts: 3, PerRack: 1, PerFeed: 2}}, agenda.Assumed)
	if err != nil {
		t.Fatal(err)
	}
	r := &Roller{Opener: sides.Opener{Act: &act.Act{Session: &session.Session{Farm: f}, Conductor: &act.Conductor{Kind: RollKind(nil)}}}}
	job, err := r.job("roll-x-1", p, p.Hosts)
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Validate(); err != nil {
		t.Fatal(err)
	}
	if job.Spares != 0 || len(job.Lanes) != 2 || job.Budgets[act.WholeFarm] != 3 || job.Budgets["rack-out r1"] != 1 || job.Budgets["power-out a"] != 2 || job.Budgets["pair p1"] != 1 {
		t.Errorf("%+v", job)
	}
	for _, l := range job.Lanes {
		if !slices.Contains(l.Holds, "pair p1") || !slices.Contains(l.Holds, "host "+l.Name) || !slices.Contains(l.Holds, "power-out a") {
			t.Errorf("%s holds %v", l.Name, l.Holds)
		}
	}
}
