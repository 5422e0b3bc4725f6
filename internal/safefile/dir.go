package safefile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrLink: a symbolic link is in the way.
var ErrLink = errors.New("a symbolic link")

// Dir is an open directory. Whatever happens to its name, what is done through
// it is done in the directory that was opened.
type Dir struct {
	file *os.File
	path string
	safe bool // nobody but root and the caller may write there
}

// OpenDir opens a directory. Symbolic links on the way are followed only where
// nobody but root and the caller could have made them.
func OpenDir(path string) (*Dir, error) {
	at, name, err := chase(path)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return at, nil
	}
	defer at.Close()
	return at.Sub(name)
}

// chase goes to the directory that holds the last component of path, through
// the links that may be followed. name is "" for the root directory.
func chase(path string) (at *Dir, name string, err error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return nil, "", err
	}
	if at, err = openDirAt(unix.AT_FDCWD, "/", "/"); err != nil {
		return nil, "", err
	}
	todo := strings.Split(whole, "/")
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		if part == "" || part == "." {
			continue
		}
		target, err := at.link(part)
		if err != nil {
			return nil, "", errors.Join(err, at.Close())
		}
		if target != "" {
			if links++; links > maxLinks {
				return nil, "", errors.Join(&fs.PathError{Op: "open", Path: path, Err: unix.ELOOP}, at.Close())
			}
			if todo = append(strings.Split(target, "/"), todo...); !filepath.IsAbs(target) {
				continue
			}
			part = "/"
		} else if !slicesAny(todo) && part != ".." {
			return at, part, nil
		}
		next, err := openDirAt(int(at.file.Fd()), part, filepath.Join(at.path, part))
		if part == "/" && next != nil {
			next.path = "/"
		}
		if err = errors.Join(err, at.Close()); err != nil {
			return nil, "", err
		}
		at = next
	}
	return at, "", nil
}

// slicesAny reports whether a component is left.
func slicesAny(parts []string) bool {
	for _, p := range parts {
		if p != "" && p != "." {
			return true
		}
	}
	return false
}

// link is where a symbolic link leads that may be followed, "" for everything
// else, also for what is not there.
func (d *Dir) link(name string) (string, error) {
	var st unix.Stat_t
	if name == ".." || unix.Fstatat(int(d.file.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", nil
	}
	if !mine(st.Uid) || !d.safe {
		return "", &fs.PathError{Op: "open", Path: filepath.Join(d.path, name),
			Err: fmt.Errorf("%w that %s could have made: it is not followed", ErrLink, UserName(d.whose(st.Uid)))}
	}
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(d.file.Fd()), name, b)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: filepath.Join(d.path, name), Err: err}
	}
	return string(b[:n]), nil
}

// whose is the user who is not believed: the owner of the link, or of the directory.
func (d *Dir) whose(link uint32) uint32 {
	if info, err := d.file.Stat(); err == nil && mine(link) {
		return info.Sys().(*syscall.Stat_t).Uid
	}
	return link
}

func mine(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }

func openDirAt(at int, name, path string) (*Dir, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) { // a directory that may be walked through and not be listed
		fd, err = unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "stat", Path: path, Err: err}, unix.Close(fd))
	}
	safe := mine(st.Uid) && (st.Mode&0o022 == 0 || st.Mode&unix.S_ISVTX != 0)
	return &Dir{file: os.NewFile(uintptr(fd), path), path: path, safe: safe}, nil
}

// Close closes it.
func (d *Dir) Close() error { return d.file.Close() }

// Path is the name it was opened by.
func (d *Dir) Path() string { return d.path }

// Root is the directory for os.Root's methods, which never leave it.
func (d *Dir) Root() (*os.Root, error) {
	return os.OpenRoot("/proc/self/fd/" + strconv.Itoa(int(d.file.Fd())))
}

// Sync makes the names in it last.
func (d *Dir) Sync() error { return d.file.Sync() }

// Chown gives the directory away.
func (d *Dir) Chown(uid, gid int) error { return d.file.Chown(uid, gid) }

// Stat is what the directory is now.
func (d *Dir) Stat() (fs.FileInfo, error) { return d.file.Stat() }

// Chmod sets its mode.
func (d *Dir) Chmod(mode fs.FileMode) error { return d.file.Chmod(mode) }

// Sub opens a directory in it. A link is none.
func (d *Dir) Sub(name string) (*Dir, error) {
	if err := single(name); err != nil {
		return nil, err
	}
	return openDirAt(int(d.file.Fd()), name, filepath.Join(d.path, name))
}

// Mkdir makes a directory in it that belongs to the caller.
func (d *Dir) Mkdir(name string, perm fs.FileMode) (*Dir, error) {
	if err := single(name); err != nil {
		return nil, err
	}
	if err := unix.Mkdirat(int(d.file.Fd()), name, uint32(perm.Perm())); err != nil {
		return nil, &fs.PathError{Op: "mkdir", Path: filepath.Join(d.path, name), Err: err}
	}
	s, err := d.Sub(name)
	if err != nil {
		return nil, err
	}
	info, err := s.file.Stat()
	if err == nil && int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		err = fmt.Errorf("%s was replaced by another directory while it was made", s.path)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// MkdirTemp makes a directory that only the caller may enter, with a name that
// nobody can guess.
func (d *Dir) MkdirTemp(prefix string) (*Dir, error) { return d.Mkdir(prefix+rand.Text(), 0o700) }

// OpenFile opens a regular file in it, or makes one. Nothing else is opened: no
// link, no FIFO, no device; and no file that has a second name, where it would
// be written to, or where somebody else may have given it that name.
func (d *Dir) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if err := single(name); err != nil {
		return nil, err
	}
	path := filepath.Join(d.path, name)
	fd, err := unix.Openat(int(d.file.Fd()), name, flag&^os.O_TRUNC|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, uint32(perm.Perm()))
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("it is %w, which is not followed here", ErrLink)}
	case errors.Is(err, unix.ENXIO):
		return nil, notRegular(path)
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	writes := flag&(os.O_WRONLY|os.O_RDWR|os.O_APPEND) != 0
	f, err := regular(fd, path, writes || !d.safe)
	if err == nil && flag&os.O_TRUNC != 0 {
		if err = f.Truncate(0); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, err
}

func notRegular(path string) error {
	return &fs.PathError{Op: "open", Path: path, Err: errors.New("it is not a regular file")}
}

// regular makes a file of a descriptor, or closes it.
func regular(fd int, path string, once bool) (*os.File, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	switch {
	case err != nil:
		err = &fs.PathError{Op: "stat", Path: path, Err: err}
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		err = &fs.PathError{Op: "open", Path: path, Err: unix.EISDIR}
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		err = notRegular(path)
	case once && st.Nlink > 1:
		err = &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("the file has %d names (hard links): it may be another user's", st.Nlink)}
	default:
		err = unix.SetNonblock(fd, false) // of no use from here on, and children inherit it
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Replace writes a file whole or not at all, also when the power goes. own, if
// any, is given the new file before it has its name.
func (d *Dir) Replace(name string, content []byte, mode fs.FileMode, own func(*os.File) error) (err error) {
	if err := single(name); err != nil {
		return err
	}
	tmp := "." + name + "-" + rand.Text()
	f, err := d.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = unix.Unlinkat(int(d.file.Fd()), tmp, 0) // the error above is the one that matters
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil && own != nil {
		err = own(f)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := d.Rename(tmp, d, name); err != nil {
		return err
	}
	return d.Sync()
}

// Rename moves an entry, perhaps to another directory.
func (d *Dir) Rename(name string, to *Dir, as string) error {
	if err := errors.Join(single(name), single(as)); err != nil {
		return err
	}
	if err := unix.Renameat(int(d.file.Fd()), name, int(to.file.Fd()), as); err != nil {
		return &os.LinkError{Op: "rename", Old: filepath.Join(d.path, name), New: filepath.Join(to.path, as), Err: err}
	}
	return nil
}

// RemoveAll removes an entry with all that is in it. Links are removed, never followed.
func (d *Dir) RemoveAll(name string) error {
	if err := single(name); err != nil {
		return err
	}
	r, err := d.Root()
	if err != nil {
		return err
	}
	return errors.Join(r.RemoveAll(name), r.Close())
}

// Names are the names of all entries.
func (d *Dir) Names() ([]string, error) {
	again, err := openDirAt(int(d.file.Fd()), ".", d.path) // a descriptor of its own has a place of its own
	if err != nil {
		return nil, err
	}
	names, err := again.file.Readdirnames(-1)
	return names, errors.Join(err, again.Close())
}

func single(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return nil
}
