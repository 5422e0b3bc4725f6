package host_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"stowage/host"
)

// The log of a large copy was being applied when the program was killed. Its
// mariadb-backup went on, and at its end wrote files into the copy that the
// next program had begun in that place.
func TestWipeEndsTheWorkOfAKilledProgram(t *testing.T) {
	for what, empty := range map[string]func(*host.Local, host.Instance) error{
		"wipe":   func(l *host.Local, i host.Instance) error { return l.Wipe(t.Context(), i, "test") },
		"remove": func(l *host.Local, i host.Instance) error { return l.Remove(t.Context(), i, "test") },
	} {
		t.Run(what, func(t *testing.T) {
			l := local(t)
			mine, other := claimed(t, l, "mine"), claimed(t, l, "other")
			left, apart := preparing(t, mine), preparing(t, other)
			must(t, empty(l, mine))
			if err := left.wait(time.Minute); err == nil || errors.Is(err, errStillThere) {
				t.Errorf("mariadb-backup --prepare of the copy that is gone: %v, want killed", err)
			}
			if err := apart.wait(0); !errors.Is(err, errStillThere) {
				t.Errorf("mariadb-backup --prepare of another copy: %v, want untouched", err)
			}
		})
	}
}

func claimed(t *testing.T, l *host.Local, name string) host.Instance {
	t.Helper()
	i := place(t, l, name)
	must(t, l.Claim(t.Context(), i, "test"))
	return i
}

var errStillThere = errors.New("it is still there")

// work is a process that another program has started and left.
type work struct{ ended chan error }

func (w work) wait(limit time.Duration) error {
	select {
	case err := <-w.ended:
		return err
	case <-time.After(limit):
		return errStillThere
	}
}

// preparing is a real mariadb-backup that would apply a copy's log, and is held
// before it has come far.
func preparing(t *testing.T, i host.Instance) work {
	t.Helper()
	path, err := exec.LookPath("mariadb-backup")
	if err != nil {
		t.Skip("SKIPPED: mariadb-backup is missing")
	}
	// A named pipe for an option file holds it where it reads that.
	pipe := filepath.Join(t.TempDir(), "backup-my.cnf")
	must(t, syscall.Mkfifo(pipe, 0o600))
	cmd := exec.Command(path, "--defaults-file="+pipe, "--prepare", "--use-memory=64M", "--target-dir="+i.Datadir)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	w := work{make(chan error, 1)}
	go func() { w.ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return w
}
