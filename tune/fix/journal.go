package fix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"stowage/farm"
	"stowage/internal/lasting"
	"stowage/internal/nested"
	"stowage/tune"
)

// Journal is the file that knows what was changed. Close gives it to others.
type Journal struct {
	path string
	lock *os.File
}

// entry is one line of it.
type entry struct {
	At   string `json:"at"`   // RFC 3339
	Boot string `json:"boot"` // of the machine when it was set
	// OnTrial: it is set for as long as somebody measures what it brings. Whoever finds it so with nobody at work puts it back.
	OnTrial bool `json:"on_trial,omitempty"`
	// Along is what the kernel sets anew when it sets this one, by path, with the values of before.
	Along map[string]string `json:"along,omitempty"`
	tune.Change
}

// Open takes the journal for this process. Its directory is made when it is
// missing; the file itself appears with the first change.
func Open(path string) (*Journal, error) {
	fail := func(err error, hint string) (*Journal, error) {
		return nil, &farm.Error{Op: "open journal", Subject: path, Err: err, Hint: hint}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fail(fmt.Errorf("%w: %w", farm.ErrInput, err), "settings of a machine are changed as root: sudo stowage tune ...")
	}
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fail(fmt.Errorf("%w: %w", farm.ErrInput, err), "settings of a machine are changed as root: sudo stowage tune ...")
	}
	for {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = lock.Close() // the error above is the one that matters
		return fail(fmt.Errorf("%w: another stowage tune is changing settings of this machine", farm.ErrRefused), "wait for it to end")
	}
	return &Journal{path, lock}, nil
}

// Close lets the next process in. The lock's file stays: removing it would let
// two processes lock two files of one name.
func (j *Journal) Close() { _ = j.lock.Close() }

// entries are what was changed and not taken back, oldest first. The last line
// may be cut short by a kill; nothing had been changed by then.
func (j *Journal) entries() ([]entry, error) {
	raw, err := os.ReadFile(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &farm.Error{Op: "read journal", Subject: j.path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err)}
	}
	var out []entry
	lines := bytes.SplitAfter(raw, []byte("\n"))
	for n, l := range lines {
		if len(l) == 0 || l[len(l)-1] != '\n' {
			continue
		}
		var e entry
		if err := nested.Unmarshal(l, &e); err != nil {
			return nil, &farm.Error{Op: "read journal", Subject: fmt.Sprintf("%s:%d", j.path, n+1), Err: fmt.Errorf("%w: %w", farm.ErrInput, err),
				Hint: "each line is one change with its value of before; mend the line, or put its setting back by hand and remove it"}
		}
		out = append(out, e)
	}
	return out, nil
}

// write replaces the journal as a whole; without entries it goes. When it
// returns, what it wrote survives a power cut.
func (j *Journal) write(entries []entry) (err error) {
	defer func() {
		if err != nil {
			err = &farm.Error{Op: "write journal", Subject: j.path, Err: err, Hint: "no setting is changed that the journal does not know"}
		}
	}()
	dir := filepath.Dir(j.path)
	if len(entries) == 0 {
		if err := os.Remove(j.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return lasting.SyncDir(dir)
	}
	var b bytes.Buffer
	for _, e := range entries {
		if err := json.NewEncoder(&b).Encode(e); err != nil {
			return err
		}
	}
	next := j.path + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(next, j.path); err != nil {
		return err
	}
	return lasting.SyncDir(dir)
}
