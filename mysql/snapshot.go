package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"
)

var errBadConnection = driver.ErrBadConn

// Snapshot is one connection that sees the server as it was at one GTID
// position, while others go on writing.
type Snapshot struct {
	server *Server
	conn   *sql.Conn
	// At is the position the snapshot shows, and File and Offset the same as a
	// place in the binary log; MariaDB only.
	At     Position
	File   string
	Offset int64

	defined *dictionary // of its moment; nil unless DefinedSnapshot opened it
}

// Snapshot opens a consistent snapshot. MariaDB tells the place in the binary
// log that belongs to it without any lock (binlog_snapshot_file, _position);
// MySQL holds writes back for some milliseconds.
func (s *Server) Snapshot(ctx context.Context) (*Snapshot, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, s.fail("connect", err)
	}
	snap := &Snapshot{server: s, conn: conn}
	if err := snap.open(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return snap, nil
}

func (n *Snapshot) open(ctx context.Context) error {
	d, err := n.server.dialect(ctx)
	if err != nil {
		return err
	}
	if !d.flavor.HasGTIDDomains() {
		return n.openLocked(ctx)
	}
	for _, st := range []string{
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
		"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
	} {
		if _, err := n.conn.ExecContext(ctx, st); err != nil {
			return n.server.fail(firstWords(st), err)
		}
	}
	var name, file, offset string
	query := "SHOW SESSION STATUS LIKE 'binlog_snapshot_file'"
	if err := n.conn.QueryRowContext(ctx, query).Scan(&name, &file); err != nil {
		return n.server.fail("read snapshot position", err)
	}
	query = "SHOW SESSION STATUS LIKE 'binlog_snapshot_position'"
	if err := n.conn.QueryRowContext(ctx, query).Scan(&name, &offset); err != nil {
		return n.server.fail("read snapshot position", err)
	}
	if file == "" {
		return n.server.fail("read snapshot position", errors.New("there is none; is log_bin on?"))
	}
	at, err := strconv.ParseInt(offset, 10, 64)
	if err != nil {
		return n.server.fail("read snapshot position", err)
	}
	n.File, n.Offset = file, at
	n.At, err = n.server.PositionAt(ctx, file, at)
	return err
}

// Close ends the snapshot.
func (n *Snapshot) Close() error {
	_, err := n.conn.ExecContext(context.Background(), "ROLLBACK")
	if closeErr := n.conn.Close(); err == nil {
		err = closeErr
	}
	return n.server.fail("close snapshot", err)
}
