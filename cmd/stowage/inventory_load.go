package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"stowage/farm"
	"stowage/host"
	"stowage/inventory/shardload"
	"stowage/session"
	"stowage/survey"
)

type loadFlags struct {
	survey.Options
	rows int
}

func (a *app) loadCommand() *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "load [INSTANCE]...",
		Short: "Measure what each shard uses: CPU, IOPS, bytes, rows, working set, growth",
		Long: `Reads the counters of servers, their processes and their disks, waits (--for), reads them again, and computes the
load of each shard: CPU in cores, I/O operations and bytes a second, rows, its part of the buffer pool, its size and growth.
Every figure says how it was got and how sure it is, with an interval. The sums over shards are compared with counters of
the processes, the disks and the machine. What cannot be measured is named, with what is missing for it.

Servers are read over SQL; processes and disks of this machine directly, of others through their agents. Nothing is
switched on, reset or changed. The report is kept: 'stowage inventory accept --load' writes it into farm.yaml. Measure when
the farm is busy: a plan must hold at the peak. Exit code 1 when an instance was not measured. docs/measuring/load.md.

` + exitHelp,
		Example: "  stowage inventory load --for 10m\n  stowage inventory load dbshard001a --json | jq '.shards[] | {shard, cpu: .cpu.value}'\n  stowage inventory accept --load && git diff farm.yaml",
		Args:    args(cobra.ArbitraryArgs),
		RunE: func(c *cobra.Command, given []string) error {
			if f.For < time.Second {
				return usage(c, fmt.Errorf("--for %v: at least a second", f.For))
			}
			r, err := a.load(c.Context(), f, given)
			if err != nil {
				return err
			}
			next := []string{a.cmd("inventory accept --load"), a.cmd("plan")}
			if len(r.Silent) > 0 {
				next = []string{a.cmd("doctor")}
			}
			if err := a.emit(r, func(w io.Writer) error { return r.WriteText(w, f.rows) }, next...); err != nil {
				return err
			}
			if len(r.Silent) > 0 {
				return farm.ErrFindings
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&f.For, "for", time.Minute, "how long to measure; a minute at least, ten are better")
	cmd.Flags().Lookup("for").DefValue = inHelp(time.Minute)
	cmd.Flags().BoolVar(&f.Pages, "pages", false, "read buffer pools larger than 1 GiB, too, for the working set: the server locks each page for a moment")
	cmd.Flags().IntVar(&f.rows, "rows", 40, "show so many shards, those with the most CPU; 0 for all. JSON has all")
	cmd.Flags().StringVar(&a.engine, "engine", "", "host:port of a Temporal cluster; default: that of farm.yaml")
	return cmd
}

// load measures, and keeps the report.
func (a *app) load(ctx context.Context, f loadFlags, names []string) (shardload.Report, error) {
	d, err := a.open()
	if err != nil {
		return shardload.Report{}, err
	}
	defer d.Close()
	if err := d.Login(); err != nil {
		return shardload.Report{}, err
	}
	groups, closeAll, err := a.groups(ctx, d, names)
	if err != nil {
		return shardload.Report{}, err
	}
	defer closeAll()
	f.Tell = a.say
	a.say("%s", f.Describe(groups))
	r := shardload.Assess(d.Farm.Name, survey.Watch(ctx, groups, f.Options))
	earlier, err := keptLoads(d)
	if err != nil {
		return r, err
	}
	r.Grow(earlier)
	if len(r.Instances) == 0 && ctx.Err() != nil {
		return r, &farm.Error{Op: "measure load", Err: farm.ErrInterrupted}
	}
	return r, d.Store.PutDocument(loadKind, d.Farm.Name, time.Now(), r)
}

const loadKind = "shard-load"

// keptLoads are all reports that were kept, oldest first.
func keptLoads(d *session.Session) ([]shardload.Report, error) {
	docs, err := d.Store.Documents(loadKind)
	if err != nil {
		return nil, err
	}
	var out []shardload.Report
	for _, doc := range docs {
		var r shardload.Report
		if err := d.Store.DocumentByID(doc.ID, &r); err == nil && r.Farm == d.Farm.Name {
			out = append(out, r)
		}
	}
	return out, nil
}

// groups are the instances named, or all, by host.
func (a *app) groups(ctx context.Context, d *session.Session, names []string) (groups []survey.Group, closeAll func(), err error) {
	var closes []func() error
	closeAll = func() {
		for _, c := range closes {
			_ = c()
		}
	}
	unknown := slices.Clone(names)
	groups = a.byHost(ctx, d, func(t *survey.Target, address string) bool {
		unknown = slices.DeleteFunc(unknown, func(n string) bool { return n == string(t.Instance) })
		if len(names) > 0 && !slices.Contains(names, string(t.Instance)) {
			return false
		}
		server := d.Server(t.Instance, address)
		t.Server = server
		closes = append(closes, server.Close)
		return true
	})
	if len(unknown) > 0 {
		closeAll()
		return nil, nil, &farm.Error{Op: "measure load", Subject: unknown[0], Err: fmt.Errorf("%w: farm.yaml has no instance of that name", farm.ErrInput),
			Hint: "an instance is called as its pair, with its side: dbshard001a"}
	}
	return groups, closeAll, nil
}

// byHost are the instances that are wanted, by host. want is given each with its address, and may give it a server.
func (a *app) byHost(ctx context.Context, d *session.Session, want func(t *survey.Target, address string) bool) (groups []survey.Group) {
	places := a.placesOf(ctx, d)
	for _, p := range d.Farm.Pairs {
		var shards []farm.ShardName
		for _, s := range p.Shards {
			shards = append(shards, s.Name)
		}
		for _, side := range p.SideNames() {
			x := p.Sides[side]
			t := &survey.Target{Where: a.whereIs(d, p, side)}
			t.Instance, t.Host, t.Pair, t.Shards = p.Instance(side), x.Host, p.Name, shards
			if !want(t, d.Farm.Address(x)) {
				continue
			}
			at := slices.IndexFunc(groups, func(g survey.Group) bool { return g.Host == x.Host })
			if at < 0 {
				groups = append(groups, places.group(x.Host))
				at = len(groups) - 1
			}
			groups[at].Targets = append(groups[at].Targets, t)
		}
	}
	return groups
}

// whereIs is an instance as its machine knows it.
func (a *app) whereIs(d *session.Session, p farm.Pair, side farm.SideName) host.Instance {
	x := p.Sides[side]
	h, _ := d.Farm.Host(x.Host)
	config := x.Config
	if config == "" {
		config = filepath.Join(filepath.Dir(x.Datadir), "my.cnf")
	}
	return host.Instance{Name: p.Instance(side), Address: h.Address, Port: x.Port, Datadir: absolute(d.Path(x.Datadir)), Config: absolute(d.Path(config)), GroupSuffix: x.GroupSuffix}
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// machinesOf are the machines of a farm, as counters and settings are read from them.
type machinesOf struct {
	app     *app
	ctx     context.Context
	d       *session.Session
	machine map[farm.HostName]string
	local   *host.Local
	fault   error
}

func (a *app) placesOf(ctx context.Context, d *session.Session) *machinesOf {
	p := &machinesOf{app: a, ctx: ctx, d: d, machine: a.machines(ctx, d.Farm)}
	if slices.Contains(slices.Collect(maps.Values(p.machine)), thisMachine) {
		p.local, p.fault = host.NewLocal(a.log)
	}
	if d.Farm.Agents.Used() {
		p.meet()
	}
	return p
}

// meet waits for all agents at once: those that do not come cost their time together.
func (p *machinesOf) meet() {
	if _, err := p.d.Board(p.ctx); err != nil {
		return // each host says so
	}
	var all sync.WaitGroup
	for _, h := range p.d.Farm.Hosts {
		if p.d.Farm.Agents.On(h.Name) {
			all.Go(func() { _ = p.d.Greet(p.ctx, h.Name) }) // asked again, it says why
		}
	}
	all.Wait()
}

// group is a host without its instances.
func (p *machinesOf) group(h farm.HostName) survey.Group {
	g := survey.Group{Host: h}
	switch {
	case p.d.Farm.Agents.On(h):
		g.IsFar = true
		board, err := p.d.Board(p.ctx)
		if err == nil {
			err = p.d.Greet(p.ctx, h)
		}
		if err != nil {
			g.Why = shardload.Lack{Why: err.Error(), Remedy: "stowage agent status"}
			return g
		}
		g.Place = survey.There{Far: board.Host(h)}
	case p.machine[h] == thisMachine && p.fault == nil:
		g.Place = survey.Here{Machine: p.local}
	case p.machine[h] == thisMachine:
		g.Why = shardload.Lack{Why: p.fault.Error()}
	default:
		g.Why = shardload.Lack{Why: string(h) + " is another machine, and has no agent", Remedy: "an agent on that host: docs/guide/agents.md"}
	}
	return g
}

// newestLoad is the report that was kept last.
func newestLoad(d *session.Session) (r shardload.Report, err error) {
	_, err = d.Store.LatestDocument(loadKind, d.Farm.Name, &r)
	return r, err
}
