package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/safefile"
)

// Local is this machine. Servers run as an account of their own when Stowage
// is root (mariadbd refuses to run as root, and rightly), else as the caller.
type Local struct {
	log        *slog.Logger
	server     string // mariadbd
	backup     string // mariadb-backup
	installDB  string // mariadb-install-db
	systemctl  string // "": instances are processes of their own
	notes      string // of how servers were started
	spool      string // of binary logs on their way into repositories
	credential *syscall.Credential
	allSeries  sync.Map // of server programs, by programFile
	allReaders readersSeen
	dumper     Dumper // nil: it makes no dumps
}

var _ Host = (*Local)(nil)

// ServerUser is the account instances run under when Stowage runs as root; the
// Debian package makes it.
const ServerUser = "mysql"

// NewLocal finds the programs it needs. A missing one is an error that names
// the package to install.
func NewLocal(log *slog.Logger) (*Local, error) {
	l := &Local{log: log}
	for _, p := range []struct {
		into  *string
		names []string
		pkg   string
	}{
		{&l.server, []string{"mariadbd", "mysqld"}, "mariadb-server"},
		{&l.installDB, []string{"mariadb-install-db"}, "mariadb-server"},
		{&l.backup, []string{"mariadb-backup"}, "mariadb-backup"},
	} {
		if l.server != "" && l.IsMySQL() {
			break // it seeds itself, and makes its own system tables
		}
		path, err := find(p.names)
		if err != nil {
			return nil, &farm.Error{Op: "find program", Subject: p.names[0], Err: fmt.Errorf("%w: %w", farm.ErrInput, err),
				Hint: "apt-get install " + p.pkg}
		}
		*p.into = path
	}
	var err error
	l.credential, err = serverAccount()
	if err != nil {
		return nil, err
	}
	return l, nil
}

// serverAccount is the one that servers run under, nil where that is our own.
func serverAccount() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	return credentialOf(ServerUser)
}

// find looks on the PATH and where Debian keeps servers, which is not on the
// PATH of an ordinary account. A directory that comes first wins, whichever of
// the names it has: that is how one says which of several servers to use.
func find(names []string) (string, error) {
	dirs := append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin", "/usr/libexec")
	for _, dir := range dirs {
		for _, n := range names {
			if p := filepath.Join(dir, n); filepath.IsAbs(dir) && isExecutable(p) {
				return p, nil
			}
		}
	}
	return "", fmt.Errorf("not installed")
}

// IsMySQL reports whether the server is MySQL's: mysqld, where that is not
// another name of mariadbd.
func (l *Local) IsMySQL() bool {
	real, err := filepath.EvalSymlinks(l.server)
	return err == nil && filepath.Base(real) == "mysqld"
}

func isExecutable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.IsDir() && st.Mode()&0o111 != 0
}

func credentialOf(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, &farm.Error{Op: "look up account", Subject: name, Err: err,
			Hint: "install mariadb-server, which makes the account, or run as an ordinary user"}
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: groupsOf(u)}, nil
}

// groupsOf are all groups of an account, as its login has them: its server may
// need one to read a key (ssl-cert) or for huge pages. Go gives a process none
// that is not named. Where they cannot be read it has none.
func groupsOf(u *user.User) []uint32 {
	ids, _ := u.GroupIds()
	return numbers(ids)
}

// numbers are those of words that are some.
func numbers(words []string) []uint32 {
	out := []uint32{}
	for _, w := range words {
		if n, err := strconv.ParseUint(w, 10, 32); err == nil {
			out = append(out, uint32(n))
		}
	}
	return out
}

// Own gives what was opened to the account that servers run under. It is never
// done by path: the account may write in the directories that it owns, and could
// put a link to another file there in between.
func (l *Local) Own(opened interface{ Chown(uid, gid int) error }) error {
	return own(opened, l.credential)
}

// own gives what was opened to an account; nil: it stays ours.
func own(opened interface{ Chown(uid, gid int) error }, account *syscall.Credential) error {
	if account == nil {
		return nil
	}
	return opened.Chown(int(account.Uid), int(account.Gid))
}

// ownerOf is the account that the data of a server belong to, which may be another than the one that ours run under: people run theirs as they like. nil where we are not root, and nobody but ourselves.
//
// It is never root: a program that reads a server's data also loads what that server names. And where somebody else than root could have made a link on the way, whoever owns what it leads to says nothing.
func (l *Local) ownerOf(datadir string) *syscall.Credential {
	if l.credential == nil {
		return nil
	}
	dir, err := safefile.OpenDir(datadir)
	if err != nil {
		return l.credential
	}
	defer dir.Close()
	_, uid, err := modeOf(dir)
	if err != nil || uid == 0 || uid == l.credential.Uid {
		return l.credential
	}
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		if account, err := credentialOf(u.Username); err == nil {
			return account
		}
	}
	return &syscall.Credential{Uid: uid, Gid: uid, Groups: []uint32{}} // it has no name, and no groups
}

// CanReach reports whether the servers' account may enter dir: every parent
// must let it through. The error names the first that does not.
func (l *Local) CanReach(dir string) error {
	if l.credential == nil {
		return nil
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return &farm.Error{Op: "use directory", Subject: dir, Err: err}
	}
	for d := whole; d != "/"; d = filepath.Dir(d) {
		st, err := os.Stat(d)
		if err != nil {
			continue // not there yet; it will be made
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if ok && sys.Uid != l.credential.Uid && st.Mode()&0o001 == 0 {
			return &farm.Error{Op: "use directory", Subject: dir,
				Err:  fmt.Errorf("%w: account %s, which the servers run under, may not enter %s", farm.ErrInput, ServerUser, d),
				Hint: "choose a directory that everybody may enter, for example --dir /var/lib/stowage-demo"}
		}
	}
	return nil
}

// command is a program run under the servers' account, in a session of its
// own so that a Ctrl-C at our terminal does not reach it.
func (l *Local) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	return commandAs(ctx, l.credential, path, args...)
}

// commandAs is command under another account.
func commandAs(ctx context.Context, account *syscall.Credential, path string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, path, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: account}
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "TMPDIR=" + os.TempDir()}
	c.Dir = "/"
	return c
}

// FreeBytes implements Host.
func (l *Local) FreeBytes(_ context.Context, dir string) (int64, error) {
	for {
		var st unix.Statfs_t
		err := unix.Statfs(dir, &st)
		if err == nil {
			return int64(st.Bavail) * st.Bsize, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == "/" || dir == "." {
			return 0, &farm.Error{Op: "measure free space", Subject: dir, Err: err}
		}
		dir = filepath.Dir(dir)
	}
}

// FreePort is a port of 127.0.0.1 that nobody listens on, for a server that is thrown away.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, &farm.Error{Op: "find a free port", Err: err}
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// PortFree implements Host.
func (l *Local) PortFree(_ context.Context, address string) (bool, error) {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		conn.Close()
		return false, nil
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return false, nil
		}
		return false, &farm.Error{Op: "try to listen", Subject: address, Err: err}
	}
	return true, ln.Close()
}

// ReadFile implements Host.
func (l *Local) ReadFile(_ context.Context, path string) ([]byte, error) {
	b, err := safefile.ReadFile(path, smallFile)
	if err != nil {
		return nil, &farm.Error{Op: "read file", Subject: path, Err: err}
	}
	return b, nil
}

// WriteFile implements Host.
func (l *Local) WriteFile(_ context.Context, path string, content []byte) error {
	if err := safefile.Rewrite(path, content, 0o640, func(f *os.File) error { return l.Own(f) }); err != nil {
		return &farm.Error{Op: "write file", Subject: path, Err: err}
	}
	return nil
}

// smallFile is more than option files and lists of buffered pages have.
const smallFile = 64 << 20

// replaceFile writes a file whole or not at all, also when the power goes: an
// option file may hold a fence. own is given the new file before it has its name.
func replaceFile(path string, content []byte, mode os.FileMode, own func(*os.File) error) error {
	dir, err := safefile.OpenDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Replace(filepath.Base(path), content, mode, own), dir.Close())
}

// tail is the end of a log, for an error message.
func tail(path string, lines int) string {
	b, err := safefile.Tail(path, 64<<10)
	if err != nil {
		return ""
	}
	return lastLines(b, lines)
}
