package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stowage/alter/plan"
	"stowage/farm"
)

// Plans of schema changes are alters/NAME.json. Scripts lie where their owners want them.

func (w *Workspace) alterPath(name string) string {
	return w.Path(filepath.Join(altersDir, name+".json"))
}

// SaveAlter writes alters/NAME.json and returns its path and the plan as it was written. One without a name gets the next free one after its script. One of that
// name that says something else is never replaced.
func (w *Workspace) SaveAlter(p plan.Plan) (path string, saved plan.Plan, err error) {
	if err := os.MkdirAll(w.Path(altersDir), 0o755); err != nil {
		return "", p, &farm.Error{Op: "save plan", Subject: p.Name, Err: err}
	}
	if p.Name == "" {
		after := strings.TrimSuffix(filepath.Base(p.Script), ".sql")
		if !planName().MatchString(after) {
			after = plan.Kind
		}
		for i := 1; p.Name == "" || w.HasAlter(p.Name); i++ {
			p.Name = fmt.Sprintf("%s-%03d", after, i)
		}
	}
	if !planName().MatchString(p.Name) {
		return "", p, &farm.Error{Op: "save plan", Subject: p.Name, Err: fmt.Errorf("%w: a plan's name is letters, digits, _ - and .", farm.ErrInput)}
	}
	path, err = w.saveAs("save plan", p.Name, w.alterPath(p.Name), p)
	return path, p, err
}

// HasAlter reports whether there is a plan of that name.
func (w *Workspace) HasAlter(name string) bool {
	if !planName().MatchString(name) {
		return false
	}
	_, err := os.Lstat(w.alterPath(name))
	return err == nil
}

// AlterNames are the plans in alters/, sorted.
func (w *Workspace) AlterNames() (out []string) {
	paths, _ := filepath.Glob(w.Path(filepath.Join(altersDir, "*.json"))) // only a malformed pattern is an error
	for _, p := range paths {
		out = append(out, strings.TrimSuffix(filepath.Base(p), ".json"))
	}
	return out
}

// Alter reads a plan by its name.
func (w *Workspace) Alter(name string) (plan.Plan, error) {
	hint := "there are: " + strings.Join(w.AlterNames(), ", ")
	if len(w.AlterNames()) == 0 {
		hint = "alters/ is empty so far; docs/guide/alter.md"
	}
	if !planName().MatchString(name) {
		return plan.Plan{}, &farm.Error{Op: "read plan", Subject: name, Err: fmt.Errorf("%w: there is no plan and no script of that name", farm.ErrInput), Hint: hint}
	}
	path := w.alterPath(name)
	data, err := w.readTrusted("read plan", name, path, hint)
	if err != nil {
		return plan.Plan{}, err
	}
	var p plan.Plan
	err = w.readVersioned(path, data, plan.FormatVersion, &p)
	return p, err
}

// SaveAlterScript writes a script beside the plans and returns its path. One of that name that says the same is left alone; beside any other, which somebody may have written, it gets a number.
func (w *Workspace) SaveAlterScript(name, text string) (string, error) {
	for n := 1; ; n++ {
		path := w.Path(filepath.Join(altersDir, name))
		if n > 1 {
			path = fmt.Sprintf("%s-%d.sql", strings.TrimSuffix(path, ".sql"), n)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", &farm.Error{Op: "save script", Subject: name, Err: err}
		}
		switch old, err := read(path); {
		case err == nil && string(old) == text:
			return path, nil
		case errors.Is(err, fs.ErrNotExist):
			return path, WriteFileAtomic(path, []byte(text), 0o644)
		case err != nil:
			return "", &farm.Error{Op: "save script", Subject: w.shown(path), Err: err}
		}
	}
}
