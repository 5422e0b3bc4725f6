package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
)

// Repaired is what a repair did to a copy.
type Repaired struct {
	Chunks           int
	Removed, Written int64 // rows
}

// Repair makes the chunks that differ equal to the source's, on the copy and nowhere else: nothing of it goes into the
// binary log. The copy must take no writes (read_only) and stand still; whoever calls compares everything again
// afterwards. What is no rows of a table with a key is refused: a definition, a sequence, a versioned table, whose
// history nobody can write.
//
// Each chunk is one transaction. Cut short, some chunks are repaired and some are not; it can be run again.
func Repair(ctx context.Context, source *Snapshot, copyServer *Server, differ []Mismatch) (Repaired, error) {
	var done Repaired
	if err := mayRepair(ctx, copyServer, differ); err != nil {
		return done, err
	}
	for _, m := range differ {
		removed, written, err := repairChunk(ctx, source, copyServer, m)
		if err != nil {
			return done, copyServer.fail("repair "+m.Table+" "+m.Chunk, err)
		}
		done.Chunks++
		done.Removed += removed
		done.Written += written
	}
	return done, nil
}

func mayRepair(ctx context.Context, copyServer *Server, differ []Mismatch) error {
	refuse := func(format string, args ...any) error {
		return &farm.Error{Op: "repair", Subject: string(copyServer.name), Err: fmt.Errorf("%w: "+format, append([]any{farm.ErrRefused}, args...)...),
			Hint: "take the copy away (stowage move undoes it) and seed it again"}
	}
	for _, m := range differ {
		switch {
		case m.of.name == "":
			return refuse("%s differs in its %s, which is not rows", m.Table, m.Chunk)
		case len(m.of.key) == 0:
			return refuse("%s has no primary key", m.Table)
		case m.of.versioned:
			return refuse("%s keeps its history, which cannot be written", m.Table)
		}
	}
	triggers, err := copyServer.records(ctx, "SELECT CONCAT(EVENT_OBJECT_SCHEMA, '.', EVENT_OBJECT_TABLE) AS name FROM information_schema.TRIGGERS")
	if err != nil {
		return err
	}
	for _, m := range differ {
		if slices.Contains(column0(triggers, "name"), m.Table) {
			return refuse("%s has triggers, which would run", m.Table)
		}
	}
	closed, err := copyServer.IsReadOnly(ctx)
	if err != nil {
		return err
	}
	clients, err := copyServer.Clients(ctx)
	if err != nil {
		return err
	}
	replica, err := copyServer.Replication(ctx)
	if err != nil {
		return err
	}
	switch {
	case !closed:
		return refuse("the copy takes writes: it may be the one that serves")
	case clients > 0:
		return refuse("%d clients are connected to the copy", clients)
	case replica.SQL == "Yes":
		return refuse("the copy applies events at the same time")
	}
	return nil
}

// repairBatch is how many rows go into one INSERT.
const repairBatch = 200

func repairChunk(ctx context.Context, source *Snapshot, copyServer *Server, m Mismatch) (removed, written int64, err error) {
	err = withoutLog(ctx, copyServer, func(conn *sql.Conn) error {
		for _, st := range []string{"SET SESSION foreign_key_checks = 0, unique_checks = 1, check_constraint_checks = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'", "START TRANSACTION"} {
			if _, err := conn.ExecContext(ctx, st); err != nil {
				return err
			}
		}
		where, args := m.of.within(m.from, m.to)
		gone, err := conn.ExecContext(ctx, "DELETE FROM "+m.of.from()+where, args...)
		if err != nil {
			return err
		}
		if removed, err = gone.RowsAffected(); err != nil {
			return err
		}
		if written, err = copyRows(ctx, source, conn, m.of, where, args); err != nil {
			return err
		}
		_, err = conn.ExecContext(ctx, "COMMIT")
		return err
	})
	return removed, written, err
}

// withoutLog runs work on a connection of its own that writes nothing to the binary log, for as long as it takes, and
// throws the connection away, with the transaction if it is open.
func withoutLog(ctx context.Context, s *Server, work func(*sql.Conn) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer func() { _ = conn.Raw(func(any) error { return errBadConnection }) }()
	if _, err := conn.ExecContext(ctx, "SET SESSION sql_log_bin = 0"); err != nil {
		return err
	}
	return work(conn)
}

// copyRows writes the rows of a chunk as the source's snapshot shows them.
func copyRows(ctx context.Context, source *Snapshot, into *sql.Conn, t shape, where string, args []any) (int64, error) {
	var names, values []string
	for _, c := range t.columns {
		if c.generated == "" {
			names, values = append(names, ident(c.name)), append(values, c.exact())
		}
	}
	found, err := source.conn.QueryContext(ctx, "SELECT "+strings.Join(values, ", ")+" FROM "+t.from()+where, args...)
	if err != nil {
		return 0, err
	}
	defer found.Close()
	insert := "INSERT INTO " + t.from() + " (" + strings.Join(names, ", ") + ") VALUES "
	one := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(names)), ", ") + ")"
	var batch []any
	var written int64
	flush := func() error {
		n := len(batch) / len(names)
		if n == 0 {
			return nil
		}
		_, err := into.ExecContext(ctx, insert+strings.TrimSuffix(strings.Repeat(one+", ", n), ", "), batch...)
		written, batch = written+int64(n), batch[:0]
		return err
	}
	row := make([]any, len(names))
	pointers := make([]any, len(names))
	for i := range row {
		pointers[i] = &row[i]
	}
	size := 0
	for found.Next() {
		if err := found.Scan(pointers...); err != nil {
			return written, err
		}
		for _, v := range row {
			if b, ok := v.([]byte); ok {
				size += len(b)
				v = slices.Clone(b)
			}
			batch = append(batch, v)
		}
		if len(batch) >= repairBatch*len(names) || size > 1<<20 {
			if err := flush(); err != nil {
				return written, err
			}
			size = 0
		}
	}
	return written, errors.Join(found.Err(), flush())
}

// exact is the column's value in a form that, inserted, gives the same value again: numbers and times as they are, what
// is text or bytes as bytes, so that no character set is applied on the way.
func (c column) exact() string {
	switch c.kind {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "double", "year", "bit", "enum", "set", "float":
		return c.bound()
	}
	return "CAST(" + ident(c.name) + " AS BINARY)"
}
