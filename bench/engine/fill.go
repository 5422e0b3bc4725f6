package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"stowage/bench/engine/sheet"
)

// rowsAtOnce is how many rows a statement of loading holds.
const rowsAtOnce = 500

// quickly are settings for loading, and back: nothing is measured meanwhile.
func quickly(c sheet.Cell) (on, off []string) {
	flush, sync := 1, 1
	if c.Durability != sheet.Durable {
		flush, sync = 2, 0
	}
	on = []string{"SET GLOBAL innodb_flush_log_at_trx_commit = 0", "SET GLOBAL sync_binlog = 0"}
	off = []string{fmt.Sprintf("SET GLOBAL innodb_flush_log_at_trx_commit = %d", flush), fmt.Sprintf("SET GLOBAL sync_binlog = %d", sync)}
	if c.Engine == sheet.MyRocks {
		on, off = append(on, "SET GLOBAL rocksdb_flush_log_at_trx_commit = 0"), append(off, fmt.Sprintf("SET GLOBAL rocksdb_flush_log_at_trx_commit = %d", flush))
	}
	return on, off
}

// fill makes the tables and their rows, in the order of the key, the same for the same seed.
func (s *server) fill(ctx context.Context, rows int, seed uint64) error {
	on, off := quickly(s.cell)
	if err := s.exec(ctx, append(on, "CREATE DATABASE "+database)...); err != nil {
		return err
	}
	for t := range sheet.Tables {
		err := s.exec(ctx, fmt.Sprintf("CREATE TABLE %s.t%d (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, c CHAR(%d) NOT NULL, pad CHAR(%d) NOT NULL, KEY k (k)) ENGINE=%s DEFAULT CHARSET=latin1",
			database, t+1, sheet.LengthC, sheet.LengthPad, s.cell.Engine))
		if err != nil {
			return err
		}
	}
	errs := make([]error, sheet.Tables)
	var all sync.WaitGroup
	for t := range sheet.Tables {
		all.Go(func() { errs[t] = s.fillTable(ctx, t+1, rows, seed) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return s.exec(ctx, append(off, "ANALYZE TABLE bench.t1, bench.t2", s.family().reset)...)
}

func (s *server) fillTable(ctx context.Context, table, rows int, seed uint64) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return interrupted(ctx, "load", err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SET SESSION sql_log_bin = 0"); err != nil {
		return interrupted(ctx, "load", err)
	}
	rnd := rand.New(rand.NewPCG(seed, uint64(table)))
	c, pad := make([]byte, sheet.LengthC), make([]byte, sheet.LengthPad)
	var b strings.Builder
	for id := 1; id <= rows; {
		b.Reset()
		fmt.Fprintf(&b, "INSERT INTO %s.t%d (id, k, c, pad) VALUES ", database, table)
		for n := 0; n < rowsAtOnce && id <= rows; n, id = n+1, id+1 {
			if n > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "(%d,%d,'%s','%s')", id, rnd.IntN(rows)+1, text(rnd, c), text(rnd, pad))
		}
		if _, err := conn.ExecContext(ctx, b.String()); err != nil {
			return interrupted(ctx, "load "+s.name, err)
		}
	}
	return nil
}

// scan reads every row once, so that the cache holds what it can.
func (s *server) scan(ctx context.Context) error {
	for t := range sheet.Tables {
		if _, err := s.value(ctx, fmt.Sprintf("SELECT SUM(LENGTH(c)) FROM %s.t%d FORCE INDEX (PRIMARY)", database, t+1)); err != nil {
			return err
		}
	}
	return nil
}
