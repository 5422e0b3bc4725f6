package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"stowage/digest"
	"stowage/farm"
	"stowage/internal/lazy"
	"stowage/internal/safefile"
)

// Place is the machine a log is on. A log is digested there: only the
// digest travels, which is some thousand times smaller. Here is this machine;
// for others a Station is asked.
type Place interface {
	// FreeBytes is the room for an ordinary account on the file system of dir.
	FreeBytes(ctx context.Context, dir string) (int64, error)
	// Size of a file; fs.ErrNotExist when it is not there.
	Size(ctx context.Context, path string) (int64, error)
	// Digest reads a finished file of a slow log, as name.
	Digest(ctx context.Context, path, name string, o digest.Options) (*digest.Digest, error)
	// RemoveFile deletes one file of a recording.
	RemoveFile(ctx context.Context, path string) error
	// Remove deletes the files of a recording: those called prefix, a point
	// and six digits. None is fine.
	Remove(ctx context.Context, prefix string) error
}

// Here is the machine this program runs on.
type Here struct{}

// FreeBytes implements Place.
func (Here) FreeBytes(_ context.Context, dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &farm.Error{Op: "measure free space", Subject: dir, Err: err}
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// Size implements Place.
func (Here) Size(_ context.Context, path string) (int64, error) {
	st, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// Digest implements Place. It works at a lower priority than the server
// beside it.
func (Here) Digest(ctx context.Context, path, name string, o digest.Options) (*digest.Digest, error) {
	defer gently()()
	return digestFile(ctx, path, name, o)
}

// gently lowers the priority of the calling thread until back is called. Only
// root may raise it again, so only root lowers it: a thread cannot be thrown
// away instead, because the kernel counts the end of a thread as the death of the
// parent of whatever was started from it (PR_SET_PDEATHSIG).
func gently() (back func()) {
	if unix.Geteuid() != 0 {
		return func() {}
	}
	runtime.LockOSThread()
	self := unix.Gettid()
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, self) // 20 less the nice value
	was := 20 - raw
	if err != nil || unix.Setpriority(unix.PRIO_PROCESS, self, max(was, 10)) != nil {
		was = 0
	}
	return func() {
		_ = unix.Setpriority(unix.PRIO_PROCESS, self, was) // a slow thread harms nobody
		runtime.UnlockOSThread()
	}
}

func digestFile(ctx context.Context, path, name string, o digest.Options) (*digest.Digest, error) {
	file, err := safefile.OpenFile(path, os.O_RDONLY, 0) // the server says where its log is, and may have put a link there
	if err != nil {
		return nil, err
	}
	defer file.Close()
	o.Workers = 1
	b := digest.New(o)
	if err := b.ReadSlowLog(name, stoppable{ctx, file}); err != nil {
		return nil, err
	}
	return b.Digest(), nil
}

// stoppable is a file that is read until ctx ends.
type stoppable struct {
	ctx  context.Context
	file *os.File
}

func (s stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.file.Read(p)
}

// RemoveFile implements Place.
func (Here) RemoveFile(_ context.Context, path string) error { return os.Remove(path) }

var pieceName = lazy.Regexp(`^\.[0-9]{6}$`)

// Remove implements Place.
func (Here) Remove(_ context.Context, prefix string) error {
	entries, err := os.ReadDir(filepath.Dir(prefix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	base := filepath.Base(prefix)
	var faults []error
	for _, e := range entries {
		if len(e.Name()) <= len(base) || e.Name()[:len(base)] != base || !pieceName().MatchString(e.Name()[len(base):]) {
			continue
		}
		if err := os.Remove(filepath.Join(filepath.Dir(prefix), e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// IsHere reports whether host is an address of this machine.
func IsHere(ctx context.Context, host string) (bool, error) {
	addresses, err := Addresses(ctx, host)
	if err != nil {
		return false, err
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false, fmt.Errorf("list addresses of this machine: %w", err)
	}
	for _, a := range addresses {
		if a.IsLoopback() {
			return true, nil
		}
		for _, o := range own {
			if n, ok := o.(*net.IPNet); ok && n.IP.Equal(a.AsSlice()) {
				return true, nil
			}
		}
	}
	return false, nil
}

// Addresses are what a name or an address stands for.
func Addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a.Unmap()}, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, &farm.Error{Op: "look up", Subject: host, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "does farm.yaml have the host's address?"}
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found, nil
}
