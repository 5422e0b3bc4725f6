package rows

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// How a row of the copy differs.
const (
	Missing = "is missing"
	Extra   = "should not be there"
	Changed = "differs"
)

// RowName is one row that differs.
type RowName struct {
	Key  []string // literals
	What string
}

func (r RowName) String() string { return ShowKey(r.Key) + " " + r.What }

// RowDiff are the rows of a chunk that differ.
type RowDiff struct {
	Missing, Extra, Changed int       // on the copy
	First                   []RowName // as many as were asked for
	Cut                     bool      // there were more rows than are looked at: the counts are of the first ones
}

func (d RowDiff) String() string {
	if d.First == nil && !d.Cut {
		return "rows without a key cannot be distinguished"
	}
	text := fmt.Sprintf("%d missing, %d too many, %d changed", d.Missing, d.Extra, d.Changed)
	if d.Cut {
		text = "at least " + text
	}
	if len(d.First) > 0 {
		names := make([]string, min(diffNamed, len(d.First)))
		for i := range names {
			names[i] = d.First[i].String()
		}
		text += ": " + strings.Join(names, ", ")
	}
	return text
}

// What is looked at, and what is named, of one chunk.
const (
	diffLimit = 4 * ChunkRows
	diffNamed = 10
)

// diffRows finds the rows of a chunk that differ, by key, and lists the first few of them.
func diffRows(ctx context.Context, source, copied *View, pair TablePair, from, to []string, list int) (RowDiff, error) {
	t := pair.was
	if len(t.Key) == 0 {
		return RowDiff{}, nil
	}
	was, cut, err := source.rows(ctx, t, from, to, diffLimit)
	if err != nil {
		return RowDiff{}, err
	}
	if cut { // what is not looked at on one end is not looked at on the other
		to = was.order[len(was.order)-1]
	}
	is, cutToo, err := copied.rows(ctx, pair.is, from, to, diffLimit)
	if err == nil && cutToo {
		was, _, err = source.rows(ctx, t, from, is.order[len(is.order)-1], diffLimit)
	}
	d := matchRows(was, is, list)
	d.Cut = cut || cutToo
	return d, err
}

func matchRows(was, is rowSet, list int) RowDiff {
	d := RowDiff{First: []RowName{}}
	note := func(count *int, key []string, what string) {
		*count++
		if len(d.First) < list {
			d.First = append(d.First, RowName{key, what})
		}
	}
	for _, key := range was.order {
		a, b := was.of(key), is.of(key)
		switch {
		case b == nil:
			note(&d.Missing, key, Missing)
		case !slices.Equal(a, b):
			note(&d.Changed, key, Changed)
		}
	}
	for _, key := range is.order {
		if was.of(key) == nil {
			note(&d.Extra, key, Extra)
		}
	}
	return d
}
