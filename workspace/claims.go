package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"stowage/farm"
	"stowage/internal/nested"
)

// Claim is what a run has for itself from its first question to its end: nobody else touches these pairs and hosts meanwhile.
type Claim struct {
	Run     string    `json:"run"`
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Purpose string    `json:"purpose"`
	// Whole: the whole farm. Pairs and Hosts are then of no meaning.
	Whole bool            `json:"whole,omitempty"`
	Pairs []farm.PairName `json:"pairs,omitempty"`
	Hosts []farm.HostName `json:"hosts,omitempty"`
	// Uses are how much of the farm's budgets it may use at once, by token: "farm", "rack r1".
	Uses map[string]int `json:"uses,omitempty"`

	// Live: the process that made it runs and holds it. Not in the file.
	Live bool `json:"-"`
}

// Common says what two claims have in common, in words, "" for nothing.
func (c Claim) Common(o Claim) string {
	if c.Whole || o.Whole {
		return "the whole farm"
	}
	var out []string
	for _, p := range c.Pairs {
		if slices.Contains(o.Pairs, p) {
			out = append(out, "pair "+string(p))
		}
	}
	for _, h := range c.Hosts {
		if slices.Contains(o.Hosts, h) {
			out = append(out, "host "+string(h))
		}
	}
	if more := len(out) - 3; more > 0 {
		out = append(out[:3], fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// Held is the claim as who holds the workspace.
func (c Claim) Held() *Held { return &Held{PID: c.PID, Since: c.Since, Purpose: c.Purpose} }

// Taken is a claim that this process holds. It goes with the process, however that ends; what it was about stays in its file until the
// run has ended.
type Taken struct {
	file *os.File
	path string
}

// Take takes the claim of a run, new or of a process that has died. When another process holds it, the error holds a *Held.
func (w *Workspace) Take(c Claim) (*Taken, error) {
	path := w.claimPath(c.Run)
	bad := func(err error) (*Taken, error) {
		return nil, &farm.Error{Op: "claim", Subject: c.Run, Err: err}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return bad(err)
	}
	for end := time.Now().Add(time.Second); ; {
		file, err := openLock(path)
		if err != nil {
			return bad(err)
		}
		err = flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			held := readClaim(file)
			_ = file.Close() // only read
			if syscall.Kill(held.PID, 0) == nil || time.Now().After(end) {
				return bad(held.Held())
			}
			time.Sleep(10 * time.Millisecond) // somebody looks whether it is held
			continue
		}
		if err == nil && !isAt(file, path) { // it was dropped between the two
			_ = file.Close() // nothing was written
			continue
		}
		c.PID, c.Since = os.Getpid(), time.Now().Truncate(time.Second)
		if err == nil {
			err = writeClaim(file, c)
		}
		if err != nil {
			_ = file.Close() // the error above says it
			return bad(err)
		}
		return &Taken{file, path}, nil
	}
}

// Drop ends a claim: the run has ended, or never began.
func (t *Taken) Drop() error {
	if t == nil {
		return nil
	}
	err := os.Remove(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	_ = t.file.Close() // a lock, nothing to lose
	return err
}

// Leave lets go of a claim whose run has not ended: it stays for the resume.
func (t *Taken) Leave() {
	if t != nil {
		_ = t.file.Close() // a lock, nothing to lose
	}
}

// ClaimOf is what the run claims, as it was written when it began; fs.ErrNotExist when nothing is known of it.
func (w *Workspace) ClaimOf(run string) (Claim, error) {
	file, err := os.Open(w.StatePath(filepath.Join("claims", run)))
	if err != nil {
		return Claim{}, err
	}
	defer file.Close()
	return w.readClaimOf(file, run)
}

func (w *Workspace) readClaimOf(file *os.File, run string) (Claim, error) {
	c := readClaim(file)
	if c.Run != run { // cut short as it was written
		c = Claim{Run: run, Whole: true}
	}
	held, err := isHeld(file)
	c.Live = held
	return c, err
}

// Claims are all that is claimed, the oldest first; of processes that have died, too.
func (w *Workspace) Claims() ([]Claim, error) {
	entries, err := os.ReadDir(w.StatePath("claims"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Claim
	for _, e := range entries {
		c, err := w.ClaimOf(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // its run has just ended
		}
		if err != nil {
			return nil, &farm.Error{Op: "read claim", Subject: e.Name(), Err: err}
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Claim) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Run, b.Run)) })
	return out, nil
}

// Forget removes a claim that nobody holds and whose run never began or has ended.
func (w *Workspace) Forget(run string) error {
	t, err := w.Take(Claim{Run: run})
	if err != nil {
		return err
	}
	return t.Drop()
}

func (w *Workspace) claimPath(run string) string { return filepath.Join(w.State(), "claims", run) }

// isAt reports whether an open file is still the one at path.
func isAt(file *os.File, path string) bool {
	mine, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(mine, there)
}

// isHeld reports whether a process holds the lock on a file that was opened for the question.
func isHeld(file *os.File) (bool, error) {
	err := flock(file, syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

func readClaim(file *os.File) Claim {
	var c Claim
	raw, err := io.ReadAll(io.NewSectionReader(file, 0, maxClaim))
	if err != nil || nested.Unmarshal(raw, &c) != nil {
		return Claim{}
	}
	return c
}

const maxClaim = 16 << 20 // twelve thousand pairs and hosts have far less

// writeClaim writes over what a dead process left, which says the same.
func writeClaim(file *os.File, c Claim) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	raw = append(raw, '\n')
	if _, err := file.WriteAt(raw, 0); err != nil {
		return err
	}
	return file.Truncate(int64(len(raw)))
}

// Share takes part in the workspace beside other runs; whoever has it for himself (Lock) keeps all out. It does not wait: then the
// error holds a *Held.
func (w *Workspace) Share() (release func(), err error) {
	file, err := openLock(filepath.Join(w.State(), "lock"))
	if err != nil {
		return nil, &farm.Error{Op: "lock workspace", Subject: w.Dir, Err: err}
	}
	err = flock(file, syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		_ = file.Truncate(0) // what was left by one who had it for himself and was killed; it is for people only
		return func() { _ = file.Close() }, nil
	}
	held := readHeld(file)
	_ = file.Close() // only read
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, &farm.Error{Op: "lock workspace", Subject: w.Dir, Err: err}
	}
	return nil, &farm.Error{Op: "lock workspace", Subject: w.Dir, Err: held, Hint: "wait for it to end, or stop it; its lock ends with it"}
}

// Turn waits until no other program begins a run in this workspace: from the look at farm.yaml to the last question and the claim, one does
// at a time. wait is told once whom it waits for.
func (w *Workspace) Turn(ctx context.Context, purpose string, wait func(*Held)) (release func(), err error) {
	file, err := openLock(filepath.Join(w.State(), "turn"))
	if err != nil {
		return nil, &farm.Error{Op: "wait for the turn", Subject: w.Dir, Err: err}
	}
	for told := false; ; {
		err := flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			err = writeHeld(file, Held{PID: os.Getpid(), Since: time.Now(), Purpose: purpose})
		}
		if err == nil {
			return func() { _, _ = file.Truncate(0), file.Close() }, nil // emptied: see Died
		}
		if errors.Is(err, syscall.EWOULDBLOCK) {
			if !told {
				wait(readHeld(file))
				told = true
			}
			select {
			case <-ctx.Done():
				err = farm.ErrInterrupted
			case <-time.After(50 * time.Millisecond):
				continue
			}
		}
		_ = file.Close() // the error above says it
		return nil, &farm.Error{Op: "wait for the turn", Subject: w.Dir, Err: err}
	}
}
