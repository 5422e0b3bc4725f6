package rows

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"stowage/mysql"
)

// Stream is one session that carries rows: it reads and writes bytes as they
// are, in every character set, with the time zone UTC, without foreign key and
// check constraints, which held on the source already. It is not safe for
// several goroutines.
type Stream struct {
	server  mysql.Door
	db      *sql.DB
	conn    *sql.Conn
	packet  int // how long a statement may be
	loader  *loader
	canLoad bool // the server takes LOAD DATA LOCAL, and its binary log will have rows
}

const (
	strictMode  = "'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION'"
	lenientMode = "'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION'"
)

// OpenStream opens such a session. lockWait bounds every wait for a lock.
func OpenStream(ctx context.Context, s *mysql.Server, lockWait time.Duration) (*Stream, error) {
	return openStream(ctx, mysql.Through(s), lockWait, func(c sqldriver.Connector) sqldriver.Connector { return c })
}

// openStream: by is what its statements pass through. Rows that it writes tell the trail of themselves.
func openStream(ctx context.Context, s mysql.Door, lockWait time.Duration, by func(sqldriver.Connector) sqldriver.Connector) (*Stream, error) {
	seconds := strconv.Itoa(max(1, int(lockWait.Round(time.Second)/time.Second)))
	connector, err := mysql.Connector(s.Address(), s.Account(), func(cfg *driver.Config) {
		cfg.MaxAllowedPacket = 0 // as the server says
		cfg.Params = map[string]string{
			"lock_wait_timeout": seconds, "innodb_lock_wait_timeout": seconds,
			"sql_mode": strictMode, "time_zone": "'+00:00'", "foreign_key_checks": "0",
			"wait_timeout": "28800", "net_write_timeout": "600", // a throttle may wait for hours between two chunks
		}
	})
	if err != nil {
		return nil, s.Fail("connect", err)
	}
	w := &Stream{server: s, db: sql.OpenDB(by(connector)), loader: newLoader()}
	if w.conn, err = w.db.Conn(ctx); err != nil {
		w.Close()
		return nil, s.Fail("connect", err)
	}
	if err := w.begin(ctx); err != nil {
		w.Close()
		return nil, s.Fail("connect", err)
	}
	return w, nil
}

func (w *Stream) begin(ctx context.Context) error {
	var version string
	if err := w.conn.QueryRowContext(ctx, "SELECT @@max_allowed_packet, VERSION(), @@local_infile = 1 AND @@binlog_format = 'ROW'").Scan(&w.packet, &version, &w.canLoad); err != nil {
		return err
	}
	settings := []string{"SET NAMES binary", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"}
	if mysql.ParseFlavor(version).HasGTIDDomains() {
		// A transaction whose program froze or lost its network holds locks for so long and no longer.
		settings = append(settings, "SET SESSION idle_transaction_timeout = 60, check_constraint_checks = 0")
	}
	for _, st := range settings {
		if _, err := w.conn.ExecContext(ctx, st); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the session; an open transaction is rolled back.
func (w *Stream) Close() error {
	w.loader.close()
	if w.conn != nil {
		w.conn.Close()
	}
	return w.db.Close()
}

// ErrSuperseded: another copier has taken this job over.
var ErrSuperseded = errors.New("another copier has taken over this job")

// Write carries out cargo and a mark in one transaction, which happens as
// a whole and only while epoch is the job's. The mark comes first: whoever
// reads the transaction in the binary log knows by its first row whose it is.
// Damaged reports that a value was not accepted as it is and was written
// leniently; a comparison will tell whether it is the same. Of cargo that was
// to be loaded ErrNotLoaded is the error then.
func (w *Stream) Write(ctx context.Context, m Marks, epoch int64, mark string, cargo Cargo) (damaged error, err error) {
	told := w.tell(ctx, cargo)
	defer func() { told(err) }()
	err = w.write(ctx, m, epoch, mark, cargo)
	if cargo.load == nil && refusedValue[mysql.CodeOf(err)] {
		damaged = err
		if _, err := w.conn.ExecContext(ctx, "SET SESSION sql_mode = "+lenientMode); err != nil {
			return damaged, w.server.Fail("write rows", err)
		}
		err = w.write(ctx, m, epoch, mark, cargo)
		if _, back := w.conn.ExecContext(ctx, "SET SESSION sql_mode = "+strictMode); err == nil && back != nil {
			err = w.server.Fail("write rows", back)
		}
	}
	return damaged, err
}

// refusedValue are the errors of strict mode: an ENUM with the empty value of
// index 0, text that is not valid in its character set, and the like, which
// only a lenient session could have written on the source either.
var refusedValue = map[uint16]bool{1265: true, 1366: true, 1292: true, 1264: true, 1406: true}

func (w *Stream) write(ctx context.Context, m Marks, epoch int64, mark string, cargo Cargo) error {
	err := w.within(ctx, func(run func(string) error) error {
		var now int64
		query := "SELECT epoch FROM " + m.table("job") + " WHERE job = " + mysql.Quote(m.Job) + " LOCK IN SHARE MODE"
		if err := w.conn.QueryRowContext(ctx, query).Scan(&now); err != nil {
			return err
		}
		if now != epoch {
			return ErrSuperseded
		}
		if err := run(mark); err != nil {
			return err
		}
		if cargo.load != nil && len(cargo.Statements) > 0 {
			return w.load(ctx, cargo.load, cargo.Statements)
		}
		for _, st := range cargo.Statements {
			if err := run(string(st)); err != nil {
				return err
			}
		}
		return nil
	})
	return w.server.Fail("write rows", err)
}

// within does work in one transaction.
func (w *Stream) within(ctx context.Context, work func(run func(string) error) error) error {
	run := func(text string) error {
		if len(text)+1024 > w.packet {
			return fmt.Errorf("a row takes %d bytes in a statement, max_allowed_packet is %d", len(text), w.packet)
		}
		_, err := w.conn.ExecContext(ctx, text)
		return err
	}
	if err := run("START TRANSACTION"); err != nil {
		return err
	}
	err := work(run)
	if err == nil {
		err = run("COMMIT")
	}
	if err != nil {
		_ = run("ROLLBACK") // a broken connection is rolled back by the server
	}
	return err
}

// IsLockWait reports that a lock was not to be had in time, or a deadlock: the
// transaction can be tried again.
func IsLockWait(err error) bool {
	return slices.Contains([]uint16{1205, 1213}, mysql.CodeOf(err))
}
