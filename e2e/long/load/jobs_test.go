package load

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // a client, not the program

	"stowage/mysql"
)

// rows is how many rows a shard's table has: some 70 MB.
const rows = 200_000

// job is what a shard is asked for: so many transactions a second.
type job struct {
	name string
	rate float64
	run  func(ctx context.Context, c *sql.Conn, r *rand.Rand) error
}

// jobs are as uneven as shards are.
var jobs = []job{
	{"point reads", 500, func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
		var pad string
		return c.QueryRowContext(ctx, "SELECT pad FROM load_t WHERE id = ?", 1+r.IntN(rows)).Scan(&pad)
	}},
	{"ranges", 120, func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
		var sum sql.NullInt64
		from := 1 + r.IntN(rows-1000)
		return c.QueryRowContext(ctx, "SELECT SUM(k + LENGTH(pad)) FROM load_t WHERE id BETWEEN ? AND ?", from, from+500).Scan(&sum)
	}},
	{"writes", 70, func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
		tx, err := c.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		for range 3 {
			if _, err := tx.ExecContext(ctx, "UPDATE load_t SET k = k + 1, pad = ? WHERE id = ?", padding(r), 1+r.IntN(rows)); err != nil {
				_ = tx.Rollback()
				return err
			}
		}
		return tx.Commit()
	}},
	{"a little of both", 40, func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
		var pad string
		for range 3 {
			if err := c.QueryRowContext(ctx, "SELECT pad FROM load_t WHERE id = ?", 1+r.IntN(rows)).Scan(&pad); err != nil {
				return err
			}
		}
		_, err := c.ExecContext(ctx, "UPDATE load_t SET k = k + 1 WHERE id = ?", 1+r.IntN(rows))
		return err
	}},
}

func padding(r *rand.Rand) string { return fmt.Sprintf("%0200d", r.Uint64()) }

// fill makes the table of each shard.
func (b *bench) fill() {
	b.t.Helper()
	for n := range jobs {
		db := b.open(n, b.admin, true)
		for _, s := range []string{"CREATE TABLE load_t (id INT PRIMARY KEY, k INT NOT NULL, pad VARCHAR(300) NOT NULL) ENGINE=InnoDB",
			fmt.Sprintf("INSERT INTO load_t SELECT seq, seq, RPAD(seq, 250, 'x') FROM seq_1_to_%d", rows)} {
			if _, err := db.ExecContext(b.t.Context(), s); err != nil {
				b.t.Fatalf("%s: %v", s, err)
			}
		}
		_ = db.Close()
	}
}

func (b *bench) open(shard int, as mysql.Account, text bool) *sql.DB {
	b.t.Helper()
	db, err := sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(%s)/%s?interpolateParams=%v", as.User, as.Password, b.address, b.shards[shard], text))
	if err != nil {
		b.t.Fatal(err)
	}
	return db
}

// running is what is asked on some shards.
type running struct {
	done [4]atomic.Int64 // transactions, by job
	stop context.CancelFunc
	all  sync.WaitGroup
	fail atomic.Pointer[error]
	t    *testing.T
}

// clients is how many sessions a shard has, which stay connected.
const clients = 2

// begin starts the jobs of these shards. text: parameters are put into the statement; else they are prepared.
func (b *bench) begin(text bool, shards ...int) *running {
	b.t.Helper()
	ctx, stop := context.WithCancel(b.t.Context())
	l := &running{stop: stop, t: b.t}
	for _, n := range shards {
		db := b.open(n, b.client, text)
		for c := range clients {
			l.all.Go(func() {
				if err := l.client(ctx, db, n, c); err != nil && ctx.Err() == nil {
					l.fail.Store(&err)
				}
			})
		}
		b.t.Cleanup(func() { _ = db.Close() })
	}
	return l
}

func (l *running) client(ctx context.Context, db *sql.DB, n, c int) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	r := rand.New(rand.NewPCG(uint64(n), uint64(c)))
	every := time.Duration(float64(clients) / jobs[n].rate * float64(time.Second))
	for next := time.Now(); ctx.Err() == nil; {
		if wait := time.Until(next); wait > 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(wait):
			}
		}
		if next = next.Add(every); time.Since(next) > time.Second { // what was missed is not made up for
			next = time.Now()
		}
		if err := jobs[n].run(ctx, conn, r); err != nil {
			return err
		}
		l.done[n].Add(1)
	}
	return nil
}

func (l *running) counts() (out [4]float64) {
	for n := range out {
		out[n] = float64(l.done[n].Load())
	}
	return out
}

// end stops the clients.
func (l *running) end() {
	l.t.Helper()
	l.stop()
	l.all.Wait()
	if err := l.fail.Load(); err != nil {
		l.t.Fatalf("a client failed: %v", *err)
	}
}
