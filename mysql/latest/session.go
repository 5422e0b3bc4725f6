package latest

import (
	"context"
	"database/sql"
	"errors"

	"stowage/mysql"
)

// Session is one connection on which a tenant's rows are filled in and compared. It is not safe for several goroutines.
type Session struct {
	Shape
	server mysql.Door
	conn   *sql.Conn
	waits  bool // the server makes a statement wait for a lock for at least a second
	// May is asked before each commit whether this server still serves the tenant; its error undoes the transaction.
	May func(context.Context) error
}

// ErrBusy says that clients hold rows that were to be written. Nothing was changed; later it may go.
var ErrBusy = errors.New("clients hold these rows")

// Open opens a session on the server that serves the tenants whose rows are written.
func (s Shape) Open(ctx context.Context, server *mysql.Server, may func(context.Context) error) (*Session, error) {
	d := mysql.Through(server)
	if d.DB() == nil {
		return nil, d.Fail("connect", errors.New("unusable address"))
	}
	flavor, err := server.Flavor(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := d.DB().Conn(ctx)
	if err != nil {
		return nil, d.Fail("connect", err)
	}
	out := &Session{Shape: s, server: d, conn: conn, May: may}
	set := "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = 0, lock_wait_timeout = 5, in_predicate_conversion_threshold = 0, idle_transaction_timeout = 0"
	if out.waits = !flavor.HasGTIDDomains(); out.waits {
		set = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = 1, lock_wait_timeout = 5"
	}
	// ON by default from MariaDB 11.6.2 on: a frozen view could not lock the row of a tenant that is written often, and the comparison would never end.
	// It is not needed: what is locked there is only the row of the flags, of which the newest one counts. That parents and children stay as they were
	// compared is not up to the view, but to what keeps the columns.
	if is, err := server.Variables(ctx, "innodb_snapshot_isolation"); err != nil {
		out.Close()
		return nil, err
	} else if is["innodb_snapshot_isolation"] != "" {
		set += ", innodb_snapshot_isolation = OFF"
	}
	for _, st := range []string{set, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"} {
		if _, err := conn.ExecContext(ctx, st); err != nil {
			out.Close()
			return nil, d.Fail("SET SESSION", err)
		}
	}
	return out, nil
}

// Close ends the session, and with it whatever it has begun.
func (s *Session) Close() {
	mysql.Discard(s.conn) // its settings are not those of the pool
}

// within runs work in one transaction; frozen: which sees the rows of this moment. What clients keep it from is ErrBusy.
func (s *Session) within(ctx context.Context, frozen bool, work func() error) error {
	begin := "START TRANSACTION"
	if frozen {
		begin += " WITH CONSISTENT SNAPSHOT"
	}
	_, err := s.conn.ExecContext(ctx, begin)
	if err == nil {
		err = work()
	}
	if err == nil && s.May != nil {
		err = s.May(ctx)
	}
	if err == nil {
		_, err = s.conn.ExecContext(ctx, "COMMIT")
		return s.server.Fail("COMMIT", err)
	}
	_, _ = s.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // or its connection is gone, and the transaction with it
	return busy(err)
}

// busy makes an ErrBusy of what clients keep a statement from.
func busy(err error) error {
	switch mysql.CodeOf(err) {
	case 1205, 1213, 1020, 3572: // lock wait, deadlock, a row that has changed since the snapshot, NOWAIT of MySQL
		return errors.Join(ErrBusy, err)
	}
	return err
}

func (s *Session) exec(ctx context.Context, text string, args ...any) (int64, error) {
	res, err := s.conn.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, s.server.Fail(mysql.FirstWords(text), err)
	}
	return res.RowsAffected()
}
