package vault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stowage/farm"
	"stowage/internal/keeper"
	"stowage/internal/lazy"
)

// interruptPatience is how long restic may take to remove its lock when it is told to stop; then it is killed.
const interruptPatience = 5 * time.Second

// command is a restic that the kernel kills when we are gone, and that is stopped when ctx ends.
func (r *Restic) command(ctx context.Context, said *lastWords, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.program, append(append([]string{}, r.options...), args...)...)
	cmd.Env, cmd.Dir, cmd.Stderr = r.env, "/", said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = interruptPatience
	return cmd
}

// run runs restic until it ends by itself with exit code 0, and waits for locks of others.
func (r *Restic) run(ctx context.Context, args ...string) error {
	_, err := r.once(ctx, io.Discard, args...)
	return err
}

// read is run for what changes nothing, and returns what restic printed besides. Where its lock cannot be written, because the disk is
// full or may only be read, it reads without one.
func (r *Restic) read(ctx context.Context, stdout io.Writer, args ...string) (said string, err error) {
	said, err = r.once(ctx, stdout, args...)
	if says(err, "unable to create lock") && says(err, "no space left", "quota exceeded", "read-only file system", "permission denied") {
		said, err = r.once(ctx, stdout, append([]string{"--no-lock"}, args...)...)
	}
	return said, err
}

func (r *Restic) once(ctx context.Context, stdout io.Writer, args ...string) (text string, err error) {
	err = r.unlocked(ctx, func() error {
		var said lastWords
		cmd := r.command(ctx, &said, args...)
		cmd.Stdout = stdout
		err := r.told(ctx, keeper.RunGently(cmd), &said)
		text = said.String()
		return err
	})
	return text, err
}

// told makes an error of how restic ended. Any exit code but 0 is a failure, also one that nobody knows.
func (r *Restic) told(ctx context.Context, err error, said *lastWords) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		return nil
	}
	return &ended{cause: err, said: withoutPassword(said.String())}
}

// ended is a restic that failed.
type ended struct {
	cause error // its exit code, or the signal that killed it
	said  string
}

func (e *ended) Error() string {
	if e.said == "" {
		return fmt.Sprintf("restic: %v, and it printed no reason", e.cause)
	}
	return fmt.Sprintf("restic: %v:\n  %s", e.cause, strings.ReplaceAll(e.said, "\n", "\n  "))
}

func (e *ended) Unwrap() error { return e.cause }

// says reports whether restic printed one of these.
func says(err error, texts ...string) bool {
	var e *ended
	if !errors.As(err, &e) {
		return false
	}
	said := strings.ToLower(e.said) // ssh says Connection refused
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(said, strings.ToLower(t)) })
}

// lastWords keeps what a program prints on stderr, of much the end.
type lastWords struct{ text []byte }

const mostSaid = 16 << 10 // bytes

func (l *lastWords) Write(p []byte) (int, error) {
	l.text = append(l.text, p...)
	if over := len(l.text) - mostSaid; over > 0 {
		l.text = append(l.text[:0], l.text[over:]...)
	}
	return len(p), nil
}

// traceLine is one of a stack trace, which restic prints with some errors.
var traceLine = lazy.Regexp(`^(\t|(github\.com/|golang\.org/|main\.|runtime\.)\S+$)`)

// String leaves out stack traces, of one attempt after the other all but the last, and of more lines than a person reads all but the last.
func (l *lastWords) String() string {
	const again = " returned error, retrying after "
	var lines []string
	for line := range strings.Lines(string(bytes.TrimSpace(l.text))) {
		if line = strings.TrimRight(line, "\r\n"); traceLine().MatchString(line) {
			continue
		}
		if n := len(lines); n > 0 && strings.Contains(line, again) && strings.Contains(lines[n-1], again) {
			lines = lines[:n-1]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}

// lockHolder is how restic 0.14 to 0.18 name who holds a lock.
var lockHolder = lazy.Regexp(`already locked (?:exclusively )?by PID (\d+) on (\S+) by `)

const lookAtLock = 2 * time.Second // how often a lock of somebody else's is tried again

// unlocked does something again for as long as somebody else has the repository locked, up to the vault's patience.
func (r *Restic) unlocked(ctx context.Context, do func() error) error {
	deadline := time.Now().Add(r.patience)
	for mended := false; ; {
		err := do()
		var e *ended
		if !errors.As(err, &e) {
			return err
		}
		holder := lockHolder().FindStringSubmatch(e.said)
		if holder == nil {
			return err
		}
		if !mended && isDeadHere(holder[1], holder[2]) {
			mended = true
			if err := r.removeDeadLocks(ctx); err != nil {
				return err
			}
			continue
		}
		if time.Now().After(deadline) {
			return &farm.Error{Op: "wait for repository", Subject: r.place.Subject(), Err: err,
				Hint: "process " + holder[1] + " on " + holder[2] + " has it locked: wait until it has ended; if it is gone, type restic unlock there"}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookAtLock):
		}
	}
}

// isDeadHere reports whether a lock was left by a process of this machine that has ended. Of other machines nobody here can tell.
func isDeadHere(pid, host string) bool {
	us, err := os.Hostname()
	n, notNumber := strconv.Atoi(pid)
	return err == nil && notNumber == nil && host == us && errors.Is(syscall.Kill(n, 0), syscall.ESRCH)
}

// removeDeadLocks removes locks of dead processes of this machine, and those that nobody has refreshed for half an hour, as restic
// does: it refreshes its own every five minutes.
func (r *Restic) removeDeadLocks(ctx context.Context) error {
	var said lastWords
	return r.told(ctx, keeper.RunGently(r.command(ctx, &said, "unlock")), &said)
}
