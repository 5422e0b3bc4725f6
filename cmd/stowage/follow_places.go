package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stowage/farm"
	"stowage/feed"
	"stowage/mysql"
	"stowage/route"
	"stowage/session"
	"stowage/store"
)

// shardPlaces tells a follower where its shard is, by farm.yaml and routing as
// they are at the moment.
type shardPlaces struct {
	session *session.Session
	router  route.Router
	shard   farm.ShardName
	opened  map[string]*mysql.Server // by address
	asked   map[farm.PairName]bool   // handovers were looked at since it was read from this pair
}

func (a *app) shardPlacesOf(d *session.Session, shard farm.ShardName) (*shardPlaces, error) {
	known := slices.ContainsFunc(d.Farm.Pairs, func(p farm.Pair) bool {
		return slices.ContainsFunc(p.Shards, func(s farm.Shard) bool { return s.Name == shard })
	})
	if !known {
		return nil, &farm.Error{Op: "follow", Subject: string(shard), Err: fmt.Errorf("%w: farm.yaml has no such shard", farm.ErrInput)}
	}
	r, err := d.Routing()
	return &shardPlaces{session: d, router: r, shard: shard, opened: map[string]*mysql.Server{}, asked: map[farm.PairName]bool{}}, err
}

// Close lets go of the servers.
func (p *shardPlaces) Close() {
	for _, s := range p.opened {
		_ = s.Close()
	}
}

// table is routing as it is; nil where there is none, and farm.yaml says it all.
func (p *shardPlaces) table(ctx context.Context) (*route.Table, error) {
	t, err := p.router.Read(ctx)
	switch {
	case errors.Is(err, route.ErrUnreadable):
		return nil, nil
	case errors.Is(err, route.ErrDrift) && t != nil: // what was decided counts here
		return t, nil
	}
	return t, err
}

// Serves is the pair that has the shard; "" while nobody serves it.
func (p *shardPlaces) Serves(ctx context.Context) (farm.PairName, error) {
	t, err := p.table(ctx)
	if err != nil {
		return "", err
	}
	if t != nil {
		if pairs := t.Serves(p.shard); len(pairs) == 1 {
			return pairs[0], nil
		} else if len(t.Pairs) > 0 && len(pairs) == 0 {
			return "", nil
		}
	}
	f, err := p.session.Workspace.Farm()
	if err != nil {
		return "", err
	}
	for _, pair := range f.Pairs {
		if slices.ContainsFunc(pair.Shards, func(s farm.Shard) bool { return s.Name == p.shard }) {
			return pair.Name, nil
		}
	}
	return "", nil
}

// Servers are the sides in rotation, and then the others that farm.yaml names.
func (p *shardPlaces) Servers(ctx context.Context, name farm.PairName) (all []*mysql.Server, serving int, err error) {
	f, err := p.session.Workspace.Farm()
	if err != nil {
		return nil, 0, err
	}
	t, err := p.table(ctx)
	if err != nil {
		return nil, 0, err
	}
	pair, ok := f.Pair(name)
	if !ok {
		return nil, 0, &farm.Error{Op: "follow", Subject: string(p.shard), Err: fmt.Errorf("%w: farm.yaml no longer has pair %s", farm.ErrRefused, name)}
	}
	var addresses []string
	if t != nil && t.Pairs[name] != nil {
		for _, side := range pair.SideNames() {
			if s, in := t.Pairs[name].Sides[side]; in {
				addresses = append(addresses, s.Address)
				all = append(all, p.server(pair.Instance(side), s.Address))
			}
		}
	}
	serving = len(all)
	for _, side := range pair.SideNames() {
		if address := f.Address(pair.Sides[side]); !slices.Contains(addresses, address) {
			all = append(all, p.server(pair.Instance(side), address))
		}
	}
	return all, serving, nil
}

func (p *shardPlaces) server(name farm.InstanceName, address string) *mysql.Server {
	if p.opened[address] == nil {
		p.opened[address] = p.session.Server(name, address)
	}
	return p.opened[address]
}

// Next is how the shard left a pair. What is noted is looked at when a pair is
// read for the first time, and when another serves.
func (p *shardPlaces) Next(ctx context.Context, pair farm.PairName, at mysql.Position) (*feed.Handover, error) {
	serves, err := p.Serves(ctx)
	if err != nil || serves == "" || serves == pair && p.asked[pair] {
		return nil, err
	}
	notes, err := p.handovers()
	if err != nil {
		return nil, err
	}
	p.asked[pair] = true
	h, err := feed.After(notes, pair, serves, at)
	if err == nil && h == nil && serves != pair {
		err = &farm.Error{Op: "follow", Subject: string(p.shard), Err: fmt.Errorf("%w: it moved from %s to %s, and the store does not know at which position", farm.ErrRefused, pair, serves),
			Hint: "start again from a snapshot"}
	}
	if h != nil {
		p.asked[h.To] = false
	}
	return h, err
}

func (p *shardPlaces) handovers() ([]feed.Handover, error) {
	db, err := store.OpenToRead(p.session.StatePath("stowage.db"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	documents, err := db.Documents(feed.HandoverKind)
	if err != nil {
		return nil, err
	}
	var out []feed.Handover
	for _, d := range documents {
		if d.Name != string(p.shard) {
			continue
		}
		var h feed.Handover
		if err := db.DocumentByID(d.ID, &h); err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

// now is where the pair's binary log ends, on the first server that answers.
func (p *shardPlaces) now(ctx context.Context, pair farm.PairName) (mysql.Position, error) {
	all, _, err := p.Servers(ctx, pair)
	for _, s := range all {
		var at mysql.Position
		if at, err = s.BinlogPosition(ctx); err == nil {
			return at, nil
		}
	}
	return nil, err
}

// readerID is a server id that nobody uses on the servers of a pair.
func (p *shardPlaces) readerID(ctx context.Context, pair farm.PairName) (uint32, error) {
	all, _, err := p.Servers(ctx, pair)
	if err != nil {
		return 0, err
	}
	return feed.FreeServerID(ctx, all...)
}
