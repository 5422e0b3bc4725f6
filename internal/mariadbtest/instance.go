package mariadbtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"stowage/internal/keeper"

	_ "github.com/go-sql-driver/mysql" // registers the driver "mysql"
)

// startLimit is how long a server may take to accept a login: 0.2 s is usual,
// a busy machine needs more.
const startLimit = 60 * time.Second

// stopLimit is how long a server may take to stop: 0.1 s is usual.
const stopLimit = 15 * time.Second

// Account is one of the accounts every instance has. Its name is the user.
type Account string

const (
	App     Account = "app"     // SELECT, INSERT, UPDATE, DELETE and nothing else: obeys read_only
	Repl    Account = "repl"    // REPLICATION SLAVE
	Stowage Account = "stowage" // everything
	Root    Account = "root"    // everything; also over the socket
)

// Password of the account.
func (a Account) Password() string { return string(a) + "-password" }

// Instance is one running server. Its methods fail the test they are given.
type Instance struct {
	Name     string
	Host     string // 127.0.77.N
	Port     int
	Address  string // Host:Port
	Dir      string // holds all of the below
	Datadir  string
	Socket   string
	Config   string // option file; mariadbd --defaults-file=Config is the whole command line
	ServerID uint32 // also its GTID domain, unless an option says otherwise

	home    *home
	options []string
	cmd     *exec.Cmd
	exited  chan error
}

// Start starts a server with an empty set of databases and the four accounts.
// Extra options are written as on the command line ("--read-only=1") and win
// over the defaults. The server is stopped and removed when the test ends.
func Start(t testing.TB, name string, extra ...string) *Instance {
	t.Helper()
	return Default(t).Start(t, name, extra...)
}

// Start is the function Start for a server of this line.
func (l Line) Start(t testing.TB, name string, extra ...string) *Instance {
	t.Helper()
	h := openHome(t, l)
	template, err := h.template()
	if err != nil {
		t.Fatal(err)
	}
	i := newInstance(t, h, name, extra)
	if err := copyTree(template, i.Datadir); err != nil {
		t.Fatal(err)
	}
	i.Restart(t)
	return i
}

// Prepare gives an instance that is not running and has no datadir yet, for
// a test that fills Datadir itself (from a backup, say) and then calls
// Restart.
func Prepare(t testing.TB, name string, extra ...string) *Instance {
	t.Helper()
	return Default(t).Prepare(t, name, extra...)
}

// Prepare is the function Prepare for a server of this line.
func (l Line) Prepare(t testing.TB, name string, extra ...string) *Instance {
	t.Helper()
	return newInstance(t, openHome(t, l), name, extra)
}

func newInstance(t testing.TB, h *home, name string, extra []string) *Instance {
	t.Helper()
	address, dir, release, err := h.takeAddress()
	if err != nil {
		t.Fatal(err)
	}
	serial, err := h.serial()
	if err != nil {
		t.Fatal(err)
	}
	i := &Instance{
		Name: name, Host: address, Port: port, Address: fmt.Sprintf("%s:%d", address, port),
		Dir: dir, ServerID: serial, home: h, options: append([]string(nil), extra...),
	}
	i.Datadir, i.Socket, i.Config = i.path("data"), i.path("sock"), i.path("my.cnf")
	t.Cleanup(func() {
		i.Kill()
		if t.Failed() {
			t.Logf("end of the error log of %s (%s):\n%s", i.Name, i.Address, i.LogTail(20))
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
		release()
	})
	return i
}

func (i *Instance) path(name string) string { return filepath.Join(i.Dir, name) }

// SetOptions adds options for the next Restart.
func (i *Instance) SetOptions(extra ...string) { i.options = append(i.options, extra...) }

// Restart stops the server if it runs, starts it and waits for a login.
func (i *Instance) Restart(t testing.TB) {
	t.Helper()
	i.Stop(t)
	// A tmpdir of its own: a server that starts deletes every #sql file there,
	// those of its running neighbours included.
	if err := i.home.mkdir(i.path("tmp")); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	if err := i.writeConfig(); err != nil {
		t.Fatal(err)
	}
	i.cmd = exec.Command(i.home.line.Server, "--defaults-file="+i.Config)
	i.cmd.Dir = i.Dir
	i.cmd.SysProcAttr = i.home.attributes()
	if err := keeper.Start(i.cmd); err != nil {
		t.Fatalf("start %s: %v", i.Name, err)
	}
	exited := make(chan error, 1)
	i.exited = exited
	go func(c *exec.Cmd) { exited <- c.Wait() }(i.cmd)
	if err := i.awaitLogin(); err != nil {
		i.Kill()
		t.Fatalf("start %s (%s): %v\n%s", i.Name, i.Address, err, i.LogTail(40))
	}
}

func (i *Instance) awaitLogin() error {
	db, err := sql.Open("mysql", i.DSN(Stowage, ""))
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case died := <-i.exited:
			i.cmd = nil
			return fmt.Errorf("the server ended before it accepted a login: %w", errors.Join(died, err))
		case <-ctx.Done():
			return fmt.Errorf("no login within %s: %w", startLimit, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// PID of the server, 0 when it is not running.
func (i *Instance) PID() int {
	if i.cmd == nil {
		return 0
	}
	return i.cmd.Process.Pid
}

// Stop stops the server cleanly; it is no error if it is not running.
func (i *Instance) Stop(t testing.TB) {
	t.Helper()
	if i.cmd == nil {
		return
	}
	_ = i.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-i.exited:
		i.cmd = nil
	case <-time.After(stopLimit):
		// MariaDB can hang for ever in a shutdown that meets replica threads
		// which have only just started (10.11.19: the applier is gone, the IO
		// thread is not told). Nothing is lost by killing it.
		t.Logf("stop %s: still running after %s; killed\n%s", i.Name, stopLimit, i.LogTail(5))
		i.Kill()
	}
}

// Kill is kill -9.
func (i *Instance) Kill() {
	if i.cmd == nil {
		return
	}
	_ = i.cmd.Process.Kill()
	<-i.exited
	i.cmd = nil
}

// LogTail is the last lines of the server's error log.
func (i *Instance) LogTail(lines int) string {
	raw, err := os.ReadFile(i.path("error.log"))
	if err != nil {
		return fmt.Sprintf("(no error log: %v)", err)
	}
	return string(tail(raw, lines))
}

func tail(raw []byte, lines int) []byte {
	all := bytes.Split(bytes.TrimRight(raw, "\n"), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], []byte("\n"))
}
