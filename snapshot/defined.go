package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/mysql/latest"
	"stowage/mysql/rows"
	"stowage/reshape/spec"
)

// touchedTable is a table of the spec: which of its columns name a parent, or what a parent is joined by.
type touchedTable struct {
	plain *rows.Plain
	key   []int          // none: a joined table
	by    map[string]int // column of the parent: which column of this table equals it
}

// exact is a key as a row event has it, "" where a part is NULL: it names no parent.
func (t *touchedTable) exact(at []int, values []any) (string, error) {
	key := make(latest.Key, len(at))
	for n, i := range at {
		if values[i] == nil {
			return "", nil
		}
		var err error
		if key[n], err = t.plain.Table.Columns[i].ExactEvent(values[i]); err != nil {
			return "", err
		}
	}
	return joinKey(key), nil
}

// define reads the tables of the spec as they are, and refuses keys and joins that cannot be followed from events to rows.
func (c *Chunked) define(ctx context.Context) error {
	c.tables, c.by = map[string]*touchedTable{}, nil
	all, err := rows.CopyTables(ctx, c.Server, string(c.Shard))
	if err != nil {
		return err
	}
	s := c.Shape
	at := slices.IndexFunc(all, func(t *rows.CopyTable) bool { return t.Name == s.Parent.Table })
	if at < 0 {
		return &farm.Error{Op: "read in chunks", Subject: string(c.Shard), Err: fmt.Errorf("%w: table %s is gone", farm.ErrRefused, s.Parent.Table)}
	}
	parent := all[at]
	if err := c.cascades(ctx); err != nil {
		return err
	}
	for _, name := range s.Parent.Key {
		c.by = append(c.by, parent.Columns[columnOf(parent, name)])
	}
	for _, table := range all {
		var key []string
		by := map[string]string{}
		switch table.Name {
		case s.Parent.Table:
			key = s.Parent.Key
		case s.Child.Table:
			key = s.Child.Parent
		}
		for _, j := range s.Snapshot.Join {
			if j.Table == table.Name {
				for its, of := range j.On {
					by[of] = its
				}
			}
		}
		if len(key)+len(by) == 0 {
			continue
		}
		if err := c.follow(ctx, table, parent, key, by); err != nil {
			return err
		}
	}
	return nil
}

// cascades refuses tables of the snapshot whose rows a foreign key deletes or changes: no event says which parents that touches. Only what happens to a child
// because of its parent is known: the parent's own row is in the log.
func (c *Chunked) cascades(ctx context.Context) error {
	all, err := c.Server.CascadesInto(ctx, string(c.Shard))
	if err != nil {
		return err
	}
	s := c.Shape
	for _, x := range all {
		joined := slices.ContainsFunc(s.Snapshot.Join, func(j spec.Join) bool { return j.Table == x.Table })
		if joined || x.Table == s.Parent.Table || x.Table == s.Child.Table && x.Parent != s.Parent.Table {
			return notChunked("a foreign key changes rows of " + x.String() + ", and the binary log does not show it")
		}
	}
	return nil
}

// follow adds a table whose changes touch parents: by the columns that equal the parent's key, and by those that equal another column of the parent.
func (c *Chunked) follow(ctx context.Context, table, parent *rows.CopyTable, key []string, by map[string]string) error {
	for _, column := range table.Columns {
		if ok, why := column.CanCarry(); !ok {
			return notChunked(fmt.Sprintf("column %s.%s: %s", table.Name, column.Name, why))
		}
	}
	plain, err := rows.PlainOf(ctx, c.Server, table)
	if err != nil {
		return err
	}
	t := &touchedTable{plain: plain, by: map[string]int{}}
	for n, name := range key {
		t.key = append(t.key, columnOf(table, name))
		if err := followed(table, name, parent, c.Shape.Parent.Key[n]); err != nil {
			return err
		}
	}
	for of, its := range by {
		t.by[of] = columnOf(table, its)
		if err := followed(table, its, parent, of); err != nil {
			return err
		}
	}
	c.tables[table.Name] = t
	return nil
}

// followed refuses a column whose values do not lead to the rows of the parent that the query joins with them.
func followed(table *rows.CopyTable, its string, parent *rows.CopyTable, of string) error {
	from, to := table.Columns[columnOf(table, its)], parent.Columns[columnOf(parent, of)]
	var what string
	switch {
	case !from.IsExact():
		what = fmt.Sprintf("column %s.%s is %s; --chunks takes keys of %s", table.Name, its, from.Type, rows.ExactKinds)
	case !from.ComparesLike(to):
		what = fmt.Sprintf("column %s.%s is %s and %s.%s is %s; --chunks needs one type and one collation", table.Name, its, typeOf(from), parent.Name, of, typeOf(to))
	default:
		return nil
	}
	return notChunked(what)
}

func notChunked(what string) error {
	return &farm.Error{Op: "read in chunks", Err: fmt.Errorf("%w: %s", farm.ErrInput, what), Hint: "leave --chunks out: one view takes any key, column and foreign key"}
}

func typeOf(c rows.CopyColumn) string {
	if c.Collation == "" {
		return c.Type
	}
	return c.Type + " COLLATE " + c.Collation
}

func columnOf(t *rows.CopyTable, name string) int {
	return max(0, slices.IndexFunc(t.Columns, func(c rows.CopyColumn) bool { return strings.EqualFold(c.Name, name) })) // the spec was checked
}
