package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// Hold is a session that holds a read lock on every table of one database:
// nobody writes there, the server's own replication included, and readers and
// other databases go on. The lock dies with the session, however it ends.
//
// On MySQL it is the fence of the database (ALTER SCHEMA ... READ ONLY), which
// replication passes. It outlives whoever has set it: EndHold takes it away.
type Hold struct {
	server   *Server
	schema   string
	conn     *sql.Conn
	isFenced bool // MySQL
	// At is what the server had written when the lock was there.
	At Position
}

// HoldTables locks all tables of a database against writers. Open transactions
// that have written there are waited for, for as long as wait. A database
// without tables, or without those that were renamed away, is nothing to hold.
func (s *Server) HoldTables(ctx context.Context, schema string, wait time.Duration) (*Hold, error) {
	tables, err := s.baseTables(ctx, schema)
	if err != nil {
		return nil, err
	}
	h := &Hold{server: s, schema: schema}
	if d, err := s.dialect(ctx); err != nil || !d.flavor.HasGTIDDomains() {
		if err != nil {
			return nil, err
		}
		return h, h.fence(ctx, wait)
	}
	if len(tables) == 0 {
		h.At, err = s.BinlogPosition(ctx)
		return h, err
	}
	if h.conn, err = s.db.Conn(ctx); err != nil {
		return nil, s.fail("connect", err)
	}
	if err := h.lock(ctx, tables, wait); err != nil {
		h.Release()
		return nil, err
	}
	return h, nil
}

func (h *Hold) lock(ctx context.Context, tables []string, wait time.Duration) error {
	seconds := max(1, int(wait/time.Second))
	ctx, cancel := context.WithTimeout(ctx, wait+10*time.Second)
	defer cancel()
	locks := make([]string, len(tables))
	for i, t := range tables {
		locks[i] = ident(h.schema) + "." + ident(t) + " READ"
	}
	for _, text := range []string{
		// Should this program vanish without a word, the server ends the
		// session, and the lock with it, by itself.
		"SET SESSION wait_timeout = 60",
		fmt.Sprintf("SET SESSION lock_wait_timeout = %d", seconds),
		"LOCK TABLES " + strings.Join(locks, ", "),
	} {
		if _, err := h.conn.ExecContext(ctx, text); err != nil {
			return h.server.fail("lock tables of "+h.schema, err)
		}
	}
	var err error
	h.At, err = h.server.BinlogPosition(ctx) // after the lock: nothing of the database comes behind it
	return err
}

// Release lets writers in again. Twice is once.
func (h *Hold) Release() {
	if h != nil && h.isFenced {
		h.open()
	}
	if h == nil || h.conn == nil {
		return
	}
	// The connection is thrown away with everything that was set in it.
	Discard(h.conn)
	h.conn = nil
}

// AwaitQueued waits until replication has come to a RENAME that the lock keeps
// out: released then, it goes before every writer. It returns false when the
// budget is spent. Where nothing had to be held nothing is waited for. MySQL's
// fence lets replication pass: there the RENAME is waited for itself.
func (h *Hold) AwaitQueued(ctx context.Context, budget time.Duration) (bool, error) {
	if h.isFenced {
		return h.awaitRenamed(ctx, budget)
	}
	if h.conn == nil {
		return true, nil
	}
	for deadline := time.Now().Add(budget); ; {
		var waiting int
		err := h.server.row(ctx, `SELECT COUNT(*) FROM information_schema.PROCESSLIST
			WHERE USER = 'system user' AND STATE = 'Waiting for table metadata lock' AND INFO LIKE 'RENAME TABLE%'`, nil, &waiting)
		if err != nil || waiting > 0 {
			return waiting > 0, err
		}
		if time.Now().After(deadline) {
			return false, nil
		}
		if err := Sleep(ctx, 5*time.Millisecond); err != nil {
			return false, err
		}
	}
}

// baseTables are the tables of a database that clients know, by name: neither
// those that are renamed aside nor a copier's marks.
func (s *Server) baseTables(ctx context.Context, schema string) ([]string, error) {
	records, err := s.records(ctx, `SELECT TABLE_NAME AS name FROM information_schema.TABLES
		WHERE TABLE_SCHEMA = ? AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY 1`, schema)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range records {
		if !strings.HasPrefix(r["name"], AsidePrefix) {
			out = append(out, r["name"])
		}
	}
	return out, nil
}

// HasSchema reports whether the server has a database of that name.
func (s *Server) HasSchema(ctx context.Context, schema string) (bool, error) {
	var n int
	err := s.row(ctx, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?", []any{schema}, &n)
	return n > 0, err
}
