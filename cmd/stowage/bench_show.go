package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/bench/matrix"
	"stowage/bench/result"
	"stowage/farm"
	"stowage/report"
)

func (a *app) benchShowCommand() *cobra.Command {
	var html string
	cmd := &cobra.Command{
		Use:        "show FILE...",
		Short:      "Show results again, or write them with charts into one HTML file",
		SuggestFor: []string{"report", "chart", "html"},
		Long: fmt.Sprintf(`Shows a result that bench run or bench matrix has saved, as they did, or a cell of a matrix: FILE#CELL. Several are
each held against the first, as by bench compare; the cells of a matrix against its baseline.

With --html it writes one HTML file instead, complete in itself: latency percentile curves, saturation curves
with their knee, maps of block size by depth, how even the speed stayed, all steps with their intervals,
verdicts where there are several results, what disturbed them, machine, settings and job files. %d results
at most; the first is what the others are held against. The file is relative to the current directory.

`, report.MostBenches) + exitHelp,
		Example: "  stowage bench show new.json\n  stowage bench show old.json new.json --html compared.html",
		Args:    args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			if len(given) > report.MostBenches {
				return usage(c, fmt.Errorf("%d results, and %d is as many as can be told apart", len(given), report.MostBenches))
			}
			if html == "" {
				if is, err := a.showEngines(given); is {
					return err
				}
			}
			whole, err := readMatrixDocument(given[0])
			switch {
			case err != nil:
				return err
			case whole != nil && len(given) > 1:
				return usage(c, errors.New("a whole matrix is shown alone; its cells are named FILE#CELL"))
			case whole != nil && html == "":
				return a.emit(whole, func(w io.Writer) error { return matrix.WriteText(w, whole) })
			}
			var benches []report.Bench
			if whole != nil {
				benches, err = matrixBenches(given[0], whole)
			} else {
				benches, err = readBenches(given)
			}
			if err != nil {
				return err
			}
			if html == "" {
				return a.showBenches(c, benches)
			}
			var b bytes.Buffer
			if err := report.NewBenchDocument(benches).WriteHTML(&b); err != nil {
				return err
			}
			if err := write(html, b.Bytes()); err != nil {
				return err
			}
			return a.emit(map[string]string{"html": html}, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, html)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&html, "html", "", "write one HTML file with charts")
	return cmd
}

// showBenches prints what was saved.
func (a *app) showBenches(c *cobra.Command, benches []report.Bench) error {
	first := benches[0]
	if len(benches) == 1 {
		return a.emit(first.Result, func(w io.Writer) error { return result.WriteText(w, first.Result) })
	}
	if a.json {
		return usage(c, errors.New("--json of several results is what bench compare prints, of two"))
	}
	for i, b := range benches[1:] {
		if i > 0 {
			if _, err := fmt.Fprintln(a.stdout); err != nil {
				return err
			}
		}
		if err := result.CompareText(a.stdout, result.Compare(first.Name, first.Result, b.Name, b.Result)); err != nil {
			return err
		}
	}
	return nil
}

// matrixBenches are the measured cells of a matrix, the baseline first, without the cell that is there twice.
func matrixBenches(path string, d *matrix.Document) ([]report.Bench, error) {
	refuse := func(why, hint string) error {
		return &farm.Error{Op: "show result", Subject: path, Err: fmt.Errorf("%w: %s", farm.ErrInput, why), Hint: hint}
	}
	base := d.Cell(d.Baseline)
	if base == nil || base.Result == nil {
		return nil, refuse("its baseline was not measured", "name the cells to be shown: "+path+"#CELL")
	}
	out := []report.Bench{{Name: base.Name, Result: base.Result}}
	for _, c := range d.Cells {
		if c != base && !c.Twin && c.Result != nil {
			out = append(out, report.Bench{Name: c.Name, Result: c.Result, Held: d.Hold(base, c)})
		}
	}
	if len(out) > report.MostBenches {
		return nil, refuse(fmt.Sprintf("%d cells were measured, and %d is as many as can be told apart", len(out), report.MostBenches), "name the cells to be shown: "+path+"#CELL")
	}
	return out, nil
}

// readBenches reads results, and calls each by as little of its path as tells it from the others.
func readBenches(paths []string) ([]report.Bench, error) {
	var out []report.Bench
	names := shortest(paths)
	for i, path := range paths {
		r, err := readResult(path)
		if err != nil {
			return nil, err
		}
		out = append(out, report.Bench{Name: names[i], Result: r})
	}
	return out, nil
}

// shortest are the names of cells, or of files without their directories; or all of it as it was given where two are called the same.
func shortest(paths []string) []string {
	var names []string
	for _, p := range paths {
		name := strings.TrimSuffix(filepath.Base(p), ".json")
		if _, cell, ok := strings.Cut(p, "#"); ok {
			name = cell
		}
		names = append(names, name)
	}
	sorted := slices.Sorted(slices.Values(names))
	if len(slices.Compact(sorted)) < len(names) {
		return paths
	}
	return names
}

// benchesOf are the results that a report shows: those that were named, or the newest that lie in the workspace, oldest first.
func (a *app) benchesOf(d *desk, named []string) ([]report.Bench, error) {
	if len(named) > report.MostBenches {
		return nil, &farm.Error{Op: "write report", Err: fmt.Errorf("%w: %d results, and %d is as many as can be told apart", farm.ErrInput, len(named), report.MostBenches), Hint: "name fewer with --bench"}
	}
	if len(named) > 0 {
		return readBenches(named)
	}
	paths, err := filepath.Glob(d.Path("bench/*.json"))
	if err != nil {
		return nil, err
	}
	var out []report.Bench
	names := shortest(paths)
	for i, path := range paths {
		r, err := readResult(path)
		if err != nil {
			a.say("left out: %v", err) // any file may lie there
			continue
		}
		out = append(out, report.Bench{Name: names[i], Result: r})
	}
	slices.SortStableFunc(out, func(x, y report.Bench) int { return begun(x.Result).Compare(begun(y.Result)) })
	if n := len(out) - report.MostBenches; n > 0 {
		a.say("left out: the oldest %d of %d results in %s; --bench names others", n, len(out), d.Path("bench"))
		out = out[n:]
	}
	return out, nil
}

// begun is when a result was begun.
func begun(r *result.Result) time.Time {
	if len(r.Sessions) == 0 {
		return time.Time{}
	}
	return r.Sessions[0].Began
}

// benchCommands are the command lines that made results, wherever that was.
func benchCommands(benches []report.Bench) []report.Command {
	var out []report.Command
	for _, b := range benches {
		for _, s := range b.Result.Sessions {
			if len(s.Command) > 1 {
				out = append(out, report.Command{Line: "stowage " + strings.Join(s.Command[1:], " "), Started: s.Began, Seconds: s.Ended.Sub(s.Began).Seconds()})
			}
		}
	}
	return out
}
