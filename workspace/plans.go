package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stowage/farm"
	"stowage/internal/lazy"
	"stowage/internal/nested"
	"stowage/internal/safefile"
	"stowage/placement"
)

// planName is what may be a file name: no folders, no leading dot.
var planName = lazy.Regexp(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// SavePlan writes plans/NAME.json and returns its path. A plan without a name
// gets the next free plan-001. A plan of that name that says something else
// is never replaced: it may have been reviewed (farm.ErrRefused).
func (w *Workspace) SavePlan(p placement.Plan) (path string, err error) {
	if err := os.MkdirAll(w.Path(plansDir), 0o755); err != nil {
		return "", &farm.Error{Op: "save plan", Subject: p.Name, Err: err}
	}
	if p.Name == "" {
		p.Name = w.freePlanName()
	}
	if !planName().MatchString(p.Name) {
		return "", &farm.Error{Op: "save plan", Subject: p.Name, Err: fmt.Errorf("%w: a plan's name is letters, digits, _ - and .", farm.ErrInput)}
	}
	return w.saveAs("save plan", p.Name, w.planPath(p.Name), p)
}

// saveAs writes what people review, and never replaces what says something else.
func (w *Workspace) saveAs(op, name, path string, v any) (string, error) {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return "", &farm.Error{Op: op, Subject: name, Err: err}
	}
	data = append(data, '\n')
	old, err := read(path)
	switch {
	case err == nil && bytes.Equal(old, data):
		return path, nil
	case err == nil:
		return "", &farm.Error{
			Op: op, Subject: name, Hint: "choose another name, or remove " + path,
			Err: fmt.Errorf("%w: another plan of that name is there", farm.ErrRefused),
		}
	case !errors.Is(err, fs.ErrNotExist):
		return "", &farm.Error{Op: op, Subject: name, Err: err}
	}
	if err := WriteFileAtomic(path, data, 0o644); err != nil {
		return "", &farm.Error{Op: op, Subject: name, Err: err}
	}
	return path, nil
}

// Plan reads a plan by its name (plans/NAME.json) or its path.
func (w *Workspace) Plan(nameOrPath string) (placement.Plan, error) {
	path := w.planPath(nameOrPath)
	if !planName().MatchString(nameOrPath) || strings.HasSuffix(nameOrPath, ".json") {
		path = w.Path(nameOrPath)
		if _, err := os.Stat(path); err != nil && filepath.Base(nameOrPath) == nameOrPath {
			path = w.Path(filepath.Join(plansDir, nameOrPath))
		}
	}
	if err := trusted(new(safefile.Trust), path); err != nil {
		return placement.Plan{}, err
	}
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return placement.Plan{}, &farm.Error{
			Op: "read plan", Subject: nameOrPath, Hint: "make one with `stowage plan`, or name one of " + w.planNames(),
			Err: fmt.Errorf("%w: there is no %s", farm.ErrInput, w.shown(path)),
		}
	}
	if err != nil {
		return placement.Plan{}, &farm.Error{Op: "read plan", Subject: nameOrPath, Err: err}
	}
	return parsePlan(w.shown(path), data)
}

// parsePlan looks at the version first: the keys of another version would all
// be unknown ones.
func parsePlan(file string, data []byte) (placement.Plan, error) {
	var version struct {
		FormatVersion *int `json:"format_version"`
	}
	if err := nested.Unmarshal(data, &version); err == nil {
		got := 0
		if version.FormatVersion != nil {
			got = *version.FormatVersion
		}
		if got != placement.FormatVersion {
			return placement.Plan{}, versionFault(file, data, got, placement.FormatVersion)
		}
	}
	var p placement.Plan
	if err := readStrictJSON(file, data, &p); err != nil {
		return placement.Plan{}, err
	}
	return p, nil
}

func (w *Workspace) planPath(name string) string {
	return w.Path(filepath.Join(plansDir, name+".json"))
}

func (w *Workspace) freePlanName() string {
	for i := 1; ; i++ {
		name := fmt.Sprintf("plan-%03d", i)
		if _, err := os.Lstat(w.planPath(name)); err != nil {
			return name
		}
	}
}

// PlanNames are the names of all plans, sorted.
func (w *Workspace) PlanNames() []string {
	paths, err := filepath.Glob(w.Path(filepath.Join(plansDir, "*.json")))
	if err != nil {
		return nil // only a malformed pattern, and ours is not
	}
	for i, p := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(p), ".json")
	}
	return paths
}

func (w *Workspace) planNames() string {
	names := w.PlanNames()
	if len(names) == 0 {
		return "plans/ (empty so far)"
	}
	return strings.Join(names, ", ")
}

// shown is a path as people know it: inside the workspace, relative to it.
func (w *Workspace) shown(path string) string {
	if rel, err := filepath.Rel(w.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
