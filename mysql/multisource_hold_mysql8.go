package mysql

import (
	"context"
	"time"
)

// fence is the lock of a Hold on MySQL. When it answers, whoever has written to
// the database has ended, and its transactions are in gtid_executed.
func (h *Hold) fence(ctx context.Context, wait time.Duration) error {
	if err := h.server.SetSchemaReadOnly(ctx, h.schema, true, wait); err != nil {
		return err
	}
	h.isFenced = true
	var err error
	if h.At, err = h.server.BinlogPosition(ctx); err != nil {
		h.open()
	}
	return err
}

// open takes the fence away, whatever has become of the caller's context. What
// it cannot take away, because the server does not answer, EndHold does.
func (h *Hold) open() {
	ctx, cancel := context.WithTimeout(context.Background(), StatementTimeout)
	defer cancel()
	if err := h.server.SetSchemaReadOnly(ctx, h.schema, false, 10*time.Second); err != nil {
		h.server.log.Warn("the database stays read-only until the next attempt", "server", h.server.name, "database", h.schema, "error", err)
		return
	}
	h.isFenced = false
}

// awaitRenamed waits until replication has renamed the tables.
func (h *Hold) awaitRenamed(ctx context.Context, budget time.Duration) (bool, error) {
	for deadline := time.Now().Add(budget); ; {
		left, err := h.server.baseTables(ctx, h.schema)
		if err != nil {
			return false, err
		}
		known := 0
		for _, t := range left {
			if !IsMark(t) {
				known++
			}
		}
		if known == 0 || time.Now().After(deadline) {
			return known == 0, nil
		}
		if err := Sleep(ctx, 5*time.Millisecond); err != nil {
			return false, err
		}
	}
}

// EndHold takes away what a Hold of a program that was killed has left. On
// MariaDB that is nothing: its lock ended with its session.
func (s *Server) EndHold(ctx context.Context, schema string) error {
	d, err := s.dialect(ctx)
	if err != nil || d.flavor.HasGTIDDomains() {
		return err
	}
	there, err := s.HasSchema(ctx, schema)
	if err != nil || !there {
		return err
	}
	return s.SetSchemaReadOnly(ctx, schema, false, 10*time.Second)
}

// HoldIsLeft reports whether a database is read-only by itself, which a move
// must not begin with: it could not tell whose fence that is.
func (s *Server) HoldIsLeft(ctx context.Context, schema string) (bool, error) {
	d, err := s.dialect(ctx)
	if err != nil || d.flavor.HasGTIDDomains() {
		return false, err
	}
	there, err := s.HasSchema(ctx, schema)
	if err != nil || !there {
		return false, err
	}
	return s.SchemaReadOnly(ctx, schema)
}
