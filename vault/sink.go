package vault

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"os"

	"golang.org/x/sys/unix"
)

// forgetEvery is how much of a file is written before the kernel is asked to bring it to the disk and not to keep it in memory: the
// memory is for the database, and the sync at the end must not have everything to do.
const forgetEvery = 32 << 20

// sink writes a file, counts it and sums it up.
type sink struct {
	f      *os.File
	hash   hash.Hash
	n      int64
	asked  int64 // up to here the kernel was asked to begin writing
	forgot int64 // up to here it was asked to forget
}

func (s *sink) Write(p []byte) (int, error) {
	if s.hash == nil {
		s.hash = sha256.New()
	}
	n, err := s.f.Write(p)
	s.hash.Write(p[:n])
	s.n += int64(n)
	if s.n-s.asked >= forgetEvery {
		s.advise()
	}
	return n, err
}

// advise has no effect on what is written: errors do not matter, and file systems that cannot do it exist.
func (s *sink) advise() {
	fd := int(s.f.Fd())
	_ = unix.SyncFileRange(fd, s.asked, s.n-s.asked, unix.SYNC_FILE_RANGE_WRITE)
	_ = unix.Fadvise(fd, s.forgot, s.asked-s.forgot, unix.FADV_DONTNEED) // what was asked for the time before is on the disk by now
	s.forgot, s.asked = s.asked, s.n
}

func (s *sink) sum() string {
	if s.hash == nil {
		s.hash = sha256.New()
	}
	return fmt.Sprintf("%x", s.hash.Sum(nil))
}
