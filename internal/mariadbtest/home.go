package mariadbtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// port of every test server: below 32768, where the kernel takes its own
// source ports from.
const port = 23306

// home is the directory all test processes of one user share: the serial number
// and its lock. The template and the servers' directories lie
// where scripts/farms.sh says that farms do, in FARMS: in memory a server costs
// half the processor time. Without it they are there, too.
type home struct {
	dir     string
	data    string
	line    Line                // which server is run
	account *syscall.Credential // nil: run as ourselves
}

func openHome(t testing.TB, line Line) *home {
	t.Helper()
	h := &home{
		dir:  filepath.Join(os.TempDir(), fmt.Sprintf("stowage-mariadbtest-%d", os.Getuid())),
		line: line,
	}
	if os.Getuid() == 0 {
		h.account = unprivileged(t)
	}
	h.data = h.dir
	if farms := os.Getenv("FARMS"); farms != "" {
		h.data = filepath.Join(farms, filepath.Base(h.dir))
	}
	for _, dir := range []string{h.dir, h.data} {
		if err := ours(dir); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// ours makes a directory, unless it is there and belongs to us.
func ours(dir string) error {
	// 0711: the server's user must be able to walk through.
	if err := os.Mkdir(dir, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); !st.IsDir() || ok && int(sys.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a directory of ours", dir)
	}
	return nil
}

// unprivileged is the user mysql: mariadbd refuses to run as root.
func unprivileged(t testing.TB) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("mysql")
	if err != nil {
		t.Skip("NOT TESTED: running as root and there is no user mysql to run mariadbd as")
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// attributes run a server as the unprivileged user, in a group of its own.
func (h *home) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: h.account, Setpgid: true}
}

// mkdir makes a directory that the server owns.
func (h *home) mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if h.account == nil {
		return nil
	}
	return os.Chown(dir, int(h.account.Uid), int(h.account.Gid))
}

// takeAddress reserves a free address until release and gives its directory,
// empty: what a crashed test left in it is removed.
func (h *home) takeAddress() (address, dir string, release func(), err error) {
	for n := 1; n < 255; n++ {
		address = fmt.Sprintf("127.0.77.%d", n)
		unlock, err := claim(address)
		if err != nil {
			continue // in use by another test
		}
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", address, port))
		if err != nil {
			unlock()
			continue // somebody else's server
		}
		l.Close()
		dir = filepath.Join(h.data, address)
		if err := errors.Join(os.RemoveAll(dir), h.mkdir(dir)); err != nil {
			unlock()
			return "", "", nil, err
		}
		return address, dir, unlock, nil
	}
	return "", "", nil, fmt.Errorf("find a free address: all of 127.0.77.1-254 port %d are in use", port)
}

// claim takes an address of this network namespace for this process, whatever directories it works in: a socket without a file, which is gone with its process. A lock
// in a directory would be another one below another TMPDIR, and the server of a test that has just stopped it would lose its files.
func claim(address string) (release func(), err error) {
	l, err := net.Listen("unix", "@stowage-mariadbtest-"+address)
	if err != nil {
		return nil, err
	}
	return func() { l.Close() }, nil
}

// serial is the next number of a sequence that all test processes share:
// server ids and GTID domains come from it, so that none is ever used twice.
func (h *home) serial() (uint32, error) {
	unlock, err := lock(filepath.Join(h.dir, "serial.lock"), unix.LOCK_EX)
	if err != nil {
		return 0, err
	}
	defer unlock()
	path := filepath.Join(h.dir, "serial")
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	last, _ := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 32)
	next := max(last+1, 1001) // smaller numbers are left to the tests themselves
	return uint32(next), os.WriteFile(path, []byte(strconv.FormatUint(next, 10)), 0o644)
}

func lock(path string, how int) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
