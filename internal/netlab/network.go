package netlab

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// taken keeps the locks of networks open: they go with this process, however it ends.
var taken struct {
	sync.Mutex
	locks []*os.File
}

// Network is the base of a network of 254 addresses for New, below two numbers such as "10.213", which no other lab on this machine
// has that asks here. It is ours until this process ends: machines of a lab may live on for a while after it.
func Network(two string) (base string, err error) {
	for n := range 250 {
		base := fmt.Sprintf("%s.%d.0", two, n)
		path := filepath.Join(os.TempDir(), "stowage-lab-"+base+".lock")
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644)
		if err != nil {
			return "", fmt.Errorf("find a free network: %w", err)
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			f.Close()
			continue
		}
		taken.Lock()
		taken.locks = append(taken.locks, f)
		taken.Unlock()
		return base, nil
	}
	return "", fmt.Errorf("find a free network: all of %s.0.0 to %s.249.0 are in use", two, two)
}
