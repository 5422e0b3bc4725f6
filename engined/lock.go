package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// lockFile takes the exclusive flock on path, waiting up to wait for a predecessor that is still closing. The lock lasts until
// the returned file is closed or the process dies. The file holds the owner's pid, for the error message of the next one.
func lockFile(ctx context.Context, path string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for deadline := time.Now().Add(wait); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			owner := ownerOf(f)
			f.Close()
			return nil, fmt.Errorf("lock %s: another engine has the file open (pid %s)", path, owner)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(fmt.Sprintf("%d\n", os.Getpid())), 0) // for people only
	}
	return f, nil
}

func ownerOf(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil || len(text) == 0 {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// look is how often an engine looks whether anybody needs it.
const look = 100 * time.Millisecond

// untilUnused returns a context that ends when nobody holds a lock on the file at path: the kernel lets go of a lock when its process
// ends, whatever killed it. From then on the lock is ours until we end, so that nobody begins to use an engine that is stopping.
func untilUnused(ctx context.Context, path string) (context.Context, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the users' lock: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer f.Close() // an open file that nobody holds is closed by the garbage collector
		for syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			select {
			case <-ctx.Done():
				cancel()
				return
			case <-time.After(look):
			}
		}
		cancel()
		<-make(chan struct{}) // the lock ends with the process
	}()
	return ctx, nil
}
