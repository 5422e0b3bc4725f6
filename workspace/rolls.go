package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stowage/farm"
	"stowage/internal/nested"
	"stowage/internal/safefile"
	"stowage/roll/agenda"
)

// A workspace has its rolls in one directory: playbooks, rolls/NAME.yaml, and plans made of them or of the command line, rolls/NAME.json.

func (w *Workspace) rollPath(name, ext string) string {
	return w.Path(filepath.Join(rollsDir, name+ext))
}

// SaveRoll writes rolls/NAME.json and returns its path and the plan as it was
// written. One without a name gets the next free one after its playbook, or
// roll-001. As with plans, one of that name that says something else is never
// replaced.
func (w *Workspace) SaveRoll(p agenda.Plan) (path string, saved agenda.Plan, err error) {
	if err := os.MkdirAll(w.Path(rollsDir), 0o755); err != nil {
		return "", p, &farm.Error{Op: "save plan", Subject: p.Name, Err: err}
	}
	if p.Name == "" {
		p.Name = w.freeRollName(p.Work.Playbook)
	}
	if !planName().MatchString(p.Name) {
		return "", p, &farm.Error{Op: "save plan", Subject: p.Name, Err: fmt.Errorf("%w: a plan's name is letters, digits, _ - and .", farm.ErrInput)}
	}
	if w.hasRoll(p.Name, ".yaml") {
		return "", p, &farm.Error{Op: "save plan", Subject: p.Name, Err: fmt.Errorf("%w: a playbook of that name is there", farm.ErrRefused), Hint: "choose another name"}
	}
	path, err = w.saveAs("save plan", p.Name, w.rollPath(p.Name, ".json"), p)
	return path, p, err
}

func (w *Workspace) freeRollName(after string) string {
	if after == "" {
		after = "roll"
	}
	for i := 1; ; i++ {
		if name := fmt.Sprintf("%s-%03d", after, i); !w.hasRoll(name, ".json") {
			return name
		}
	}
}

func (w *Workspace) hasRoll(name, ext string) bool {
	_, err := os.Lstat(w.rollPath(name, ext))
	return err == nil
}

// HasRoll and HasPlaybook say what a name is, for a command that takes either.
func (w *Workspace) HasRoll(name string) bool {
	return planName().MatchString(name) && w.hasRoll(name, ".json")
}

// HasPlaybook: see HasRoll.
func (w *Workspace) HasPlaybook(name string) bool {
	return planName().MatchString(name) && w.hasRoll(name, ".yaml")
}

// RollNames are the plans and the playbooks in rolls/, sorted.
func (w *Workspace) RollNames() (plans, playbooks []string) {
	for ext, into := range map[string]*[]string{".json": &plans, ".yaml": &playbooks} {
		paths, err := filepath.Glob(w.Path(filepath.Join(rollsDir, "*"+ext)))
		if err != nil {
			continue // only a malformed pattern, and ours is not
		}
		for _, p := range paths {
			*into = append(*into, strings.TrimSuffix(filepath.Base(p), ext))
		}
	}
	return plans, playbooks
}

// Roll reads a plan of a roll by its name.
func (w *Workspace) Roll(name string) (agenda.Plan, error) {
	path, data, err := w.readRoll(name, ".json")
	if err != nil {
		return agenda.Plan{}, err
	}
	var p agenda.Plan
	err = w.readVersioned(path, data, agenda.FormatVersion, &p)
	return p, err
}

// readVersioned reads a plan of this version from its file's text.
func (w *Workspace) readVersioned(path string, data []byte, want int, into any) error {
	var version struct {
		FormatVersion int `json:"format_version"`
	}
	if err := nested.Unmarshal(data, &version); err == nil && version.FormatVersion != want {
		return versionFault(w.shown(path), data, version.FormatVersion, want)
	}
	return readStrictJSON(w.shown(path), data, into)
}

// readTrusted reads a file of the workspace that nobody else could have written. hint is for one that is not there.
func (w *Workspace) readTrusted(op, name, path, hint string) ([]byte, error) {
	if err := trusted(new(safefile.Trust), path); err != nil {
		return nil, err
	}
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &farm.Error{Op: op, Subject: name, Err: fmt.Errorf("%w: there is no %s", farm.ErrInput, w.shown(path)), Hint: hint}
	}
	if err != nil {
		return nil, &farm.Error{Op: op, Subject: name, Err: err}
	}
	return data, nil
}

func (w *Workspace) readRoll(name, ext string) (path string, data []byte, err error) {
	plans, playbooks := w.RollNames()
	hint := "there are: " + strings.Join(append(plans, playbooks...), ", ")
	if len(plans)+len(playbooks) == 0 {
		hint = "rolls/ is empty so far; docs/guide/roll.md"
	}
	if !planName().MatchString(name) {
		return "", nil, &farm.Error{Op: "read roll", Subject: name, Err: fmt.Errorf("%w: there is no plan and no playbook of that name", farm.ErrInput), Hint: hint}
	}
	path = w.rollPath(name, ext)
	data, err = w.readTrusted("read roll", name, path, hint)
	return path, data, err
}

// Playbook reads rolls/NAME.yaml for a farm.
func (w *Workspace) Playbook(name string, f *farm.Farm) (agenda.Work, error) {
	path, data, err := w.readRoll(name, ".yaml")
	if err != nil {
		return agenda.Work{}, err
	}
	work, err := parsePlaybook(w.shown(path), data, f)
	work.Playbook = name
	return work, err
}

// FarmFaults says where in farm.yaml something is wrong, as reading it does.
func (w *Workspace) FarmFaults(problems []farm.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	_, lineOf, err := w.FarmPlaces()
	if err != nil {
		return err
	}
	fs := &faults{file: farmFile}
	for _, p := range problems {
		fs.add(lineOf(p.Path), "%s", p.Text)
	}
	return fs.err()
}

// SaveAnnouncement writes rolls/NAME.md and rolls/NAME.ics, the announcement of a roll. It replaces an earlier edition.
func (w *Workspace) SaveAnnouncement(name string, markdown, calendar []byte) (paths []string, err error) {
	if !planName().MatchString(name) {
		return nil, &farm.Error{Op: "announce", Subject: name, Err: fmt.Errorf("%w: there is no plan of that name", farm.ErrInput)}
	}
	for _, f := range []struct {
		ext  string
		data []byte
	}{{".md", markdown}, {".ics", calendar}} {
		path := w.rollPath(name, f.ext)
		if err := WriteFileAtomic(path, f.data, 0o644); err != nil {
			return paths, &farm.Error{Op: "announce", Subject: name, Err: err}
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// Calendar is the text of rolls/NAME.ics; "" when there is none.
func (w *Workspace) Calendar(name string) (string, error) {
	data, err := read(w.rollPath(name, ".ics"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", &farm.Error{Op: "announce", Subject: name, Err: err}
	}
	return string(data), nil
}
