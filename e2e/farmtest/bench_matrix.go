package farmtest

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// RunAlone runs the program where no engine is needed.
func RunAlone(t *testing.T, kill string, args ...string) Program {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), LiveProgram(t), args...)
	cmd.Env = append(os.Environ(), KillAt+"="+kill)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	_ = cmd.Run() // the exit code tells
	return Program{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}
