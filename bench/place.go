package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"stowage/farm"
	"stowage/internal/nested"
)

// What is in the directory that is measured. All of it is ours, and nothing else is.
const (
	placeName  = ".stowage-bench"
	fileMarker = "stowage-bench.json"
	fileData   = "data"
	fileLog    = "log"
	fileProbe  = "probe"
)

// isOurs says whether a run may have made a file of this name.
func isOurs(name string) bool {
	switch name {
	case fileMarker, fileData, fileLog, fileProbe:
		return true
	}
	return strings.HasPrefix(name, "series-") && strings.HasSuffix(name, ".log")
}

// treesOf are the directories that a bench makes beside those files, by what its marker says.
var treesOf = map[string]string{madeBy: "", MadeByEngine: Servers}

// MadeByEngine is what the marker of a bench of engines says; Servers is the directory of its servers.
const (
	MadeByEngine = "stowage bench engine"
	Servers      = "servers"
)

// place is the directory of a run, held by a lock on its marker for as long as the run lives.
type place struct {
	dir    string
	by     string // what its marker says
	marker *os.File
}

// marker is what the marker says, for whoever finds it.
type marker struct {
	MadeBy string    `json:"made_by"`
	Note   string    `json:"note"`
	PID    int       `json:"pid"`
	Began  time.Time `json:"began"`
}

const madeBy = "stowage bench run"

// openPlace makes the directory of a run below dir, after it has removed what a killed run left there.
// swept is how many bytes that were; 0 when there was nothing.
func openPlace(dir string) (p *place, swept int64, err error) { return openPlaceFor(dir, madeBy) }

// openPlaceFor is openPlace for a bench whose marker says by.
func openPlaceFor(dir, by string) (p *place, swept int64, err error) {
	wrap := func(err error, hint string) error {
		return &farm.Error{Op: "prepare", Subject: dir, Err: err, Hint: hint}
	}
	p = &place{dir: filepath.Join(dir, placeName), by: by}
	switch err = os.Mkdir(p.dir, 0o700); {
	case err == nil:
	case errors.Is(err, fs.ErrExist):
		if swept, err = p.sweep(); err != nil {
			return nil, 0, err
		}
	case errors.Is(err, syscall.EROFS):
		return nil, 0, wrap(fmt.Errorf("%w: the file system is read-only", farm.ErrInput), "name a directory on a file system that may be written")
	case errors.Is(err, fs.ErrPermission):
		return nil, 0, wrap(fmt.Errorf("%w: this account may not write there", farm.ErrInput), "name a directory that it may write, or run as one that may")
	case errors.Is(err, syscall.ENOSPC):
		return nil, 0, wrap(fmt.Errorf("%w: no space left", farm.ErrInput), "free some space first")
	default:
		return nil, 0, wrap(fmt.Errorf("%w: no directory can be made there: %w", farm.ErrInput, cause(err)), "name a directory on the storage that is to be measured")
	}
	p.marker, err = os.OpenFile(filepath.Join(p.dir, fileMarker), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, 0, wrap(fmt.Errorf("%w: %w", farm.ErrInput, err), "")
	}
	if err := unix.Flock(int(p.marker.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = p.marker.Close()
		return nil, 0, busy(p.dir)
	}
	text, err := json.Marshal(marker{MadeBy: p.by, Note: "files of a bench; remove this directory when no stowage bench runs here", PID: os.Getpid(), Began: time.Now().UTC()})
	if err == nil {
		err = p.marker.Truncate(0)
	}
	if err == nil {
		_, err = p.marker.WriteAt(text, 0)
	}
	if err != nil {
		return nil, 0, errors.Join(wrap(err, "free some space first"), p.close())
	}
	return p, swept, nil
}

// cause is what the system said, without the path.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func busy(dir string) error {
	return &farm.Error{Op: "measure", Subject: filepath.Dir(dir), Err: fmt.Errorf("%w: another bench is running there", farm.ErrRefused), Hint: "wait until it has ended: two at a time measure each other"}
}

// sweep empties a directory that is there already, when it is that of a run that is over.
func (p *place) sweep() (int64, error) {
	refuse := func(format string, args ...any) error {
		return &farm.Error{Op: "sweep", Subject: p.dir, Err: fmt.Errorf("%w: "+format, append([]any{farm.ErrRefused}, args...)...), Hint: "look at it, and move it elsewhere if it is not needed there"}
	}
	if info, err := os.Lstat(p.dir); err != nil || !info.IsDir() {
		return 0, refuse("it is not a directory of ours")
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return 0, &farm.Error{Op: "sweep", Subject: p.dir, Err: err}
	}
	if len(entries) == 0 {
		return 0, nil // killed before it had a marker, or another is just about to write one, whom the lock will stop or us
	}
	path := filepath.Join(p.dir, fileMarker)
	old, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return 0, refuse("there is no marker of ours in it (%v)", err)
	}
	defer old.Close()
	if err := unix.Flock(int(old.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return 0, busy(p.dir)
	}
	var m marker
	// An empty marker is ours, too: killed between making and writing it.
	text, err := os.ReadFile(path)
	if err == nil && len(text) > 0 {
		err = nested.Unmarshal(text, &m)
	}
	tree, known := treesOf[m.MadeBy]
	if err != nil || len(text) > 0 && !known {
		return 0, refuse("%s in it was not written by us", fileMarker)
	}
	for _, e := range entries {
		if isTree := e.IsDir() && e.Name() == tree; !isTree && (!isOurs(e.Name()) || !e.Type().IsRegular()) {
			return 0, refuse("it holds %s, which is not ours", e.Name())
		}
	}
	return removeAll(p.dir, tree, entries)
}

// removeAll removes files, and the tree if there is one, the marker last: until then it can be swept again.
func removeAll(dir, tree string, entries []fs.DirEntry) (int64, error) {
	var bytes int64
	if tree != "" {
		n, err := removeTree(filepath.Join(dir, tree))
		if bytes = n; err != nil {
			return bytes, &farm.Error{Op: "remove", Subject: filepath.Join(dir, tree), Err: err}
		}
	}
	for _, last := range []bool{false, true} {
		for _, e := range entries {
			if (e.Name() == fileMarker) != last || !isOurs(e.Name()) {
				continue
			}
			if info, err := e.Info(); err == nil && !last {
				bytes += info.Size()
			}
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return bytes, &farm.Error{Op: "remove", Subject: filepath.Join(dir, e.Name()), Err: err}
			}
		}
	}
	return bytes, nil
}

// close removes the directory with everything that is ours in it.
func (p *place) close() error {
	entries, err := os.ReadDir(p.dir)
	if err == nil {
		_, err = removeAll(p.dir, treesOf[p.by], entries)
	}
	if err == nil {
		err = os.Remove(p.dir)
	}
	_ = p.marker.Close()
	if err != nil {
		return &farm.Error{Op: "clear", Subject: p.dir, Err: err, Hint: "remove it by hand; it holds nothing but test data"}
	}
	return nil
}
