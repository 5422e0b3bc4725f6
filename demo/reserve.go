package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// reserve keeps other programs on this machine from choosing the same addresses
// while the servers that are to listen there are being started: until then they
// look free. Release ends it, and so does the end of the program.
func reserve(block, n int) (release func(), ok bool) {
	var held []*os.File
	release = func() {
		for _, f := range held {
			f.Close()
		}
	}
	for b := block; b < block+n; b++ {
		f, err := openShared(filepath.Join(os.TempDir(), fmt.Sprintf("stowage-demo-127.0.%d.lock", b)))
		if err != nil {
			continue // a lock that cannot be made keeps nobody from trying
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			f.Close()
			release()
			return func() {}, false
		}
		held = append(held, f)
	}
	return release, true
}

// openShared opens a file that another user may have made.
func openShared(path string) (*os.File, error) {
	if f, err := os.Open(path); err == nil {
		return f, nil
	}
	return os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644)
}
