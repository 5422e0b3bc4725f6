package mysql

import (
	"fmt"
	"os"
	"syscall"

	"stowage/internal/safefile"
)

// fileFault is a file that is not private, and what to do about it.
type fileFault struct{ text, hint string }

func (f *fileFault) Error() string { return f.text }

// openPrivate opens a file that holds a secret: a regular one, of root or the
// caller, that nobody else may read or write. What was opened is looked at, not
// the name.
func openPrivate(path string) (*os.File, error) {
	f, err := safefile.OpenInput(path)
	if err != nil {
		return nil, err
	}
	if err := isPrivate(f, path); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func isPrivate(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	if owner != 0 && int(owner) != os.Geteuid() {
		return &fileFault{fmt.Sprintf("%s belongs to uid %d, who can read and change it", path, owner), "chown root " + path}
	}
	if info.Mode().Perm()&0o077 != 0 {
		return &fileFault{fmt.Sprintf("%s has mode %04o: others than its owner have access to its secrets", path, info.Mode().Perm()), "chmod 600 " + path}
	}
	return nil
}

// readPrivate is the content of such a file.
func readPrivate(path string) ([]byte, error) {
	f, err := openPrivate(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > 1<<20 {
		return nil, fmt.Errorf("%s has %d bytes, which is not a key", path, info.Size())
	}
	out := make([]byte, info.Size())
	n, err := f.ReadAt(out, 0)
	if n == len(out) {
		return out, nil
	}
	return nil, err
}
