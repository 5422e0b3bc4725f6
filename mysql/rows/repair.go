package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stowage/farm"
	"stowage/mysql"
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
// Where clients are connected, the copy may serve, and the repair is refused. With connected it is not: the caller has taken the side out of
// rotation, and pools may still hold their connections.
//
// Only rows that differ are touched, some in each transaction. Cut short, some are repaired and some are not; it can be run again.
func Repair(ctx context.Context, source *View, copyServer *mysql.Server, differ []Mismatch, connected bool) (Repaired, error) {
	s, done := mysql.Through(copyServer), Repaired{}
	if err := mayRepair(ctx, s, differ, connected); err != nil {
		return done, err
	}
	w, err := OpenStream(ctx, copyServer, mysql.StatementTimeout)
	if err != nil {
		return done, err
	}
	defer w.Close()
	for _, set := range []string{"SET SESSION TRANSACTION READ WRITE", "SET SESSION sql_log_bin = 0", "SET SESSION sql_mode = " + lenientMode} {
		if _, err := w.conn.ExecContext(ctx, set); err != nil {
			return done, s.Fail(set, err)
		}
	}
	r := repair{source: source, into: w, copied: &View{server: s, conn: w.conn}, done: &done}
	for _, m := range differ {
		if err := r.chunk(ctx, m.of, m.from, m.to); err != nil {
			return done, s.Fail("repair "+m.Table+" "+m.Chunk, err)
		}
		done.Chunks++
	}
	return done, nil
}

func mayRepair(ctx context.Context, s mysql.Door, differ []Mismatch, connected bool) error {
	refuse := func(format string, args ...any) error {
		return &farm.Error{Op: "repair", Subject: string(s.Name()), Err: fmt.Errorf("%w: "+format, append([]any{farm.ErrRefused}, args...)...),
			Hint: "take the copy away (stowage move undoes it) and seed it again"}
	}
	for _, m := range differ {
		switch {
		case m.of == nil:
			return refuse("%s differs in its %s, which is not rows", m.Table, m.Chunk)
		case len(m.of.Key) == 0:
			return refuse("%s has no primary key, nor a unique one without NULL", m.Table)
		case m.of.Versioned:
			return refuse("%s keeps its history, which cannot be written", m.Table)
		}
	}
	triggers, err := s.Records(ctx, "SELECT CONCAT(EVENT_OBJECT_SCHEMA, '.', EVENT_OBJECT_TABLE) AS name FROM information_schema.TRIGGERS")
	if err != nil {
		return err
	}
	for _, m := range differ {
		if slices.Contains(mysql.Column(triggers, "name"), m.Table) {
			return refuse("%s has triggers, which would run", m.Table)
		}
	}
	closed, err := s.IsReadOnly(ctx)
	if err != nil {
		return err
	}
	clients, err := s.Clients(ctx)
	if err != nil {
		return err
	}
	replica, err := s.Replication(ctx)
	if err != nil {
		return err
	}
	switch {
	case !closed:
		return refuse("the copy takes writes: it may be the one that serves")
	case clients > 0 && !connected:
		return refuse("%d clients are connected to the copy", clients)
	case replica.SQL == "Yes":
		return refuse("the copy applies events at the same time")
	}
	return nil
}

// repairBatch is how many rows are corrected in one transaction.
const repairBatch = 200

type repair struct {
	source, copied *View
	into           *Stream
	done           *Repaired
}

// chunk finds the rows of a chunk that differ, piece by piece: a copy that lacks a whole table has it in one chunk.
func (r repair) chunk(ctx context.Context, t *CopyTable, from, upTo []string) error {
	for {
		to, err := r.source.End(ctx, t, from, upTo, ChunkRows)
		if err != nil {
			return err
		}
		if to == nil || slices.Equal(to, from) {
			to = upTo
		}
		d, err := diffRows(ctx, r.source, r.copied, TablePair{t, t}, from, to, diffLimit)
		if err != nil {
			return err
		}
		for rows := range slices.Chunk(d.First, repairBatch) {
			if err := r.rows(ctx, t, rows); err != nil {
				return err
			}
		}
		r.done.Removed += int64(d.Extra + d.Changed)
		r.done.Written += int64(d.Missing + d.Changed)
		switch {
		case d.Cut && d.Extra == 0:
			return errors.New("there are more rows of one key than are looked at")
		case d.Cut: // so many too many on the copy that the rest was not looked at
		case slices.Equal(to, upTo):
			return nil
		default:
			from = to
		}
	}
}

// rows makes some rows what the source's snapshot shows.
func (r repair) rows(ctx context.Context, t *CopyTable, rows []RowName) error {
	keys := make([][]string, len(rows))
	for i := range rows {
		keys[i] = rows[i].Key
	}
	chunk, err := readRows(ctx, r.source.server, r.source.conn, t, " WHERE "+t.anyOf(keys), t, false)
	if err != nil {
		return err
	}
	cargo := chunk.Repair(t, keys)
	told := r.into.tell(ctx, cargo)
	err = r.into.within(ctx, func(run func(string) error) error {
		for _, st := range cargo.Statements {
			if err := run(string(st)); err != nil {
				return err
			}
		}
		return nil
	})
	told(err)
	return err
}
