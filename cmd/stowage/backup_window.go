package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"stowage/act"
	"stowage/backup/catalogue"
	"stowage/backup/window"
	"stowage/capacity"
	"stowage/farm"
	"stowage/internal/table"
	"stowage/placement"
	"stowage/session"
)

// backupWindow is what `stowage backup window` prints.
type backupWindow struct {
	FormatVersion int               `json:"format_version"`
	Farm          string            `json:"farm"`
	Plan          string            `json:"plan"` // empty: none was asked for
	Stream        capacity.CopyRate `json:"stream"`
	Now           window.Window     `json:"now"`
	After         *window.Window    `json:"after"`
}

type windowAsk struct {
	plan                string
	stream, read, write string // rates; empty: not given
	parallel, rows      int
	// of is the part of the farm that is meant, and sides are those that are read; nil: all of it, and whichever.
	of    *farm.Farm
	sides map[farm.PairName]farm.SideName
}

func (a *app) backupWindowCommand() *cobra.Command {
	var ask windowAsk
	cmd := &cobra.Command{
		Use: "window", Short: "Say how long a backup of the whole farm takes, and what limits it",
		Long: `Calculates a full backup of all pairs: one side of each, the one whose host is least busy, and
each as soon as no disk, link or budget that it needs is at its limit. Below is the least time
that disks and links allow in any order, and which of them sets it. With --plan, before and
after the plan.

Limits are the networks of farm.yaml, less what clients use and what 'headroom' of goals.yaml
keeps free; racks ('rates' of goals.yaml); streams at once ('budgets'); and the rate of one
backup: measured, or --stream. farm.yaml does not say how fast disks read and write: give
--read and --write.

` + exitHelp,
		Example: "  stowage backup window\n  stowage backup window --plan first --stream 400MB/s --write 2GB/s",
		Args:    args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if ask.parallel < 0 || ask.rows < 0 {
				return usage(c, errors.New("--parallel and --rows are numbers from 0"))
			}
			out, err := a.backupWindow(ask)
			if err != nil {
				return err
			}
			next := a.cmd("backup run --dry-run")
			if ask.plan != "" {
				next = a.cmd("move %s --dry-run", ask.plan)
			}
			return a.emit(out, func(w io.Writer) error { return out.text(w, ask.rows) }, next)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&ask.plan, "plan", "", "also show the farm after this plan")
	fl.StringVar(&ask.stream, "stream", "", "how fast one backup is, such as 400MB/s; default: as measured by backups and copies, or an assumption")
	fl.StringVar(&ask.read, "read", "", "how fast the disks of a host can be read by all backups together, such as 1GB/s; default: no limit")
	fl.StringVar(&ask.write, "write", "", "how fast the vault can be written, such as 2GB/s; default: disk_write of goals.yaml for a directory, else no limit")
	fl.IntVar(&ask.parallel, "parallel", 0, "backups at once in the whole farm; 0: as many as the rest allows")
	fl.IntVar(&ask.rows, "rows", 20, "show this many hosts, those that end last; 0: all. JSON has all")
	return cmd
}

func (a *app) backupWindow(ask windowAsk) (backupWindow, error) {
	d, err := a.look()
	if err != nil {
		return backupWindow{}, err
	}
	defer d.Close()
	return a.windowOf(d, ask)
}

// windowOf is the answer for a session that is open.
func (a *app) windowOf(d *session.Session, ask windowAsk) (backupWindow, error) {
	out := backupWindow{FormatVersion: 1, Farm: d.Farm.Name, Plan: ask.plan}
	goals, err := d.GoalsFor(d.Farm)
	if err != nil {
		return out, err
	}
	if out.Stream, err = a.streamRate(d, ask.stream); err != nil {
		return out, err
	}
	limits := backupLimits(d.Farm.Backup, goals)
	limits.Stream, limits.Parallel = out.Stream.PerSecond, ask.parallel
	for _, r := range []struct {
		flag, text string
		to         *float64
	}{{"--read", ask.read, &limits.Read}, {"--write", ask.write, &limits.Write}} {
		if r.text == "" {
			continue
		}
		if *r.to, err = byteRate(r.flag, r.text); err != nil {
			return out, err
		}
	}
	limits.Sides = ask.sides
	out.Now = window.Of(cmp.Or(ask.of, d.Farm), limits)
	if ask.plan != "" {
		then, err := planned(d, ask.plan)
		if err != nil {
			return out, err
		}
		after := window.Of(then, limits)
		out.After = &after
	}
	return out, nil
}

// byteRate reads a flag that is a rate above 0.
func byteRate(flag, text string) (float64, error) {
	v, err := farm.ParseQuantity("rate", text, farm.KindByteRate)
	if err != nil || v <= 0 {
		return 0, &farm.Error{Op: "read flag", Subject: flag, Err: errors.Join(farm.ErrInput, err), Hint: "give a rate such as 120MB/s"}
	}
	return v, nil
}

// backupLimits are those that farm.yaml and goals.yaml say.
func backupLimits(b farm.Backup, g placement.Goals) window.Limits {
	l := window.Limits{
		Rack: g.Rates.Rack, RackLabel: g.Rates.RackLabel, Free: g.Headroom[farm.Network],
		PerHost: g.Budgets.StreamsPerHost, PerRack: g.Budgets.StreamsPerRack, PerNetwork: g.Budgets.StreamsPerNetwork, Sink: window.Away,
	}
	if l.PerHost == 0 {
		l.PerHost = act.StreamsPerHost
	}
	switch isDisk := b.Dir != "" || strings.HasPrefix(b.Restic, "/"); {
	case b.Host != "":
		l.Sink, l.Vault = window.Host, b.Host
	case isDisk:
		l.Sink = window.Own
	}
	if l.Sink != window.Away {
		l.Write = g.Budgets.DiskWrite
	}
	return l
}

// What one backup is assumed to run at when none was made yet: zstd -1 takes 2.2 s of a core for a GB, restic with its own compression 12.5 s.
const (
	assumedZstd   = 455e6
	assumedRestic = 80e6
)

// mostBackups is of how many full backups the rate counts, the newest.
const mostBackups = 50

// streamRate is how fast one backup is: as given, as the newest full ones were, as the copies of moves were, or as is assumed.
func (a *app) streamRate(d *session.Session, given string) (capacity.CopyRate, error) {
	if given != "" {
		v, err := byteRate("--stream", given)
		return capacity.CopyRate{PerSecond: v, Source: "--stream"}, err
	}
	all, err := keptBackups(d)
	if err != nil {
		return capacity.CopyRate{}, err
	}
	var rates []float64
	for _, b := range slices.Backward(all) {
		if b.Kind == catalogue.Full && b.Seconds >= 1 && b.Raw > 0 && len(rates) < mostBackups {
			rates = append(rates, float64(b.Raw)/b.Seconds)
		}
	}
	if r := capacity.MedianRate(rates, "backups"); r != nil {
		return *r, nil
	}
	if d.Store != nil {
		if r, err := a.copyRate(d, ""); err != nil || r != nil {
			if err != nil {
				return capacity.CopyRate{}, err
			}
			return *r, nil
		}
	}
	if d.Farm.Backup.Restic != "" {
		return capacity.CopyRate{PerSecond: assumedRestic, Source: "assumed: restic with compression"}, nil
	}
	return capacity.CopyRate{PerSecond: assumedZstd, Source: "assumed: zstd -1 on one core"}, nil
}

func (o backupWindow) text(w io.Writer, rows int) error {
	fmt.Fprintf(w, "One backup runs at most at %s (%s).\n", farm.RoundQuantity(o.Stream.PerSecond, farm.KindByteRate), o.Stream.Source)
	if err := windowText(w, "now", o.Now, rows); err != nil || o.After == nil {
		return err
	}
	return windowText(w, "after "+o.Plan, *o.After, rows)
}

func windowText(w io.Writer, when string, x window.Window, rows int) error {
	fmt.Fprintf(w, "\n%s: %s, %s, in %s\n", when, farm.Counted(len(x.Backups), "backup"), farm.RoundQuantity(x.Bytes, farm.KindBytes), hoursText(x.Seconds))
	if x.Bound > 0 {
		fmt.Fprintf(w, "at least %s, by %s: %s at %s\n", hoursText(x.Bound), farm.Some(x.Binding.Names), farm.RoundQuantity(x.Binding.Bytes, farm.KindBytes), farm.RoundQuantity(x.Binding.Rate, farm.KindByteRate))
	}
	lanes := x.Lanes()
	shown := lanes
	if rows > 0 && len(shown) > rows {
		shown = shown[:rows]
	}
	t := table.New(w, "HOST\tENDS AFTER\tREADS\tBACKUPS\tAT ONCE").Names("HOST")
	for _, l := range shown {
		t.Row("%s\t%s\t%s\t%d\t%s", l.Host, hoursText(l.End), farm.RoundQuantity(l.Bytes, farm.KindBytes), len(l.Backups), laneText(l, x.Seconds))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if n := len(lanes) - len(shown); n > 0 {
		fmt.Fprintf(w, "and %d more: --rows 0\n", n)
	}
	return nil
}

// laneText is how many backups of a host run at each moment of the window.
func laneText(l window.Lane, end float64) string {
	const width = 40
	out := make([]byte, width)
	for i := range out {
		at, n := end*(float64(i)+0.5)/width, 0
		for _, b := range l.Backups {
			if b.Begin <= at && at < b.End() {
				n++
			}
		}
		switch {
		case n == 0:
			out[i] = '.'
		case n > 9:
			out[i] = '+'
		default:
			out[i] = byte('0' + n)
		}
	}
	return string(out)
}

// planned is the farm after a plan of the workspace.
func planned(d *session.Session, name string) (*farm.Farm, error) {
	p, err := d.Plan(name)
	if err != nil {
		return nil, err
	}
	return applied(p, d.Farm), nil
}

// applied is a farm after a plan, with the hosts that are to be bought.
func applied(p placement.Plan, now *farm.Farm) *farm.Farm {
	bought := map[farm.HostName]farm.Host{}
	for _, b := range p.Goals.Buy {
		for _, h := range b.Hosts(now) {
			bought[h.Name] = h
		}
	}
	then := p.Apply(now)
	for _, h := range p.Hosts {
		if _, has := then.Host(h.Name); !has {
			then.Hosts = append(then.Hosts, farm.Host{Name: h.Name, Type: h.Type, Labels: bought[h.Name].Labels})
		}
	}
	return then
}
