package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stowage/bench/matrix"
	"stowage/bench/result"
	"stowage/farm"
	"stowage/report"
	"stowage/workspace"
)

func (a *app) benchShowCommand() *cobra.Command {
	var html string
	cmd := &cobra.Command{
		Use:        "show FILE...",
		Short:      "Show results again, or write them with charts into one HTML file",
		SuggestFor: []string{"report", "chart", "html"},
		Long: fmt.Sprintf(`Shows a result that bench run, bench matrix or bench engine has saved, as they did, or a cell of a matrix: FILE#CELL.
Several of bench run are each compared with the first, as by bench compare; the cells of a matrix against its baseline.
FILE.yaml#NAME is a published result (docs/measuring/decide.md), FILE.yaml all of them: they are shown in the
classic table, Transfer/s, Requests/s, Avg/Request, 95%%/Request, and so is what bench import has read.

With --html it writes one HTML file instead, complete in itself: latency percentile curves, saturation curves
with their knee, maps of block size by depth, how even the speed stayed, all steps with their intervals,
verdicts where there are several results, what disturbed them, machine, settings and job files. %s
at most; the first is what the others are compared with. Of bench engine: what a transaction costs, percentile
curves, the curve of several servers on one host, what a replica can follow; one result at a time. The file is
relative to the current directory.

`, farm.Counted(report.MostBenches, "result")) + exitHelp,
		Example: "  stowage bench show new.json\n  stowage bench show old.json new.json --html compared.html",
		Args:    args(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			if len(given) > report.MostBenches {
				return usage(c, fmt.Errorf("%s, at most %d can be distinguished", farm.Counted(len(given), "result"), report.MostBenches))
			}
			if is, err := a.showEngines(given, html); is {
				return err
			}
			whole, err := readMatrixDocument(given[0])
			switch {
			case err != nil:
				return err
			case whole != nil && len(given) > 1:
				return usage(c, errors.New("a whole matrix is shown alone; its cells are named FILE#CELL"))
			case whole != nil && html == "":
				return a.emit(whole, func(w io.Writer) error { return matrix.WriteText(w, whole) }, a.charted(given[0]))
			}
			if whole != nil {
				doc, err := matrixPage(given[0], whole)
				if err != nil {
					return err
				}
				return a.writeBenchHTML(html, doc)
			}
			benches, err := readBenches(given)
			if err != nil {
				return err
			}
			if html == "" {
				return a.showBenches(c, benches, len(given))
			}
			return a.writeBenchHTML(html, benchPage(benches))
		},
	}
	cmd.Flags().StringVar(&html, "html", "", "write one HTML file with charts")
	return cmd
}

// writeBenchHTML writes a document of a bench into a file, and says where.
func (a *app) writeBenchHTML(path string, d interface{ WriteHTML(io.Writer) error }) error {
	var b bytes.Buffer
	if err := d.WriteHTML(&b); err != nil {
		return err
	}
	if err := write(path, b.Bytes()); err != nil {
		return err
	}
	return a.emit(map[string]string{"html": path}, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, path)
		return err
	}) // whoever reads the page has what was wanted
}

// benchPage is the document of results. Of more than can be distinguished, as a file of published ones may hold, the first are drawn, and all are in the
// classic table.
func benchPage(benches []report.Bench) *report.BenchDocument {
	doc := report.NewBenchDocument(benches)
	if len(benches) <= report.MostBenches {
		return doc
	}
	var undrawn []string
	for _, b := range benches[report.MostBenches:] {
		undrawn = append(undrawn, b.Name)
	}
	doc.Of(doc.Title, report.Caution{Kind: "Not drawn", Text: fmt.Sprintf("%s: at most %d can be distinguished; they are in the table", strings.Join(undrawn, ", "), report.MostBenches)})
	doc.Classic(result.Classic(named(benches)))
	return doc
}

func named(benches []report.Bench) []result.Named {
	var out []result.Named
	for _, b := range benches {
		out = append(out, result.Named{Name: b.Name, Result: b.Result})
	}
	return out
}

// showBenches prints what was saved: one as it was, several each compared with the first, those that were not measured here in the classic table. A
// file of several published ones is a table, and compares nothing that was not asked for.
func (a *app) showBenches(c *cobra.Command, benches []report.Bench, asked int) error {
	first := benches[0]
	if len(benches) == 1 && !(first.Result.IsSecondhand() && !a.json) {
		return a.emit(first.Result, func(w io.Writer) error { return result.WriteText(w, first.Result) }, a.again(nil, "--html", shellWord(besideAs(c.Flags().Arg(0), ".html"))))
	}
	if a.json {
		return usage(c, errors.New("--json of several results is what bench compare prints, of two"))
	}
	isClassic := slices.ContainsFunc(benches, func(b report.Bench) bool { return b.Result.IsSecondhand() })
	if isClassic {
		if err := result.WriteClassic(a.stdout, named(benches)); err != nil {
			return err
		}
	}
	if asked == 1 {
		return nil
	}
	for i, b := range benches[1:] {
		if i > 0 || isClassic {
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

// readBenches reads results, and calls each by as little of its path as tells it from the others. A file of published results without a name behind it
// is all of them.
func readBenches(paths []string) ([]report.Bench, error) {
	var out []report.Bench
	names := shortest(paths)
	for i, path := range paths {
		if workspace.IsEntered(path) && !strings.Contains(path, "#") {
			all, err := workspace.ReadAllEntered(path)
			if err != nil {
				return nil, err
			}
			for _, n := range all {
				out = append(out, report.Bench{Name: n.Name, Result: n.Result})
			}
			continue
		}
		r, err := readAnyResult(path)
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
