package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stowage/internal/lasting"
	"stowage/workspace"
)

// CarryPhases are the parts of Carry at whose borders it can be killed, in order.
var CarryPhases = []string{"begin", "start", "end"}

// Carry runs the command of the order in a directory, unless it has been begun. It is a process of its own, and the only one that starts commands. Signals
// that are meant for others do not end it: who waits for a command must not die before it. border is nil in production.
func Carry(dir string, border func(point string) error) error {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM) // and not Ignore: the command would inherit that
	c := &carrier{dir: dir, border: border}
	lock, err := os.OpenFile(c.path(lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil { // whoever looks holds it for a moment
		return err
	}
	if c.order, err = readKept[Order](dir, orderFile); err != nil {
		return err
	}
	for _, name := range []string{beginFile, endFile} {
		if _, err := os.Lstat(c.path(name)); err == nil {
			return nil // it was begun: by another carrier, which held the lock
		}
	}
	return errors.Join(c.run(), lock.Close())
}

type carrier struct {
	dir    string
	order  Order
	border func(string) error
}

func (c *carrier) path(name string) string { return filepath.Join(c.dir, name) }

func (c *carrier) run() error {
	out := Outcome{ID: c.order.ID, Argv: c.order.Argv, Began: time.Now().UTC(), Kept: c.path(outputFile)}
	if err := c.phase(CarryPhases[0], func() error { return c.begin(out.Began) }); err != nil {
		return err
	}
	var cmd *exec.Cmd
	err := c.phase(CarryPhases[1], func() (err error) {
		cmd, err = c.start()
		return err
	})
	if cmd == nil && err != nil { // the kernel did not take it: it did not run
		out.Code, out.Output = 127, err.Error()
	} else if err != nil {
		return err
	} else {
		out.Code, out.TimedOut = c.await(cmd)
		readOutput(c.dir, &out)
	}
	out.Ended, out.Runs = time.Now().UTC(), runsOf(c.dir)
	return c.phase(CarryPhases[2], func() error {
		raw, err := json.Marshal(out)
		if err != nil {
			return err
		}
		return workspace.WriteFileAtomic(c.path(endFile), raw, 0o600)
	})
}

func (c *carrier) phase(name string, do func() error) error {
	if c.border != nil {
		if err := c.border("before " + name); err != nil {
			return err
		}
	}
	if err := do(); err != nil || c.border == nil {
		return err
	}
	return c.border("after " + name)
}

// begin notes that the command is about to be started. From here on nobody starts it again.
func (c *carrier) begin(at time.Time) error {
	raw, err := json.Marshal(begun{At: at, BootID: BootID(), Carrier: os.Getpid()})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(c.path(beginFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return lasting.SyncDir(c.dir)
}

// start starts the command. Its output goes into a file and not through us: it writes on when we are killed.
func (c *carrier) start() (*exec.Cmd, error) {
	f, err := os.OpenFile(c.path(outputFile), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cmd := exec.Command(c.order.Argv[0], c.order.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = "/", environment(c.order.Env), f, f
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_ = os.WriteFile(c.path(pidFile), []byte(fmt.Sprintf("%d %s\n", cmd.Process.Pid, startOf(cmd.Process.Pid))), 0o600) // for a message only
	return cmd, nil
}

// mercy is how long a command has to end after it was told to.
const mercy = 10 * time.Second

// await waits for the command's end; after its time it is told to end, and then made to, with all that it has started.
func (c *carrier) await(cmd *exec.Cmd) (code int, timedOut bool) {
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }() // the state tells
	var over <-chan time.Time
	if c.order.Limit > 0 {
		over = time.After(c.order.Limit)
	}
	select {
	case <-done:
	case <-over:
		timedOut = true
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // it may have ended
		select {
		case <-done:
		case <-time.After(mercy):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-done
	}
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 128 + int(s.Signal()), timedOut
	}
	return cmd.ProcessState.ExitCode(), timedOut
}

// readOutput fills in what the command printed.
func readOutput(dir string, out *Outcome) {
	f, err := os.Open(filepath.Join(dir, outputFile))
	if err != nil {
		return
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return
	}
	out.Bytes = st.Size()
	head := make([]byte, min(part, out.Bytes))
	tail := make([]byte, min(part, out.Bytes-int64(len(head))))
	n, _ := io.ReadFull(f, head)
	m, _ := f.ReadAt(tail, out.Bytes-int64(len(tail)))
	out.Output = excerpt(head[:n], tail[:m], out.Bytes)
}
