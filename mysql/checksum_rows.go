package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// RowDiff are the rows of a chunk that differ.
type RowDiff struct {
	Missing, Extra, Changed int      // on the copy
	First                   []string // a few: "(7) is missing"
	Cut                     bool     // there were more rows than are looked at: the counts are of the first ones
}

func (d RowDiff) String() string {
	if d.First == nil && !d.Cut {
		return "rows without a key cannot be told apart"
	}
	text := fmt.Sprintf("%d missing, %d too many, %d changed", d.Missing, d.Extra, d.Changed)
	if d.Cut {
		text = "at least " + text
	}
	if len(d.First) > 0 {
		text += ": " + strings.Join(d.First, ", ")
	}
	return text
}

// What is looked at, and what is named, of one chunk.
const (
	diffLimit = 4 * ChunkRows
	diffNamed = 10
)

// diffRows finds the rows of a chunk that differ, by key.
func diffRows(ctx context.Context, source *Snapshot, copyServer *Server, t shape, from, to []any) (RowDiff, error) {
	if len(t.key) == 0 {
		return RowDiff{}, nil
	}
	was, cut, err := rowSums(ctx, source.conn, t, from, to)
	if err != nil {
		return RowDiff{}, source.server.fail("compare rows of "+t.String(), err)
	}
	is, cutToo, err := rowSums(ctx, copyServer.db, t, from, to)
	if err != nil {
		return RowDiff{}, copyServer.fail("compare rows of "+t.String(), err)
	}
	return matchRows(was, is, cut || cutToo), nil
}

// rowSet are the sums of rows by key, in the order of keys. A versioned table has several of one key.
type rowSet struct {
	order []string
	sums  map[string][]string
}

func rowSums(ctx context.Context, q queryer, t shape, from, to []any) (out rowSet, cut bool, err error) {
	out.sums = map[string][]string{}
	where, args := t.within(from, to)
	cols := make([]string, len(t.key))
	for i, k := range t.key {
		cols[i] = ident(k)
	}
	query := fmt.Sprintf("SELECT CONCAT('(', CONCAT_WS(', ', %s), ')'), %s FROM %s%s ORDER BY %s LIMIT %d",
		strings.Join(t.keyBounds(), ", "), t.rowSum(), t.from(), where, strings.Join(cols, ", "), diffLimit+1)
	found, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return out, false, err
	}
	defer found.Close()
	n := 0
	for found.Next() {
		if n++; n > diffLimit {
			return out, true, nil
		}
		var key, sum string
		if err := found.Scan(&key, &sum); err != nil {
			return out, false, err
		}
		if out.sums[key] == nil {
			out.order = append(out.order, key)
		}
		out.sums[key] = append(out.sums[key], sum)
	}
	return out, false, found.Err()
}

func matchRows(was, is rowSet, cut bool) RowDiff {
	d := RowDiff{Cut: cut, First: []string{}}
	note := func(count *int, key, what string) {
		*count++
		if len(d.First) < diffNamed {
			d.First = append(d.First, key+" "+what)
		}
	}
	for _, key := range was.order {
		a, b := was.sums[key], is.sums[key]
		slices.Sort(a)
		slices.Sort(b)
		switch {
		case b == nil:
			note(&d.Missing, key, "is missing")
		case !slices.Equal(a, b):
			note(&d.Changed, key, "differs")
		}
	}
	for _, key := range is.order {
		if was.sums[key] == nil {
			note(&d.Extra, key, "should not be there")
		}
	}
	return d
}
