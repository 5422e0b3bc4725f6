package snapshot

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/feed"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// mostTouched bounds what is remembered: about 100 MB.
const mostTouched = 1_000_000

// feedWait is how long one look into the binary log waits. What is looked for is in it already.
const feedWait = 10 * time.Second

// touched are the keys of the parents that may have changed between the first chunk and the view: those whose rows, or whose children's, were written, and
// those of the tenant that a changed row of a joined table belongs to. A transaction that was rolled back touches, too: it does no harm.
func (c *Chunked) touched(ctx context.Context, view *rows.View) (map[string]bool, error) {
	from, err := mysql.ParsePosition(c.Progress.From)
	if err != nil {
		return nil, err
	}
	t := &touching{keys: map[string]bool{}}
	if err := t.open(ctx, c); err != nil {
		return nil, err
	}
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
			if err := t.take(ctx, change); err != nil {
				return nil, err
			}
		}
	}
	for column, values := range t.joined {
		if err := c.parentsWith(ctx, view, column, slices.Sorted(maps.Keys(values)), t.keys); err != nil {
			return nil, err
		}
	}
	return t.keys, nil
}

// touching collects keys out of changes.
type touching struct {
	tables map[string]*touchedTable
	keys   map[string]bool
	joined map[string]map[string]bool // column of the parent: values
	row    rows.PlainRow
}

// touchedTable is a table of the spec: which of its columns name a parent, or what a parent is joined by.
type touchedTable struct {
	plain *rows.Plain
	key   []int          // nil: a joined table
	by    map[string]int // column of the parent: which column of this table equals it
}

func (t *touching) open(ctx context.Context, c *Chunked) error {
	t.tables, t.joined = map[string]*touchedTable{}, map[string]map[string]bool{}
	all, err := rows.CopyTables(ctx, c.Server, string(c.Shard))
	if err != nil {
		return err
	}
	for _, table := range all {
		var key []string
		by := map[string]string{}
		switch table.Name {
		case c.Shape.Parent.Table:
			key = c.Shape.Parent.Key
		case c.Shape.Child.Table:
			key = c.Shape.Child.Parent
		}
		for _, j := range c.Shape.Snapshot.Join {
			if j.Table == table.Name {
				for its, of := range j.On {
					by[of] = its
				}
			}
		}
		if key == nil && len(by) == 0 {
			continue
		}
		if err := t.add(ctx, c.Server, table, key, by); err != nil {
			return err
		}
	}
	return nil
}

func (t *touching) add(ctx context.Context, server *mysql.Server, table *rows.CopyTable, key []string, by map[string]string) error {
	plain, err := rows.PlainOf(ctx, server, table)
	if err != nil {
		return err
	}
	tt := &touchedTable{plain: plain, by: map[string]int{}}
	for _, name := range key {
		tt.key = append(tt.key, columnOf(plain, name))
	}
	for of, its := range by {
		tt.by[of] = columnOf(plain, its)
		if k := plain.Columns[tt.by[of]].Kind; k != rows.PlainInt && k != rows.PlainUint {
			return &farm.Error{Op: "read in chunks", Err: fmt.Errorf("%w: %s.%s is not an integer; --chunks needs joins by integers", farm.ErrInput, table.Name, its), Hint: "leave --chunks out: one view takes any join"}
		}
	}
	t.tables[table.Name] = tt
	return nil
}

func columnOf(p *rows.Plain, name string) int {
	return max(0, slices.IndexFunc(p.Columns, func(c rows.PlainColumn) bool { return strings.EqualFold(c.Name, name) })) // the spec was checked
}

// take adds what a change has touched: by the rows before it and by those after it.
func (t *touching) take(ctx context.Context, c mysql.Change) error {
	tt := t.tables[c.Table]
	if tt == nil {
		return nil
	}
	if err := tt.plain.Fits(c); err != nil {
		return &farm.Error{Op: "read changes", Err: fmt.Errorf("%w: %w", farm.ErrRefused, err), Hint: "remove its state file to begin the snapshot again"}
	}
	for _, values := range c.Rows {
		var err error
		if t.row, err = tt.plain.Event(ctx, values, t.row); err != nil {
			return err
		}
		t.note(tt)
	}
	if len(t.keys) > mostTouched {
		return &farm.Error{Op: "read changes", Err: fmt.Errorf("%w: more than %d parents of the shard were changed since the first chunk", farm.ErrRefused, mostTouched), Hint: "leave --chunks out, or begin again when less is written"}
	}
	return nil
}

func (t *touching) note(tt *touchedTable) {
	if tt.key != nil {
		parts := make([]string, len(tt.key))
		for i, at := range tt.key {
			parts[i] = string(t.row[at])
		}
		if !slices.Contains(parts, "") { // a child without a parent
			t.keys[strings.Join(parts, ",")] = true
		}
	}
	for of, at := range tt.by {
		if t.row[at] == nil {
			continue
		}
		if t.joined[of] == nil {
			t.joined[of] = map[string]bool{}
		}
		t.joined[of][string(t.row[at])] = true
	}
}
