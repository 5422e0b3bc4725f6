package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// TableLock is one session that holds every table of a database for reading:
// readers go on, writers wait. It dies with its session, and the session dies
// with this process at once, or without a word from it after lockSilence.
type TableLock struct {
	server *Server
	words  dialect
	db     *sql.DB
	conn   *sql.Conn
	stop   context.CancelFunc
	done   chan struct{}
	mu     sync.Mutex
	lost   error
}

// lockSilence is the lock's wait_timeout: longer than a breath, shorter than
// any client's patience with a machine that is gone.
const lockSilence = 10 * time.Second

// LockTables waits, at most lockWait, until no writer holds any of the tables,
// and keeps new ones out.
func (s *Server) LockTables(ctx context.Context, tables []*CopyTable, lockWait time.Duration) (*TableLock, error) {
	d, err := s.dialect(ctx)
	if err != nil {
		return nil, err
	}
	w, err := s.Stream(ctx, lockWait)
	if err != nil {
		return nil, err
	}
	l := &TableLock{server: s, words: d, db: w.db, conn: w.conn, done: make(chan struct{})}
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.At() + " READ"
	}
	for _, st := range []string{
		fmt.Sprintf("SET SESSION wait_timeout = %d", int(lockSilence/time.Second)),
		"LOCK TABLES " + strings.Join(names, ", "),
	} {
		if _, err := l.conn.ExecContext(ctx, st); err != nil {
			w.Close()
			return nil, s.fail("lock tables", err)
		}
	}
	alive, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.keep(alive)
	return l, nil
}

// keep shows the server that we are there.
func (l *TableLock) keep(ctx context.Context) {
	defer close(l.done)
	for sleep(ctx, lockSilence/5) == nil {
		l.mu.Lock()
		limited, cancel := context.WithTimeout(ctx, lockSilence/2)
		_, err := l.conn.ExecContext(limited, "DO 1")
		cancel()
		if err != nil && ctx.Err() == nil {
			l.lost = err
		}
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Position is the end of the binary log, read by the session that holds the lock.
func (l *TableLock) Position(ctx context.Context) (Position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var text string
	if err := l.conn.QueryRowContext(ctx, "SELECT @@GLOBAL."+l.words.written).Scan(&text); err != nil {
		return nil, l.server.fail("read position behind the lock", err)
	}
	p, err := ParsePosition(text)
	return p, l.server.fail("read position behind the lock", err)
}

// Held is nil as long as the lock has never been lost.
func (l *TableLock) Held(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil {
		_, l.lost = l.conn.ExecContext(ctx, "DO 1")
	}
	if l.lost != nil {
		return l.server.fail("hold tables", fmt.Errorf("the session that locks was lost: %w", l.lost))
	}
	return nil
}

// Release gives the tables free, in any state and more than once.
func (l *TableLock) Release() error {
	l.stop()
	<-l.done
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_, err := l.conn.ExecContext(ctx, "UNLOCK TABLES")
	if errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	// Whatever was said, the end of the session is the end of the lock.
	Discard(l.conn)
	if closeErr := l.db.Close(); err == nil {
		err = closeErr
	}
	return l.server.fail("unlock tables", err)
}

// Renaming is a RENAME of all tables of a database that waits in the server.
type Renaming struct {
	server *Server
	done   chan error
	thread uint64
	cancel context.CancelFunc
}

// RenameAside begins to rename tables: away to their other name, or back. It
// returns when the server has the statement waiting behind a lock, or done.
func (s *Server) RenameAside(ctx context.Context, tables []*CopyTable, aside bool, lockWait time.Duration) (*Renaming, error) {
	w, err := s.Stream(ctx, lockWait)
	if err != nil {
		return nil, err
	}
	// Views, triggers and constraints are not looked at by name now.
	r := &Renaming{server: s, done: make(chan error, 1)}
	if err := w.conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&r.thread); err != nil {
		w.Close()
		return nil, s.fail("rename tables", err)
	}
	var pairs []string
	for _, t := range tables {
		if t.IsAside != aside {
			pairs = append(pairs, t.At()+" TO "+t.Aside(aside).At())
		}
	}
	if len(pairs) == 0 {
		r.done <- nil
		return r, w.Close()
	}
	// Names are written in the session's character set, which is binary here.
	var running context.Context
	running, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer w.Close()
		_, err := w.conn.ExecContext(running, "SET NAMES utf8mb4")
		if err == nil {
			_, err = w.conn.ExecContext(running, "RENAME TABLE "+ownComment+" "+strings.Join(pairs, ", "))
		}
		r.done <- s.fail("rename tables", err)
	}()
	return r, r.queued(ctx)
}

func (r *Renaming) queued(ctx context.Context) error {
	d, err := r.server.dialect(ctx)
	if err != nil {
		r.Cancel()
		return err
	}
	for {
		select {
		case err := <-r.done:
			r.done <- err
			return err
		default:
		}
		records, err := r.server.records(ctx, "SELECT STATE AS state FROM "+d.processes+" WHERE ID = ? AND INFO LIKE 'RENAME%'", r.thread)
		if err != nil {
			r.Cancel()
			return err
		}
		if len(records) == 1 && strings.Contains(records[0]["state"], "metadata lock") {
			return nil
		}
		if err := sleep(ctx, 2*time.Millisecond); err != nil {
			r.Cancel()
			return r.server.fail("rename tables", err)
		}
	}
}

// Wait waits for the end of the RENAME.
func (r *Renaming) Wait(ctx context.Context) error {
	select {
	case err := <-r.done:
		r.done <- err
		return err
	case <-ctx.Done():
		return r.server.fail("rename tables", ctx.Err())
	}
}

// Cancel gives the statement up; whether it was carried out is to be read back.
func (r *Renaming) Cancel() {
	ctx, cancel := context.WithTimeout(context.Background(), StatementTimeout)
	defer cancel()
	_ = r.server.kill(ctx, r.thread)
	if r.cancel != nil {
		r.cancel()
	}
	err := <-r.done
	r.done <- err
}

// EndRenames ends every RENAME of the copier that still waits in the server:
// one that a killed copier has left would be carried out later, when nobody
// expects it. It returns when none is left.
func (s *Server) EndRenames(ctx context.Context) error {
	d, err := s.dialect(ctx)
	if err != nil {
		return err
	}
	for {
		records, err := s.records(ctx, "SELECT ID AS id FROM "+d.processes+" WHERE INFO LIKE 'RENAME TABLE "+ownComment+"%'")
		if err != nil || len(records) == 0 {
			return err
		}
		for _, r := range records {
			var id uint64
			if _, err := fmt.Sscan(r["id"], &id); err != nil {
				return s.fail("end RENAME", err)
			}
			if err := s.kill(ctx, id); err != nil {
				return err
			}
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return s.fail("end RENAME", err)
		}
	}
}
