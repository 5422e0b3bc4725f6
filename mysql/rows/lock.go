package rows

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"stowage/mysql"
)

// TableLock is one session that holds every table of a database for reading:
// readers go on, writers wait. It dies with its session, and the session dies
// with this process at once, or without a word from it after lockSilence.
type TableLock struct {
	server  mysql.Door
	written string // the variable with the end of the binary log
	db      *sql.DB
	conn    *sql.Conn
	stop    context.CancelFunc
	done    chan struct{}
	mu      sync.Mutex
	lost    error
}

// lockSilence is the lock's wait_timeout: longer than a breath, shorter than
// any client's patience with a machine that is gone.
const lockSilence = 10 * time.Second

// LockTables waits, at most lockWait, until no writer holds any of the tables,
// and keeps new ones out.
func LockTables(ctx context.Context, server *mysql.Server, tables []*CopyTable, lockWait time.Duration) (*TableLock, error) {
	s := mysql.Through(server)
	written, _, err := s.Words(ctx)
	if err != nil {
		return nil, err
	}
	w, err := OpenStream(ctx, server, lockWait)
	if err != nil {
		return nil, err
	}
	l := &TableLock{server: s, written: written, db: w.db, conn: w.conn, done: make(chan struct{})}
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
			return nil, s.Fail("lock tables", err)
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
	for mysql.Sleep(ctx, lockSilence/5) == nil {
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
func (l *TableLock) Position(ctx context.Context) (mysql.Position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var text string
	if err := l.conn.QueryRowContext(ctx, "SELECT @@GLOBAL."+l.written).Scan(&text); err != nil {
		return nil, l.server.Fail("read position behind the lock", err)
	}
	p, err := mysql.ParsePosition(text)
	return p, l.server.Fail("read position behind the lock", err)
}

// Held is nil as long as the lock has never been lost.
func (l *TableLock) Held(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil {
		_, l.lost = l.conn.ExecContext(ctx, "DO 1")
	}
	if l.lost != nil {
		return l.server.Fail("hold tables", fmt.Errorf("the session that locks was lost: %w", l.lost))
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
	mysql.Discard(l.conn)
	if closeErr := l.db.Close(); err == nil {
		err = closeErr
	}
	return l.server.Fail("unlock tables", err)
}
