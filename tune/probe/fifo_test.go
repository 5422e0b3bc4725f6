package probe

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tune --root hung on a FIFO in the recording, beyond SIGTERM.
func TestAFIFOInARecordingHangs(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "proc", "meminfo"), 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool, 1)
	go func() {
		tree := Recorded(dir)
		_, read := tree.read("/proc/meminfo")
		_, tail := tree.tail("/proc/meminfo", 100)
		_, err := tree.Value("/proc/meminfo")
		done <- read || tail || err == nil || tree.SetValue("/proc/meminfo", "1") == nil
	}()
	select {
	case got := <-done:
		if got {
			t.Error("a FIFO was read or written")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for the other end of the FIFO")
	}
}
