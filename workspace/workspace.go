package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"stowage/farm"
	"stowage/placement"
)

// The files of a workspace.
const (
	farmFile   = "farm.yaml"
	goalsFile  = "goals.yaml"
	plansDir   = "plans"
	rollsDir   = "rolls"
	altersDir  = "alters"
	reshapeDir = "reshape"
	stateDir   = ".stowage"
)

// Workspace is a directory with a farm.yaml. It holds no open files and no
// cached content: every read reads the file.
type Workspace struct {
	Dir string // absolute
}

// Open finds the workspace in dir. It reads nothing: it looks for farm.yaml,
// without which the error wraps farm.ErrInput, and at who may write there: see
// Trust.
func Open(dir string) (*Workspace, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, &farm.Error{Op: "open workspace", Subject: dir, Err: err}
	}
	_, err = os.Stat(filepath.Join(abs, farmFile))
	if errors.Is(err, fs.ErrNotExist) {
		hint := "run in a directory with a farm.yaml, or name one with --dir; `stowage inventory discover` drafts one of servers that run, `stowage demo up` makes one to try"
		if _, err := os.Stat(filepath.Join(abs, keptDir, farmFile)); err == nil {
			hint = "put it back from version control, or as the last run had it: cp " + keptDir + "/" + farmFile + " " + farmFile
		}
		return nil, &farm.Error{Op: "open workspace", Subject: dir, Hint: hint, Err: fmt.Errorf("%w: it has no farm.yaml", farm.ErrInput)}
	}
	if err != nil {
		return nil, &farm.Error{Op: "open workspace", Subject: dir, Err: err}
	}
	return trustedAt(abs)
}

// OpenKept is Open for who continues with a run and by what that has kept: a
// farm.yaml that somebody has taken away meanwhile is no obstacle.
func OpenKept(dir string) (*Workspace, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, &farm.Error{Op: "open workspace", Subject: dir, Err: err}
	}
	return trustedAt(abs)
}

func trustedAt(dir string) (*Workspace, error) {
	if err := Trust(dir); err != nil {
		return nil, err
	}
	return &Workspace{Dir: dir}, nil
}

// Path is a path of the workspace; an absolute one passes through.
func (w *Workspace) Path(rel string) string {
	if filepath.IsAbs(rel) {
		return filepath.Clean(rel)
	}
	return filepath.Join(w.Dir, rel)
}

// State is the folder of what the program keeps, .stowage. It is created,
// readable by its owner only, if it can be; otherwise writing there says why.
func (w *Workspace) State() string {
	dir := w.Path(stateDir)
	_ = os.MkdirAll(dir, 0o700) // the first write into it reports the same cause, with the file
	return dir
}

// StatePath is where the program keeps something of that name, for whoever only looks: nothing is made.
func (w *Workspace) StatePath(name string) string { return w.Path(filepath.Join(stateDir, name)) }

// Farm reads and checks farm.yaml. All its faults come in one error, which
// wraps farm.ErrInput.
func (w *Workspace) Farm() (*farm.Farm, error) {
	src, err := read(w.Path(farmFile))
	if err != nil {
		return nil, &farm.Error{Op: "read", Subject: farmFile, Err: err}
	}
	f, _, err := parseFarm(farmFile, src)
	if err != nil {
		return nil, err
	}
	return f, w.trustNamed(f)
}

// Goals reads goals.yaml and checks it against the farm. Without the file, or
// for a key that is not in it, the goals are placement.Defaults.
func (w *Workspace) Goals() (placement.Goals, error) {
	f, err := w.Farm()
	if err != nil {
		return placement.Goals{}, err
	}
	return w.GoalsFor(f)
}

// GoalsFor is Goals for a farm that was read already.
func (w *Workspace) GoalsFor(f *farm.Farm) (placement.Goals, error) {
	src, err := read(w.Path(goalsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return placement.Defaults(), nil
	}
	if err != nil {
		return placement.Goals{}, &farm.Error{Op: "read", Subject: goalsFile, Err: err}
	}
	return parseGoals(goalsFile, src, f)
}
