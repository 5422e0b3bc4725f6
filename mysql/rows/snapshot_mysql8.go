package rows

import (
	"context"
	"database/sql"
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
	patientTry    = 10 // each of which asks although a statement has run for longer, if it may end while the lock waits: a slow machine always has one
)

// openLocked opens a snapshot of one moment in each session on MySQL, which has no way to tell the GTIDs that
// belong to one: writes are held back (FLUSH TABLES WITH READ LOCK) while the
// snapshots are opened and gtid_executed is read, a few milliseconds. Reading the
// set before and after without a lock is not enough: a transaction is visible
// in InnoDB a moment before its GTID is in the set.
//
// The lock waits for statements that run, and everybody waits for the lock: so
// it is not asked for while one runs that has for a while, is given up after a
// second, and asked for again. The server gives it back by itself five seconds
// after it has heard nothing more of us.
func openLocked(ctx context.Context, s mysql.Door, sessions ...*sql.Conn) (out frozen, err error) {
	for try := range lockTries {
		limit := longStatement
		if try%patientTry == patientTry-1 {
			limit = lockPatience
		}
		var busy bool
		if busy, err = s.RunsLong(ctx, limit); err != nil {
			return out, err
		}
		if !busy {
			out, err = lockAndOpen(ctx, s, sessions)
			if mysql.CodeOf(err) != 1205 {
				return out, err
			}
		}
		if e := mysql.Sleep(ctx, 250*time.Millisecond); e != nil {
			return out, s.Fail("open snapshot", e)
		}
	}
	return out, s.Fail("open snapshot", errors.Join(fmt.Errorf("%d times there was a statement that runs long", lockTries), err))
}

// frozen is the moment that snapshots show: nothing was written from since until all of them were open.
type frozen struct {
	at    mysql.Position
	since time.Time
}

// lockAndOpen holds the lock in the first session.
func lockAndOpen(ctx context.Context, s mysql.Door, sessions []*sql.Conn) (out frozen, err error) {
	exec := func(conn *sql.Conn, text string) {
		if err == nil {
			_, err = conn.ExecContext(ctx, text)
			err = s.Fail(mysql.FirstWords(text), err)
		}
	}
	holder := sessions[0]
	exec(holder, fmt.Sprintf("SET SESSION lock_wait_timeout = %d, wait_timeout = 5", int(lockPatience/time.Second)))
	for _, conn := range sessions {
		exec(conn, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
	}
	begin := time.Now()
	exec(holder, "FLUSH TABLES WITH READ LOCK")
	out.since = time.Now().UTC()
	for _, conn := range sessions {
		exec(conn, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
	}
	var text string
	if err == nil {
		err = s.Fail("read gtid_executed", holder.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_executed").Scan(&text))
	}
	// Whatever came: the lock goes, or its connection does.
	if _, e := holder.ExecContext(context.WithoutCancel(ctx), "UNLOCK TABLES"); e != nil {
		mysql.Discard(holder)
		return out, errors.Join(err, s.Fail("UNLOCK TABLES", e))
	}
	s.Log().Debug("writes were held back for a snapshot", "server", s.Name(), "for", time.Since(begin))
	exec(holder, "SET SESSION lock_wait_timeout = 10, wait_timeout = 86400")
	if err != nil {
		return out, err
	}
	out.at, err = mysql.ParsePosition(text)
	return out, s.Fail("read gtid_executed", err)
}
