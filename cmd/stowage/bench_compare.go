package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"stowage/bench/result"
	"stowage/farm"
	"stowage/internal/safefile"
	"stowage/workspace"
)

func (a *app) benchCompareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compare A B",
		Short: "Say step by step whether B is better or worse than A, and how sure that is",
		Long: `Compares two results that bench run (or bench engine) has saved: for every step the ratio of IOPS, its 95 % interval, and
better, worse (by more than 5 %, surely), same (surely by less), or inconclusive, with the number of runs
that would settle it; the same for the 99th percentile of latency. What else differs between the two is
listed, and what makes the comparison unfair. Exit code 1 when something got worse. FILE#CELL is one cell of a
matrix, FILE.yaml#NAME one of the published results (docs/measuring/decide.md).

` + exitHelp,
		Example: "  stowage bench compare old.json new.json",
		Args:    args(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, given []string) error {
			if is, err := a.compareEngines(given); is {
				return err
			}
			before, err := readAnyResult(given[0])
			if err != nil {
				return err
			}
			after, err := readAnyResult(given[1])
			if err != nil {
				return err
			}
			c := result.Compare(given[0], before, given[1], after)
			if len(c.Steps) == 0 {
				return &farm.Error{Op: "compare " + given[0] + " with", Subject: given[1], Err: fmt.Errorf("%w: they have no step in common", farm.ErrInput), Hint: "measure the same steps on both"}
			}
			if err := a.emit(c, func(w io.Writer) error { return result.CompareText(w, c) }, a.cmd("bench show %s %s --html %s", given[0], given[1], "compared.html")); err != nil {
				return err
			}
			if c.GotWorse() {
				return farm.ErrFindings
			}
			return nil
		},
	}
}

func (a *app) benchCSVCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "csv FILE",
		Short: "Print a result as rows for a spreadsheet, one for each run",
		Long: `Prints a result that bench run has saved as CSV: the columns that spreadsheets made for SQLIO know (IOs/sec,
MBs/sec, latencies in milliseconds), and behind them percentiles, what disturbed the run, and where it was made.
Of a matrix all cells are printed, their names in a last column; FILE#CELL prints one, FILE.yaml#NAME a
published result (docs/measuring/decide.md).

` + exitHelp,
		Example: "  stowage bench csv new.json > new.csv",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			if a.json {
				return usage(c, errors.New("CSV and --json are two formats"))
			}
			if d, err := readMatrixDocument(given[0]); d != nil || err != nil {
				return errors.Join(err, a.matrixCSV(d))
			}
			r, err := readAnyResult(given[0])
			if err != nil {
				return err
			}
			return result.WriteCSV(a.stdout, r)
		},
	}
}

// readAnyResult reads a result that a person named, also one that somebody published and typed in, as FILE.yaml#NAME. What was not published is 0 in those:
// only who knows that may read them.
func readAnyResult(reference string) (*result.Result, error) {
	if workspace.IsEntered(reference) {
		return workspace.ReadEntered(reference)
	}
	return readResult(reference)
}

// readResult reads a result that a person named: one that bench run has saved, or a cell of a matrix, as FILE#CELL.
func readResult(path string) (*result.Result, error) {
	if r, err := readCell(path); r != nil || err != nil {
		return r, err
	}
	raw, err := safefile.ReadInput(path, largestResult)
	if err != nil {
		return nil, &farm.Error{Op: "read result", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, errorsCause(err)), Hint: "make one: stowage bench run DIR --save " + path}
	}
	r, err := result.Read(raw)
	if err != nil {
		return nil, &farm.Error{Op: "read result", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "give a file that bench run wrote with --save, or its --json"}
	}
	return r, nil
}
