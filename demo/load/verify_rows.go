package load

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"stowage/farm"
)

// compareTable walks one table on both sides at the same time, in the order of
// the primary key, and compares every byte of every row.
func compareTable(ctx context.Context, sides [2]*link, shard farm.ShardName, table, key string, numeric bool, v *Verdict) error {
	query := fmt.Sprintf("SELECT %s, t.* FROM `%s`.%s t ORDER BY %s", key, shard, table, key)
	var walks [2]*walk
	for n, k := range sides {
		w, err := openWalk(ctx, k, query)
		if err != nil {
			return fmt.Errorf("side %s: %w", farm.SideNames[n], err)
		}
		defer w.rows.Close()
		walks[n] = w
	}
	a, b := walks[0], walks[1]
	for a.more || b.more {
		order := compareKeys(a, b, numeric)
		switch {
		case order < 0:
			v.Differences++
			v.example("difference: %s.%s row %s is on side A only", shard, table, a.row[0])
		case order > 0:
			v.Differences++
			v.example("difference: %s.%s row %s is on side B only", shard, table, b.row[0])
		case !sameRow(a.row, b.row):
			v.Differences++
			v.example("difference: %s.%s row %s is not equal on both sides", shard, table, a.row[0])
		}
		v.Rows++
		if order <= 0 {
			a.next()
		}
		if order >= 0 {
			b.next()
		}
	}
	return errors.Join(a.err, b.err)
}

// walk is one side's rows; row is valid until next. Column 0 is the key.
type walk struct {
	rows *sql.Rows
	row  []sql.RawBytes
	into []any
	more bool
	err  error
}

func openWalk(ctx context.Context, k *link, query string) (*walk, error) {
	rows, err := k.conn.QueryContext(ctx, query) //nolint:rowserrcheck // next looks at Err
	if err != nil {
		return nil, err
	}
	columns, err := rows.Columns()
	if err != nil {
		return nil, errors.Join(err, rows.Close())
	}
	w := &walk{rows: rows, row: make([]sql.RawBytes, len(columns)), into: make([]any, len(columns))}
	for n := range w.row {
		w.into[n] = &w.row[n]
	}
	w.next()
	return w, nil
}

func (w *walk) next() {
	w.more = w.rows.Next()
	if w.more {
		w.err = w.rows.Scan(w.into...)
	} else {
		w.err = w.rows.Err()
	}
	w.more = w.more && w.err == nil
}

// compareKeys orders the current rows; a walk at its end is after all rows.
func compareKeys(a, b *walk, numeric bool) int {
	switch {
	case !b.more:
		return -1
	case !a.more:
		return 1
	case numeric:
		x, errX := strconv.ParseInt(string(a.row[0]), 10, 64)
		y, errY := strconv.ParseInt(string(b.row[0]), 10, 64)
		if errX == nil && errY == nil {
			return int(max(-1, min(1, x-y)))
		}
	}
	return bytes.Compare(a.row[0], b.row[0])
}

// sameRow compares column by column; NULL and the empty string differ.
func sameRow(a, b []sql.RawBytes) bool {
	if len(a) != len(b) {
		return false
	}
	for n := range a {
		if (a[n] == nil) != (b[n] == nil) || !bytes.Equal(a[n], b[n]) {
			return false
		}
	}
	return true
}
