package route_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/internal/mariadbtest"
	"stowage/route"
)

// steer tells a client where to go. open is false while it has to wait.
type steer func(ctx context.Context, key string) (address string, open bool)

// liveClient is one stream of dependent work: it counts a row of its own up, and
// knows how far it has come.
type liveClient struct {
	key       string
	steer     steer
	twice     bool          // it looks again after its first statement
	eachTime  bool          // a connection for every transaction
	lifetime  time.Duration // of a connection in its pool; 0: as long as it lasts
	met       *met
	acked     int64
	uncertain bool // the answer to its last COMMIT was lost
	behind    bool // its last look found less than it wrote

	db      *sql.DB
	address string
	looked  time.Time
}

// met is what all clients of a run met.
type met struct {
	mu           sync.Mutex
	transactions int64
	refused      int64 // error 1290
	late         int64 // the same, for a client that its machine kept from its statement for longer than a look is good for
	lost         int64 // connections refused or lost before COMMIT
	unknown      int64 // connections lost at COMMIT
	stale        int64 // a client did not find its own last write
	ahead        int64 // a client found more than it wrote
	waits        []time.Duration
	other        []string // errors that nobody expects
}

func (m *met) count(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func (c *liveClient) run(ctx context.Context) {
	defer c.disconnect()
	for ctx.Err() == nil {
		wanted := time.Now()
		for ctx.Err() == nil && !c.once(ctx) {
		}
		if ctx.Err() == nil {
			c.met.count(func() { c.met.transactions++; c.met.waits = append(c.met.waits, time.Since(wanted)) })
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// once is one attempt; true: it was acknowledged.
func (c *liveClient) once(ctx context.Context) bool {
	c.looked = time.Now()
	address, open := c.steer(ctx, c.key)
	if !open {
		time.Sleep(2 * time.Millisecond)
		return false
	}
	background := context.Background() // a transaction that was begun is ended
	if err := c.connect(address); err != nil {
		return c.failed(err)
	}
	if c.eachTime {
		defer c.disconnect()
	}
	tx, err := c.db.BeginTx(background, nil)
	if err != nil {
		return c.failed(err)
	}
	if c.twice && time.Since(c.looked) > route.DefaultGoodFor {
		_ = tx.Rollback()
		return false
	}
	var n int64
	if err := tx.QueryRow("SELECT n FROM live.counters WHERE client = ? FOR UPDATE", c.key).Scan(&n); err != nil {
		_ = tx.Rollback()
		return c.failed(err)
	}
	if c.twice {
		if again, open := c.steer(ctx, c.key); !open || again != address {
			_ = tx.Rollback()
			return false
		}
	}
	switch {
	case n == c.acked, c.uncertain && n == c.acked+1:
		c.acked, c.uncertain, c.behind = n, false, false
	case n < c.acked:
		if !c.behind { // once, however often it looks
			c.met.count(func() { c.met.stale++ })
		}
		c.behind = true
		_ = tx.Rollback()
		time.Sleep(time.Millisecond)
		return false
	default:
		c.met.count(func() { c.met.ahead++ })
		c.acked = n
	}
	if _, err := tx.Exec("UPDATE live.counters SET n = ? WHERE client = ?", n+1, c.key); err != nil {
		_ = tx.Rollback()
		return c.failed(err)
	}
	if err := tx.Commit(); err != nil {
		var answer *driver.MySQLError
		if !errors.As(err, &answer) {
			c.uncertain = true
			c.met.count(func() { c.met.unknown++ })
			c.disconnect()
			return false
		}
		return c.failed(err)
	}
	c.acked = n + 1
	return true
}

func (c *liveClient) failed(err error) bool {
	var answer *driver.MySQLError
	c.met.count(func() {
		switch {
		case errors.As(err, &answer) && answer.Number == 1290 && c.twice && time.Since(c.looked) > route.DefaultGoodFor:
			c.met.late++
		case errors.As(err, &answer) && answer.Number == 1290:
			c.met.refused++
		case errors.As(err, &answer) && answer.Number != 1927 && answer.Number != 1053:
			c.met.other = append(c.met.other, err.Error())
		default:
			c.met.lost++
		}
	})
	if answer == nil {
		c.disconnect()
	}
	time.Sleep(2 * time.Millisecond)
	return false
}

func (c *liveClient) connect(address string) error {
	if c.db != nil && c.address == address {
		return nil
	}
	c.disconnect()
	cfg := driver.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = string(mariadbtest.App), mariadbtest.App.Password(), "tcp", address
	cfg.InterpolateParams, cfg.Logger = true, &driver.NopLogger{}
	cfg.Timeout, cfg.ReadTimeout = 30*time.Second, 60*time.Second
	cfg.CheckConnLiveness = false // the client is to meet what it meets
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return err
	}
	c.db, c.address = sql.OpenDB(connector), address
	c.db.SetMaxOpenConns(1)
	c.db.SetConnMaxLifetime(c.lifetime)
	return nil
}

func (c *liveClient) disconnect() {
	if c.db != nil {
		c.db.Close()
		c.db = nil
	}
}

// polled is a steer that asks at most every so often and forgets gates: a
// client that only follows addresses.
func polled(every time.Duration, ask steer) steer {
	var mu sync.Mutex
	type seen struct {
		address string
		at      time.Time
	}
	last := map[string]seen{}
	return func(ctx context.Context, key string) (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		s := last[key]
		if time.Since(s.at) >= every {
			if address, _ := ask(ctx, key); address != "" {
				s = seen{address, time.Now()}
				last[key] = s
			}
		}
		return s.address, s.address != ""
	}
}

func keysOf(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("client-%02d", i+1))
	}
	return keys
}
