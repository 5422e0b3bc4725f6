package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/bench"
	"stowage/bench/disk"
	"stowage/bench/matrix"
	"stowage/bench/result"
	"stowage/bench/trial"
	"stowage/farm"
	"stowage/internal/safefile"
	"stowage/workspace"
)

type matrixFlags struct {
	dryRun, overwrite bool
	save              string
	seed              uint64
	destroy           []string
}

func (a *app) benchMatrixCommand() *cobra.Command {
	var f matrixFlags
	cmd := &cobra.Command{
		Use:   "matrix FILE",
		Short: "Measure a table of ways to set a storage up: file systems, options, schedulers, RAID levels",
		Long: `Makes each cell of the table that a file describes, measures it with the barrage of bench run, and takes it away
again; round after round, in an order that chance decides, the first cell twice. Cells are file systems made anew
on loop devices, over files in a directory that the file names, or on devices. Prints how many hours it will take
before it begins, and at the end a table for each step: Transfer/s, Requests/s, Avg/Request, 95%/Request and
99%/Request, whether a cell is better or worse than the first (or the one called baseline) and how sure that is.
A cell that the kernel refuses is a result of its own.

Devices are named in the file by names that stay, and each once more behind --destroy-data.

With --save the result is kept in a file after every run, and the same command goes on from there; with a larger
number of rounds in the file also from a whole result. After a kill -9 the next start undoes what was left, and
so does stowage bench clean.

` + exitHelp,
		Example: "  stowage bench matrix matrix.yaml --dry-run\n  sudo stowage bench matrix matrix.yaml --save matrix.json",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			m, err := workspace.ReadMatrix(given[0], func(id string) error {
				_, err := bench.ParseStep(id, bench.Full())
				return err
			})
			if err != nil {
				return err
			}
			plan, err := trial.Plan(m)
			if err != nil {
				return err
			}
			if f.dryRun {
				return a.emit(plan, func(w io.Writer) error { return matrix.WritePlan(w, plan) }, a.forReal())
			}
			if !c.Flags().Changed("seed") {
				f.seed = rand.Uint64() >> 12 // a number that JSON keeps whole
			}
			return a.benchMatrix(c.Context(), m, plan, f)
		},
	}
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the cells and the hours, and do nothing")
	cmd.Flags().StringVar(&f.save, "save", "", "keep the result in this file, and go on from it")
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the order of cells (default: a new one, stored with the result)")
	cmd.Flags().StringArrayVar(&f.destroy, "destroy-data", nil, "a `DEVICE` of the file, once more: what is on it is destroyed (once for each device)")
	cmd.Flags().BoolVar(&f.overwrite, "overwrite", false, "also devices with a file system or a partition table on them")
	return cmd
}

func (a *app) benchMatrix(ctx context.Context, m *matrix.Matrix, plan matrix.Plan, f matrixFlags) error {
	disks, err := confirmAll(m.Devices, f.destroy)
	if err != nil {
		return err
	}
	o := trial.Order{Matrix: *m, Disks: disks, Overwrite: f.overwrite, Seed: f.seed, Version: stamp(), Command: os.Args, Border: a.border}
	if f.save != "" {
		whole := func(d *matrix.Document) (bool, string) {
			return d.Complete && d.Matrix.Rounds >= m.Rounds, "give the matrix more rounds"
		}
		if o.Previous, err = keptBefore(f.save, "a matrix", matrix.Read, whole); err != nil {
			return err
		}
		o.Save = func(d *matrix.Document) error { return keep(f.save, d) }
	} else {
		a.say(unkept)
	}
	a.say("%s", plan.Hours())
	screen := benchScreen{app: a, began: time.Now()}
	o.Tell = func(p trial.Progress) {
		if p.Text != "" {
			screen.line(p.Text, false)
			return
		}
		screen.line(fmt.Sprintf("visit %d of %d, round %d, about %v to go: %s: %s %.0f IOPS", p.Visit, p.Visits, p.Round, p.Left.Round(time.Second), p.Cell, p.Step, p.IOPS), true)
	}
	d, err := trial.Run(ctx, o)
	screen.end()
	if err != nil {
		return cutShort(err, m.Directory, f.save)
	}
	return a.emit(d, func(w io.Writer) error { return matrix.WriteText(w, d) }, a.afterBench(f.save)...)
}

// confirmAll finds the devices of a matrix, each of which must have been typed once more.
func confirmAll(devices, again []string) ([]disk.Disk, error) {
	m := disk.Machine{Root: "/"}
	var out []disk.Disk
	for _, given := range devices {
		d, err := m.Look(given)
		if err != nil {
			return nil, err
		}
		confirmation := ""
		if slices.Contains(again, d.ID) {
			confirmation = d.ID
		}
		if d, err = confirmed(m, given, confirmation); err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	for _, name := range again {
		if !slices.ContainsFunc(out, func(d disk.Disk) bool { return d.ID == name }) {
			return nil, &farm.Error{Op: "use device", Subject: name, Err: fmt.Errorf("%w: the matrix does not name this device", farm.ErrInput), Hint: "--destroy-data names devices of the file, and nothing else"}
		}
	}
	return out, nil
}

// readMatrixDocument reads a file that is the result of a matrix; nil where it is something else, or not there.
func readMatrixDocument(path string) (*matrix.Document, error) {
	raw, err := safefile.ReadInput(path, largestResult)
	if err != nil || !matrix.IsDocument(raw) {
		return nil, nil // whoever reads it as something else says what is wrong
	}
	d, err := matrix.Read(raw)
	if err != nil {
		return nil, &farm.Error{Op: "read result", Subject: path, Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "give a file that bench matrix wrote with --save, or its --json"}
	}
	return d, nil
}

// readCell is the result of one cell, for FILE#CELL; nil where that is not what was named.
func readCell(name string) (*result.Result, error) {
	path, cell, ok := strings.Cut(name, "#")
	d, err := readMatrixDocument(path)
	if d == nil || err != nil {
		return nil, err
	}
	wrong := func(why string) error {
		var names []string
		for _, c := range d.Cells {
			names = append(names, fmt.Sprintf("%q", path+"#"+c.Name))
		}
		return &farm.Error{Op: "read result", Subject: name, Err: fmt.Errorf("%w: %s", farm.ErrInput, why), Hint: "its cells are " + farm.Some(names)}
	}
	if !ok {
		return nil, wrong("it holds a whole matrix, and one result is needed here")
	}
	c := d.Cell(cell)
	switch {
	case c == nil:
		return nil, wrong("there is no such cell")
	case c.Result == nil:
		return nil, wrong("that cell was not measured: " + c.Refused + c.Failed)
	}
	return c.Result, nil
}

// matrixCSV prints the rows of all cells.
func (a *app) matrixCSV(d *matrix.Document) error {
	if d == nil {
		return nil
	}
	var all []result.Named
	for _, c := range d.Cells {
		if c.Result != nil {
			all = append(all, result.Named{Name: c.Name, Result: c.Result})
		}
	}
	return result.WriteCellsCSV(a.stdout, all)
}

// cleaned is what bench clean undid.
type cleaned struct {
	Directory string   `json:"directory"`
	Undone    []string `json:"undone"`
}

func (c cleaned) text(w io.Writer) error {
	text := "nothing was left there"
	if n := len(c.Undone); n > 0 {
		text = fmt.Sprintf("%d things undone; nothing is left", n)
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", c.Directory, text)
	return err
}
