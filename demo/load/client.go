package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"stowage/farm"
)

// client is one stream of dependent work: one goroutine, one key, one
// transaction at a time.
type client struct {
	load *Load
	name string // also its routing key
	rnd  *rand.Rand

	links      map[farm.PairName]*link
	generation int64 // of the routing that links were last looked over for

	ledger  *ledger
	samples *sampleLog
	acked   map[farm.ShardName]int64 // highest seq acknowledged, in the ledger or since
	visited map[farm.ShardName]bool  // counter read in this run
	columns map[farm.ShardName]bool  // whether the table that was met last had Options.Column
}

// stop is one place on a client's walk.
type stop struct {
	pair  farm.PairName
	shard farm.ShardName
}

func newClient(l *Load, n int) (*client, error) {
	c := &client{
		load: l, name: clientName(n),
		rnd:     rand.New(rand.NewPCG(uint64(l.o.Seed), uint64(n))),
		links:   map[farm.PairName]*link{},
		visited: map[farm.ShardName]bool{},
	}
	var torn int64
	var err error
	if c.ledger, c.acked, torn, err = openLedger(l.o.Dir, c.name); err != nil {
		return nil, err
	}
	l.tally.count(func(s *Summary) { s.Clients++; s.TornLines += torn })
	if c.samples, err = openSamples(l.o.Dir, c.name); err != nil {
		return nil, errors.Join(err, c.ledger.close())
	}
	return c, nil
}

func (c *client) close() error {
	for _, k := range c.links {
		k.close()
	}
	return errors.Join(c.ledger.close(), c.samples.close())
}

// run walks all shards in a random order, again and again.
func (c *client) run(ctx context.Context) {
	var walk []stop
	for _, p := range c.load.pairs() {
		for _, s := range c.load.o.Shards[p] {
			walk = append(walk, stop{p, s})
		}
	}
	pace := newPace(c.load.o.Rate/float64(c.load.o.Clients), c.rnd)
	for len(walk) > 0 {
		c.rnd.Shuffle(len(walk), func(i, j int) { walk[i], walk[j] = walk[j], walk[i] })
		for _, at := range walk {
			if !c.idle(ctx, pace.next(time.Now())) {
				return
			}
			c.transact(ctx, at)
		}
	}
}

// transact runs one transaction of the mix: 70 % writes.
func (c *client) transact(ctx context.Context, at stop) {
	v := &visit{client: c, stop: at, wanted: time.Now()}
	switch n := c.rnd.IntN(100); {
	case n < 70:
		v.write(ctx)
	case n < 80:
		v.read(ctx, kindListing)
	case n < 90:
		v.read(ctx, kindListings)
	default:
		v.read(ctx, kindReceipt)
	}
}

// idle waits until a time, following changes of address meanwhile, so that an
// old server sees its connections closed soon and a new one has them before
// they are needed. False: the load ends.
func (c *client) idle(ctx context.Context, until time.Time) bool {
	for {
		if ctx.Err() != nil {
			return false
		}
		c.followAddresses(ctx)
		left := time.Until(until)
		if left <= 0 {
			return true
		}
		pause(ctx, min(left, 100*time.Millisecond))
	}
}

// pause sleeps, not beyond the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// measureRows asks every pair how many listings were seeded: the reads choose
// among them. It also finds a missing schema before the first transaction.
func (c *client) measureRows(ctx context.Context) error {
	for _, pair := range c.load.pairs() {
		var parts []string
		for _, s := range c.load.o.Shards[pair] {
			parts = append(parts, fmt.Sprintf("SELECT '%s', COALESCE(MAX(id), 0) FROM `%s`.listings", s, s))
		}
		if len(parts) == 0 {
			continue
		}
		k := c.links[pair]
		rows, err := k.conn.QueryContext(ctx, strings.Join(parts, " UNION ALL "))
		if err != nil {
			return &farm.Error{Op: "count listings", Subject: k.address, Err: err}
		}
		for rows.Next() {
			var shard farm.ShardName
			var n int64
			if err := rows.Scan(&shard, &n); err != nil {
				return errors.Join(err, rows.Close())
			}
			c.load.rows[shard] = n
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return &farm.Error{Op: "count listings", Subject: k.address, Err: err}
		}
	}
	return nil
}
