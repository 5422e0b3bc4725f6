package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"stowage/farm"
	"stowage/internal/nested"
)

// Held says who has the workspace: another act is under way. It unwraps to
// farm.ErrRefused.
type Held struct {
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Purpose string    `json:"purpose"`
}

func (h *Held) Error() string {
	if h.PID == 0 {
		return "another stowage is working in this workspace"
	}
	return fmt.Sprintf("process %d is working in this workspace, since %s: %s", h.PID, h.Since.Local().Format(time.DateTime), h.Purpose)
}

func (h *Held) Unwrap() error { return farm.ErrRefused }

// Lock takes the workspace for one act that no other may run beside; Share is
// for all others. It does not wait: when it is taken, the error holds a *Held. The lock goes with the process, however it ends. release
// may be called twice; keep it until then, for an open file that nobody holds
// is closed by the garbage collector.
func (w *Workspace) Lock(purpose string) (release func(), err error) {
	file, err := openLock(filepath.Join(w.State(), "lock"))
	if err != nil {
		return nil, &farm.Error{Op: "lock workspace", Subject: w.Dir, Err: err}
	}
	err = flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		held := w.holder(file)
		_ = file.Close() // read only, nothing to lose
		return nil, &farm.Error{Op: "lock workspace", Subject: w.Dir, Err: held, Hint: "wait for it to end, or stop it; its lock ends with it"}
	}
	if err != nil {
		_ = file.Close() // the error above is the one that matters
		return nil, &farm.Error{Op: "lock workspace", Subject: w.Dir, Err: err}
	}
	if err := writeHeld(file, Held{PID: os.Getpid(), Since: time.Now().Truncate(time.Second), Purpose: purpose}); err != nil {
		_ = file.Close() // gives the lock back
		return nil, &farm.Error{Op: "lock workspace", Subject: w.Dir, Err: err}
	}
	// Closing gives the lock back. The file stays: removing it would let two
	// processes lock two files of the same name. It is emptied: see Died.
	return func() { _, _ = file.Truncate(0), file.Close() }, nil
}

// holder is who has the workspace for himself, or one of those who share it.
func (w *Workspace) holder(file *os.File) *Held {
	if held := readHeld(file); held.PID != 0 {
		return held
	}
	claims, _ := w.Claims() // unread: somebody unknown
	for _, c := range claims {
		if c.Live {
			return c.Held()
		}
	}
	if turn, err := os.Open(w.StatePath("turn")); err == nil {
		defer turn.Close()
		return readHeld(turn)
	}
	return &Held{}
}

// Died is who was about to begin a run and ended without saying how: a process
// that was killed. Nil: nobody, or it still runs.
func (w *Workspace) Died() *Held {
	file, err := os.Open(w.StatePath("turn"))
	if err != nil {
		return nil
	}
	defer file.Close()
	held := readHeld(file)
	if held.PID == 0 || syscall.Kill(held.PID, 0) == nil {
		return nil
	}
	return held
}

// lockFarm waits for the right to edit farm.yaml. It is a lock of its own,
// because the act that edits holds the workspace already.
func (w *Workspace) lockFarm() (release func(), err error) {
	file, err := openLock(filepath.Join(w.State(), "farm.lock"))
	if err != nil {
		return nil, err
	}
	if err := flock(file, syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil
}

func openLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

func flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// readHeld reads who holds the lock. The holder may not have written it yet:
// then it is somebody unknown.
func readHeld(file *os.File) *Held {
	held := &Held{}
	data, err := io.ReadAll(io.LimitReader(file, 4096))
	if err != nil || nested.Unmarshal(data, held) != nil {
		return &Held{}
	}
	return held
}

func writeHeld(file *os.File, h Held) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt(append(data, '\n'), 0)
	return err
}

// Alone takes the right to do one task that comes back, see `stowage due`. Where another process has it, busy is who; the right goes with the
// process, however it ends.
func (w *Workspace) Alone(task string) (release func(), busy *Held, err error) {
	file, err := openLock(filepath.Join(w.State(), "due-"+task+".lock"))
	if err != nil {
		return nil, nil, &farm.Error{Op: "lock task", Subject: task, Err: err}
	}
	err = flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		held := readHeld(file)
		return nil, held, file.Close()
	}
	if err == nil {
		err = writeHeld(file, Held{PID: os.Getpid(), Since: time.Now().Truncate(time.Second), Purpose: "due " + task})
	}
	if err != nil {
		return nil, nil, &farm.Error{Op: "lock task", Subject: task, Err: errors.Join(err, file.Close())}
	}
	return func() { _, _ = file.Truncate(0), file.Close() }, nil, nil
}
