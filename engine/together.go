package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stowage/internal/nested"
)

// Programs that work in one directory share its engine. Three files beside the engine's own say how:
//
//   - engine.turn is locked by whoever looks whether an engine is there, or starts one;
//   - engine.users is locked, shared, by every program that needs the engine: the engine ends when nobody holds it;
//   - engine.at says where the engine listens and how it is dialled.
//
// The kernel lets go of a lock when its process ends, however it ends. So the engine outlives the program that has started it for
// as long as another needs it, and whoever notices first that it died starts it again, on the same address.
const (
	turnName  = "engine.turn"
	usersName = "engine.users"
	atName    = "engine.at"
)

// joinWait bounds how long a program waits for others that look, or for an engine that ends.
const joinWait = readyWait + 30*time.Second

const joinLook = 20 * time.Millisecond

// at is what engine.at holds. The certificates are those of the run; there are none where the farm has its own.
type at struct {
	Address string           `json:"address"`
	PID     int              `json:"pid"`
	Run     *runCertificates `json:"run,omitempty"`
}

func (o Options) file(name string) string { return filepath.Join(o.Dir, name) }

// inTurn does what one program at a time may do.
func (o Options) inTurn(ctx context.Context, do func() error) error {
	f, err := lockWithin(ctx, o.file(turnName), syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer f.Close()
	return do()
}

// lockWithin locks a file, which is made when missing, until it is closed.
func lockWithin(ctx context.Context, path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for end := time.Now().Add(joinWait); ; {
		free, err := tryLock(f, how)
		if err == nil && free {
			return f, nil
		}
		if err == nil && time.Now().After(end) {
			err = fmt.Errorf("lock %s: another program holds it for more than %v", path, joinWait)
		}
		if err == nil {
			select {
			case <-ctx.Done():
				err = context.Cause(ctx)
			case <-time.After(joinLook):
			}
		}
		if err != nil {
			_ = f.Close() // nothing was written
			return nil, err
		}
	}
}

func tryLock(f *os.File, how int) (free bool, err error) {
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// isLocked reports whether somebody holds a lock that how would need.
func isLocked(path string, how int) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	free, err := tryLock(f, how)
	return !free, err
}

// users takes part in the engine of a directory. alone: nobody else does. The caller has the turn.
func (o Options) users(ctx context.Context) (mine *os.File, alone bool, err error) {
	taken, err := isLocked(o.file(usersName), syscall.LOCK_EX)
	if err != nil {
		return nil, false, err
	}
	// An engine that ends holds it until it has ended.
	mine, err = lockWithin(ctx, o.file(usersName), syscall.LOCK_SH)
	return mine, !taken, err
}

// isAlive reports whether the engine of such a process ID has the engine's file open.
func (o Options) isAlive(pid int) bool {
	raw, err := os.ReadFile(o.DB + ".lock")
	if who, bad := strconv.Atoi(strings.TrimSpace(string(raw))); err != nil || bad != nil || who != pid {
		return false
	}
	held, err := isLocked(o.DB+".lock", syscall.LOCK_SH)
	return held && err == nil
}

func (o Options) readAt() (at, error) {
	var a at
	raw, err := os.ReadFile(o.file(atName))
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil {
		err = nested.Unmarshal(raw, &a)
	}
	if err != nil {
		return at{}, fmt.Errorf("read %s: %w", o.file(atName), err)
	}
	return a, nil
}

// writeAt puts the whole file in place at once: a kill leaves the old one or the new one.
func (o Options) writeAt(a at) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	path := o.file(atName)
	if err := os.WriteFile(path+".new", raw, 0o600); err != nil {
		return fmt.Errorf("say where the engine is: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("say where the engine is: %w", err)
	}
	return nil
}

// forgetAt removes what a run has left whose programs are all gone.
func (o Options) forgetAt() error {
	err := os.Remove(o.file(atName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
