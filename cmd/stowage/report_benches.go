package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stowage/bench/engine/sheet"
	"stowage/bench/result"
	"stowage/farm"
	"stowage/internal/safefile"
	"stowage/report"
	"stowage/session"
)

// benchFiles are results of benches that a workspace keeps.
const benchFiles = "bench/*.json"

// addBenches adds the results that a report shows: those that were named, or the newest that are in the workspace, oldest first. Of results of
// bench engine it is the newest of each mode.
func (a *app) addBenches(d *session.Session, named []string, f *report.Facts) error {
	paths := named
	if len(named) == 0 {
		var err error
		if paths, err = filepath.Glob(d.Path(benchFiles)); err != nil {
			return err
		}
	}
	if len(named) == 0 {
		published, err := filepath.Glob(d.Path("bench/*.yaml"))
		if err != nil {
			return err
		}
		paths = append(paths, slices.DeleteFunc(published, func(path string) bool { return !isPublished(path) })...)
	}
	names := shortest(paths)
	for i, path := range paths {
		err := addBench(f, names[i], path)
		switch {
		case err == nil:
		case len(named) > 0:
			return err
		default:
			a.say("left out: %v", err) // any file may be there
		}
	}
	if len(named) == 0 {
		slices.SortStableFunc(f.Benches, func(x, y report.Bench) int { return begun(x.Result).Compare(begun(y.Result)) })
	}
	f.Engines = newestOfEach(f.Engines)
	n := len(f.Benches) - report.MostBenches
	switch {
	case n > 0 && len(named) > 0:
		return &farm.Error{Op: "write report", Err: fmt.Errorf("%w: %s, at most %d can be distinguished", farm.ErrInput, farm.Counted(len(f.Benches), "result"), report.MostBenches), Hint: "name fewer with --bench"}
	case n > 0:
		a.say("left out: the oldest %d of %d results in %s; --bench names others", n, len(f.Benches), d.Path("bench"))
		f.Benches = f.Benches[n:]
	}
	return nil
}

// addBench adds one result, of bench run or of bench engine.
func addBench(f *report.Facts, name, path string) error {
	if e, err := readEngine(path); e != nil || err != nil {
		if e != nil {
			f.Engines = append(f.Engines, e)
		}
		return err
	}
	if m, err := readMatrixDocument(path); m != nil || err != nil {
		if m != nil {
			err = &farm.Error{Op: "show result", Subject: path, Err: fmt.Errorf("%w: it is a matrix, which has a page of its own", farm.ErrInput), Hint: "stowage bench show " + shellWord(path) + " --html FILE"}
		}
		return err
	}
	benches, err := readBenches([]string{path})
	if err != nil {
		return err
	}
	if len(benches) == 1 {
		benches[0].Name = name
	}
	f.Benches = append(f.Benches, benches...)
	return nil
}

// isPublished reports whether a file says of itself that it holds published results. Other YAML files of benches are questions: matrix.yaml, decision.yaml.
func isPublished(path string) bool {
	raw, err := safefile.ReadInput(path, largestResult)
	return err == nil && (bytes.HasPrefix(raw, []byte("kind: entered")) || bytes.Contains(raw, []byte("\nkind: entered")))
}

// newestOfEach are the newest results of each mode, in the order of modes.
func newestOfEach(all []*sheet.Result) []*sheet.Result {
	var out []*sheet.Result
	for _, mode := range []sheet.Mode{sheet.Engines, sheet.Instances, sheet.Apply} {
		var newest *sheet.Result
		for _, r := range all {
			if r.Mode == mode && (newest == nil || !firstOf(newest.Sessions).After(firstOf(r.Sessions))) {
				newest = r
			}
		}
		if newest != nil {
			out = append(out, newest)
		}
	}
	return out
}

// firstOf is when the first session began; the zero time of none.
func firstOf(sessions []result.Session) time.Time {
	if len(sessions) == 0 {
		return time.Time{}
	}
	return sessions[0].Began
}

// begun is when a result was begun.
func begun(r *result.Result) time.Time { return firstOf(r.Sessions) }

// benchCommands are the command lines that made results, wherever that was.
func benchCommands(f report.Facts) []report.Command {
	var sessions []result.Session
	for _, b := range f.Benches {
		sessions = append(sessions, b.Result.Sessions...)
	}
	for _, e := range f.Engines {
		sessions = append(sessions, e.Sessions...)
	}
	var out []report.Command
	for _, s := range sessions {
		if len(s.Command) > 1 {
			out = append(out, report.Command{Line: "stowage " + strings.Join(s.Command[1:], " "), Started: s.Began, Seconds: s.Ended.Sub(s.Began).Seconds()})
		}
	}
	return out
}
