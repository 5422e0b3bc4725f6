package host

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/internal/nested"
	"stowage/internal/optionfile"
	"stowage/internal/safefile"
)

// persistedFile is where MySQL keeps what SET PERSIST says. It is read after all
// option files and the command line.
const persistedFile = "mysqld-auto.cnf"

// persisted are the options in MySQL's own file, as this server reads it.
func (p process) persisted(i Instance, others []optionfile.Line) ([]optionfile.Line, error) {
	if p.series.mariaDB {
		return nil, nil
	}
	if load, _, set := (Start{Options: others}).Value("persisted_globals_load"); set && slices.Contains([]string{"OFF", "0", "FALSE"}, strings.ToUpper(load)) {
		return nil, nil
	}
	path := filepath.Join(i.Datadir, persistedFile)
	raw, err := safefile.ReadFile(path, smallFile)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && p.datadir == "" { // closed, by Retire
		return nil, nil
	}
	var all map[string]any
	if err == nil {
		err = nested.Unmarshal(raw, &all)
	}
	if err != nil {
		return nil, &farm.Error{Op: "read what SET PERSIST says", Subject: path, Err: err, Hint: "the server reads it at its next start: SHOW its variables in performance_schema.persisted_variables"}
	}
	values := map[string]string{}
	persistedIn(all, values)
	var out []optionfile.Line
	for key, value := range values {
		out = append(out, optionfile.Line{File: path, Key: optionfile.Canonical(key), Value: value, IsValued: true})
	}
	slices.SortFunc(out, func(a, b optionfile.Line) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// persistedIn finds variables: what has a Value. Until 8.0.28 dynamic ones stand
// under mysql_server and static ones in a group within it, later each kind in one
// of its own.
func persistedIn(group map[string]any, into map[string]string) {
	for name, x := range group {
		inner, is := x.(map[string]any)
		if !is {
			continue
		}
		if value, is := inner["Value"].(string); is {
			into[name] = value
		} else {
			persistedIn(inner, into)
		}
	}
}
