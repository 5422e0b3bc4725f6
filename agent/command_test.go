package agent_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/command"
	"stowage/farm"
	"stowage/internal/turns"
)

// carrierVar is set in a copy of this test program that carries a command.
const carrierVar = "AGENT_TEST_CARRIER"

// allowFile is the list of commands in the directory of an agent of a test.
const allowFile = "allow"

func commandsOf(data string) *command.Station {
	return &command.Station{Dir: filepath.Join(data, "commands"), Allow: command.Allowed(filepath.Join(data, allowFile)),
		Carrier: []string{"/usr/bin/env", carrierVar + "=1", os.Args[0]}}
}

// The agent is killed while a command runs: the command runs on, and is not begun again. What the host's owner has not listed is refused there.
func TestCommandRunsOnceThoughItsAgentIsKilled(t *testing.T) {
	turns.One(t, 6)
	needsMariaDB(t)
	r := newRig(t)
	h := r.agent("db017")
	data := r.agents["db017"].told.Data
	trace := filepath.Join(t.TempDir(), "trace")
	o := command.Order{ID: "n1", Argv: []string{"/bin/sh", "-c", "echo line >> " + trace + "; sleep 3; echo said; exit 5"}}
	if _, err := h.Command(t.Context(), o.Encode(), nil); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "it is not there") {
		t.Errorf("without a list: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(data, allowFile), []byte("/bin/sh -c echo\n/bin/true\n"), 0o600))
	if err := h.MayCommand(t.Context(), o.Encode()); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "is not in the list") { // an argument with blanks is one argument
		t.Errorf("not listed: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(data, allowFile), []byte("/bin/sh -c *\n"), 0o600))
	must(t, h.MayCommand(t.Context(), o.Encode()))
	type result struct {
		raw []byte
		err error
	}
	came := make(chan result, 1)
	go func() {
		raw, err := h.Command(t.Context(), o.Encode(), nil)
		came <- result{raw, err}
	}()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(trace); err == nil {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("it does not begin")
		}
	}
	r.again("db017")
	got := <-came
	must(t, got.err)
	out, err := command.ReadOutcome(got.raw)
	must(t, err)
	raw, _ := os.ReadFile(trace)
	if n := strings.Count(string(raw), "\n"); n != 1 || out.Code != 5 || out.Runs != 1 || out.Output != "said\n" {
		t.Errorf("it ran %d times: %+v", n, out)
	}
	audit := fmt.Sprint(r.auditOf("db017"))
	for _, want := range []string{"sleep 3", "exit code 5", "said"} {
		if !strings.Contains(audit, want) {
			t.Errorf("the audit log lacks %q:\n%s", want, audit)
		}
	}
}
