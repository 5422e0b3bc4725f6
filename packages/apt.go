package packages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Apt is the package manager of this machine.
type Apt struct {
	// Out is where apt and dpkg print to. A file is handed on: they print on when we are killed.
	Out *os.File
	// Border is called at the borders of Borders; tests kill there. Nil in production.
	Border func(point string) error
}

// Borders are the points of Install at which a test can kill, in order.
var Borders = []string{"before policy", "between renames", "after policy", "after install", "before restored", "after restored"}

func (a *Apt) at(point string) error {
	if a.Border == nil {
		return nil
	}
	return a.Border(point)
}

// needed are the programs without which nothing is done here.
var needed = []string{"/usr/bin/apt-get", "/usr/bin/apt-cache", "/usr/bin/apt-mark", "/usr/bin/dpkg", "/usr/bin/dpkg-query"}

// Missing says what is not here, or "". Only apt is known.
func Missing() string {
	for _, program := range needed {
		if _, err := os.Stat(program); err != nil {
			return filepath.Base(program) + " is not here: packages are installed with apt only"
		}
	}
	return ""
}

// environment lets nobody ask questions and nothing restart services: needrestart would, after apt.
func environment() []string {
	return append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "APT_LISTCHANGES_FRONTEND=none", "NEEDRESTART_SUSPEND=1", "UCF_FORCE_CONFFOLD=1", "LC_ALL=C.UTF-8")
}

// ask runs a program that changes nothing, and gives what it printed.
func (a *Apt) ask(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, said bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(), &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", filepath.Base(name), args[0], err, lastLine(said.String()+out.String()))
	}
	return out.String(), nil
}

// change runs a program that changes something. It is not ended with ctx: a package manager that is killed leaves half of a package. Signals that end its process group reach
// it, and it ends as it does for a person.
func (a *Apt) change(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(), a.Out, a.Out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return nil
}

func (a *Apt) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.out(), format+"\n", args...) // what is done matters, not that it is told
}

func (a *Apt) out() io.Writer {
	if a.Out == nil {
		return io.Discard
	}
	return a.Out
}

// lastLine is the last line of an output that says something, errors before anything else.
func lastLine(out string) string {
	last := ""
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "E: ") || line != "" && !strings.HasPrefix(last, "E: ") {
			last = line
		}
	}
	return last
}

// isNewer reports whether dpkg takes one version for newer than the other.
func (a *Apt) isNewer(ctx context.Context, one, other string) (bool, error) {
	err := exec.CommandContext(ctx, "/usr/bin/dpkg", "--compare-versions", one, "gt", other).Run()
	var code *exec.ExitError
	if errors.As(err, &code) && code.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

// pause waits a little, or until ctx ends.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(100 * time.Millisecond):
		return nil
	}
}
