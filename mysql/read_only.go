package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"
)

// SetReadOnly fences or opens the server. read_only=1 does not wait for open
// transactions: they fail with 1290 at their next write or at COMMIT, so drain
// first. It stops every account without READ ONLY ADMIN; replication goes on.
// On MySQL it is super_read_only, which stops every account.
//
// It returns when no earlier SetReadOnly or SetScheduler of anybody who used
// this account, given up or killed, can still take effect.
func (s *Server) SetReadOnly(ctx context.Context, on bool) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	return s.switchAlone(ctx, d.fence(on))
}

// IsReadOnly reports whether ordinary accounts are refused writes.
func (s *Server) IsReadOnly(ctx context.Context) (bool, error) {
	var on bool
	err := s.row(ctx, "SELECT @@GLOBAL.read_only", nil, &on)
	return on, err
}

// switchLock is held by the session that switches the server, from before its
// statement is sent until it has been answered.
const switchLock = "stowage.switch"

// switchAlone runs a statement that fences or opens the server, alone.
//
// SET GLOBAL read_only = ON waits in the server behind a LOCK TABLES, and goes
// on waiting when its sender has given up or was killed: a server looks at a
// client's connection only when it answers. It would then be carried out after
// the server was opened again, and leave it fenced. So a session takes a lock
// first, and whoever comes later ends the session that holds it. (Looking for
// the statement in the process list is not enough: one that is still on its way
// in the network is not there yet.)
func (s *Server) switchAlone(ctx context.Context, statement string) error {
	return s.alone(ctx, switchLock, statement)
}

// alone runs statements one after the other in a session that holds a lock of
// this name, as switchAlone says.
func (s *Server) alone(ctx context.Context, lock string, statements ...string) error {
	ctx, cancel := context.WithTimeout(ctx, StatementTimeout)
	defer cancel()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return s.fail(firstWords(statements[0]), err)
	}
	defer conn.Close()
	if err := s.takeLock(ctx, conn, lock); err != nil {
		return s.fail(firstWords(statements[0]), err)
	}
	for _, statement := range statements {
		if !isSecret(statement) {
			s.log.Debug("statement", "server", s.name, "sql", statement)
		}
		if _, err = conn.ExecContext(ctx, statement); err != nil {
			err = s.fail(firstWords(statement), withoutStatement(err))
			break
		}
	}
	if _, e := conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", lock); e != nil {
		// Nobody knows what this session still does: it does not go back.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	return err
}

// isSecret: a password is in the statement.
func isSecret(statement string) bool { return strings.Contains(statement, "PASSWORD") }

// takeLock takes a lock, from a session of this account that holds it if need be.
func (s *Server) takeLock(ctx context.Context, conn *sql.Conn, lock string) error {
	for {
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", lock).Scan(&got); err != nil {
			return err
		}
		if got.Int64 == 1 {
			return nil
		}
		var holder sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT IS_USED_LOCK(?)", lock).Scan(&holder); err != nil {
			return err
		}
		if holder.Valid {
			if err := s.endHolder(ctx, conn, holder.Int64, lock); err != nil {
				return err
			}
		}
		if err := Sleep(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("wait for the end of an earlier attempt, session %d: %w", holder.Int64, err)
		}
	}
}

// endHolder ends the session of an earlier attempt. A session of somebody
// else's is not ours to end.
func (s *Server) endHolder(ctx context.Context, conn *sql.Conn, thread int64, lock string) error {
	var user string
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	err = conn.QueryRowContext(ctx, "SELECT USER FROM "+d.processes+" WHERE ID = ?", thread).Scan(&user)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if !strings.EqualFold(user, s.account.User) {
		return fmt.Errorf("session %d of %s holds the lock %q", thread, user, lock)
	}
	s.log.Warn("an earlier attempt still waits in the server; ending its session", "server", s.name, "lock", lock, "session", thread)
	// It may have ended by itself meanwhile: error 1094. The next look tells.
	_, _ = conn.ExecContext(ctx, fmt.Sprintf("KILL %d", thread))
	return nil
}
