package rows

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"stowage/mysql"
)

// View is one session that reads rows as bytes, whatever their character sets, with times in UTC. It shows a server as it
// is, or as it was at one moment while others go on writing. It is not safe for several goroutines.
type View struct {
	server mysql.Door
	conn   *sql.Conn
	db     *sql.DB
	// At is the position that a Snapshot shows; File and Offset are the same as a place in the binary log, MariaDB only.
	At     mysql.Position
	File   string
	Offset int64

	heeds   bool        // its session is prepared for an Answer
	defined *dictionary // of its moment; nil unless DefinedSnapshot opened it
}

// OpenView shows the server as it is. frozen: as it is now, for as long as the view is open; at which position, only somebody
// knows who holds its writers.
func OpenView(ctx context.Context, s *mysql.Server, frozen bool) (*View, error) {
	return openView(ctx, mysql.Through(s), func(v *View) error {
		if !frozen {
			return nil
		}
		return v.freeze(ctx)
	})
}

// Snapshot is a view of one GTID position. MariaDB tells the place in the binary
// log that belongs to it without any lock (binlog_snapshot_file, _position);
// MySQL holds writes back for some milliseconds.
func Snapshot(ctx context.Context, s *mysql.Server) (*View, error) {
	return openView(ctx, mysql.Through(s), func(v *View) error { return v.open(ctx) })
}

func openView(ctx context.Context, s mysql.Door, open func(*View) error) (*View, error) {
	flavor, err := s.Flavor(ctx)
	if err != nil {
		return nil, err
	}
	w, err := openStream(ctx, s, mysql.StatementTimeout, s.Followed)
	if err != nil {
		return nil, err
	}
	w.loader.close()
	v := &View{server: s, conn: w.conn, db: w.db}
	if flavor.HasGTIDDomains() { // it may stand idle while the other end sums
		_, err = v.conn.ExecContext(ctx, "SET SESSION idle_transaction_timeout = 0")
	}
	if err == nil {
		err = open(v)
	}
	if err != nil {
		return nil, errors.Join(s.Fail("open view", err), v.Close())
	}
	return v, nil
}

func (v *View) freeze(ctx context.Context) error {
	for _, st := range []string{
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
		"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
	} {
		if _, err := v.conn.ExecContext(ctx, st); err != nil {
			return v.server.Fail(mysql.FirstWords(st), err)
		}
	}
	return nil
}

func (v *View) open(ctx context.Context) error {
	flavor, err := v.server.Flavor(ctx)
	if err != nil {
		return err
	}
	if !flavor.HasGTIDDomains() {
		moment, err := openLocked(ctx, v.server, v.conn)
		v.At = moment.at
		return err
	}
	if err := v.freeze(ctx); err != nil {
		return err
	}
	var name, file, offset string
	query := "SHOW SESSION STATUS LIKE 'binlog_snapshot_file'"
	if err := v.conn.QueryRowContext(ctx, query).Scan(&name, &file); err != nil {
		return v.server.Fail("read snapshot position", err)
	}
	query = "SHOW SESSION STATUS LIKE 'binlog_snapshot_position'"
	if err := v.conn.QueryRowContext(ctx, query).Scan(&name, &offset); err != nil {
		return v.server.Fail("read snapshot position", err)
	}
	if file == "" {
		return v.server.Fail("read snapshot position", errors.New("there is none; is log_bin on?"))
	}
	at, err := strconv.ParseInt(offset, 10, 64)
	if err != nil {
		return v.server.Fail("read snapshot position", err)
	}
	v.File, v.Offset = file, at
	v.At, err = v.server.PositionAt(ctx, file, at)
	return err
}

// Close ends the view.
func (v *View) Close() error {
	_ = v.conn.Close() // closed already, where the server was lost
	return v.db.Close()
}

// rawCells are the cells of a row as the driver has them, and where Scan finds them.
func rawCells(n int) (cells []sql.RawBytes, into []any) {
	cells, into = make([]sql.RawBytes, n), make([]any, n)
	for i := range cells {
		into[i] = &cells[i]
	}
	return cells, into
}
