package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/lasting"
	"stowage/internal/nested"
	"stowage/internal/safefile"
	"stowage/workspace"
)

// Station runs commands on this machine. It keeps a directory for each order, for ever: an order that were forgotten could be carried out again.
type Station struct {
	Dir string
	// Allow is the list of the host's owner. Trusting: everything is allowed, because whoever orders it sits at this machine's keyboard.
	Allow    Allowed
	Trusting bool
	// Carrier is the program, and its first arguments, that is Carry for the directory in its last one.
	Carrier []string
	// Border is called at the borders of Phases; tests kill there. Nil in production.
	Border func(point string) error
}

// Phases are the parts of an order at whose borders a Station can be killed, in order.
var Phases = []string{"order", "carrier"}

// The files of an order.
const (
	orderFile  = "order.json"
	lockFile   = "lock"
	beginFile  = "begin.json" // begin.1.json and so on: of runs whose end nobody knows
	pidFile    = "pid"
	outputFile = "output"
	endFile    = "end.json"
	noteFile   = "carrier.log"
)

// May is nil when the command of an order is allowed here, and there; wants is that command, for people. Nothing is begun.
func (s *Station) May(order []byte) (wants string, err error) {
	o, err := s.read(order)
	return fmt.Sprintf("order %s: %s", o.ID, o), err
}

func (s *Station) read(order []byte) (Order, error) {
	o, err := readOrder(order)
	if err == nil && !s.Trusting {
		err = s.Allow.allow(o.Argv)
	}
	return o, err
}

// Run carries out an order, or joins what carries it out already, and gives its Outcome, as JSON and for people. told hears what it is doing; nil is fine. When ctx ends
// the command runs on, and who asks again is answered.
func (s *Station) Run(ctx context.Context, order []byte, told func(string)) (outcome []byte, came string, err error) {
	if told == nil {
		told = func(string) {}
	}
	o, err := s.read(order)
	if err != nil {
		return nil, "", err
	}
	dir := filepath.Join(s.Dir, o.ID)
	if err := s.phase(Phases[0], func() error { return s.keep(dir, o) }); err != nil {
		return nil, "", err
	}
	for {
		out, now, err := look(dir, o)
		switch {
		case err != nil:
			return nil, "", err
		case now == ended, now == lost && !o.Repeatable && !o.Reboots:
			outcome, err = json.Marshal(out)
			return outcome, fmt.Sprintf("order %s: %s; it printed:\n%s", o.ID, out, out.Output), err
		case now == lost:
			err = again(dir)
		case now == notBegun:
			err = s.phase(Phases[1], func() error { return s.send(ctx, dir, o) })
		case now == goingDown:
			told(fmt.Sprintf("%s: the machine has not gone down yet, after %v", o, time.Since(out.Began).Round(time.Second)))
			err = wait(ctx)
		default:
			if !out.Began.IsZero() {
				told(fmt.Sprintf("%s runs for %v", o, time.Since(out.Began).Round(time.Second)))
			}
			err = wait(ctx)
		}
		if err != nil {
			return nil, "", err
		}
	}
}

func (s *Station) phase(name string, do func() error) error {
	border := func(point string) error {
		if s.Border == nil {
			return nil
		}
		return s.Border(point)
	}
	if err := border("before work/" + name); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return border("after work/" + name)
}

func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(30 * time.Millisecond):
		return nil
	}
}

// keep writes an order down, or finds it there.
func (s *Station) keep(dir string, o Order) error {
	fail := func(err error) error {
		return &farm.Error{Op: "write order down", Subject: dir, Err: err, Hint: "the command has not run"}
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fail(err)
	}
	if err := safefile.Trusted(s.Dir); err != nil {
		return fail(fmt.Errorf("%w: %w", farm.ErrRefused, err))
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fail(err)
	}
	known, err := readKept[Order](dir, orderFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := workspace.WriteFileAtomic(filepath.Join(dir, orderFile), o.Encode(), 0o600); err != nil {
			return fail(err)
		}
		if err := lasting.SyncDir(s.Dir); err != nil {
			return fail(err)
		}
		return nil
	case err != nil:
		return fail(err)
	case !known.same(o):
		return fail(fmt.Errorf("%w: the order of that number is to run %q, not %q", farm.ErrRefused, known, o))
	}
	return nil
}

func readKept[T any](dir, name string) (T, error) {
	var v T
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = nested.Unmarshal(raw, &v)
	}
	return v, err
}

// state is how far an order is.
type state string

const (
	notBegun state = "not begun"
	running  state = "running"
	ended    state = "ended"
	lost     state = "lost" // begun, and nobody can tell how it ended

	goingDown state = "going down" // its command has ended, and the machine is still up
)

// begun is what a carrier writes down before it starts the command.
type begun struct {
	At      time.Time `json:"at"`
	BootID  string    `json:"boot_id"`
	Carrier int       `json:"carrier_pid"`
}

// look says how far an order is. Whoever carries it out holds the lock: what is read while we hold it is the truth.
func look(dir string, o Order) (Outcome, state, error) {
	out := Outcome{ID: o.ID, Argv: o.Argv}
	free, err := tryLock(dir)
	if err != nil {
		return out, "", err
	}
	if free == nil {
		b, _ := readKept[begun](dir, beginFile) // not there yet, or being written
		out.Began = b.At
		return out, running, nil
	}
	defer free()
	done, err := readKept[Outcome](dir, endFile)
	switch {
	case err == nil && o.Reboots && done.Code == 0 && !done.TimedOut:
		b, err := readKept[begun](dir, beginFile)
		if err != nil {
			return done, "", err
		}
		return awaitBoot(o, b, done), map[bool]state{true: ended, false: goingDown}[isOver(o, b)], nil
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return done, ended, err
	}
	b, err := readKept[begun](dir, beginFile)
	if errors.Is(err, fs.ErrNotExist) {
		return out, notBegun, nil
	}
	if o.Reboots && b.isPast() {
		out.Began, out.Runs = b.At, runsOf(dir)
		return awaitBoot(o, b, out), ended, nil
	}
	out.Began, out.Runs, out.Kept, out.Unknown = b.At, runsOf(dir), filepath.Join(dir, outputFile), whyLost(dir, b)
	readOutput(dir, &out)
	return out, lost, nil
}

// isPast reports whether the machine was started again since. A begin that is torn, or a kernel that does not say, is not a proof.
func (b begun) isPast() bool {
	id := BootID()
	return b.BootID != "" && id != "" && b.BootID != id
}

// isOver reports whether a reboot whose command has ended is over: the machine was started again, or it has stayed up for too long.
func isOver(o Order, b begun) bool {
	return b.isPast() || o.Limit > 0 && time.Since(b.At) > o.Limit
}

// awaitBoot is the outcome of a reboot so far.
func awaitBoot(o Order, b begun, out Outcome) Outcome {
	switch {
	case b.isPast():
		out.Rebooted = true
	case isOver(o, b):
		out.TimedOut, out.StayedUp = true, true
	}
	return out
}

// whyLost says what is known of a command whose carrier is gone. A begin that is torn says nothing.
func whyLost(dir string, b begun) string {
	if b.isPast() {
		return "the machine was started again while it ran"
	}
	raw, _ := os.ReadFile(filepath.Join(dir, pidFile))
	var pid int
	var since string
	if n, _ := fmt.Sscan(string(raw), &pid, &since); n == 2 && startOf(pid) == since {
		return fmt.Sprintf("the process that waited for it was killed; it still runs as process %d", pid)
	}
	return "the process that waited for it was killed"
}

// BootIDFile is where the kernel says which start of the machine this is. Tests have another: in a container it is that of the machine around it.
var BootIDFile = "/proc/sys/kernel/random/boot_id"

// BootID is unlike that of every other start of this machine; "" where the kernel does not say.
func BootID() string {
	raw, _ := os.ReadFile(BootIDFile)
	return strings.TrimSpace(string(raw))
}

// startOf is when a process began, in the kernel's ticks: a process that has its number later began later. "": there is none.
func startOf(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(raw), ") ") // the name may hold blanks
	if f := strings.Fields(rest); len(f) > 19 {
		return f[19]
	}
	return ""
}

// tryLock takes the lock of an order; nil: somebody else has it.
func tryLock(dir string) (free func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		return func() { _ = f.Close() }, nil // nothing was written
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = nil
	}
	return nil, err
}

// runsOf is how often a command was begun.
func runsOf(dir string) int {
	all, _ := filepath.Glob(filepath.Join(dir, "begin*.json"))
	return len(all)
}

// again lets a repeatable order be begun once more.
func again(dir string) error {
	err := os.Rename(filepath.Join(dir, beginFile), filepath.Join(dir, fmt.Sprintf("begin.%d.json", runsOf(dir))))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &farm.Error{Op: "repeat order", Subject: dir, Err: err}
	}
	return lasting.SyncDir(dir)
}

// send starts a carrier and returns when it has begun, or has ended. It is no child of ours for long: it goes on when we end.
func (s *Station) send(ctx context.Context, dir string, o Order) error {
	fail := func(err error) error {
		return &farm.Error{Op: "start command", Subject: o.Argv[0], Err: err, Hint: "it has not run"}
	}
	note, err := os.OpenFile(filepath.Join(dir, noteFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fail(err)
	}
	defer note.Close()
	cmd := exec.Command(s.Carrier[0], append(s.Carrier[1:len(s.Carrier):len(s.Carrier)], dir)...)
	cmd.Dir, cmd.Env, cmd.Stderr = "/", environment(nil), note
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	for {
		if _, now, err := look(dir, o); err != nil || now != notBegun {
			return err
		}
		select {
		case err := <-gone:
			if _, now, bad := look(dir, o); bad != nil || now != notBegun {
				return bad
			}
			said, _ := safefile.Tail(filepath.Join(dir, noteFile), part)
			return fail(fmt.Errorf("its carrier ended before it began (%v): %s", err, strings.TrimSpace(string(said))))
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// environment is that of every command: the same on all hosts, whoever runs the agent.
func environment(more map[string]string) []string {
	out := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=" + home()}
	for name, v := range more {
		out = append(out, name+"="+v)
	}
	return out
}

func home() string {
	if dir, err := os.UserHomeDir(); err == nil {
		return dir
	}
	return "/"
}
