package safefile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Rewrite puts new content into a file, whole or not at all. A file that is
// there keeps its owner, group, mode and extended attributes (access lists, a
// security label), and a link to it stays a link: links are followed as OpenDir
// does, and refused where another user could have made them. A file that is not
// there gets mode, and is given to own before it has its name; own may be nil.
func Rewrite(path string, content []byte, mode fs.FileMode, own func(*os.File) error) error {
	dir, name, err := chase(path)
	if err != nil {
		return err
	}
	if name == "" {
		return errors.Join(&fs.PathError{Op: "open", Path: path, Err: unix.EISDIR}, dir.Close())
	}
	was, err := dir.OpenFile(name, os.O_RDONLY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = dir.Replace(name, content, mode, own)
	case err == nil:
		err = errors.Join(dir.Replace(name, content, mode, func(f *os.File) error { return Alike(was, f) }), was.Close())
	}
	return errors.Join(err, dir.Close())
}

// ErrOwner: a new file cannot be given to the owner and group of the old one.
var ErrOwner = errors.New("its owner and group cannot be kept")

// Alike gives a new file the owner, group, mode and extended attributes of
// another. Only root can give files away: where the caller is not root, what
// belongs to root, or to root's group, is the caller's afterwards. Root can read
// it still.
func Alike(was, is *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(was.Fd()), &st); err != nil {
		return &fs.PathError{Op: "stat", Path: was.Name(), Err: err}
	}
	var now unix.Stat_t
	if err := unix.Fstat(int(is.Fd()), &now); err != nil {
		return &fs.PathError{Op: "stat", Path: is.Name(), Err: err}
	}
	if os.Geteuid() != 0 {
		st.Uid, st.Gid = cmp.Or(st.Uid, now.Uid), cmp.Or(st.Gid, now.Gid)
	}
	if now.Uid != st.Uid || now.Gid != st.Gid {
		if err := is.Chown(int(st.Uid), int(st.Gid)); err != nil {
			return fmt.Errorf("%s: %w (owner %s, group %s): %w", filepath.Clean(was.Name()), ErrOwner, UserName(st.Uid), groupName(st.Gid), errors.Unwrap(err))
		}
	}
	if err := is.Chmod(fs.FileMode(st.Mode & 0o777)); err != nil { // after the owner, which may change it
		return err
	}
	return attributes(was, is)
}

// attributes copies the extended attributes. Where the file system has none,
// there is nothing to copy.
func attributes(was, is *os.File) error {
	names := make([]byte, 64<<10)
	n, err := unix.Flistxattr(int(was.Fd()), names)
	if err != nil || n == 0 {
		return nil
	}
	start := 0
	for at, c := range names[:n] {
		if c != 0 {
			continue
		}
		name := string(names[start:at])
		start = at + 1
		value := make([]byte, 64<<10)
		size, err := unix.Fgetxattr(int(was.Fd()), name, value)
		if err != nil {
			continue
		}
		if now := make([]byte, size); size > 0 {
			if same, err := unix.Fgetxattr(int(is.Fd()), name, now); err == nil && string(now[:same]) == string(value[:size]) {
				continue
			}
		}
		if err := unix.Fsetxattr(int(is.Fd()), name, value[:size], 0); err != nil {
			return &fs.PathError{Op: "keep attribute " + name, Path: was.Name(), Err: err}
		}
	}
	return nil
}
