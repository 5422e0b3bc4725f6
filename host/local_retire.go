package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/safefile"
)

// RetiredNote lies in the data directory of a retired instance that Stowage did
// not make, and says how it is opened again.
const RetiredNote = "stowage-retired.txt"

// Retired is what became of an instance that nobody needs any more.
type Retired struct {
	// Closed: its data directory can be entered by nobody but root, so that it
	// cannot be started, and its option file does not have to hold a fence.
	Closed bool `json:"closed,omitempty"`
	// Why says what kept its directory open. Empty for one that Stowage made: the
	// option file is Stowage's too, and goes with it.
	Why string `json:"why,omitempty"`
}

// Retire implements Host.
func (l *Local) Retire(ctx context.Context, i Instance, budget time.Duration, note string) (Retired, error) {
	if _, err := os.Lstat(filepath.Join(i.Dir(), ownerFile)); err == nil && farm.IsBelow(i.Dir(), i.Datadir) {
		return Retired{}, l.Stop(ctx, i, budget)
	}
	pid, err := l.Running(ctx, i)
	if err != nil {
		return Retired{}, err
	}
	if pid != 0 { // only now it can be seen who it runs as
		if err := leaveNote(i, pid, note); err != nil {
			return Retired{Why: err.Error()}, l.Stop(ctx, i, budget)
		}
	}
	if err := l.Stop(ctx, i, budget); err != nil {
		return Retired{}, err
	}
	if err := closeData(i); err != nil {
		return Retired{Why: err.Error()}, nil
	}
	return Retired{Closed: true}, nil
}

// leaveNote says in the data directory that the instance retires, unless a
// directory without a mode would not keep its server out, or would keep others out.
func leaveNote(i Instance, pid int, note string) error {
	var server unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(pid), &server); err != nil {
		return fmt.Errorf("the account of its server, pid %d, cannot be seen: %w", pid, err)
	}
	if server.Uid == 0 {
		return errors.New("its server runs as root, whom no directory keeps out")
	}
	if farm.IsBelow(i.Datadir, i.Config) {
		return errors.New("its option file is in its data directory")
	}
	dir, err := safefile.OpenDir(i.Datadir)
	if err != nil {
		return err
	}
	defer dir.Close()
	mode, owner, err := modeOf(dir)
	if err != nil {
		return err
	}
	if owner != server.Uid {
		return fmt.Errorf("its data directory belongs to %s, and its server runs as %s", safefile.UserName(owner), safefile.UserName(server.Uid))
	}
	if other := worksBelow(i, pid); other != 0 {
		return fmt.Errorf("another server, pid %d, works below its data directory", other)
	}
	note = strings.TrimSpace(note) + fmt.Sprintf(`

Its data directory is closed, so that nobody starts it by mistake: clients write
elsewhere, and what it took would be lost. Nothing in it was changed. It is
yours; delete it when you do not need it any more.

To start it all the same, with read_only = ON in its option file:
chmod %04o %s
`, mode, i.Datadir)
	return dir.Replace(RetiredNote, []byte(note), 0o644, nil)
}

// closeData takes the mode off the data directory of an instance that has
// stopped, if leaveNote was there.
func closeData(i Instance) error {
	dir, err := safefile.OpenDir(i.Datadir)
	if err != nil {
		return err
	}
	defer dir.Close()
	mode, _, err := modeOf(dir)
	if err != nil || mode == 0 {
		return err
	}
	f, err := dir.OpenFile(RetiredNote, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("its server had stopped before, and whom it ran as is not known")
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), dir.Chmod(0), dir.Sync())
}

// modeOf is a directory's mode, as chmod has it, and its owner.
func modeOf(dir *safefile.Dir) (mode, owner uint32, err error) {
	info, err := dir.Stat()
	if err != nil {
		return 0, 0, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return st.Mode & 0o7777, st.Uid, nil
}

// worksBelow is another server whose data directory is in this instance's.
func worksBelow(i Instance, own int) int {
	datadir, err := filepath.EvalSymlinks(i.Datadir)
	if err != nil {
		return 0
	}
	for _, pid := range servers() {
		works, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
		if err == nil && pid != own && farm.IsBelow(datadir, works) {
			return pid
		}
	}
	return 0
}
