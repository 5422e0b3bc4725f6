package alter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/route"
)

// howMany clients there are, and what they do together.
const (
	howMany   = 8
	perSecond = 200 // statements of all of them
)

// writes are statements that changed a row and were acknowledged, and those that nobody answered.
type writes struct{ updated, inserted, unknown int64 }

// answer is one statement as its client saw it.
type answer struct {
	due, at time.Time // when it should have been sent, when it was answered
}

// clients read and write single rows of the table. They follow docs/reference/routing.md, with statements of one row and no transactions around them: of ten, five read, four
// update, one inserts. Each has its statements due at fixed times, whether or not the last one was quick, so that one that waits delays those behind it, as people feel it.
type clients struct {
	p      *alteredPair
	follow *route.Follower
	stop   context.CancelFunc
	end    sync.WaitGroup

	mu       sync.Mutex
	answers  []answer
	told     writes
	retried  int64
	failed   int64
	failures []string // the first few
}

func startClients(t *testing.T, p *alteredPair) *clients {
	t.Helper()
	follow, err := route.Follow(p.routing)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	c := &clients{p: p, follow: follow, stop: stop}
	t.Cleanup(func() { stop(); c.end.Wait() })
	for n := range howMany {
		c.end.Go(func() { c.run(ctx, n) })
	}
	return c
}

// Stop ends them, and says what they were told.
func (c *clients) Stop() writes {
	c.stop()
	c.end.Wait()
	return c.told
}

// connection of one client.
type connection struct {
	address string
	db      *sql.DB
	conn    *sql.Conn // database/sql tries nothing again on one that is held
}

func (c *clients) run(ctx context.Context, n int) {
	key, rnd := fmt.Sprintf("client-%02d", n), rand.New(rand.NewPCG(21, uint64(n)))
	interval := time.Second * howMany / perSecond
	due := time.Now().Add(time.Duration(rnd.Int64N(int64(interval))))
	var k connection
	defer func() { k.close() }()
	for ; ; due = due.Add(interval) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(due)):
		}
		kind, id := rnd.IntN(10), 1+rnd.Int64N(int64(c.p.rows))
		for !c.try(ctx, &k, key, kind, id, due) {
			if ctx.Err() != nil {
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// try sends one statement, to wherever routing says. False: nothing was done, and it is to be tried again.
func (c *clients) try(ctx context.Context, k *connection, key string, kind int, id int64, due time.Time) (ended bool) {
	looked := time.Now()
	_, r, address, ok := c.follow.LookupShard(c.p.shard, key)
	if !ok || r.Gate != route.Open {
		return false
	}
	if err := k.to(address, c.p.app); err != nil {
		c.count(func() { c.retried++ })
		return false
	}
	if time.Since(looked) > 20*time.Millisecond { // rule 1: the look is too old
		return false
	}
	err := k.send(c.p.name(), kind, id) // to its end: ctx is looked at between statements
	at := time.Now()
	var said *driver.MySQLError
	switch isAnswer := errors.As(err, &said); {
	case err == nil:
		c.count(func() {
			c.answers = append(c.answers, answer{due, at})
			c.told.add(kind)
		})
	case isAnswer && said.Number == 1290: // read_only: routing is about to say something else
		c.count(func() { c.retried++ })
		return false
	default:
		if !isAnswer {
			k.close()
		}
		c.count(func() {
			c.failed++
			if !isAnswer && kind >= 5 {
				c.told.unknown++
			}
			if len(c.failures) < 5 {
				c.failures = append(c.failures, err.Error())
			}
		})
	}
	return true
}

func (c *clients) count(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (w *writes) add(kind int) {
	switch {
	case kind == 9:
		w.inserted++
	case kind >= 5:
		w.updated++
	}
}

func (k *connection) to(address string, as login) error {
	if k.conn != nil && k.address == address {
		return nil
	}
	k.close()
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = as.user, as.password, "tcp", address
	cfg.InterpolateParams, cfg.Logger, cfg.Timeout = true, &driver.NopLogger{}, 5*time.Second
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	conn, err := db.Conn(context.Background())
	if err != nil {
		return errors.Join(err, db.Close())
	}
	*k = connection{address, db, conn}
	return nil
}

func (k *connection) close() {
	if k.conn != nil {
		_, _ = k.conn.Close(), k.db.Close()
	}
	*k = connection{}
}

func (k *connection) send(table string, kind int, id int64) error {
	ctx := context.Background()
	switch {
	case kind < 5:
		var n int64
		return k.conn.QueryRowContext(ctx, "SELECT n FROM "+table+" WHERE id = ?", id).Scan(&n)
	case kind < 9:
		_, err := k.conn.ExecContext(ctx, "UPDATE "+table+" SET n = n + 1, state = ? WHERE id = ?", fmt.Sprintf("state %d", id%5), id)
		return err
	}
	_, err := k.conn.ExecContext(ctx, "INSERT INTO "+table+" (customer, state, note) VALUES (?, 'new', ?)", id%100003, fmt.Sprintf("ordered of %d", id))
	return err
}

// felt is what clients felt in a while, in milliseconds. A statement's time is from when it was due to its answer.
type felt struct {
	count                int
	p50, p99, max, pause float64 // pause: for the longest time, no client was answered
}

// Felt is of the statements that were due in [from, to) and were answered by now.
func (c *clients) Felt(from, to time.Time) felt {
	var took []float64
	at := []time.Time{from, to}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.answers {
		if !a.due.Before(from) && a.due.Before(to) {
			took = append(took, float64(a.at.Sub(a.due).Microseconds())/1000)
		}
		if !a.at.Before(from) && a.at.Before(to) {
			at = append(at, a.at)
		}
	}
	if len(took) == 0 {
		return felt{}
	}
	slices.Sort(took)
	slices.SortFunc(at, time.Time.Compare)
	f := felt{count: len(took), p50: took[len(took)/2], p99: took[min(len(took)-1, len(took)*99/100)], max: took[len(took)-1]}
	for n := 1; n < len(at); n++ {
		f.pause = max(f.pause, float64(at[n].Sub(at[n-1]).Microseconds())/1000)
	}
	return f
}
