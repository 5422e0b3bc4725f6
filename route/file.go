package route

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/lasting"
	"stowage/internal/nested"
	"stowage/internal/safefile"
)

// File routes by a JSON file that is replaced atomically. It is safe for use
// by several goroutines, and by several processes: a lock file beside it
// orders them.
type File struct {
	path string
	mu   sync.Mutex
}

// NewFile is the router that keeps its table at path.
func NewFile(path string) *File { return &File{path: path} }

// Path is where the table stands.
func (f *File) Path() string { return f.path }

// Create writes a first table. It refuses to replace one that is there.
func (f *File) Create(pairs map[farm.PairName]*Pair) error {
	return f.Restore(context.Background(), &Table{FormatVersion: FormatVersion, Pairs: pairs})
}

// Restore implements Maker.
func (f *File) Restore(_ context.Context, last *Table) error {
	unlock, err := f.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Lstat(f.path); err == nil {
		return &farm.Error{Op: "create routing", Subject: f.path, Err: fs.ErrExist, Hint: isThereHint}
	}
	if err := last.Check(); err != nil {
		return &farm.Error{Op: "create routing", Subject: f.path, Err: err}
	}
	t := *last
	return f.replace(&t)
}

const (
	isThereHint = "a table that is there is never replaced; one that cannot be read is moved away first"
	// lostHint is for a table that cannot be read, or is not there.
	lostHint = "clients wait. Move the file away if it is there, then: stowage routing init. An old copy, from version control for example, would send clients to servers that no longer serve"
)

// Read returns the table. A file that cannot be understood is an error that
// names it; a client must not guess.
func (f *File) Read(context.Context) (*Table, error) { return ReadFile(f.path) }

// mostTable is more than a table of the largest farm has.
const mostTable = 256 << 20

// ReadFile reads and checks one routing file.
func ReadFile(path string) (*Table, error) {
	raw, err := safefile.ReadInput(path, mostTable)
	if err != nil {
		hint := lostHint
		if errors.Is(err, fs.ErrNotExist) {
			hint = "stowage routing init writes it, from farm.yaml or from what an unfinished move has written"
		}
		return nil, &farm.Error{Op: "read routing", Subject: path, Err: fmt.Errorf("%w: %w", ErrUnreadable, err), Hint: hint}
	}
	var t Table
	if line, err := decode(raw, &t); err != nil {
		return nil, &farm.Error{Op: "read routing", Subject: fmt.Sprintf("%s:%d", path, line),
			Err: fmt.Errorf("%w: %w: %w", farm.ErrInput, ErrUnreadable, err), Hint: lostHint}
	}
	if err := t.Check(); err != nil {
		return nil, &farm.Error{Op: "read routing", Subject: path, Err: fmt.Errorf("%w: %w: %w", farm.ErrInput, ErrUnreadable, err),
			Hint: "docs/reference/routing.md describes the file. " + lostHint}
	}
	return &t, nil
}

// decode reads one JSON document strictly. line is where it went wrong.
func decode(raw []byte, into any) (line int, err error) {
	var deep *nested.TooDeep
	if err := nested.JSON(raw); errors.As(err, &deep) {
		return deep.Line, errors.New(deep.Reason())
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err = dec.Decode(into)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more after the table's end")
		}
	}
	return 1 + bytes.Count(raw[:min(int(dec.InputOffset()), len(raw))], []byte("\n")), err
}

// Change implements Router.
func (f *File) Change(ctx context.Context, pair farm.PairName, edit func(*Pair) error) error {
	unlock, err := f.lock()
	if err != nil {
		return err
	}
	defer unlock()
	t, err := f.Read(ctx)
	if err != nil {
		return err
	}
	next, changed, err := edited(t, pair, edit, f.path)
	if err != nil || !changed {
		return err
	}
	t.Pairs[pair] = next
	return f.replace(t)
}

// lock keeps other goroutines and other programs away from the table.
func (f *File) lock() (unlock func(), err error) {
	f.mu.Lock()
	release, err := lockFile(f.path + ".lock")
	if err != nil {
		f.mu.Unlock()
		return nil, &farm.Error{Op: "lock routing", Subject: f.path, Err: err}
	}
	return func() { release(); f.mu.Unlock() }, nil
}

// replace writes the next generation beside the file, syncs it and renames it
// over: a reader, and a machine that loses power, has the old or the new.
func (f *File) replace(t *Table) error {
	t.Generation++
	t.Written = time.Now().UTC()
	raw, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return err
	}
	f.sweep()
	tmp, err := os.CreateTemp(filepath.Dir(f.path), tempPrefix+"*")
	if err != nil {
		return &farm.Error{Op: "write routing", Subject: f.path, Err: err}
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append(raw, '\n'))
	err = errors.Join(err, tmp.Chmod(0o644), f.outdate(tmp), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), f.path)
	}
	if err != nil {
		return &farm.Error{Op: "write routing", Subject: f.path, Err: err,
			Hint: "the old routing is unchanged; free disk space or correct permissions, then: stowage resume"}
	}
	// A machine that loses power must not come back with an older table: it
	// would send clients to a server that has been stopped since.
	if err := lasting.SyncDir(filepath.Dir(f.path)); err != nil {
		return &farm.Error{Op: "sync routing", Subject: f.path, Err: err}
	}
	return nil
}

const tempPrefix = ".routing-"

// sweep removes what a writer that was killed left behind. The lock is ours,
// so nobody else's file can be in use.
func (f *File) sweep() {
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(f.path), tempPrefix+"*"))
	for _, name := range left {
		_ = os.Remove(name)
	}
}

// outdate gives the next file a modification time later than the current
// one's. File systems take it from a clock that may tick only every 4 ms, and
// may give the inode of the last file but one again: a client that compares
// both would miss two quick changes.
func (f *File) outdate(next *os.File) error {
	old, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	st, err := next.Stat()
	if err != nil || st.ModTime().After(old.ModTime()) {
		return err
	}
	return os.Chtimes(next.Name(), time.Time{}, old.ModTime().Add(time.Microsecond))
}

func lockFile(path string) (unlock func(), err error) {
	l, err := safefile.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(l.Fd()), unix.LOCK_EX); err != nil {
		l.Close()
		return nil, err
	}
	return func() { l.Close() }, nil
}
