// Package roll rolls hosts with two instances each, and kills what does it at
// every border.
package roll

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/roll"
)

// The farm is packed onto two hosts first: each has a side of both pairs, and all of them leave together. A playbook changes an option that needs a restart, and
// each way of rolling is killed at each of its borders, with its engine or without: those that all share, of out, in and what is between, once.
func TestDenseHostsAreRolled(t *testing.T) {
	r := farmtest.StartRolledFarm(t)
	r.Run(farmtest.ExitFine, "", "plan", "--without", "platter-22", "--name", "first")
	r.Run(farmtest.ExitFine, "", "move", "first")
	playbook(t, r)
	unknown(t, r)
	waits(t, r)
	killed := map[string]bool{}
	for _, b := range roll.RollKind(nil).Runbooks {
		if strings.HasSuffix(b.Name, roll.OneWriter) || b.Name == roll.ByPackages { // TestPrimariesAreRolled, TestBootedMachinesAreUpgraded
			continue
		}
		book, args := b.Name, map[string][]string{roll.ByCommand: append([]string{"--"}, r.AddsALine()...), roll.ByRestart: {"--restart"}}[b.Name]
		for n, at := range b.Points() {
			if killed[at] && !strings.Contains(at, roll.StepWork) {
				continue
			}
			killed[at] = true
			args := append([]string{"--hosts", "ssd01"}, args...)
			if book == roll.ByPlaybook {
				r.File("rolls/both.yaml", fmt.Sprintf("steps:\n  - {command: [%s]}\n  - {options: {max_connections: %d}}\n  - {restart: true}\n", quoted(r.AddsALine()), 200+n))
				args = append([]string{"both"}, args...)
			}
			out := r.Once([]string{"both", "stowage"}[n%2], at, r.Plan(args...))
			if len(out.Hosts) != 1 || out.Hosts[0].End != "done" || len(out.Hosts[0].Pairs) != 2 {
				t.Fatalf("%s killed at %q: %+v", book, at, out)
			}
			if ran := r.Lines("ssd01"); book != roll.ByRestart && (ran != 1 || out.Hosts[0].Runs != 1 || *out.Hosts[0].CommandRC != 0) {
				t.Fatalf("%s killed at %q: the command has run %d times: %+v", book, at, ran, out.Hosts)
			}
			r.AllServe()
		}
	}
	r.F.CheckLedger()
}

func quoted(argv []string) string {
	out := make([]string, len(argv))
	for n, w := range argv {
		out[n] = "'" + strings.ReplaceAll(w, "'", "''") + "'"
	}
	return strings.Join(out, ", ")
}

// A playbook changes an option on every host: it holds afterwards, in the option file, too, and nothing else differs.
func playbook(t *testing.T, r *farmtest.RolledFarm) {
	t.Helper()
	r.File("rolls/pool.yaml", "hosts: ssd*\nsteps:\n  - options: {innodb_read_io_threads: 3, max_connections: 233}\n  - {restart: true, time_limit: 5m, check: [/bin/true]}\n")
	name := r.Plan("pool")
	out := r.Read(r.Run(farmtest.ExitFine, "", "roll", name, "--json"))
	if len(out.Hosts) != 2 || len(out.Hosts[0].Pairs) != 2 {
		t.Fatalf("%+v", out)
	}
	for _, side := range farm.SideNames {
		if got := r.F.Value(side, "SELECT CONCAT(@@innodb_read_io_threads, ' ', @@max_connections)"); got != "3 233" {
			t.Errorf("side %s has %s", side, got)
		}
	}
	r.AllServe()
	// A check that fails leaves the host out, and nothing that was announced is complained of.
	r.File("rolls/checked.yaml", "hosts: ssd*\nsteps:\n  - {restart: true, check: [/bin/sh, -c, 'test -e "+filepath.Join(filepath.Dir(r.Trace), "mended")+"']}\n")
	name = r.Plan("checked")
	r.Run(farmtest.ExitUnknown, "its check", "roll", name)
	was := r.Processes()
	r.File(filepath.Join(filepath.Dir(r.Trace), "mended"), "")
	r.Run(farmtest.ExitFine, "", "resume")
	for instance, pid := range r.Processes() {
		if pid != was[instance] {
			t.Errorf("%s was restarted again by the resume", instance)
		}
	}
	r.Run(farmtest.ExitFine, "", "roll", name)
	r.AllServe()
}

// A host does not begin before its window opens: at the next full minute but one at most.
func waits(t *testing.T, r *farmtest.RolledFarm) {
	t.Helper()
	opens := time.Now().UTC().Truncate(time.Minute).Add(time.Minute)
	if time.Until(opens) < 10*time.Second { // the plan is made before
		opens = opens.Add(time.Minute)
	}
	r.File("goals.yaml", fmt.Sprintf("windows: [{from: %q, to: %q}]\n", opens.Format("15:04"), opens.Add(3*time.Hour).Format("15:04")))
	name := r.Plan("--hosts", "ssd01", "--restart")
	r.Run(farmtest.ExitFine, "a host begins only when it would be done in time: every day "+opens.Format("15:04"), "roll", "show", name)
	p := r.Run(farmtest.ExitFine, "", "roll", name, "--json")
	out := r.Read(p)
	if len(out.Hosts) != 1 || out.Hosts[0].Out.Before(opens) {
		t.Errorf("its window opens at %v: %+v", opens, out.Hosts)
	}
	if !strings.Contains(p.Stdout+p.Stderr, "no window is long enough; the next begins at") {
		t.Errorf("it does not say what it waits for\n%s", p.Stderr)
	}
	r.File("goals.yaml", "")
	r.AllServe()
}

// The carrier of a command is killed: nobody can tell how it ended, it is not run again, and a person brings the host back.
func unknown(t *testing.T, r *farmtest.RolledFarm) {
	t.Helper()
	r.Forget()
	name := r.Plan("--hosts", "ssd01", "--", "/bin/sh", "-c", `echo "$STOWAGE_HOST" >> `+r.Trace+`; kill -9 $(cut -d' ' -f4 /proc/$$/stat)`) // its parent is the carrier
	out := r.Read(r.Run(farmtest.ExitUnknown, "it is not run a second time", "roll", name, "--json"))
	if h := out.Hosts[0]; !h.Unknown || h.Runs != 1 || h.End != "stuck" || r.Lines("ssd01") != 1 {
		t.Errorf("%+v", h)
	}
	r.Run(farmtest.ExitUnknown, "it is not run a second time", "resume")
	r.Run(farmtest.ExitFine, "", "roll", "in", "ssd01")
	if n := r.Lines("ssd01"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	if _, err := os.Stat(r.F.Path("rolls/" + name + ".json")); err != nil {
		t.Error(err)
	}
	r.AllServe()
}

// A rolling restart of all hosts and a change of an option that needs one, under load; and the yardstick: a loop that restarts the same servers one after the other, as people do
// without Stowage.
func TestLoopOfRestartsFailsQueries(t *testing.T) {
	r := farmtest.StartRolledFarm(t)
	r.File("rolls/threads.yaml", "hosts: db*\nsteps: [{options: {innodb_read_io_threads: 3}, apply: true}]\n")
	for _, x := range []struct {
		what string
		args []string
	}{{"`stowage roll --restart`, four hosts", []string{"--hosts", "db*", "--restart"}}, {"`stowage roll PLAYBOOK`, an option that needs a restart, four hosts", []string{"threads"}}} {
		out := r.Read(r.Run(farmtest.ExitFine, "", "roll", r.Plan(x.args...), "--json"))
		s, v, wrong := r.F.Settle()
		if len(wrong) > 0 || s.Failed != 0 || len(out.Hosts) != 4 {
			t.Errorf("%s: %v, %+v", x.what, wrong, out)
		}
		farmtest.Figure(t, x.what, s, map[bool]string{true: "whole", false: "**not whole**"}[v.Whole()], fmt.Sprintf("%.1f", out.LongestOut()))
		if err := r.F.StartClients(); err != nil {
			t.Fatal(err)
		}
	}
	for _, side := range farm.SideNames {
		if got := r.F.Value(side, "SELECT @@innodb_read_io_threads"); got != "3" {
			t.Errorf("side %s has %s", side, got)
		}
	}
	r.RestartAll()
	looped := r.F.Load.Stop()
	farmtest.Figure(t, "a shell loop that restarts the same servers", looped, "not asked", "-")
	if farmtest.Lost(looped) == 0 {
		t.Error("the loop failed no query: it measures nothing")
	}
}
