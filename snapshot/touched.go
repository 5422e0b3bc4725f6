package snapshot

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"stowage/farm"
	"stowage/feed"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/mysql/rows"
)

// mostTouched bounds what is remembered of keys, in bytes: each is taken for its length and keyCost.
const (
	mostTouched = 128 << 20
	keyCost     = 100
)

// feedWait is how long one look into the binary log waits. What is looked for is in it already.
const feedWait = 10 * time.Second

// touched are the keys of the parents that may have changed between the first chunk and the view: those whose rows, or whose children's, were written, and
// those of the tenant that a changed row of a joined table belongs to. A transaction that was rolled back touches, too: it does no harm.
func (c *Chunked) touched(ctx context.Context, view *rows.View) (*touching, error) {
	from, err := mysql.ParsePosition(c.Progress.From)
	if err != nil {
		return nil, err
	}
	t := &touching{tables: c.tables, keys: map[string]bool{}, joined: map[string]map[string]bool{}}
	reader, err := feed.Open(ctx, feed.Source{Servers: func(context.Context) ([]*mysql.Server, error) { return []*mysql.Server{c.Server}, nil },
		ServerID: c.Progress.ServerID, Schema: string(c.Shard), Tables: slices.Collect(maps.Keys(t.tables)), Tell: func(text string) { c.tell("%s", text) }}, from)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	for !reader.At().Reached(view.At) {
		piece, ok, err := reader.Next(ctx, feedWait)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, &farm.Error{Op: "read changes", Subject: string(c.Server.Name()), Err: fmt.Errorf("its binary log ends at %s, but the snapshot is at %s", reader.At(), view.At)}
		}
		for _, change := range piece.Changes {
			if err := t.take(change); err != nil {
				return nil, err
			}
		}
	}
	return t, c.resolve(ctx, view, t)
}

// resolve asks in the view which parents of the tenant there are by the keys that were touched. A child may spell its parent's key otherwise than the parent does, and a
// parent that was made again may spell its own otherwise: the server says which is meant.
//
// A row of the spool whose parent spells its key otherwise now was changed itself: both spellings were touched. So leaving out the touched and the found ones leaves out
// all that are old, and each parent is found under the one spelling that it has in the view.
func (c *Chunked) resolve(ctx context.Context, view *rows.View, t *touching) error {
	t.joined[""] = t.keys
	for column, values := range t.joined {
		columns := []string{column}
		if column == "" {
			columns = c.Shape.Parent.Key
		}
		for _, some := range chunksOf(keysIn(values)) {
			var bad error
			err := each(ctx, view, c.Shape.ParentsQuery(c.Shard, c.by, columns, some), func(*rows.Answer) func([][]byte) {
				return func(row [][]byte) {
					if bad == nil {
						bad = t.hold(t.keys, joinKey(keyOf(row)), true)
					}
				}
			}, c.Tenant)
			if err == nil {
				err = bad
			}
			if err != nil {
				return err
			}
		}
	}
	t.joined = nil
	return nil
}

// keysIn are the keys of a set, in the order of their texts.
func keysIn(set map[string]bool) []latest.Key {
	out := make([]latest.Key, 0, len(set))
	for _, text := range slices.Sorted(maps.Keys(set)) {
		out = append(out, splitKey(text))
	}
	return out
}

// touching collects keys out of changes.
type touching struct {
	tables map[string]*touchedTable
	keys   map[string]bool            // of parents; true: there is one of the tenant with exactly this key in the view
	joined map[string]map[string]bool // column of the parent: values
	held   int                        // bytes
}

// hold remembers a key.
func (t *touching) hold(in map[string]bool, text string, is bool) error {
	was, there := in[text]
	if in[text] = was || is; there {
		return nil
	}
	if t.held += len(text) + keyCost; t.held > mostTouched {
		return &farm.Error{Op: "read changes", Err: fmt.Errorf("%w: the keys of the %d parents of the shard that were changed since the first chunk take more than %d MB", farm.ErrRefused, len(t.keys), mostTouched>>20),
			Hint: "leave --chunks out, or begin again when less is written"}
	}
	return nil
}

// present are the keys that a parent of the tenant has in the view.
func (t *touching) present() []latest.Key {
	out := make([]latest.Key, 0, len(t.keys))
	for text, is := range t.keys {
		if is {
			out = append(out, splitKey(text))
		}
	}
	slices.SortFunc(out, slices.Compare)
	return out
}

// take adds what a change has touched: by the rows before it and by those after it.
func (t *touching) take(c mysql.Change) error {
	tt := t.tables[c.Table]
	if tt == nil {
		return nil
	}
	if err := tt.plain.Fits(c); err != nil {
		return &farm.Error{Op: "read changes", Err: fmt.Errorf("%w: %w", farm.ErrRefused, err), Hint: "remove its state file to begin the snapshot again"}
	}
	for _, values := range c.Rows {
		if err := t.note(tt, values); err != nil {
			return err
		}
	}
	return nil
}

func (t *touching) note(tt *touchedTable, values []any) error {
	text, err := tt.exact(tt.key, values)
	if err == nil && text != "" {
		err = t.hold(t.keys, text, false)
	}
	for of, at := range tt.by {
		if err != nil {
			return err
		}
		if text, err = tt.exact([]int{at}, values); err != nil || text == "" {
			continue
		}
		if t.joined[of] == nil {
			t.joined[of] = map[string]bool{}
		}
		err = t.hold(t.joined[of], text, false)
	}
	return err
}
