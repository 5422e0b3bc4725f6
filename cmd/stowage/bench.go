package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stowage/bench"
	"stowage/bench/result"
	"stowage/farm"
)

type benchFlags struct {
	profile, size, save string
	runtime             time.Duration
	minRuns, maxRuns    int
	seed                uint64
	steps               []string
	device, destroy     string
	overwrite           bool
}

func (a *app) benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what a storage sustains, and compare what was measured",
		Long: `Measures a storage with loads that a database makes, repeats them until the figures are sure enough, and
says how sure they are.

` + exitHelp,
		Example: "  stowage bench run /var/lib/mysql --save before.json",
		Args:    args(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(a.benchRunCommand(), a.benchMatrixCommand(), a.benchEngineCommand(), a.benchImportCommand(), a.benchShowCommand(), a.benchCompareCommand(), a.benchCSVCommand(), a.benchDecideCommand(), a.benchCleanCommand())
	return cmd
}

func (a *app) benchRunCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "run DIR | run --device NAME --destroy-data NAME",
		Short: "Measure the storage that a directory is on, without touching anything in it, or a device",
		Long: `Runs a barrage of loads through fio on files of its own in DIR/.stowage-bench: page reads and writes, log
writes with a fdatasync after each, scans, and MIX, commits while pages are read and written. Nothing else is
written to, a tenth of the free space is left, and the files go when it ends; what a kill -9 left goes with the
next run. The quick profile takes two minutes, the full one hours (it says so first).

Steps say what they do: RND16K-RW70-Q4T4 is random requests of 16 KiB, 70 % reads, 4 outstanding in each of 4
threads; LOG is sequential over a log file, FDS a fdatasync after every write. Each is run several times, in
random order, until its 95 % interval is within 5 % or a limit is reached.

With --save the result is kept in a file after every run, and the same command goes on from there.

With --device a device itself is measured, without a file system, and what is on it is destroyed: it is named by
a name that stays (/dev/disk/by-id/...), and the same name is typed again behind --destroy-data. A loop device
is confirmed by the path of the file behind it. Devices that are mounted, held by an array or a volume group,
swapped on, removable, or that have anything known on them (--overwrite allows that last one) are refused.

` + exitHelp,
		Example: "  stowage bench run /var/lib/mysql\n  stowage bench run /mnt/new --profile full --save new.json\n  stowage bench run /mnt/new --steps LOG4K-FDS-Q1T1,MIX --size 512MiB --runtime 5s\n" +
			"  stowage bench run --device /dev/disk/by-id/nvme-X9_123 --destroy-data /dev/disk/by-id/nvme-X9_123",
		Args: func(c *cobra.Command, given []string) error {
			if f.device != "" || f.destroy != "" {
				return args(cobra.NoArgs)(c, given)
			}
			return args(cobra.ExactArgs(1))(c, given)
		},
		RunE: func(c *cobra.Command, given []string) error {
			order, err := f.order(c)
			if err != nil {
				return err
			}
			if f.device != "" || f.destroy != "" {
				return a.benchDevice(c.Context(), f, order)
			}
			return a.benchRun(c.Context(), given[0], f, order, func(ctx context.Context, o bench.Order) (*result.Result, error) {
				return bench.Run(ctx, given[0], o)
			})
		},
	}
	cmd.Flags().StringVar(&f.profile, "profile", "quick", "quick (two minutes) or full (hours)")
	cmd.Flags().StringVar(&f.size, "size", "", "size of the data file: 512MiB, 4GiB, 4GB, or as fio writes it, 512M or 4G, powers of 1024 (default: by profile and free space)")
	cmd.Flags().StringVar(&f.save, "save", "", "keep the result in this file, and go on from it when it was cut short")
	cmd.Flags().DurationVar(&f.runtime, "runtime", 0, "length of each run (default: 2.1s in the quick profile, 1m in the full one)")
	cmd.Flags().IntVar(&f.minRuns, "min-runs", 3, "runs of each step at least")
	cmd.Flags().IntVar(&f.maxRuns, "max-runs", 8, "runs of each step at most")
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the order of runs (default: a new one, stored with the result)")
	cmd.Flags().StringSliceVar(&f.steps, "steps", nil, "only these steps, by name")
	cmd.Flags().StringVar(&f.device, "device", "", "measure this device instead of a directory, and destroy what is on it: /dev/disk/by-id/...")
	cmd.Flags().StringVar(&f.destroy, "destroy-data", "", "the same name once more (of a loop device: the path of its file)")
	cmd.Flags().BoolVar(&f.overwrite, "overwrite", false, "also a device with a file system or a partition table on it")
	return cmd
}

// order is what the flags ask for.
func (f benchFlags) order(c *cobra.Command) (bench.Order, error) {
	o := bench.Order{Seed: f.seed, Version: stamp(), Command: os.Args}
	switch f.profile {
	case "quick":
		o.Profile = bench.Quick()
	case "full":
		o.Profile = bench.Full()
	default:
		return o, usage(c, fmt.Errorf("unknown profile %q; the profiles are quick and full", f.profile))
	}
	if f.size != "" {
		size, err := parseSize("--size", f.size)
		if err != nil {
			return o, usage(c, err)
		}
		o.Size = int64(size)
	}
	if f.minRuns < 1 || f.maxRuns < f.minRuns {
		return o, usage(c, errors.New("--min-runs is 1 or more, and --max-runs no less"))
	}
	o.Profile.MinRuns, o.Profile.MaxRuns = f.minRuns, f.maxRuns
	if c.Flags().Changed("runtime") {
		if f.runtime < 200*time.Millisecond {
			return o, usage(c, errors.New("--runtime is 200ms or more"))
		}
		o.Profile.SetRuntime(f.runtime)
	}
	if len(f.steps) > 0 {
		if err := o.Profile.Only(f.steps); err != nil {
			return o, err
		}
	}
	if !c.Flags().Changed("seed") {
		o.Seed = rand.Uint64() >> 12 // a number that JSON keeps whole
	}
	return o, nil
}

// parseSize reads bytes with the units of farm.yaml, and K, M, G and T as people write them for fio: powers of 1024.
func parseSize(what, text string) (float64, error) {
	if number := strings.TrimRight(text, "kKmMgGtT"); len(text)-len(number) == 1 && strings.TrimRight(number, "0123456789. ") == "" {
		text = number + strings.ToUpper(text[len(number):]) + "iB"
	}
	return farm.ParseQuantity(what, text, farm.KindBytes)
}

// benchRun measures a directory or a device, which are one but for measure.
func (a *app) benchRun(ctx context.Context, subject string, f benchFlags, o bench.Order, measure func(context.Context, bench.Order) (*result.Result, error)) error {
	if f.save != "" {
		var err error
		whole := func(r *result.Result) (bool, string) { return r.Complete, "remove it" }
		if o.Previous, err = keptBefore(f.save, "a bench", result.Read, whole); err != nil {
			return err
		}
		o.Save = func(r *result.Result) error { return keep(f.save, r) }
	} else if o.Profile.Name == "full" {
		a.say(unkept)
	}
	screen := benchScreen{app: a, began: time.Now()}
	o.Tell = screen.tell
	r, err := measure(ctx, o)
	screen.end()
	if err != nil {
		return cutShort(err, subject, f.save)
	}
	return a.emit(r, func(w io.Writer) error { return result.WriteText(w, r) }, a.afterBench(f.save)...)
}

// benchScreen shows how far it is: one line that changes on a terminal, a line a run elsewhere.
type benchScreen struct {
	app   *app
	began time.Time
}

func (s *benchScreen) tell(p bench.Progress) {
	text := p.Text
	if text == "" {
		text = fmt.Sprintf("%d of %d, round %d, about %v to go: %s %.0f IOPS", p.Done, p.Total, p.Round, p.Left.Round(time.Second), p.Step, p.IOPS)
	}
	s.line(text, p.Text == "")
}

// line shows one; a passing one makes room for the next.
func (s *benchScreen) line(text string, isPassing bool) {
	text = fmt.Sprintf("[%5.1f s] %s", time.Since(s.began).Seconds(), text)
	if f := s.app.passing(); f != nil && isPassing {
		s.app.paint(f, text)
		return
	}
	s.app.say("%s", text)
}

func (s *benchScreen) end() { s.app.wipe() }
