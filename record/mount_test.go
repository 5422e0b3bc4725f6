package record

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func mountTmpfs(t *testing.T, dir string, mebibytes int) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: a full disk, for only root may mount a small one")
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0777", mebibytes)); err != nil {
		t.Skipf("NOT TESTED: a full disk, for none can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}
