package safefile

import (
	"errors"
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
		err = errors.Join(dir.Replace(name, content, mode, func(f *os.File) error { return alike(was, f) }), was.Close())
	}
	return errors.Join(err, dir.Close())
}

// alike gives a new file the attributes of another.
func alike(was, is *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(was.Fd()), &st); err != nil {
		return &fs.PathError{Op: "stat", Path: was.Name(), Err: err}
	}
	var now unix.Stat_t
	if err := unix.Fstat(int(is.Fd()), &now); err != nil {
		return &fs.PathError{Op: "stat", Path: is.Name(), Err: err}
	}
	if now.Uid != st.Uid || now.Gid != st.Gid {
		if err := is.Chown(int(st.Uid), int(st.Gid)); err != nil {
			return &fs.PathError{Op: "give to its owner", Path: filepath.Clean(was.Name()), Err: err}
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
