package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// WriteLock is a session that holds FLUSH TABLES WITH READ LOCK: nothing
// commits on the server while it lives. It names itself by a user lock, so
// that whoever comes after a program that died finds the session and ends it.
type WriteLock struct {
	server  *Server
	conn    *sql.Conn
	id      uint64
	written string // the variable that holds the position
}

// ownLock is the user lock that the session of a WriteLock holds. It belongs to
// the server, so two cutovers cannot hold one at once.
const ownLock = "stowage.cutover"

// LockWrites waits for the statements that run to end, for no longer than
// budget (whole seconds, at least one), and stops all writes, commits
// included. life is for how long the server keeps the lock when it hears
// nothing more from us: a machine that is gone says no goodbye, and the
// server's own wait_timeout is hours.
func (s *Server) LockWrites(ctx context.Context, budget, life time.Duration) (*WriteLock, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, s.fail("connect", err)
	}
	l := &WriteLock{server: s, conn: conn, written: d.written}
	if err := l.take(ctx, budget, life); err != nil {
		return nil, errors.Join(s.fail("lock writes", err), l.end(ctx))
	}
	return l, nil
}

func (l *WriteLock) take(ctx context.Context, budget, life time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, budget+5*time.Second)
	defer cancel()
	var mine sql.NullInt64
	if err := l.conn.QueryRowContext(ctx, "SELECT CONNECTION_ID(), GET_LOCK("+quote(ownLock)+", 0)").Scan(&l.id, &mine); err != nil {
		return err
	}
	if mine.Int64 != 1 {
		return errors.New("another session of Stowage's holds the lock of a cutover on this server")
	}
	l.server.log.Debug("statement", "server", l.server.name, "sql", "FLUSH TABLES WITH READ LOCK")
	for _, text := range []string{
		fmt.Sprintf("SET SESSION lock_wait_timeout = %d, wait_timeout = %d", wholeSeconds(budget), wholeSeconds(life)),
		"FLUSH TABLES WITH READ LOCK",
	} {
		if _, err := l.conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

func wholeSeconds(d time.Duration) int { return max(1, int((d+time.Second-1)/time.Second)) }

// Position is what the server has written, read in the session that holds the
// lock: when it answers, the lock is still held and nothing has been written
// since.
func (l *WriteLock) Position(ctx context.Context) (Position, error) {
	ctx, cancel := context.WithTimeout(ctx, StatementTimeout)
	defer cancel()
	var text string
	if err := l.conn.QueryRowContext(ctx, "SELECT @@GLOBAL."+l.written).Scan(&text); err != nil {
		return nil, l.server.fail("read position behind the lock", err)
	}
	p, err := ParsePosition(text)
	return p, l.server.fail("read position behind the lock", err)
}

// Release gives the lock back. A commit that waited behind it goes through
// unless read_only is ON: see to that first. Nil and a second call are fine.
func (l *WriteLock) Release(ctx context.Context) error {
	if l == nil || l.conn == nil {
		return nil
	}
	unlock, cancel := context.WithTimeout(ctx, StatementTimeout)
	defer cancel()
	l.server.log.Debug("statement", "server", l.server.name, "sql", "UNLOCK TABLES")
	if _, err := l.conn.ExecContext(unlock, "UNLOCK TABLES"); err != nil {
		return errors.Join(l.server.fail("UNLOCK TABLES", err), l.end(ctx))
	}
	return l.end(ctx)
}

// end throws the session away and makes sure that the server has, too: a
// statement of it that still waits there would be carried out later.
func (l *WriteLock) end(ctx context.Context) error {
	if l.conn == nil {
		return nil
	}
	Discard(l.conn)
	l.conn = nil
	if l.id == 0 {
		return nil
	}
	return l.server.endSessions(ctx, []uint64{l.id}, 10*time.Second)
}

// EndOrphanedLock ends the session of a WriteLock that an attempt before this
// one has left in the server, waiting or holding.
func (s *Server) EndOrphanedLock(ctx context.Context) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	records, err := s.records(ctx, "SELECT ID FROM "+d.processes+` WHERE ID = IS_USED_LOCK(?) AND USER = ? AND ID <> CONNECTION_ID()`,
		ownLock, s.account.User)
	if err != nil {
		return err
	}
	var ids []uint64
	for _, r := range records {
		id, _ := strconv.ParseUint(r["ID"], 10, 64)
		ids = append(ids, id)
	}
	return s.endSessions(ctx, ids, 10*time.Second)
}

// endSessions kills sessions and waits until the server shows none of them.
func (s *Server) endSessions(ctx context.Context, ids []uint64, budget time.Duration) error {
	for deadline := time.Now().Add(budget); ; {
		left, err := s.running(ctx, ids)
		if err != nil || len(left) == 0 {
			return err
		}
		for _, id := range left {
			if err := s.kill(ctx, id); err != nil {
				return err
			}
		}
		if time.Now().After(deadline) {
			return s.fail("end sessions", fmt.Errorf("session %d is still there after %v", left[0], budget))
		}
		if err := Sleep(ctx, 2*time.Millisecond); err != nil {
			return s.fail("end sessions", err)
		}
	}
}

// running are those of the sessions that the server still shows.
func (s *Server) running(ctx context.Context, ids []uint64) ([]uint64, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list := ""
	for _, id := range ids {
		list += "," + strconv.FormatUint(id, 10)
	}
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	records, err := s.records(ctx, "SELECT ID FROM "+d.processes+" WHERE ID IN ("+list[1:]+")")
	var left []uint64
	for _, r := range records {
		id, _ := strconv.ParseUint(r["ID"], 10, 64)
		left = append(left, id)
	}
	return left, err
}

// kill ends a session. That it has ended by itself (error 1094) is no failure.
func (s *Server) kill(ctx context.Context, thread uint64) error {
	if err := s.exec(ctx, "KILL "+strconv.FormatUint(thread, 10)); CodeOf(err) != 1094 {
		return err
	}
	return nil
}
