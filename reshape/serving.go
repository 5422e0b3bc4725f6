package reshape

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/route"
)

// errElsewhere says that a tenant is not served any more where its rows were about to be written. It is tried again where it is served.
var errElsewhere = errors.New("its clients were sent elsewhere meanwhile")

// errMoved says that a pair does not serve a shard, or not any more: the shard is at another pair, or on its way to one.
var errMoved = errors.New("routing does not send the shard's clients to this pair now")

// place is where a tenant is served.
type place struct {
	pair    farm.PairName
	shard   farm.ShardName
	key     string // by which its clients are routed
	address string
}

// placeOf is where a tenant's clients are sent now. Behind a closed gate nobody is served, and nothing is written.
func (a *Act) placeOf(ctx context.Context, sp spec.Spec, pair farm.PairName, m Member) (place, error) {
	at := place{pair: pair, shard: m.Shard, key: sp.Tenant.ClientKey(m.Shard, m.Tenant)}
	r, address, err := a.routeOf(ctx, at)
	if err == nil && r.Gate != route.Open {
		err = fmt.Errorf("%w: the gate of its clients is closed", errElsewhere)
	}
	at.address = address
	return at, err
}

func (a *Act) routeOf(ctx context.Context, at place) (route.Route, string, error) {
	in, err := a.routing(ctx, at.pair)
	if err == nil && !in.Lists(at.shard) {
		err = &farm.Error{Op: Name, Subject: string(at.shard), Err: fmt.Errorf("%w: %s: %w", farm.ErrRefused, at.pair, errMoved), Hint: "wait until the move of the shard has ended: stowage status"}
	}
	if err != nil {
		return route.Route{}, "", err
	}
	r, address := in.Locate(at.key)
	return r, address, nil
}

// routing is that of a pair as clients see it.
func (a *Act) routing(ctx context.Context, pair farm.PairName) (*route.Pair, error) {
	table, err := a.Router.Read(ctx)
	if err != nil {
		return nil, err
	}
	in, ok := table.Pairs[pair]
	if !ok {
		return nil, &farm.Error{Op: Name, Subject: string(pair), Err: fmt.Errorf("%w: routing has no such pair", farm.ErrInput), Hint: "stowage routing show"}
	}
	return in, nil
}

// Served is a shard, and the pair that serves it. Routing knows: while the move of a shard can be undone, the new pair serves it and farm.yaml lists the old one.
type Served struct {
	Shard farm.ShardName
	Pair  farm.Pair
}

// Shards are those that a spec is for, in the order of farm.yaml.
func (a *Act) Shards(ctx context.Context, sp spec.Spec) (out []Served, err error) {
	for _, p := range a.Farm.Pairs {
		for _, s := range p.Shards {
			if !sp.Takes(s.Name) {
				continue
			}
			pair, err := a.served(ctx, a.Farm, s.Name)
			if err != nil {
				return nil, err
			}
			out = append(out, Served{s.Name, pair})
		}
	}
	if len(out) == 0 {
		return nil, a.noShard(sp)
	}
	return out, nil
}

// served is the pair that serves a shard.
func (a *Act) served(ctx context.Context, now *farm.Farm, shard farm.ShardName) (farm.Pair, error) {
	table, err := a.Router.Read(ctx)
	if err != nil {
		return farm.Pair{}, err
	}
	refuse := func(format string, args ...any) (farm.Pair, error) {
		return farm.Pair{}, &farm.Error{Op: Name, Subject: string(shard), Err: fmt.Errorf("%w: %s", farm.ErrRefused, fmt.Sprintf(format, args...)), Hint: "stowage routing show; stowage status"}
	}
	names := table.Serves(shard)
	if len(names) != 1 {
		return refuse("routing lists the shard under %s; its clients wait", farm.Counted(len(names), "pair"))
	}
	for _, p := range now.Pairs {
		if p.Name == names[0] {
			return p, nil
		}
	}
	return refuse("routing lists the shard under pair %s, and farm.yaml has no such pair", names[0])
}

// shapeOf is a spec completed by the tables of a shard. What completes it, keys and types of children, is asked once: a wave has thousands of tenants.
func (a *Act) shapeOf(ctx context.Context, server *mysql.Server, sp spec.Spec, shard farm.ShardName) (latest.Shape, error) {
	key := sp.Name + " " + string(shard)
	a.mu.Lock()
	shape, known := a.shapes[key]
	a.mu.Unlock()
	if known {
		return shape, nil
	}
	shape, _, err := tablesOf(ctx, server, sp, shard)
	if err != nil {
		return shape, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shapes[key] = shape
	return shape, nil
}

// still is asked before a commit: are the tenant's clients served here, with an open gate?
func (a *Act) still(at place) func(context.Context) error {
	return func(ctx context.Context) error {
		r, address, err := a.routeOf(ctx, at)
		if err == nil && (address != at.address || r.Gate != route.Open) {
			err = errElsewhere
		}
		return err
	}
}

// open opens a session where a tenant is served.
func (a *Act) open(ctx context.Context, sp spec.Spec, pair farm.PairName, m Member) (*latest.Session, *mysql.Server, error) {
	at, err := a.placeOf(ctx, sp, pair, m)
	if err != nil {
		return nil, nil, err
	}
	server := a.Server(farm.InstanceName(fmt.Sprintf("%s at %s", pair, at.address)), at.address)
	shape, err := a.shapeOf(ctx, server, sp, m.Shard)
	if err == nil {
		var s *latest.Session
		if s, err = shape.Open(ctx, server, a.still(at)); err == nil {
			return s, server, nil
		}
	}
	server.Close()
	return nil, nil, err
}

// at runs work where a tenant is served, and again elsewhere when its clients are sent there meanwhile, when clients hold its rows, or when a disk had no room.
func (a *Act) at(ctx context.Context, sp spec.Spec, pair farm.PairName, m Member, waits func(error), work func(*latest.Session, *mysql.Server) error) error {
	for try := 0; ; try++ {
		s, server, err := a.open(ctx, sp, pair, m)
		if err == nil {
			err = work(s, server)
			s.Close()
			server.Close()
		}
		if !errors.Is(err, errElsewhere) && !errors.Is(err, latest.ErrBusy) && !errors.Is(err, errFull) {
			return err
		}
		waits(err)
		if !pause(ctx, time.Duration(1<<min(try, 5))*busyPause) {
			return ctx.Err()
		}
	}
}
