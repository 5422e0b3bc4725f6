package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"stowage/farm"
	"stowage/internal/lasting"
	"stowage/internal/safefile"
)

// WriteFileAtomic replaces path by data as a whole: whoever opens it reads the
// old content or the new, never a part, and after it returned the new content
// survives a power cut. A failure leaves the old file as it was.
func WriteFileAtomic(path string, data []byte, perm os.FileMode) error {
	return replace(path, data, func(f *os.File) error { return f.Chmod(perm) }, nil)
}

// rewrite is WriteFileAtomic for a file that people share: it keeps its owner,
// group, mode and extended attributes, such as access lists. The file is not
// replaced where last fails, which is called just before; it may be nil.
func rewrite(path string, data []byte, last func() error) error {
	was, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return WriteFileAtomic(path, data, 0o644)
	}
	if err != nil {
		return err
	}
	defer was.Close()
	err = replace(path, data, func(f *os.File) error { return safefile.Alike(was, f) }, last)
	if errors.Is(err, safefile.ErrOwner) {
		return &farm.Error{Op: "replace", Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "run the command as root or as a member of that group, or give the file a group of yours: chgrp"}
	}
	return err
}

// replace is given what sets the attributes of the new file, and what may refuse
// at the last moment.
func replace(path string, data []byte, attributes func(*os.File) error, last func() error) (err error) {
	// Renaming over a symbolic link would replace the link.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreClosed(tmp.Close()), os.Remove(tmp.Name()))
		}
	}()
	if _, err := tmp.Write(data); err != nil {
		return err
	}
	if err := attributes(tmp); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	if last != nil {
		if err := last(); err != nil {
			return err
		}
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return lasting.SyncDir(dir)
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
