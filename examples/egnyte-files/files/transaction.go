package files

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/go-sql-driver/mysql"
)

// errSkipped ends a transaction that finds nothing to do, such as a number that another client has taken. It is rolled back.
var errSkipped = errors.New("nothing to do")

// errElsewhere: routing has changed since the look; the transaction is rolled back and run again.
var errElsewhere = errors.New("served elsewhere")

// transact runs work as one transaction on the side that serves the tenant until it is acknowledged or has nothing to do. first is
// the work's first statement; it finds or locks rows. A transaction whose COMMIT has no answer is read back: wasDone says, with
// locking reads, whether it is there.
func (c *client) transact(ctx context.Context, t *tenant, kind string, first, work func(context.Context, *sql.Conn) error, wasDone func(context.Context, *sql.Conn) (bool, error)) (done bool, err error) {
	began, unknown := time.Now(), false
	for {
		done, err := c.attempt(ctx, t.id, &unknown, first, work, wasDone)
		switch {
		case err == nil && done:
			c.done(kind, time.Since(began))
			return true, nil
		case errors.Is(err, errSkipped):
			return false, nil
		case err != nil && !again(err):
			return false, fmt.Errorf("%s: %w", kind, err)
		case ctx.Err() != nil && !unknown:
			return false, ctx.Err()
		}
		time.Sleep(time.Duration(1+c.r.IntN(5)) * time.Millisecond)
	}
}

func (c *client) attempt(ctx context.Context, tenant uint32, unknown *bool, first, work func(context.Context, *sql.Conn) error, wasDone func(context.Context, *sql.Conn) (bool, error)) (bool, error) {
	address, err := c.c.Where(ctx, tenant)
	if err != nil {
		return false, err
	}
	// What has begun is not torn by the end of the run: its outcome would be unknown.
	ctx = context.WithoutCancel(ctx)
	conn, err := c.conn(ctx, address)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	if err := run(ctx, conn, "BEGIN"); err != nil {
		return false, err
	}
	done, committing, err := false, false, error(nil)
	if *unknown {
		if done, err = wasDone(ctx, conn); err == nil && !done {
			*unknown = false
		}
	}
	if err == nil && !done {
		err = first(ctx, conn)
		if err == nil {
			if now, failed := c.c.Where(ctx, tenant); failed != nil || now != address {
				err = errElsewhere
			} else {
				err = work(ctx, conn)
			}
		}
	}
	if err == nil {
		committing = true
		err = run(ctx, conn, "COMMIT")
	}
	if err == nil {
		return true, nil
	}
	if committing && lost(err) {
		*unknown = true
	}
	if _, failed := conn.ExecContext(ctx, "ROLLBACK"); failed != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // not to be used again
	}
	return false, err
}

// again tells errors after which an application runs its transaction again: deadlock, lock wait, a row that changed since the
// snapshot, a side that has become read-only, tables that went to another pair (1146), a lost connection.
func again(err error) bool {
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		switch refused.Number {
		case 1213, 1205, 1020, 1146, 1290, 1836, 1053, 1927:
			return true
		}
		return false
	}
	return errors.Is(err, errElsewhere) || lost(err)
}

func lost(err error) bool {
	var network *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}

// isTaken: another row has that key.
func isTaken(err error) bool {
	var refused *mysql.MySQLError
	return errors.As(err, &refused) && refused.Number == 1062
}
