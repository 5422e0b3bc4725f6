package faults

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
)

// An engine that dies while it starts: the run has begun, nothing is undone and
// nothing is unknown. It says how to go on, and does. (Found by make chaos, seed
// 2, round 34: exit code 4 and a run that had not ended.)
func TestEngineThatDiesWhileItStarts(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	bad := t.TempDir()
	if err := os.WriteFile(bad+"/stowage-engine", []byte("#!/bin/sh\necho cannot >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(farmtest.LiveProgram(t))
	if err == nil {
		err = os.WriteFile(bad+"/stowage", program, 0o755) // the engine beside the program is taken first
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bad+"/stowage", "move", "first", "-C", f.Dir)
	out, _ := cmd.CombinedOutput() // the exit code tells
	if code := cmd.ProcessState.ExitCode(); code != farmtest.ExitInterrupted || !strings.Contains(string(out), "stowage resume") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if strings.Contains(string(out), "make build") {
		t.Errorf("an engine that is there and dies is said to be missing:\n%s", out)
	}
	f.Must("resume")
	f.CheckWhole()
}
