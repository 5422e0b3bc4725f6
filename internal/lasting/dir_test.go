package lasting

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
)

func TestSyncDir(t *testing.T) {
	dir := t.TempDir()
	if err := SyncDir(dir); err != nil {
		t.Error(err)
	}
	if err := SyncDir(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
	// The kernel syncs no directory of /proc: it says so to whoever really asks it to.
	if err := SyncDir("/proc"); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("/proc: %v, want %v", err, syscall.EINVAL)
	}
}
