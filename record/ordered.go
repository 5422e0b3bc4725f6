package record

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"stowage/farm"
)

// Ordered is what this program remembers of a recording that it has ordered
// elsewhere: from before the order is sent until everything that came of it is
// kept here.
type Ordered struct {
	Version  int               `json:"format_version"`
	ID       string            `json:"id"`
	Instance farm.InstanceName `json:"instance"`
	Host     farm.HostName     `json:"host"`
	Address  string            `json:"address"`
	From     From              `json:"from"`
	Save     string            `json:"save"` // the name its digest was to have
	Begun    time.Time         `json:"begun"`
	Taken    bool              `json:"taken,omitempty"` // its digest is here; the server is not known to be as before
}

// Ledger holds what was ordered, a file for each instance.
type Ledger struct{ Dir string }

const orderedVersion = 1

// Open takes an instance for one recording of this workspace and notes the
// order. It is refused while another program has it, and when something of an
// earlier recording is still to be taken.
func (l Ledger) Open(o Ordered) (*Entry, error) {
	release, err := lock(l.Dir, o.Instance)
	if err != nil {
		return nil, err
	}
	e := &Entry{Ordered: o, ledger: l, release: release}
	e.Version, e.ID = orderedVersion, rand.Text()
	switch _, err = os.Stat(journalPath(l.Dir, o.Instance)); {
	case err == nil:
		err = &farm.Error{Op: "record", Subject: string(o.Instance), Err: fmt.Errorf("%w: an earlier recording of it is still to be fetched", farm.ErrRefused), Hint: "stowage digest record --restore"}
	case errors.Is(err, fs.ErrNotExist):
		err = e.write()
	}
	if err != nil {
		release()
		return nil, err
	}
	return e, nil
}

// Left are the orders of programs that are gone, or have given up waiting.
func (l Ledger) Left() ([]farm.InstanceName, error) { return Left(l.Dir) }

// Reopen takes up the order of a program that is gone.
func (l Ledger) Reopen(n farm.InstanceName) (*Entry, error) {
	release, err := lock(l.Dir, n)
	if err != nil {
		return nil, err
	}
	e := &Entry{ledger: l, release: release}
	if err := readJSON(journalPath(l.Dir, n), &e.Ordered); err != nil {
		release()
		return nil, err
	}
	return e, nil
}

// Entry is one order, taken by this program until Close.
type Entry struct {
	Ordered
	ledger  Ledger
	release func()
	came    bool // what came of it is here
}

func (e *Entry) path() string { return journalPath(e.ledger.Dir, e.Instance) }

func (e *Entry) write() error { return writeJSON(e.path(), e.Ordered) }

// IsOver reports whether a recording that came to err has nothing left to be
// fetched or put back.
func (e *Entry) IsOver(err error) bool {
	if errors.Is(err, farm.ErrOutcomeUnknown) {
		return false
	}
	return err == nil || e.came || errors.Is(err, farm.ErrInput) || errors.Is(err, farm.ErrRefused) || errors.Is(err, farm.ErrUndone)
}

// halfDone: the digest is here, and somebody has to see to the server.
func (e *Entry) halfDone() error {
	e.Taken = true
	return e.write()
}

// done: nothing of it is wanted any more.
func (e *Entry) done() error { return removed(e.path()) }

// Close lets others have the instance. What is not done is left.
func (e *Entry) Close() { e.release() }

// LedgerOf is the ledger beside the journals of dir.
func LedgerOf(dir string) Ledger { return Ledger{filepath.Join(dir, "ordered")} }
