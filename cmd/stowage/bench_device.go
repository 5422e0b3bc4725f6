package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"stowage/bench"
	"stowage/bench/disk"
	"stowage/bench/result"
	"stowage/bench/testbed"
	"stowage/farm"
)

// benchDevice measures a device that was named twice.
func (a *app) benchDevice(ctx context.Context, f benchFlags, o bench.Order) (err error) {
	m := disk.Machine{Root: "/"}
	d, err := confirmed(m, f.device, f.destroy)
	if err != nil {
		return err
	}
	claim, err := m.Take(d, func(string, *os.File) bool { return f.overwrite })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, claim.Close()) }()
	a.say("%s (%s, %d MiB): all that is on it will be gone", d.ID, d.Path(), d.Size>>20)
	return a.benchRun(ctx, d.Given, f, o, func(ctx context.Context, o bench.Order) (*result.Result, error) {
		return bench.RunDevice(ctx, claim, o)
	})
}

// confirmed finds a device and holds what was typed the second time against it.
func confirmed(m disk.Machine, given, again string) (disk.Disk, error) {
	d, err := m.Look(given)
	if err != nil {
		return d, err
	}
	if err := m.Check(d); err != nil {
		return d, err
	}
	return d, d.Confirm(again)
}

func (a *app) benchCleanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clean DIR",
		Short: "Undo what a killed bench matrix left: mounts, loop devices, queue settings, files",
		Long: `Undoes what a bench matrix that was killed (kill -9, a crash) left in the directory that its file names, by the
journal it kept there: unmounts, puts queue settings back, detaches loop devices, takes its file systems from
devices, removes its files. What may not be its own is left alone and named. The next bench matrix in the same
directory does the same. Nothing there is no error.

` + exitHelp,
		Example: "  sudo stowage bench clean /srv/bench",
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, given []string) error {
			undone, err := testbed.Clean(given[0], func(text string) { a.say("%s", text) })
			if err != nil {
				if errors.Is(err, os.ErrPermission) {
					return &farm.Error{Op: "clean", Subject: given[0], Err: fmt.Errorf("%w: %w", farm.ErrInput, err), Hint: "it was made by root: sudo stowage bench clean " + given[0]}
				}
				return err
			}
			out := cleaned{Directory: given[0], Undone: undone}
			return a.emit(out, out.text, a.cmd("bench run %s", given[0]))
		},
	}
}
