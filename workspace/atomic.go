package workspace

import (
	"errors"
	"os"
	"path/filepath"

	"stowage/internal/lasting"
)

// WriteFileAtomic replaces path by data as a whole: whoever opens it reads the
// old content or the new, never a part, and after it returned the new content
// survives a power cut. A failure leaves the old file as it was.
func WriteFileAtomic(path string, data []byte, perm os.FileMode) (err error) {
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
	if err := tmp.Chmod(perm); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
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
