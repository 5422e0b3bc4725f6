package move

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"stowage/farm"
	"stowage/fresh"
	"stowage/host"
	"stowage/mysql"
	"stowage/route"
)

// foundNote is written when an instance's data directory is complete.
const foundNote = "stowage-found.json"

// found makes the data directories, one after the other.
func (p *provision) found(ctx context.Context) error {
	for n, s := range p.sides {
		if err := p.Phase(ctx, []string{"first", "second"}[n], func(ctx context.Context) error { return p.foundSide(ctx, s) }); err != nil {
			return err
		}
	}
	return nil
}

func (p *provision) foundSide(ctx context.Context, s *freshSide) error {
	founder, ok := s.host.(host.Founder)
	if !ok {
		return &farm.Error{Op: "found", Subject: string(s.Place.Host), Err: fmt.Errorf("%w: nothing there can make an empty instance", farm.ErrRefused)}
	}
	if err := s.host.Claim(ctx, s.here, p.owner(s)); err != nil {
		return err
	}
	note := filepath.Join(s.here.Dir(), foundNote)
	if raw, err := s.host.ReadFile(ctx, note); err == nil && json.Valid(raw) {
		return nil
	}
	// What runs there was left by an attempt that was cut short.
	if err := s.host.Stop(ctx, s.here, startFresh); err != nil {
		return err
	}
	options, err := p.options(ctx, s)
	if err != nil {
		return err
	}
	if err := s.host.WriteFile(ctx, s.here.Config, options); err != nil {
		return err
	}
	rows, _, err := p.grants(ctx)
	if err != nil {
		return err
	}
	setup, err := mysql.SetupFrom(rows)
	if err != nil {
		return err
	}
	p.Report(farm.Event{Kind: farm.StepProgress, Text: fmt.Sprintf("making %s, empty", s.here.Name)})
	if err := founder.Found(ctx, s.here, setup); err != nil {
		return err
	}
	return s.host.WriteFile(ctx, note, []byte("{}\n"))
}

// options is the option file of a side: that of its model, with an identity of
// its own.
func (p *provision) options(ctx context.Context, s *freshSide) ([]byte, error) {
	model, err := startOptions(ctx, s.modelHost, s.model)
	if err != nil {
		return nil, err
	}
	flavor, err := p.models[0].Flavor(ctx)
	if err != nil {
		return nil, err
	}
	more := map[string]string{"gtid_domain_id": strconv.FormatUint(uint64(s.Domain), 10)}
	const pool = "innodb_buffer_pool_size"
	if was, ok := host.Option(model, host.ServerGroup(model), pool); ok && p.order.Pool > 0 {
		if size := poolFor(was, p.order.Pool); size != "" {
			more[pool] = size
		}
	}
	maps.Copy(more, s.Options)
	return fresh.Options(model, flavor, s.here, s.ServerID, more), nil
}

// poolFor is a buffer pool of so many times the size, in whole MiB; empty when
// the size cannot be understood.
func poolFor(was string, times float64) string {
	unit := map[byte]float64{'K': 1 << 10, 'k': 1 << 10, 'M': 1 << 20, 'm': 1 << 20, 'G': 1 << 30, 'g': 1 << 30, 'T': 1 << 40, 't': 1 << 40}
	if was == "" {
		return ""
	}
	number, factor := was, 1.0
	if f, ok := unit[was[len(was)-1]]; ok {
		number, factor = was[:len(was)-1], f
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n <= 0 {
		return ""
	}
	return strconv.FormatFloat(math.Max(1, math.Round(n*factor*times/(1<<20))), 'f', 0, 64) + "M"
}

// grants are the accounts of all pairs that shards come from, the model's
// first, and those about which they do not agree.
func (p *provision) grants(ctx context.Context) (rows []mysql.GrantRow, differ []string, err error) {
	type key struct{ table, who string }
	known := map[key]mysql.GrantRow{}
	for _, server := range p.models {
		its, err := server.GrantRows(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, g := range its {
			first, there := known[key{g.Table, g.Who}]
			switch {
			case !there:
				known[key{g.Table, g.Who}] = g
				rows = append(rows, g)
			case !first.Same(g) && !slices.Contains(differ, g.Who):
				differ = append(differ, g.Who)
			}
		}
	}
	return rows, differ, nil
}

func (p *provision) start(ctx context.Context) error {
	for _, s := range p.sides {
		if err := s.host.Start(ctx, s.here, startFresh); err != nil {
			return err
		}
		if err := fresh.Check(ctx, s.server, s.here, s.ServerID); err != nil {
			return err
		}
	}
	return nil
}

// linkedAs is the account of the new pair's links.
func (p *provision) linkedAs(ctx context.Context) (mysql.Account, error) {
	return p.mover.Replication.LinkedAs(ctx, p.models...)
}

func (p *provision) wire(ctx context.Context) error {
	for _, s := range p.sides {
		source := p.follows(s)
		if source == nil {
			continue
		}
		as, err := p.linkedAs(ctx)
		if err != nil {
			return err
		}
		if err := s.server.Follow(ctx, source.server.Address(), as, 30*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// check makes sure that what is about to be known to clients is empty, whole,
// and twice the same.
func (p *provision) check(ctx context.Context) error {
	wrong := func(s *freshSide, format string, args ...any) error {
		return &farm.Error{Op: "check", Subject: string(s.here.Name), Err: fmt.Errorf("%w: "+format, append([]any{farm.ErrRefused}, args...)...), Hint: "the new pair is taken away again; plan, or ask, again"}
	}
	var first []mysql.GrantRow
	for n, s := range p.sides {
		if err := fresh.Check(ctx, s.server, s.here, s.ServerID); err != nil {
			return err
		}
		if has, err := s.server.Shards(ctx); err != nil || len(has) > 0 {
			return wrong(s, "it has databases already: %v %w", has, err)
		}
		rows, err := s.server.GrantRows(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			first = rows
		} else if !slices.EqualFunc(first, rows, mysql.GrantRow.Same) {
			return wrong(s, "its accounts are not those of %s", p.sides[0].here.Name)
		}
		if p.follows(s) == nil {
			continue
		}
		if err := s.server.AwaitReplicating(ctx, 30*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// open lets the instances start from now on as their models do, and be so.
func (p *provision) open(ctx context.Context) error {
	for _, s := range p.sides {
		was, err := startOptions(ctx, s.modelHost, s.model)
		if err != nil {
			return err
		}
		if err := p.mover.edited.Edit(ctx, s.host, s.here, func(is string) string { return fresh.Settled(host.UnfenceOptions(s.here, is), was) }); err != nil {
			return err
		}
		if scheduler, _ := host.Option(was, host.ServerGroup(was), "event_scheduler"); isOn(scheduler) {
			if err := s.server.SetScheduler(ctx, true); err != nil {
				return err
			}
		}
		if p.order.Topology.HasOneWriter() && s.name == farm.B {
			continue // a replica
		}
		if err := s.server.SetReadOnly(ctx, false); err != nil {
			return err
		}
	}
	return nil
}

func isOn(value string) bool { return value == "1" || value == "ON" || value == "on" }

func (p *provision) list(ctx context.Context) error {
	if err := p.Phase(ctx, "record", func(context.Context) error { return p.mover.addPair(p.pair()) }); err != nil {
		return err
	}
	return p.Phase(ctx, "route", func(ctx context.Context) error {
		grower, err := p.grower()
		if err != nil {
			return err
		}
		now, err := p.mover.Workspace.Farm()
		if err != nil {
			return err
		}
		return grower.Add(ctx, p.order.Pair, route.ForFarm(now, p.pair()))
	})
}

func (p *provision) grower() (route.Grower, error) {
	g, ok := p.mover.Router.(route.Grower)
	if !ok {
		return nil, &farm.Error{Op: "add to routing", Subject: string(p.order.Pair), Err: fmt.Errorf("%w: this way of routing takes no further pairs while it runs", farm.ErrRefused),
			Hint: "docs/reference/routing.md says which do"}
	}
	return g, nil
}
