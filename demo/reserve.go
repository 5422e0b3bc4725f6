package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"stowage/internal/safefile"
)

// reservation keeps addresses for one farm. Until its servers listen they look
// free, and those of hosts that a move will only reach later look free for
// long: ranges of farms of different sizes overlap, and the port of such a host
// was given out twice.
type reservation struct{ held []*os.File }

// reserve keeps other programs of this user from choosing the same blocks until
// release or the end of the program. Locks that users share would be files that
// any of them can prepare; programs of others are known by what listens.
func reserve(block, n int) (r *reservation, ok bool) {
	r = &reservation{}
	dir, err := safefile.Private()
	if err != nil {
		return r, true // locks that cannot be made keep nobody from trying
	}
	defer dir.Close()
	for b := block; b < block+n; b++ {
		f, err := dir.OpenFile(fmt.Sprintf("demo-127.0.%d.lock", b), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			continue // the same
		}
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			f.Close()
			r.release()
			return nil, false
		}
		r.held = append(r.held, f)
	}
	return r, true
}

func (r *reservation) release() {
	for _, f := range r.held {
		f.Close()
	}
}

// claim notes, for whoever looks after the release, which farm has these
// addresses for as long as it is up.
func (r *reservation) claim(dir string) {
	for _, f := range r.held {
		if f.Truncate(0) == nil { // who cannot note it finds out by what listens
			_, _ = f.WriteAt([]byte(dir+"\n"), 0)
		}
	}
}

// claimed says whether a farm that is up has any of these addresses.
func (r *reservation) claimed() bool {
	for _, f := range r.held {
		text, err := io.ReadAll(io.NewSectionReader(f, 0, 4096))
		if dir := strings.TrimSpace(string(text)); err == nil && dir != "" {
			if s, err := readState(dir); err == nil && !s.Down {
				return true
			}
		}
	}
	return false
}
