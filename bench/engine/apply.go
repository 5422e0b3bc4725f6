package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"stowage/bench/engine/sheet"
	"stowage/bench/stat"
	"stowage/farm"
	"stowage/host"
)

// runApply lets a primary write a backlog, carries it to a replica whose appliers stand still, and then measures how fast they work it off.
func (b *bencher) runApply(ctx context.Context, p point, seed uint64) (x sheet.Sample, h stat.Histogram, err error) {
	primary, replica := b.stores[p.stores[0]], b.stores[p.stores[1]]
	defer primary.kill()
	defer replica.kill()
	if primary.port, err = host.FreePort(); err != nil {
		return x, nil, err
	}
	for _, s := range []*server{primary, replica} {
		if err := s.start(ctx, p.row.Cache); err != nil {
			return x, nil, err
		}
		if err := s.scan(ctx); err != nil {
			return x, nil, err
		}
		x.Size.Loaded = s.loaded
	}
	if err := follow(ctx, primary, replica); err != nil {
		return x, nil, err
	}
	n, wrote, err := b.backlog(ctx, primary, p, seed)
	if err != nil {
		return x, nil, err
	}
	x.PrimaryTPS = float64(n) / wrote.Seconds()
	if err := fetched(ctx, primary, replica); err != nil {
		return x, nil, err
	}
	for _, s := range []*server{primary, replica} {
		if _, err := s.settle(ctx, b.order.SettleLimit); err != nil {
			return x, nil, err
		}
	}
	noise, foreign, err := b.listen(ctx, []*server{primary, replica})
	if err != nil {
		return x, nil, err
	}
	from, err := b.usage(ctx, []*server{replica})
	if err != nil {
		return x, nil, err
	}
	took, err := b.applyAll(ctx, primary, replica, p.row)
	if err != nil {
		return x, nil, err
	}
	to, err := b.usage(ctx, []*server{replica})
	if err != nil {
		return x, nil, err
	}
	x.Seconds, x.Transactions, x.TPS = took.Seconds(), int64(n), float64(n)/took.Seconds()
	x.Changed = int64(n) * p.load.Changed()
	x.ServerCPU, x.During, x.RSS = (to.cpu - from.cpu).Seconds(), b.moved(from, to), replica.rss()
	x.Noise = disturbance(noise, foreign, x.During, from, to, took)
	x.Size.After, x.IsSettled = replica.size(), true
	retried, err := replica.pairs(ctx, "SHOW GLOBAL STATUS LIKE 'Slave_retried_transactions'")
	if err != nil {
		return x, nil, err
	}
	x.Retries, _ = strconv.ParseInt(retried["Slave_retried_transactions"], 10, 64) // the server writes numbers
	if err := b.payUp(ctx, []*server{replica}, to, &x); err != nil {
		return x, nil, err
	}
	return x, nil, errors.Join(replica.exec(ctx, "STOP SLAVE", "RESET SLAVE ALL"), replica.stop(), primary.stop())
}

// follow lets the replica fetch what the primary will write, and apply nothing. Both begin with an empty history, and with the same rows.
func follow(ctx context.Context, primary, replica *server) error {
	password := rand.Text()
	err := primary.exec(ctx, "RESET MASTER", "SET STATEMENT sql_log_bin = 0 FOR GRANT REPLICATION SLAVE ON *.* TO follower@'127.0.0.1' IDENTIFIED BY '"+password+"'")
	if err != nil {
		return err
	}
	return replica.exec(ctx, "RESET MASTER", "SET GLOBAL gtid_slave_pos = ''",
		fmt.Sprintf("CHANGE MASTER TO master_host='127.0.0.1', master_port=%d, master_user='follower', master_password='%s', master_use_gtid=slave_pos, master_connect_retry=1", primary.port, password),
		"START SLAVE IO_THREAD")
}

// backlog lets the primary write so many transactions, or a few less where the clients do not divide them.
func (b *bencher) backlog(ctx context.Context, primary *server, p point, seed uint64) (n int, took time.Duration, err error) {
	w, err := newCrew(ctx, primary, b.result.Settings, p.load, seed)
	if err != nil {
		return 0, 0, err
	}
	defer w.close()
	each := max(b.order.Backlog/b.order.Clients, 1)
	took, err = work(ctx, []*crew{w}, func(c *client) error { return c.count(each) })
	return each * b.order.Clients, took, interrupted(ctx, "write backlog", err)
}

// fetched waits until the replica has all of it in its relay log.
func fetched(ctx context.Context, primary, replica *server) error {
	want, err := primary.value(ctx, "SELECT @@global.gtid_binlog_pos")
	if err != nil {
		return err
	}
	for end := time.Now().Add(10 * time.Minute); ; {
		st, err := replica.record(ctx, "SHOW SLAVE STATUS")
		if err != nil {
			return err
		}
		switch {
		case st["Gtid_IO_Pos"] == want:
			return nil
		case st["Last_IO_Errno"] != "0" && st["Last_IO_Errno"] != "2003", time.Now().After(end): // 2003: the first try may come too early
			return replica.fail("fetch backlog of", fmt.Errorf("it has %s of %s: %s", st["Gtid_IO_Pos"], want, st["Last_IO_Error"]))
		}
		select {
		case <-ctx.Done():
			return farm.ErrInterrupted
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// applyAll starts the appliers and waits until they have done everything.
func (b *bencher) applyAll(ctx context.Context, primary, replica *server, row *sheet.Row) (time.Duration, error) {
	want, err := primary.value(ctx, "SELECT @@global.gtid_binlog_pos")
	if err != nil {
		return 0, err
	}
	if row.Threads > 0 {
		if err := replica.exec(ctx, "SET GLOBAL slave_parallel_mode = '"+row.Parallel+"'"); err != nil {
			return 0, err
		}
	}
	if err := replica.exec(ctx, fmt.Sprintf("SET GLOBAL slave_parallel_threads = %d", row.Threads)); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := replica.exec(ctx, "START SLAVE SQL_THREAD"); err != nil {
		return 0, err
	}
	for {
		done, err := replica.value(ctx, "SELECT MASTER_GTID_WAIT('"+want+"', 1)")
		if err != nil {
			return 0, err
		}
		if done == "0" {
			return time.Since(began), nil
		}
		st, err := replica.record(ctx, "SHOW SLAVE STATUS")
		if err != nil {
			return 0, err
		}
		if st["Last_SQL_Errno"] != "0" {
			return 0, replica.fail("apply backlog on", errors.New(st["Last_SQL_Error"]))
		}
	}
}
