package reshape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/route"
)

const (
	idle       = 100 * time.Millisecond // a change is waited for so long
	together   = time.Millisecond       // changes that come within this are applied together
	batchFor   = 20 * time.Millisecond  // and are read for so long at most
	batchKeys  = 2000
	chunkKeys  = 200    // parents of one transaction
	mostKeys   = 50_000 // that wait; nothing is read beyond
	retryFirst = 2 * time.Millisecond
	retryMost  = 100 * time.Millisecond
	downFor    = time.Second
)

// change is a parent whose latest child may have changed.
type change struct {
	key    latest.Key
	batch  int64          // in which it came first
	before mysql.Position // what was read before that batch
	need   mysql.Position // its transactions: a server that lacks one cannot say what the latest child is
	from   string         // address of the server that they were read from, and that has them; "": several
	tenant string
	next   time.Time
	wait   time.Duration
}

// read waits a moment for what the log has, and takes what comes together with it.
func (x *applier) read(ctx context.Context) error {
	if len(x.pending) >= mostKeys {
		pause(ctx, retryFirst)
		return ctx.Err()
	}
	wait, before, n := idle, x.reader.At(), 0
	if len(x.pending) > 0 {
		wait = retryFirst
	}
	x.batch++
	for end := time.Now().Add(wait + batchFor); n < batchKeys && time.Now().Before(end); wait = together {
		p, ok, err := x.reader.Next(ctx, wait)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		for _, c := range p.Changes {
			keys, err := x.keys.Moved(ctx, c)
			if err != nil {
				return err
			}
			n += len(keys)
			for _, k := range keys {
				x.add(k, before, p.Trx)
			}
		}
	}
	return ctx.Err()
}

func (x *applier) add(k latest.Key, before mysql.Position, by mysql.Trx) {
	c, from := x.pending[k.String()], x.reader.Server().Address()
	if c == nil {
		c = &change{key: k, batch: x.batch, before: before, from: from}
		x.pending[k.String()] = c
	}
	if c.from != from {
		c.from = ""
	}
	c.need = c.need.With(by)
}

// applied is up to where changes are applied, on whichever side their tenants are served.
func (x *applier) applied() mysql.Position {
	var first *change
	for _, c := range x.pending {
		if first == nil || c.batch < first.batch {
			first = c
		}
	}
	if first == nil {
		return x.reader.At()
	}
	return first.before
}

// apply applies what waits, in the order it came.
func (x *applier) apply(ctx context.Context) error {
	now := time.Now()
	due := slices.SortedFunc(maps.Values(x.pending), func(a, b *change) int { return cmp.Compare(a.batch, b.batch) })
	due = slices.DeleteFunc(due, func(c *change) bool { return now.Before(c.next) })
	for some := range slices.Chunk(due, chunkKeys) {
		if err := x.chunk(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// chunk applies some changes, in one transaction for each server.
func (x *applier) chunk(ctx context.Context, some []*change) error {
	read := x.reader.Server()
	if some = x.has(ctx, read.Address(), some); len(some) == 0 {
		return nil
	}
	tenants, err := x.tenantsOf(ctx, read.Address(), some)
	if errors.Is(err, latest.ErrBusy) {
		return x.halves(ctx, some, x.chunk)
	}
	if err != nil {
		return err
	}
	in, err := x.routing(ctx)
	if err != nil {
		return err
	}
	groups := map[string][]*change{}
	for n, c := range some {
		t, ok := tenants[n]
		if !ok {
			delete(x.pending, c.key.String()) // a parent that is gone
			continue
		}
		r, address := in.Locate(x.sp.Tenant.ClientKey(x.shard, t))
		if c.tenant = t; r.Gate != route.Open {
			c.later()
			continue
		}
		groups[address] = append(groups[address], c)
	}
	for _, address := range slices.Sorted(maps.Keys(groups)) {
		if err := x.group(ctx, address, x.has(ctx, address, groups[address]), address == read.Address()); err != nil {
			return err
		}
	}
	return nil
}

func (x *applier) tenantsOf(ctx context.Context, address string, some []*change) (map[int]string, error) {
	s, err := x.session(ctx, address)
	if err != nil {
		return nil, err
	}
	return s.TenantsOf(ctx, x.shard, keysOf(some))
}

func keysOf(some []*change) []latest.Key {
	keys := make([]latest.Key, len(some))
	for n, c := range some {
		keys[n] = c.key
	}
	return keys
}

// halves does with each half what was kept from being done with all, so that what clients hold does not keep up the rest. One that is alone comes again.
func (x *applier) halves(ctx context.Context, some []*change, do func(context.Context, []*change) error) error {
	if len(some) == 1 {
		some[0].later()
		return nil
	}
	half := len(some) / 2
	return errors.Join(do(ctx, some[:half]), do(ctx, some[half:]))
}

func (c *change) later() {
	c.wait = min(max(retryFirst, 2*c.wait), retryMost)
	c.next = time.Now().Add(c.wait)
}

// has are the changes whose transactions a server has. The others come again: they were read from another server, which this one follows.
func (x *applier) has(ctx context.Context, address string, some []*change) (out []*change) {
	if !slices.ContainsFunc(some, func(c *change) bool { return c.from != address }) {
		return some
	}
	var at mysql.Position
	_, err := x.session(ctx, address)
	if err == nil && !time.Now().Before(x.downTill[address]) {
		at, err = x.servers[address].BinlogPosition(ctx)
	}
	if err != nil {
		x.lose(address)
		x.tell("its tenants that are served at %s wait: %v", address, err)
	}
	for _, c := range some {
		if c.from == address || err == nil && at.Reached(c.need) {
			out = append(out, c)
		} else {
			c.later()
		}
	}
	return out
}

// group makes parents say what their latest child has, on the server that serves their tenants. What is written twice is the same.
func (x *applier) group(ctx context.Context, address string, some []*change, isRead bool) error {
	if len(some) == 0 {
		return nil
	}
	s, err := x.session(ctx, address)
	if err == nil {
		s.May = func(ctx context.Context) error { return x.stillAt(ctx, address, some) }
		_, err = s.Apply(ctx, x.shard, keysOf(some))
	}
	switch {
	case err == nil:
		for _, c := range some {
			delete(x.pending, c.key.String())
		}
		return nil
	case errors.Is(err, errElsewhere), errors.Is(err, latest.ErrBusy):
		return x.halves(ctx, some, func(ctx context.Context, half []*change) error { return x.group(ctx, address, half, isRead) })
	case isRead || ctx.Err() != nil || errors.Is(err, errMoved):
		return err
	}
	x.lose(address)
	x.tell("its tenants that are served at %s wait: %v", address, err)
	for _, c := range some {
		c.later()
	}
	return nil
}

// routing is that of a moment ago: it is read anew before each commit.
func (x *applier) routing(ctx context.Context) (*route.Pair, error) {
	if time.Since(x.routed) < batchFor {
		return x.routes, nil
	}
	in, err := x.serving(ctx)
	if err == nil {
		x.routes, x.routed = in, time.Now()
	}
	return in, err
}

// stillAt is asked before a commit: are the tenants of all these served at this address, with open gates?
func (x *applier) stillAt(ctx context.Context, address string, some []*change) error {
	in, err := x.serving(ctx)
	if err != nil {
		return err
	}
	for _, c := range some {
		if r, is := in.Locate(x.sp.Tenant.ClientKey(x.shard, c.tenant)); is != address || r.Gate != route.Open {
			return errElsewhere
		}
	}
	return nil
}

// session is the one on a server that is in rotation.
func (x *applier) session(ctx context.Context, address string) (*latest.Session, error) {
	if s := x.sessions[address]; s != nil {
		return s, nil
	}
	s, err := x.shape.Open(ctx, x.server(farm.InstanceName(fmt.Sprintf("%s at %s", x.pair.Name, address)), address), nil)
	if err == nil {
		x.sessions[address] = s
	}
	return s, err
}

// lose gives up a session that has failed; a new one is opened a moment later.
func (x *applier) lose(address string) {
	if s := x.sessions[address]; s != nil {
		s.Close()
		delete(x.sessions, address)
	}
	x.downTill[address] = time.Now().Add(downFor)
}
