package rows

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"stowage/mysql"
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
func DefinedSnapshot(ctx context.Context, server *mysql.Server, databases []string) (*View, error) {
	s := mysql.Through(server)
	for range definedTries {
		before, err := dictionaryOf(ctx, s, databases)
		if err != nil {
			return nil, err
		}
		snap, err := Snapshot(ctx, server)
		if err != nil {
			return nil, err
		}
		var after dictionary
		n, err := schemaChanges(ctx, s) // asked first: reading all takes longer
		if err == nil && n == before.changes {
			after, err = dictionaryOf(ctx, s, databases)
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
		if err := mysql.Sleep(ctx, definedPause); err != nil {
			return nil, s.Fail("open snapshot", err)
		}
	}
	return nil, s.Fail("open snapshot", fmt.Errorf("%w: %d times", ErrSchemaChanges, definedTries))
}

// dictionaryOf reads them all; changes first.
func dictionaryOf(ctx context.Context, s mysql.Door, databases []string) (dictionary, error) {
	var d dictionary
	var err error
	if d.changes, err = schemaChanges(ctx, s); err != nil {
		return d, err
	}
	if d.sequences, err = Sequences(ctx, s.Server); err != nil {
		return d, err
	}
	d.definitions, err = definitionsOf(ctx, s, databases)
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
func schemaChanges(ctx context.Context, s mysql.Door) (uint64, error) {
	records, err := s.Records(ctx, "SHOW GLOBAL STATUS WHERE Variable_name REGEXP '^Com_(alter|create|drop|rename|truncate)' AND Variable_name NOT LIKE '%temporary%'")
	if err != nil {
		return 0, err
	}
	var n uint64
	for _, r := range records {
		count, err := strconv.ParseUint(r["Value"], 10, 64)
		if err != nil {
			return 0, s.Fail("read "+r["Variable_name"], err)
		}
		n += count
	}
	return n, nil
}

// IsChangedDefinition reports whether reading a table of a snapshot failed because the table has been changed or is gone
// since.
func IsChangedDefinition(err error) bool {
	switch mysql.CodeOf(err) {
	case 1412, // ER_TABLE_DEF_CHANGED
		1146, 1054, 1049: // no such table, column, database
		return true
	}
	return false
}
