package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/internal/treetest"
	"stowage/mysql"
	"stowage/tune"
	"stowage/tune/fix"
	"stowage/tune/probe"
)

// tuneTree is a recorded machine with two settings that --fix changes.
func tuneTree(t *testing.T) string {
	t.Helper()
	return treetest.Make(t, map[string]string{
		"proc/sys/kernel/hostname": "db017\n", "proc/sys/vm/swappiness": "60\n", "proc/swaps": "/dev/sda2 partition 8388604 0 -2\n",
		"sys/block/sda/size": "1562824368\n", "sys/block/sda/queue/rotational": "1\n",
		"commands/smartctl-sda.json": `{"rotation_rate": 0, "smart_status": {"passed": true}}`,
	})
}

// tuneProgram runs the program as a process of its own, which may be killed.
func tuneProgram(t *testing.T, kill string, args ...string) (code int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), playsProgram+"=1", farmtest.KillAt+"="+kill)
	text, _ := cmd.CombinedOutput() // the exit code tells
	return cmd.ProcessState.ExitCode(), string(text)
}

// TestTuneRevertAfterKill: killed with -9 behind the journal, behind each
// write, and on the way back, `tune --revert` leads to before.
func TestTuneRevertAfterKill(t *testing.T) {
	for _, kill := range []string{"tune journal", "tune set", "tune revert"} {
		t.Run(kill, func(t *testing.T) {
			t.Parallel()
			root := tuneTree(t)
			first := kill
			if kill == "tune revert" {
				first = ""
			}
			code, out := tuneProgram(t, "stowage @ "+first, "tune", "--root", root, "--fix")
			if want := map[bool]int{true: 0, false: -1}[first == ""]; code != want {
				t.Fatalf("exit code %d, want %d: %s", code, want, out)
			}
			if kill == "tune revert" {
				if code, out := tuneProgram(t, "stowage @ "+kill, "tune", "--root", root, "--revert"); code != -1 {
					t.Fatalf("it was not killed on the way back: %d %s", code, out)
				}
			}
			if code, out := tuneProgram(t, "", "tune", "--root", root, "--revert"); code != exitFine {
				t.Fatalf("revert: %d %s", code, out)
			}
			for file, want := range map[string]string{"proc/sys/vm/swappiness": "60", "sys/block/sda/queue/rotational": "1"} {
				if raw, err := os.ReadFile(filepath.Join(root, file)); err != nil || strings.TrimSpace(string(raw)) != want {
					t.Errorf("%s is %q, want %s (%v)", file, raw, want, err)
				}
			}
			if _, err := os.Stat(filepath.Join(root, tuneJournal)); !os.IsNotExist(err) {
				t.Errorf("the journal is still there: %v", err)
			}
		})
	}
}

// TestTuneRealSetting changes a setting of this machine's kernel and puts it
// back: read-ahead of a loop device that nobody uses.
func TestTuneRealSetting(t *testing.T) {
	tree := probe.Machine()
	s := &settings{tree: tree}
	for n := 7; n >= 0; n-- {
		loop := fmt.Sprintf("/sys/block/loop%d", n)
		size, err := tree.Value(loop + "/size")
		now, err2 := tree.Value(loop + "/queue/read_ahead_kb")
		if err != nil || err2 != nil || size != "0" {
			continue
		}
		c := tune.Change{Path: loop + "/queue/read_ahead_kb", From: now, To: "96"}
		if err := s.Set(t.Context(), c, now); err != nil {
			t.Skipf("NOT TESTED: %v, so no setting of this machine was changed", err)
		}
		applyAndRevert(t, s, c)
		// What the kernel refuses is a failure, and everything is as before.
		j, err := fix.Open(filepath.Join(t.TempDir(), "tune.journal"))
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		scheduler, _ := tree.Value(loop + "/queue/scheduler")
		got, err := j.Apply(t.Context(), s, fix.Now{}, []tune.Change{{Path: loop + "/queue/scheduler", From: scheduler, To: "noop"}}, s.nowhere)
		if err != nil || got[0].State != fix.Failed {
			t.Errorf("noop: %+v, %v; the kernel has none", got, err)
		}
		return
	}
	t.Skip("NOT TESTED: no free loop device, so no setting of this machine was changed")
}

// TestTuneRealVariable does the same with a dynamic variable of a server.
func TestTuneRealVariable(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "tuned", "--innodb-flush-log-at-trx-commit=2")
	server := mysql.Open("a", i.Address, mysqltest.Account(mariadbtest.Stowage), slog.New(slog.DiscardHandler))
	defer server.Close()
	variables, status, err := server.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The rule sees it, from the server's own words.
	facts := probe.Read(t.Context(), probe.Recorded(t.TempDir()), nil, []probe.Server{{Name: "a", Variables: variables, Status: status}})
	rules, _ := tune.Only(tune.Rules(), []string{"DB-DURABLE"})
	changes := tune.Audit(facts, rules).Changes("warning")
	if len(changes) == 0 || changes[0].Variable != "innodb_flush_log_at_trx_commit" || changes[0].From != "2" {
		t.Fatalf("changes %+v, want one of innodb_flush_log_at_trx_commit from 2", changes)
	}
	applyAndRevert(t, &settings{servers: map[string]*mysql.Server{"a": server}}, changes[0])
}

func (s *settings) nowhere(string) error { return nil }

// applyAndRevert compares what is really set with what is said.
func applyAndRevert(t *testing.T, s *settings, c tune.Change) {
	t.Helper()
	j, err := fix.Open(filepath.Join(t.TempDir(), "tune.journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, step := range []struct {
		act  func() ([]fix.Result, error)
		want fix.State
		is   string
	}{
		{func() ([]fix.Result, error) {
			return j.Apply(t.Context(), s, fix.Now{}, []tune.Change{c}, s.nowhere)
		}, fix.Set, c.To},
		{func() ([]fix.Result, error) { return j.Revert(t.Context(), s, fix.Now{}, s.nowhere) }, fix.Restored, c.From},
	} {
		got, err := step.act()
		if err != nil || len(got) != 1 || got[0].State != step.want {
			t.Fatalf("%+v, %v; want %s", got, err, step.want)
		}
		if now, err := s.Get(t.Context(), c); err != nil || now != step.is {
			t.Fatalf("%s is %q, want %q (%v)", c.Setting(), now, step.is, err)
		}
	}
}

// TestTuneThisMachine: whatever this machine is, tune reads it to the end, and
// all rules have an answer.
func TestTuneThisMachine(t *testing.T) {
	code, out := tuneProgram(t, "", "-C", t.TempDir(), "tune", "--json", "--severity", "blocker")
	if code != exitFine && code != exitFindings {
		t.Fatalf("exit code %d: %s", code, out)
	}
	var r tune.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	answered := map[string]bool{}
	for _, f := range r.Findings {
		answered[f.ID] = true
	}
	for _, n := range r.NotApplicable {
		answered[n.ID] = true
	}
	for _, id := range r.Followed {
		answered[id] = true
	}
	if len(answered) != len(tune.Rules()) {
		t.Errorf("%d rules have an answer, of %d", len(answered), len(tune.Rules()))
	}
}
