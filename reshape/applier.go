package reshape

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"stowage/farm"
	"stowage/feed"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/route"
	"stowage/snapshot"
)

// With keep: applier a program of its own writes the carried columns, behind the clients. It reads the binary log of one side of a pair, which has the writes of both, and makes each parent
// whose children changed say what its latest child has now, on the side that serves the parent's tenant. It writes no value of an event: whatever comes twice, late or out of order does no harm.

const (
	againAfter  = time.Second      // behind an error
	settleEvery = 5 * time.Second  // how often it is looked whether the shard has moved
	lookEvery   = time.Second      // and whether the side that is read is still in rotation
	tellStale   = 10 * time.Second // how often it is said that a lease is over
)

// Apply keeps the columns of all shards of a spec current until ctx ends. What one shard cannot do is told, and tried again; the others go on.
func (a *Act) Apply(ctx context.Context, sp spec.Spec, tell func(format string, args ...any)) error {
	if sp.Keep != spec.Applier {
		return &farm.Error{Op: "apply changes", Subject: fmt.Sprintf("%s:%d", sp.File, sp.Line("keep")), Err: fmt.Errorf("%w: keep is %s; there is nothing to apply", farm.ErrInput, sp.Keep), Hint: "set keep: applier and max_lag in the spec: docs/guide/reshape.md"}
	}
	a.ThrottleAlone()
	var mu sync.Mutex
	var all sync.WaitGroup
	some := false
	for _, p := range a.Farm.Pairs {
		for _, s := range p.Shards {
			if !sp.Takes(s.Name) {
				continue
			}
			some = true
			x := &applier{act: a, sp: sp, shard: s.Name, tell: func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				tell("%s: %s", s.Name, fmt.Sprintf(format, args...))
			}}
			all.Go(func() { x.run(ctx) })
		}
	}
	all.Wait()
	if !some {
		return a.noShard(sp)
	}
	return nil
}

// applier is that of one shard. Nothing of it outlives the program but the leases in the shard.
type applier struct {
	act   *Act
	sp    spec.Spec
	shard farm.ShardName
	tell  func(format string, args ...any)

	anew string // why all rows are to be filled in again; "": they are not

	// Of one time in one place:
	pair     farm.Pair
	place    string
	shape    latest.Shape
	servers  map[string]*mysql.Server   // by address
	sessions map[string]*latest.Session // by address
	downTill map[string]time.Time       // by address: servers that failed a moment ago
	leases   map[string]*lease          // by address
	reader   *feed.Reader
	keys     *latest.Keys
	pending  map[string]*change // by key
	batch    int64
	routes   *route.Pair
	routed   time.Time // when routes were read
	looked   time.Time
	settled  time.Time
}

// run applies changes until ctx ends.
func (x *applier) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := x.once(ctx)
		x.close()
		if ctx.Err() != nil {
			return
		}
		var stopped *feed.Stopped
		var purged *feed.Purged
		switch {
		case errors.Is(err, errMoved):
			x.tell("%v; applying it where it is served now", err)
			continue
		case errors.As(err, &stopped), errors.As(err, &purged), errors.Is(err, latest.ErrShape):
			x.anew = err.Error()
			continue
		}
		x.tell("%v; tried again", err)
		if !pause(ctx, againAfter) {
			return
		}
	}
}

func (x *applier) close() {
	if x.reader != nil {
		x.reader.Close()
		x.reader = nil
	}
	for _, s := range x.sessions {
		s.Close()
	}
	for _, s := range x.servers {
		s.Close()
	}
}

// once applies what comes until something fails.
func (x *applier) once(ctx context.Context) error {
	x.servers, x.sessions, x.downTill = map[string]*mysql.Server{}, map[string]*latest.Session{}, map[string]time.Time{}
	x.leases, x.pending, x.routed = map[string]*lease{}, map[string]*change{}, time.Time{}
	var err error
	if x.pair, x.place, err = x.whereIs(ctx); err != nil {
		return err
	}
	x.settled = time.Now()
	servers, err := x.readable(ctx)
	if err != nil {
		return err
	}
	server, err := anyThatAnswers(ctx, servers)
	if err != nil {
		return err
	}
	if x.shape, err = snapshot.ShapeOf(ctx, server, x.sp, x.shard); err != nil {
		return err
	}
	if x.keys, err = x.shape.Keys(ctx, server, x.shard); err != nil {
		return err
	}
	from, err := x.from(ctx, server)
	if err != nil {
		return err
	}
	id, err := feed.FreeServerID(ctx, servers...)
	if err != nil {
		return err
	}
	x.reader, err = feed.Open(ctx, feed.Source{Servers: x.readable, ServerID: id, Schema: string(x.shard), Tables: []string{x.sp.Parent.Table, x.sp.Child.Table}, Tries: -1, Tell: func(text string) { x.tell("%s", text) }}, from)
	if err != nil {
		return err
	}
	x.tell("applying changes from %s, after %s", x.reader.Server().Name(), from)
	for {
		if err := x.read(ctx); err != nil {
			return err
		}
		if err := x.apply(ctx); err != nil {
			return err
		}
		if err := x.grant(ctx); err != nil {
			return err
		}
		if err := x.look(ctx); err != nil {
			return err
		}
	}
}

// readable are the servers of the pair that are in rotation, in the order of their sides.
func (x *applier) readable(ctx context.Context) (out []*mysql.Server, err error) {
	in, err := x.serving(ctx)
	if err != nil {
		return nil, err
	}
	for _, side := range x.pair.SideNames() {
		if at, ok := in.Sides[side]; ok {
			out = append(out, x.server(x.pair.Instance(side), at.Address))
		}
	}
	return out, nil
}

func (x *applier) server(name farm.InstanceName, address string) *mysql.Server {
	s := x.servers[address]
	if s == nil {
		s = x.act.Server(name, address)
		x.servers[address] = s
	}
	return s
}

func anyThatAnswers(ctx context.Context, servers []*mysql.Server) (*mysql.Server, error) {
	last := errors.New("no side of the pair is in rotation")
	for _, s := range servers {
		if last = s.Answers(ctx); last == nil {
			return s, nil
		}
	}
	return nil, last
}

// from is the position behind which changes are not applied yet. Where it is not known, all rows are filled in first.
func (x *applier) from(ctx context.Context, server *mysql.Server) (mysql.Position, error) {
	leases, there, err := x.shape.Leases(ctx, server, x.shard)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, &farm.Error{Op: "apply changes", Subject: string(x.shard), Err: fmt.Errorf("%w: it has no table %s", farm.ErrRefused, latest.LeaseTable), Hint: "stowage reshape " + x.sp.Name + " --prepare"}
	}
	done, isHere := latest.Furthest(leases, x.place) // a move copies leases of elsewhere along
	switch {
	case x.anew != "":
	case len(leases) == 0:
		x.anew = "nothing was applied yet"
	case !isHere:
		x.anew = "it was last applied at " + leases[0].Place
	default:
		return done, nil
	}
	end, err := server.BinlogPosition(ctx)
	if err != nil {
		return nil, err
	}
	return end, x.refill(ctx)
}
