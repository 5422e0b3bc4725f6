package testbed

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"stowage/farm"
)

// fill writes a file of the site from end to end, past the page cache, with bytes that cannot be compressed. A sparse or merely reserved file would
// make the file system below allocate in the middle of a measurement.
func (s *Site) fill(name string) error {
	path := filepath.Join(s.dir, name)
	wrong := func(err error) error {
		return &farm.Error{Op: "write", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, cause(err)), Hint: "free some space, or name a directory on a file system that a database would use: xfs, ext4"}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|unix.O_DIRECT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return wrong(err)
	}
	defer f.Close()
	s.options.Tell(fmt.Sprintf("writing %s, %d MiB", name, s.options.Size>>20))
	block := aligned(1 << 20)
	if _, err := rand.Read(block); err != nil {
		return wrong(err)
	}
	for at := int64(0); at < s.options.Size; at += int64(len(block)) {
		n := min(int64(len(block)), s.options.Size-at)
		for i := 0; i < len(block); i += 512 { // no two blocks alike
			*(*int64)(unsafe.Pointer(&block[i])) ^= at + int64(i) + 1
		}
		if _, err := f.WriteAt(block[:n], at); err != nil {
			return wrong(err)
		}
	}
	if err := f.Sync(); err != nil {
		return wrong(err)
	}
	return nil
}

// aligned is memory as O_DIRECT wants it.
func aligned(n int) []byte {
	const page = 4096
	raw := make([]byte, n+page)
	at := (page - int(uintptr(unsafe.Pointer(&raw[0]))%page)) % page
	return raw[at : at+n]
}

// refill fills a file again from which a file system has cut pieces (discard).
func (s *Site) refill(name string) error {
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(s.dir, name), &st); err != nil {
		return &farm.Error{Op: "look at", Subject: name, Err: err}
	}
	if st.Size == s.options.Size && st.Blocks*512 >= s.options.Size {
		return nil
	}
	return s.fill(name)
}
