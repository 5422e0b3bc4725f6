package rows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stowage/mysql"
)

// How a MySQL snapshot gets its lock: no statement may have run for longer
// than this, and the lock may not keep others waiting for longer than that.
const (
	longStatement = 100 * time.Millisecond
	lockPatience  = time.Second // lock_wait_timeout knows whole seconds
	lockTries     = 60
)

// openLocked opens a snapshot on MySQL, which has no way to tell the GTIDs that
// belong to one: writes are held back (FLUSH TABLES WITH READ LOCK) while the
// snapshot is opened and gtid_executed is read, a few milliseconds. Reading the
// set before and after without a lock is not enough: a transaction is visible
// in InnoDB a moment before its GTID is in the set.
//
// The lock waits for statements that run, and everybody waits for the lock: so
// it is not asked for while one runs that has for a while, is given up after a
// second, and asked for again. The server gives it back by itself five seconds
// after it has heard nothing more of us.
func (v *View) openLocked(ctx context.Context) error {
	var err error
	for try := 0; try < lockTries; try++ {
		var busy bool
		if busy, err = v.server.RunsLong(ctx, longStatement); err != nil {
			return err
		}
		if !busy {
			err = v.lockAndOpen(ctx)
			if mysql.CodeOf(err) != 1205 {
				return err
			}
		}
		if e := mysql.Sleep(ctx, 250*time.Millisecond); e != nil {
			return v.server.Fail("open snapshot", e)
		}
	}
	return v.server.Fail("open snapshot", errors.Join(fmt.Errorf("%d times there was a statement that runs long", lockTries), err))
}

func (v *View) lockAndOpen(ctx context.Context) (err error) {
	begin := time.Now()
	exec := func(text string) {
		if err == nil {
			_, err = v.conn.ExecContext(ctx, text)
			err = v.server.Fail(mysql.FirstWords(text), err)
		}
	}
	exec(fmt.Sprintf("SET SESSION lock_wait_timeout = %d, wait_timeout = 5", int(lockPatience/time.Second)))
	exec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
	exec("FLUSH TABLES WITH READ LOCK")
	exec("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
	var text string
	if err == nil {
		err = v.server.Fail("read gtid_executed", v.conn.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_executed").Scan(&text))
	}
	// Whatever came: the lock goes, or its connection does.
	if _, e := v.conn.ExecContext(context.WithoutCancel(ctx), "UNLOCK TABLES"); e != nil {
		mysql.Discard(v.conn)
		return errors.Join(err, v.server.Fail("UNLOCK TABLES", e))
	}
	v.server.Log().Debug("writes were held back for a snapshot", "server", v.server.Name(), "for", time.Since(begin))
	exec("SET SESSION lock_wait_timeout = 10, wait_timeout = 86400")
	if err != nil {
		return err
	}
	v.At, err = mysql.ParsePosition(text)
	return v.server.Fail("read gtid_executed", err)
}
