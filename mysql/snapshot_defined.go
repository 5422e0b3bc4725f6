package mysql

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// A snapshot shows rows as they were. Definitions it does not hold: what information_schema says is always of now. So in a
// stream of schema changes the definitions that are read behind a snapshot are not those of its position, and a copy that
// stands there seems to differ.

// dictionary is all definitions of a moment at which a snapshot was taken.
type dictionary struct {
	definitions
	sequences map[string]Sequence
	changes   uint64 // schemaChanges by then
}

// ErrSchemaChanges: schema changes come so close to each other that no moment without one was found. Later may be better.
var ErrSchemaChanges = errors.New("schema changes keep coming")

const (
	definedTries = 100
	definedPause = 50 * time.Millisecond
)

// DefinedSnapshot is a Snapshot of a moment in which no definition changed, with the definitions of that moment.
func (s *Server) DefinedSnapshot(ctx context.Context, databases []string) (*View, error) {
	for range definedTries {
		before, err := s.dictionary(ctx, databases)
		if err != nil {
			return nil, err
		}
		snap, err := s.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		var after dictionary
		n, err := s.schemaChanges(ctx) // asked first: reading all takes longer
		if err == nil && n == before.changes {
			after, err = s.dictionary(ctx, databases)
		}
		if err == nil && before.isAs(after) {
			snap.defined = &before // sequences move on: those of before the snapshot are asked for
			return snap, nil
		}
		if closeErr := snap.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return nil, err
		}
		if err := sleep(ctx, definedPause); err != nil {
			return nil, s.fail("open snapshot", err)
		}
	}
	return nil, s.fail("open snapshot", fmt.Errorf("%w: %d times", ErrSchemaChanges, definedTries))
}

// dictionary reads them all; changes first.
func (s *Server) dictionary(ctx context.Context, databases []string) (dictionary, error) {
	var d dictionary
	var err error
	if d.changes, err = s.schemaChanges(ctx); err != nil {
		return d, err
	}
	if d.sequences, err = s.Sequences(ctx); err != nil {
		return d, err
	}
	d.definitions, err = s.definitions(ctx, databases)
	return d, err
}

// isAs reports whether no definition changed between two readings: neither did a change begin meanwhile, nor did one that
// had begun before end.
func (d dictionary) isAs(later dictionary) bool {
	return d.changes == later.changes && maps.Equal(d.objects, later.objects) &&
		slices.EqualFunc(d.tables, later.tables, func(a, b *CopyTable) bool { return a.String() == b.String() && a.definition == b.definition })
}

// schemaChanges counts the statements that change definitions, of clients and of replication, since the server was
// started. A statement is counted when it begins.
func (s *Server) schemaChanges(ctx context.Context) (uint64, error) {
	records, err := s.records(ctx, "SHOW GLOBAL STATUS WHERE Variable_name REGEXP '^Com_(alter|create|drop|rename|truncate)' AND Variable_name NOT LIKE '%temporary%'")
	if err != nil {
		return 0, err
	}
	var n uint64
	for _, r := range records {
		count, err := strconv.ParseUint(r["Value"], 10, 64)
		if err != nil {
			return 0, s.fail("read "+r["Variable_name"], err)
		}
		n += count
	}
	return n, nil
}

// IsChangedDefinition reports whether reading a table of a snapshot failed because the table has been changed or is gone
// since.
func IsChangedDefinition(err error) bool {
	switch CodeOf(err) {
	case 1412, // ER_TABLE_DEF_CHANGED
		1146, 1054, 1049: // no such table, column, database
		return true
	}
	return false
}
