package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/internal/safefile"
)

// directoriesFile, beside a host's certificate, lists what its agent may touch:
// directories and option files, a line each. It comes there as the certificate
// does, by a person, and not through the engine: whoever has a controller's key
// cannot make it longer.
const directoriesFile = "directories"

const directoriesHead = `# What the agent of this host may make, write, empty, start and stop: these directories and what is below them, and these files.
# It is read anew with each call. A line that is taken out here stays out: stowage agent certs only adds what farm.yaml names.
`

// directories is the list in a file. One without a file allows everything that
// is no part of the system, as agents did before there was a list.
type directories string

func directoriesOf(id *Identity) directories {
	return directories(filepath.Join(id.Dir, directoriesFile))
}

// read gives the list; given: there is one.
func (d directories) read() (list []string, given bool, err error) {
	fail := func(err error) ([]string, bool, error) {
		return nil, true, &farm.Error{Op: "read list of directories", Subject: string(d), Err: fmt.Errorf("%w: %w", farm.ErrRefused, err),
			Hint: "nothing is touched until it can be read: bring it back from a copy, or from hosts/NAME where the farm is moved from"}
	}
	raw, err := safefile.ReadInput(string(d), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err == nil {
		err = safefile.Trusted(string(d))
	}
	if err != nil {
		return fail(err)
	}
	for n, line := range strings.Split(string(raw), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if !path.IsAbs(line) || line != path.Clean(line) || line == "/" {
			return fail(fmt.Errorf("line %d: %q is not an absolute path in its plain form", n+1, line))
		}
		list = append(list, line)
	}
	return list, true, nil
}

// allow is nil when all of these are in the list, or below something in it.
func (d directories) allow(paths ...string) error {
	list, given, err := d.read()
	if err != nil || !given {
		return err
	}
	for _, p := range paths {
		if p != path.Clean(p) || !slices.ContainsFunc(list, func(dir string) bool { return farm.IsBelow(dir, p) }) {
			return &farm.Error{Op: "touch", Subject: p, Err: fmt.Errorf("%w: it is not in the list of directories of this host's agent, %s", farm.ErrRefused, string(d)),
				Hint: "is it meant to be there? stowage agent certs, and copy hosts/NAME to that host again; or add a line there"}
		}
	}
	return nil
}

// Directories adds to the list that goes to a host with its certificate, and
// says whether anything was new. Nothing is taken off.
func (a *Authority) Directories(name farm.HostName, all []string) (added bool, err error) {
	d := directories(filepath.Join(a.hostDir(name), directoriesFile))
	list, given, err := d.read()
	if err != nil {
		return false, err
	}
	whole := slices.Clone(list)
	for _, p := range all {
		if p = path.Clean(p); !slices.ContainsFunc(whole, func(dir string) bool { return farm.IsBelow(dir, p) }) {
			whole = append(whole, p)
		}
	}
	if given && len(whole) == len(list) {
		return false, nil
	}
	var text bytes.Buffer
	text.WriteString(directoriesHead)
	for _, p := range whole {
		fmt.Fprintln(&text, p)
	}
	return true, writeFile(string(d), text.Bytes())
}
