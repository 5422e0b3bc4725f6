package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"stowage/farm"
	"stowage/placement"
)

// keptDir is where farm.yaml and goals.yaml are kept as they were when they
// were last read well by a run: a file that somebody breaks afterwards takes
// nobody the means to steer that run.
const keptDir = stateDir + "/kept"

// Keep keeps farm.yaml and goals.yaml for a run that begins or goes on. From
// then on EditFarm keeps what it writes, too. Files that cannot be read are not
// kept: what was kept before stays.
func (w *Workspace) Keep() error {
	f, err := w.Farm()
	if err != nil {
		return nil //nolint:nilerr // the run goes by what was kept
	}
	if err := os.MkdirAll(w.Path(keptDir), 0o700); err != nil {
		return &farm.Error{Op: "keep", Subject: farmFile, Err: err}
	}
	names := []string{farmFile}
	if _, err := w.GoalsFor(f); err == nil {
		names = append(names, goalsFile)
	}
	for _, name := range names {
		src, err := read(w.Path(name))
		if errors.Is(err, fs.ErrNotExist) {
			err = os.Remove(w.keptPath(name))
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		} else if err == nil {
			err = WriteFileAtomic(w.keptPath(name), src, 0o600)
		}
		if err != nil {
			return &farm.Error{Op: "keep", Subject: name, Err: err}
		}
	}
	return nil
}

func (w *Workspace) keptPath(name string) string { return w.Path(filepath.Join(keptDir, name)) }

// keep follows an edit, for a run that keeps the file.
func (w *Workspace) keep(src []byte) error {
	if _, err := os.Stat(w.keptPath(farmFile)); err != nil {
		return nil //nolint:nilerr // no run keeps it
	}
	return WriteFileAtomic(w.keptPath(farmFile), src, 0o600)
}

// KeptFarm is farm.yaml as it was kept last; the error wraps fs.ErrNotExist
// where nothing was.
func (w *Workspace) KeptFarm() (*farm.Farm, error) {
	src, err := read(w.keptPath(farmFile))
	if err != nil {
		return nil, &farm.Error{Op: "read", Subject: keptDir + "/" + farmFile, Err: err}
	}
	f, _, err := parseFarm(keptDir+"/"+farmFile, src)
	if err != nil {
		return nil, err
	}
	return f, w.trustNamed(f)
}

// KeptGoals are goals.yaml as they were kept with the farm.
func (w *Workspace) KeptGoals(f *farm.Farm) (placement.Goals, error) {
	src, err := read(w.keptPath(goalsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return placement.Defaults(), nil
	}
	if err != nil {
		return placement.Goals{}, &farm.Error{Op: "read", Subject: keptDir + "/" + goalsFile, Err: err}
	}
	return parseGoals(keptDir+"/"+goalsFile, src, f)
}
