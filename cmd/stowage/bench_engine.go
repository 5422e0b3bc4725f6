package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"stowage/bench/engine"
	"stowage/bench/engine/sheet"
)

type benchEngineFlags struct {
	profile, save, keys              string
	cells, loads                     []string
	rows, clients, minRuns, maxRuns  int
	ratios                           []float64
	runtime                          time.Duration
	seed                             uint64
	noDurabilityOK, wantsReplication bool
	why                              bool
	flames                           string
	instances, threads               []int
	modes                            []string
	backlog                          int
}

func (a *app) benchEngineCommand() *cobra.Command {
	var f benchEngineFlags
	cmd := &cobra.Command{
		Use:   "engine DIR",
		Short: "Measure storage engines on servers of its own: transactions by CPU second, bytes by transaction, sizes",
		Long: `Starts MariaDB or MySQL servers (the first of the PATH) of its own in DIR/.stowage-bench, fills them,
and measures what a transaction costs with InnoDB (pages of 4, 8, 16 KiB, with and without doublewrite, flush methods), MyRocks and Aria: transactions a
second and by processor second of the server, percentiles, bytes written and read by transaction, flushes, write
amplification, size on disk and memory. Figures are given for the run, and settled: with what the run left
unwritten. Durability and the ratio of data to cache are in every row. How long it will take is said first.

Cells are innodb, myrocks, aria, myisam with words behind: innodb-4k, innodb-16k-nodw (no doublewrite),
innodb-16k-fsync, innodb-16k-relaxed. The first is the base of all comparisons, and is measured twice (A/A).
Loads are point, update, write, rw.

With --n-instances 1,2,4,8 so many servers run at once: how the host's sum grows, and where it stops growing.
With --replication a replica works off a backlog: how many writes a second it can follow, by threads and mode.

With --why each cell is run four times under each load: as it is; under perf, for where the processors are, with a
flame graph (--flames DIR); with its system calls counted, futex among them; and with the server's own instruments
on, for its mutexes. What this machine does not allow is named, with what would allow it.

Nothing else is touched, no port is used but, for --replication, a free one on 127.0.0.1, and everything goes when
it ends; what a kill -9 left goes with the next run. With --save the result is kept after every run, and the same
command goes on from there.

` + exitHelp,
		Example: "  stowage bench engine /var/lib/mysql\n  stowage bench engine /mnt/new --cells innodb-16k,innodb-16k-nodw --loads update --ratio 0.5,4 --save engines.json\n" +
			"  stowage bench engine /mnt/new --n-instances 1,2,4,8\n  stowage bench engine /mnt/new --replication\n" +
			"  sudo stowage bench engine /mnt/new --why --flames flames --cells innodb-16k,innodb-4k,myrocks --loads point",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, given []string) error {
			o, err := f.order(c)
			if err != nil {
				return err
			}
			if f.why {
				return a.benchEngineWhy(c.Context(), given[0], f.save, f.flames, o)
			}
			if f.flames != "" {
				return usage(c, errors.New("--flames belongs to --why"))
			}
			return a.benchEngine(c.Context(), given[0], f.save, o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.profile, "profile", "quick", "quick (minutes) or full (many hours)")
	fl.StringSliceVar(&f.cells, "cells", nil, "these ways to run a server, the base first (default: by profile)")
	fl.StringSliceVar(&f.loads, "loads", nil, "these of point, update, write, rw (default: by profile)")
	fl.IntVar(&f.rows, "rows", 0, "rows of each of two tables (default: 100000 in the quick profile, 2000000 in the full one)")
	fl.Float64SliceVar(&f.ratios, "ratio", nil, "`RATIOS` of data to cache: 0.5 fits twice, 4 does not (default: 0.5; in the full profile 0.5,4,10)")
	fl.Lookup("ratio").DefValue = "" // not []: pflag knows what is empty of other lists only
	fl.IntVar(&f.clients, "clients", 0, "clients of each server (default: 4; 8 in the full profile and for --replication; 1 for --n-instances)")
	fl.StringVar(&f.keys, "keys", "uniform", "uniform or zipf: all rows alike, or a few again and again")
	fl.DurationVar(&f.runtime, "runtime", 0, "length of each run (default: 5s, full 2m)")
	fl.IntVar(&f.minRuns, "min-runs", 3, "runs of each row at least")
	fl.IntVar(&f.maxRuns, "max-runs", 0, "runs of each row at most (default: 3, full 5)")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of rows, keys and order (default: a new one, stored with the result)")
	fl.StringVar(&f.save, "save", "", "keep the result in this file, and go on from it when it was cut short")
	fl.BoolVar(&f.noDurabilityOK, "no-durability-ok", false, "MyISAM may be measured: what it writes is not safe")
	fl.BoolVar(&f.why, "why", false, "where the processor time of a transaction goes, and what threads wait for, instead of how fast it is")
	fl.StringVar(&f.flames, "flames", "", "with --why: write a flame graph of each row into this `DIR`, as SVG")
	fl.IntSliceVar(&f.instances, "n-instances", nil, "numbers of servers of a cell that run at once, as 1,2,4,8")
	fl.BoolVar(&f.wantsReplication, "replication", false, "how fast a replica applies a backlog")
	fl.IntSliceVar(&f.threads, "threads", nil, "with --replication: slave_parallel_threads (default 0,2,4,8)")
	fl.StringSliceVar(&f.modes, "modes", nil, "with --replication: slave_parallel_mode (default conservative,optimistic)")
	fl.IntVar(&f.backlog, "backlog", 0, "with --replication: transactions to be applied (default 4000, full 200000)")
	return cmd
}

// order is what the flags ask for.
func (f benchEngineFlags) order(c *cobra.Command) (engine.Order, error) {
	set := c.Flags().Changed
	mode := sheet.Engines
	switch {
	case set("n-instances") && f.wantsReplication:
		return engine.Order{}, usage(c, errors.New("--n-instances and --replication cannot be combined"))
	case !f.wantsReplication && (set("threads") || set("modes") || set("backlog")):
		return engine.Order{}, usage(c, errors.New("--threads, --modes and --backlog belong to --replication"))
	case set("n-instances"):
		mode = sheet.Instances
	case f.wantsReplication:
		mode = sheet.Apply
	}
	o, err := engine.NewOrder(f.profile, mode)
	if err != nil {
		return o, err
	}
	o.Version, o.Command, o.Seed = stamp(), os.Args, f.seed
	if !set("seed") {
		o.Seed = rand.Uint64() >> 12 // a number that JSON keeps whole
	}
	if set("cells") {
		if o.Cells, err = sheet.ParseCells(f.cells, f.noDurabilityOK); err != nil {
			return o, err
		}
	}
	if set("loads") {
		if o.Loads, err = sheet.ParseLoads(f.loads); err != nil {
			return o, err
		}
	}
	take(set("rows"), &o.Rows, f.rows)
	take(set("ratio"), &o.Ratios, f.ratios)
	take(set("clients"), &o.Clients, f.clients)
	take(set("keys"), &o.Keys, f.keys)
	take(set("min-runs"), &o.MinRuns, f.minRuns)
	take(set("max-runs"), &o.MaxRuns, f.maxRuns)
	take(set("n-instances"), &o.Counts, f.instances)
	take(set("threads"), &o.Threads, f.threads)
	take(set("modes"), &o.Modes, f.modes)
	take(set("backlog"), &o.Backlog, f.backlog)
	if set("runtime") {
		o.Runtime, o.Warmup = f.runtime, min(f.runtime/3, o.Warmup)
	}
	if set("min-runs") && !set("max-runs") {
		o.MaxRuns = max(o.MaxRuns, o.MinRuns)
	}
	return o, o.Check()
}

// take is an assignment for flags that were given.
func take[T any](given bool, to *T, value T) {
	if given {
		*to = value
	}
}

func (a *app) benchEngine(ctx context.Context, dir, save string, o engine.Order) error {
	if save != "" {
		var err error
		whole := func(r *sheet.Result) (bool, string) { return r.Complete, "remove it" }
		if o.Previous, err = keptBefore(save, "bench engine", sheet.Read, whole); err != nil {
			return err
		}
		o.Save = func(r *sheet.Result) error { return keep(save, r) }
	} else if o.Profile == "full" {
		a.say(unkept)
	}
	screen := benchScreen{app: a, began: time.Now()}
	o.Tell = screen.tellEngine
	r, err := engine.Run(ctx, dir, o)
	screen.end()
	if err != nil {
		return cutShort(err, dir, save)
	}
	return a.emit(r, func(w io.Writer) error { return sheet.WriteText(w, r) }, a.afterBench(save)...)
}

// tellEngine shows how far it is, as tell does.
func (s *benchScreen) tellEngine(p engine.Progress) {
	text := p.Text
	if text == "" {
		text = fmt.Sprintf("%d of %d, round %d, about %v to go: %s %.0f tx/s", p.Done, p.Total, p.Round, p.Left.Round(time.Second), p.Row, p.TPS)
	}
	s.line(text, p.Text == "")
}
