package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	my "github.com/go-sql-driver/mysql"

	"stowage/bench/engine/sheet"
	"stowage/bench/stat"
)

// client is one connection that does a load again and again, one transaction at a time, with prepared statements. It is for one goroutine.
type client struct {
	conn    driver.Conn
	load    sheet.Load
	keys    *keys
	number  int // of clients it is this one: it deletes and inserts only rows that are its own
	clients int
	said    map[string]driver.Stmt
	c, pad  []byte
	cells   []driver.Value
	times   stat.Times
	retries int64
	stop    *atomic.Bool // of the work at hand: no further transaction
}

func newClient(ctx context.Context, s *server, load sheet.Load, rows, number, clients int, kind string, seed uint64) (*client, error) {
	connector, err := s.connector(database)
	if err != nil {
		return nil, s.fail("connect to", err)
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, s.fail("connect to", err)
	}
	rnd := rand.New(rand.NewPCG(seed, uint64(number)))
	return &client{conn: conn, load: load, keys: newKeys(rnd, rows, kind), number: number, clients: clients, said: map[string]driver.Stmt{},
		c: make([]byte, sheet.LengthC), pad: make([]byte, sheet.LengthPad), cells: make([]driver.Value, 2)}, nil
}

func (c *client) close() { _ = c.conn.Close() }

// run works until the time is over; what is under way then is finished.
func (c *client) run(until time.Time) error {
	c.times, c.retries = stat.Times{}, 0
	for began := time.Now(); began.Before(until) && !c.stop.Load(); {
		if err := c.transact(); err != nil {
			return err
		}
		now := time.Now()
		c.times.Add(now.Sub(began))
		began = now
	}
	return nil
}

// count does so many transactions.
func (c *client) count(n int) error {
	c.times, c.retries = stat.Times{}, 0
	for range n {
		if c.stop.Load() {
			return nil
		}
		began := time.Now()
		if err := c.transact(); err != nil {
			return err
		}
		c.times.Add(time.Since(began))
	}
	return nil
}

// transact does one, again where the server says that another was in the way.
func (c *client) transact() error {
	for {
		err := c.once()
		var said *my.MySQLError
		if err == nil || !errors.As(err, &said) || !isRetry(said.Number) {
			return err
		}
		c.retries++
		if c.load.Transactions {
			if err := c.say("ROLLBACK"); err != nil {
				return err
			}
		}
	}
}

// isRetry: deadlock, lock wait, and MyRocks' rows that changed since the snapshot.
func isRetry(code uint16) bool { return code == 1213 || code == 1205 || code == 1020 }

func (c *client) once() error {
	table := c.keys.rnd.IntN(sheet.Tables) + 1
	switch c.load.ID {
	case "point":
		return c.read(lookup(table), c.keys.next())
	case "update":
		return c.exec(change(table), text(c.keys.rnd, c.c), c.keys.next())
	}
	if err := c.say("BEGIN"); err != nil {
		return err
	}
	if c.load.ID == "rw" {
		for range 10 {
			if err := c.read(lookup(table), c.keys.next()); err != nil {
				return err
			}
		}
		from := c.keys.next()
		if err := c.read(fmt.Sprintf("SELECT c FROM t%d WHERE id BETWEEN ? AND ?", table), from, from+99); err != nil {
			return err
		}
	}
	if err := c.write(table); err != nil {
		return err
	}
	return c.say("COMMIT")
}

func lookup(table int) string { return fmt.Sprintf("SELECT c FROM t%d WHERE id = ?", table) }
func change(table int) string { return fmt.Sprintf("UPDATE t%d SET c = ? WHERE id = ?", table) }

func (c *client) write(table int) error {
	if err := c.exec(fmt.Sprintf("UPDATE t%d SET k = k + 1 WHERE id = ?", table), c.keys.next()); err != nil {
		return err
	}
	if err := c.exec(change(table), text(c.keys.rnd, c.c), c.keys.next()); err != nil {
		return err
	}
	own := c.own()
	if err := c.exec(fmt.Sprintf("DELETE FROM t%d WHERE id = ?", table), own); err != nil {
		return err
	}
	return c.exec(fmt.Sprintf("INSERT INTO t%d (id, k, c, pad) VALUES (?, ?, ?, ?)", table), own, c.keys.next(), text(c.keys.rnd, c.c), text(c.keys.rnd, c.pad))
}

// own is a row that no other client deletes: two that delete and insert one row at once would meet in a duplicate key.
func (c *client) own() int64 {
	n := int64(c.clients)
	id := (c.keys.next()-1)/n*n + int64(c.number) + 1 // rows 1, 1+n, 1+2n, ... are the first client's
	if id > int64(c.keys.rows) {
		id = int64(c.number) + 1
	}
	return id
}

// say sends a statement as text.
func (c *client) say(text string) error {
	_, err := c.conn.(driver.ExecerContext).ExecContext(context.Background(), text, nil)
	return err
}

func (c *client) prepare(text string) (driver.Stmt, error) {
	if st := c.said[text]; st != nil {
		return st, nil
	}
	st, err := c.conn.Prepare(text)
	if err == nil {
		c.said[text] = st
	}
	return st, err
}

func (c *client) exec(text string, values ...any) error {
	st, err := c.prepare(text)
	if err != nil {
		return err
	}
	_, err = st.(driver.StmtExecContext).ExecContext(context.Background(), named(values))
	return err
}

// read asks and takes every row of the answer.
func (c *client) read(text string, values ...any) error {
	st, err := c.prepare(text)
	if err != nil {
		return err
	}
	rows, err := st.(driver.StmtQueryContext).QueryContext(context.Background(), named(values))
	if err != nil {
		return err
	}
	for err == nil {
		err = rows.Next(c.cells[:1])
	}
	if closed := rows.Close(); errors.Is(err, io.EOF) {
		err = closed
	}
	return err
}

func named(values []any) []driver.NamedValue {
	out := make([]driver.NamedValue, len(values))
	for i, v := range values {
		out[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return out
}
