package files

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/go-sql-driver/mysql" // registers the driver "mysql"
)

// Clients says who writes, and where.
type Clients struct {
	Shard string
	Seed  uint64
	Count int // clients at the same time, each with a connection of its own to each side; 0: 4

	// DSN is how the Go driver reaches an address, with the shard as its database.
	DSN func(address string) string
	// Where is the address that serves a tenant's key now. It is asked before a transaction and again behind its first statement,
	// and waits while the gate of the key is closed (docs/reference/routing.md, rules 1 and 4).
	Where func(ctx context.Context, tenant uint32) (address string, err error)

	Pause       time.Duration // between two transactions of a client
	Keeps       bool          // the application itself keeps the carried columns (keep: application)
	DropTenants int           // that many tenants at most are deleted with all they have
	// Did is told of each transaction that was acknowledged, from several goroutines. Optional.
	Did func(kind string, took time.Duration)
}

// Writers are clients of a shard: they add versions, delete, restore, replace, move and remove them, rename and move files, make
// and remove files, and delete tenants. They remember what they were acknowledged, and Compare compares the tables with it.
//
// Each row has one client that changes it, so that its value is known; children of one file are written by all clients at once.
type Writers struct {
	c       Clients
	ledger  *ledger
	pools   sync.Map // address to *sql.DB
	next    atomic.Uint64
	count   sync.Map // kind to *atomic.Int64
	dropped atomic.Int64
	runs    atomic.Uint64
}

// NewWriters reads the rows that are there through db, from a moment in which nobody writes. Close lets connections go.
func NewWriters(ctx context.Context, db *sql.DB, c Clients) (*Writers, error) {
	if c.Count <= 0 {
		c.Count = 4
	}
	l, err := readLedger(ctx, db, c.Shard)
	if err != nil {
		return nil, fmt.Errorf("read what is there: %w", err)
	}
	w := &Writers{c: c, ledger: l}
	w.next.Store(l.highest)
	return w, nil
}

// Close lets the connections go.
func (w *Writers) Close() error {
	var all error
	w.pools.Range(func(_, pool any) bool {
		all = errors.Join(all, pool.(*sql.DB).Close())
		return true
	})
	return all
}

// Run writes until ctx ends, and then returns nil once every client has ended its transaction. An error is one that an
// application could not have continued with, or an acknowledged write that is gone. Another Run continues with other random numbers.
func (w *Writers) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	seed := w.c.Seed + w.runs.Add(1)<<32
	var wg sync.WaitGroup
	for n := range w.c.Count {
		wg.Go(func() {
			c := &client{Writers: w, number: uint64(n), r: rand.New(rand.NewPCG(seed, uint64(n)))}
			if err := c.run(ctx); err != nil {
				stop(fmt.Errorf("client %d: %w", n, err))
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// Counts are the transactions that were acknowledged, by their kind.
func (w *Writers) Counts() map[string]int64 {
	out := map[string]int64{}
	w.count.Range(func(kind, n any) bool {
		out[kind.(string)] = n.(*atomic.Int64).Load()
		return true
	})
	return out
}

func (w *Writers) done(kind string, took time.Duration) {
	n, _ := w.count.LoadOrStore(kind, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
	if w.c.Did != nil {
		w.c.Did(kind, took)
	}
}

// conn is a connection to an address. Its transactions are the client's alone.
func (w *Writers) conn(ctx context.Context, address string) (*sql.Conn, error) {
	pool, ok := w.pools.Load(address)
	if !ok {
		db, err := sql.Open("mysql", w.c.DSN(address))
		if err != nil {
			return nil, err
		}
		var lost bool
		if pool, lost = w.pools.LoadOrStore(address, db); lost {
			_ = db.Close() // another client was faster
		}
	}
	return pool.(*sql.DB).Conn(ctx)
}

// newID is an id that nobody has, whose row belongs to this client.
func (c *client) newID() uint64 {
	count := uint64(c.c.Count)
	n := c.next.Add(count)
	return n - n%count + c.number
}

// client is one of them.
type client struct {
	*Writers
	number uint64
	r      *rand.Rand
}

func (c *client) run(ctx context.Context) error {
	for ctx.Err() == nil {
		t := c.ledger.pick(c.r)
		if t == nil {
			return errors.New("no tenant is left to write for")
		}
		if err := c.act(ctx, t); err != nil && ctx.Err() == nil {
			return fmt.Errorf("tenant %d: %w", t.id, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(c.c.Pause):
		}
	}
	return nil
}
