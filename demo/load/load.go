package load

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"stowage/farm"
	"stowage/route"
)

// Options of a load.
type Options struct {
	Routing        string                             // routing.json
	Dir            string                             // ledger and samples; an earlier run's are continued
	Shards         map[farm.PairName][]farm.ShardName // nil: all of routing.json
	User, Password string
	Clients        int     // 1 to MaxClients
	Rate           float64 // transactions a second of all clients together; 0: as fast as possible
	Seed           int64   // of the order of shards and the mix of queries
	Column         string  // of receipts: written as soon as a server has it; "": none
	Log            *slog.Logger
}

// Load is a set of running clients.
type Load struct {
	o       Options
	follow  *route.Follower
	rows    map[farm.ShardName]int64 // listings seeded
	numbers map[farm.PairName]uint16
	tally   tally
	clients []*client
	unlock  func()

	cancel  context.CancelFunc
	running sync.WaitGroup
	once    sync.Once
}

// Start opens every client's connections and starts the clients. They run
// until ctx ends or Stop is called; call Stop in either case. A directory in
// use by another Load is refused: two clients of one name would break both
// ledgers.
func Start(ctx context.Context, o Options) (*Load, error) {
	l, err := prepare(ctx, o)
	if err != nil {
		return nil, &farm.Error{Op: "start load", Subject: o.Dir, Err: err}
	}
	ctx, l.cancel = context.WithCancel(ctx)
	l.tally.started = time.Now()
	for _, c := range l.clients {
		l.running.Go(func() { c.run(ctx) })
	}
	l.running.Go(func() { l.flush(ctx) })
	return l, nil
}

func prepare(ctx context.Context, o Options) (_ *Load, err error) {
	if o.Clients < 1 || o.Clients > MaxClients {
		return nil, fmt.Errorf("%w: clients must be 1 to %d, not %d", farm.ErrInput, MaxClients, o.Clients)
	}
	follow, err := route.Follow(o.Routing)
	if err != nil {
		return nil, err
	}
	l := &Load{o: o, follow: follow, rows: map[farm.ShardName]int64{}}
	if o.Shards == nil {
		l.o.Shards = shardsOf(follow.Table())
	}
	if l.o.Log == nil {
		l.o.Log = slog.New(slog.DiscardHandler)
	}
	if l.unlock, err = lockDir(o.Dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.numbers, err = numberPairs(o.Dir, l.allPairs()); err != nil {
		return nil, err
	}
	return l, l.open(ctx)
}

func shardsOf(t *route.Table) map[farm.PairName][]farm.ShardName {
	out := map[farm.PairName][]farm.ShardName{}
	for name, p := range t.Pairs {
		out[name] = p.Shards
	}
	return out
}

// pairs in a stable order.
func (l *Load) pairs() []farm.PairName {
	var names []farm.PairName
	for p := range l.o.Shards {
		names = append(names, p)
	}
	slices.Sort(names)
	return names
}

// allPairs are those and every other pair of the table: a shard may go there.
func (l *Load) allPairs() []farm.PairName {
	names := l.pairs()
	var others []farm.PairName
	for p := range l.follow.Table().Pairs {
		if _, known := l.o.Shards[p]; !known {
			others = append(others, p)
		}
	}
	slices.Sort(others)
	return append(names, others...)
}

// open makes the clients and their connections, all clients at the same time.
func (l *Load) open(ctx context.Context) error {
	for n := 1; n <= l.o.Clients; n++ {
		c, err := newClient(l, n)
		if err != nil {
			return err
		}
		l.clients = append(l.clients, c)
	}
	errs := make([]error, len(l.clients))
	var wg sync.WaitGroup
	for n, c := range l.clients {
		wg.Go(func() { errs[n] = c.openAll(ctx) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return l.clients[0].measureRows(ctx)
}

// flush writes the samples out, for Latency to be read while the load runs.
func (l *Load) flush(ctx context.Context) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, c := range l.clients {
				c.samples.flush()
			}
		}
	}
}

// Now is the summary so far.
func (l *Load) Now() Summary { return l.tally.summary() }

// Stop lets each client finish the transaction it is in, closes everything
// and gives the final summary. A client that waits at a closed gate gives up
// (abandoned: nothing was applied). It may be called twice.
func (l *Load) Stop() Summary {
	l.once.Do(func() {
		l.cancel()
		l.running.Wait()
		l.close()
	})
	return l.tally.summary()
}

func (l *Load) close() {
	for _, c := range l.clients {
		if err := c.close(); err != nil {
			l.tally.fail(Failure{Time: time.Now(), Client: c.name, Statement: "close ledger and samples", Error: err.Error()})
		}
	}
	if l.unlock != nil {
		l.unlock()
	}
}

// lockDir keeps a second Load out of a directory.
func lockDir(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("%w: another load is running in this directory", farm.ErrRefused)
	}
	return func() { f.Close() }, nil
}
