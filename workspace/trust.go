package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stowage/farm"
	"stowage/internal/safefile"
)

// mostBytes is more than any file of a workspace has that is read as a whole.
const mostBytes = 256 << 20

// read reads one file of a workspace: a regular one.
func read(path string) ([]byte, error) { return safefile.ReadInput(path, mostBytes) }

// Trust refuses a directory, and what it holds that Stowage obeys, when
// somebody other than root and the caller could have written it: farm.yaml can
// name a program to run. ssh has the same rule for its keys. What is not there
// is refused when somebody else could make it. The error wraps
// farm.ErrRefused, says owner and mode, and its hint is the remedy.
func Trust(dir string) error {
	trust := new(safefile.Trust)
	if err := trusted(trust, dir); err != nil {
		return err
	}
	names := []string{farmFile, goalsFile, "routing.json", plansDir, rollsDir, altersDir, reshapeDir, stateDir}
	for _, pattern := range []string{filepath.Join(plansDir, "*.json"), filepath.Join(rollsDir, "*.yaml"), filepath.Join(rollsDir, "*.json"), filepath.Join(altersDir, "*.json"), filepath.Join(reshapeDir, "*.yaml"), filepath.Join("bench", "*.json")} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern)) // only a malformed pattern is an error
		for _, path := range found {
			names = append(names, strings.TrimPrefix(path, dir+string(filepath.Separator)))
		}
	}
	for _, name := range names {
		if err := trusted(trust, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return filepath.WalkDir(filepath.Join(dir, stateDir), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // gone meanwhile, or not ours to look at: who reads it is told
		}
		return trusted(trust, path)
	})
}

// trustNamed is Trust for what farm.yaml names: the accounts, the keys of
// agents, and the program that switches routing.
func (w *Workspace) trustNamed(f *farm.Farm) error {
	named := []string{f.Accounts, f.Agents.Certificates}
	if len(f.Routing.Program) > 0 && strings.Contains(f.Routing.Program[0], "/") {
		named = append(named, f.Routing.Program[0])
	}
	trust := new(safefile.Trust)
	for _, name := range named {
		if name == "" {
			continue
		}
		if _, err := os.Lstat(w.Path(name)); err != nil {
			continue // who reads it says so
		}
		if err := trusted(trust, w.Path(name)); err != nil {
			return err
		}
	}
	return nil
}

// trusted makes an error for people of what safefile says.
func trusted(trust *safefile.Trust, path string) error {
	err := trust.Path(path)
	var u *safefile.Untrusted
	if errors.As(err, &u) {
		return &farm.Error{Op: "trust", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrRefused, u), Hint: u.Remedy}
	}
	if errors.Is(err, fs.ErrPermission) || err == nil {
		return nil // who reads it says so
	}
	return &farm.Error{Op: "trust", Subject: path, Err: err}
}
