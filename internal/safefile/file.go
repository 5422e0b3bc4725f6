package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// OpenFile is Dir.OpenFile for a path: links are followed as OpenDir does.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	d, name, err := chase(path)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: unix.EISDIR}, d.Close())
	}
	f, err := d.OpenFile(name, flag, perm)
	return f, errors.Join(err, d.Close())
}

// ReadFile reads a regular file of at most so many bytes, as OpenFile opens it.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readMost(f, path, most)
}

// ReadInput reads a file that the caller has named, through any link: it is the
// caller who names it. It must be regular, and have at most so many bytes.
func ReadInput(path string, most int64) ([]byte, error) {
	f, err := OpenInput(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readMost(f, path, most)
}

// OpenInput opens a regular file to read, through any link, and never waits.
func OpenInput(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return regular(fd, path, false)
}

func readMost(f *os.File, path string, most int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(raw)) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("the file has more than %d bytes", most)}
	}
	if err != nil {
		return nil, err
	}
	return raw, nil
}

// Tail is the end of a file, at most so many bytes.
func Tail(path string, most int64) ([]byte, error) {
	return From(path, -1, most)
}

// From is what a file holds from an offset on, at most the last so many bytes.
func From(path string, offset, most int64) ([]byte, error) {
	f, err := OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(max(0, offset, info.Size()-most), io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// Private opens a directory that only the caller may enter, for locks and for
// what a program leaves where it runs: /run/stowage for root, stowage in
// XDG_RUNTIME_DIR for others who have one, else one in the temporary directory
// that has the user's number in its name. What is there already is believed
// only when it is the caller's, and nobody else may enter it.
func Private() (*Dir, error) {
	var faults []error
	for _, path := range privatePlaces() {
		d, err := privateAt(path)
		if err == nil {
			return d, nil
		}
		faults = append(faults, err)
	}
	return nil, errors.Join(faults...)
}

func privatePlaces() (out []string) {
	if os.Geteuid() == 0 {
		out = append(out, "/run/stowage")
	} else if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		out = append(out, filepath.Join(dir, "stowage"))
	}
	return append(out, filepath.Join(os.TempDir(), "stowage-"+strconv.Itoa(os.Geteuid())))
}

func privateAt(path string) (*Dir, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := Trusted(path); err != nil {
		return nil, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return nil, &Untrusted{Path: path, Seen: seenAs(info), Why: "is not a directory that only its owner may enter", Remedy: "rm -r " + quoted(path)}
	}
	return OpenDir(path)
}
