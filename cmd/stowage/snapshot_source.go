package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/route"
	"stowage/session"
	"stowage/snapshot"
)

// snapshotSource is where a snapshot is read, and of what.
type snapshotSource struct {
	*session.Session
	shard farm.ShardName
	pair  farm.PairName
	shape latest.Shape
	seen  snapshot.Seen
	all   []snapshot.Seen
}

// Close lets go of servers and workspace.
func (s *snapshotSource) Close() {
	for _, seen := range s.all {
		_ = seen.Server.Close()
	}
	s.Session.Close()
}

func (a *app) snapshotSource(ctx context.Context, f snapshotFlags) (_ *snapshotSource, err error) {
	d, r, err := a.openRouting()
	if err != nil {
		return nil, err
	}
	s := &snapshotSource{Session: d, shard: farm.ShardName(f.shard)}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	sp, err := a.snapshotSpec(d, f.spec, s.shard)
	if err != nil {
		return nil, err
	}
	if err := d.Login(); err != nil {
		return nil, err
	}
	var places []snapshot.Place
	s.pair, places, err = snapshotPlaces(ctx, d, r, s.shard)
	if err != nil {
		return nil, err
	}
	s.all = snapshot.Look(ctx, places)
	if s.seen, err = chosenSide(s.all, farm.SideName(f.side)); err != nil {
		return nil, err
	}
	if s.shape, err = snapshot.ShapeOf(ctx, s.seen.Server, sp, s.shard); err != nil {
		return nil, err
	}
	if form := latest.Form(f.form); form != "" && !slices.Contains(s.shape.Forms(), form) {
		return nil, &farm.Error{Op: "read arguments", Err: fmt.Errorf("%w: --form is %q; this spec can be asked as %s", farm.ErrInput, form, joinedForms(s.shape.Forms()))}
	}
	return s, snapshot.CheckTenant(ctx, s.seen.Server, s.shape, s.shard, f.tenant)
}

func joinedForms(forms []latest.Form) string {
	var out []string
	for _, f := range forms {
		out = append(out, string(f))
	}
	return strings.Join(out, ", ")
}

// chosenSide is the one that was named, or the one with more room.
func chosenSide(all []snapshot.Seen, named farm.SideName) (snapshot.Seen, error) {
	if named == "" {
		return snapshot.Choose(all)
	}
	for _, s := range all {
		if s.Side == named {
			return s, nil
		}
	}
	return snapshot.Seen{}, &farm.Error{Op: "choose a side", Err: fmt.Errorf("%w: the pair has no side %s", farm.ErrInput, named)}
}

// snapshotSpec is the spec that was named, or the only one that is for this shard.
func (a *app) snapshotSpec(d *session.Session, name string, shard farm.ShardName) (spec.Spec, error) {
	if name != "" {
		s, err := d.Workspace.Reshape(name)
		if err == nil && !s.Takes(shard) {
			err = &farm.Error{Op: "read spec", Subject: s.File, Err: fmt.Errorf("%w: it is not for shard %s; its shards are %s", farm.ErrInput, shard, farm.Some(s.Shards))}
		}
		return s, err
	}
	var fit []spec.Spec
	var names []string
	for _, name := range d.Workspace.ReshapeNames() {
		s, err := d.Workspace.Reshape(name)
		if err != nil {
			return s, err
		}
		if s.Takes(shard) {
			fit, names = append(fit, s), append(names, name)
		}
	}
	switch len(fit) {
	case 1:
		return fit[0], nil
	case 0:
		return spec.Spec{}, &farm.Error{Op: "read spec", Subject: string(shard), Err: fmt.Errorf("%w: no spec in reshape/ is for this shard", farm.ErrInput), Hint: "write reshape/NAME.yaml: docs/guide/reshape.md"}
	}
	return spec.Spec{}, &farm.Error{Op: "read spec", Subject: string(shard), Err: fmt.Errorf("%w: several specs are for this shard: %s", farm.ErrInput, farm.Some(names)), Hint: "name one: --spec " + names[0]}
}

// snapshotPlaces are the sides of the pair that serves a shard, with what routing says of each.
func snapshotPlaces(ctx context.Context, d *session.Session, r route.Router, shard farm.ShardName) (farm.PairName, []snapshot.Place, error) {
	t, err := r.Read(ctx)
	if err != nil {
		return "", nil, err
	}
	serves := t.Serves(shard)
	if len(serves) != 1 {
		err := fmt.Errorf("%w: no pair serves it at the moment", farm.ErrRefused)
		hint := "wait until its move is over: stowage status"
		if !knowsShard(d.Farm, shard) {
			err, hint = fmt.Errorf("%w: farm.yaml has no such shard", farm.ErrInput), "stowage inventory lists them"
		}
		return "", nil, &farm.Error{Op: "find shard", Subject: string(shard), Err: err, Hint: hint}
	}
	p, known := d.Farm.Pair(serves[0])
	if !known {
		return "", nil, &farm.Error{Op: "find shard", Subject: string(shard), Err: errors.New("routing sends it to pair " + string(serves[0]) + ", which farm.yaml does not have")}
	}
	var out []snapshot.Place
	for _, side := range p.SideNames() {
		address := d.Farm.Address(p.Sides[side])
		at := snapshot.Place{Side: side, Server: d.Server(p.Instance(side), address)}
		routed := t.Pairs[p.Name]
		at.Out, at.Serves = routedTo(routed, side, address)
		at.Alone = p.Topology != farm.ActiveActive && at.Serves > 0
		out = append(out, at)
	}
	return p.Name, out, nil
}

func knowsShard(f *farm.Farm, shard farm.ShardName) bool {
	return slices.ContainsFunc(f.Pairs, func(p farm.Pair) bool {
		return slices.ContainsFunc(p.Shards, func(s farm.Shard) bool { return s.Name == shard })
	})
}

// routedTo says why a side is not to be read, and how many percent of the clients write there.
func routedTo(p *route.Pair, side farm.SideName, address string) (out string, serves float64) {
	for at, s := range p.Sides {
		if s.Address == address {
			serves += s.Weight
			if p.GateIsClosed(at) {
				out = "its gate is closed for a switch"
			}
		}
	}
	if out == "" && serves == 0 && !slices.Contains(p.Replicas, address) {
		out = "is out of rotation"
	}
	return out, serves
}
