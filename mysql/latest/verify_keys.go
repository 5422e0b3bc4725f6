package latest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// VerifyKeys compares some parents of any tenants, as rows are now, and says of each tenant with a wrong one what is wrong. Tenants none of whose flags is set are left out.
func (s *Session) VerifyKeys(ctx context.Context, shard farm.ShardName, keys []Key) (map[string]Verdict, error) {
	out := map[string]Verdict{}
	table, _ := s.tenantRow(shard)
	flags := "(t." + mysql.Ident(s.Tenant.Migrated) + " <> 0 OR t." + mysql.Ident(s.Tenant.Active) + " <> 0)"
	query := "SELECT " + s.literals() + ", t." + mysql.Ident(s.Tenant.Key) + " FROM " + at(shard, s.Parent.Table) + " p JOIN " + table + " t ON t." + mysql.Ident(s.Tenant.Key) + " = p." + mysql.Ident(s.Parent.Tenant) +
		" LEFT JOIN " + at(shard, s.Child.Table) + " c ON c." + mysql.Ident(s.Child.Key) + " = (" + s.latestKey(shard, "p") + ") WHERE " + anyOf("p", s.Parent.Key, keys) + " AND " + flags + " AND " + s.differ()
	err := s.within(ctx, true, func() error {
		rows, err := s.conn.QueryContext(ctx, query)
		if err != nil {
			return s.server.Fail("compare rows", err)
		}
		defer rows.Close()
		for rows.Next() {
			var tenant string
			key, err := scanKey(rows, len(s.Parent.Key), &tenant)
			if err != nil {
				return s.server.Fail("compare rows", err)
			}
			v := out[tenant]
			v.Mismatches++
			if len(v.Keys) < shownKeys {
				v.Keys = append(v.Keys, key)
			}
			out[tenant] = v
		}
		return s.server.Fail("compare rows", rows.Err())
	})
	return out, err
}

// Keys take the keys of parents out of changes of parents and children.
type Keys struct {
	shape  Shape
	plain  map[string]*rows.Plain
	places map[string][]int // of the columns that name the parent
	tenant int              // its place in the parent
	Seen   map[string]Key
}

// Keys are made for the tables of a shard as they are defined now.
func (s Shape) Keys(ctx context.Context, server *mysql.Server, shard farm.ShardName) (*Keys, error) {
	k := &Keys{shape: s, plain: map[string]*rows.Plain{}, places: map[string][]int{}, Seen: map[string]Key{}}
	tables, err := rows.CopyTables(ctx, server, string(shard))
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		columns := map[string][]string{s.Parent.Table: s.Parent.Key, s.Child.Table: s.Child.Parent}[t.Name]
		if columns == nil {
			continue
		}
		if k.plain[t.Name], err = rows.PlainOf(ctx, server, t); err != nil {
			return nil, err
		}
		place := func(name string) int {
			return slices.IndexFunc(t.Columns, func(c rows.CopyColumn) bool { return c.Name == name })
		}
		for _, name := range columns {
			k.places[t.Name] = append(k.places[t.Name], place(name))
		}
		if t.Name == s.Parent.Table {
			k.tenant = place(s.Parent.Tenant)
		}
	}
	if len(k.plain) < 2 {
		return nil, fmt.Errorf("%w: shard %s has not both tables of the spec, or one is system-versioned", farm.ErrRefused, shard)
	}
	return k, nil
}

// ErrShape says that rows in the log are of a table as it was: behind them its definition changed, in the log or past it.
var ErrShape = errors.New("rows of another definition")

// Take adds the parents of a change: those its rows had before, and those they have now. ErrShape: the change is of another definition than Keys was made for.
func (k *Keys) Take(ctx context.Context, c mysql.Change) error {
	keys, err := k.of(ctx, c, k.places[c.Table])
	for _, key := range keys {
		k.Seen[key.String()] = key
	}
	return err
}

// Moved are the parents of a change whose carried columns may be wrong behind it: those of children, and parents that are new, have another key or came to another tenant. ErrShape: as with Take.
func (k *Keys) Moved(ctx context.Context, c mysql.Change) (out []Key, err error) {
	if c.Table == k.shape.Parent.Table && c.Kind == mysql.Delete {
		return nil, nil
	}
	places := k.places[c.Table]
	if c.Table != k.shape.Parent.Table || c.Kind != mysql.Update {
		return k.of(ctx, c, places)
	}
	keys, err := k.of(ctx, c, append(slices.Clone(places), k.tenant))
	for n := 0; n+1 < len(keys); n += 2 { // as it was, as it is
		if !slices.Equal(keys[n], keys[n+1]) {
			out = append(out, keys[n][:len(places)], keys[n+1][:len(places)])
		}
	}
	return out, err
}

// of are some columns of a change's rows, row by row.
func (k *Keys) of(ctx context.Context, c mysql.Change, places []int) (out []Key, err error) {
	p := k.plain[c.Table]
	if p == nil {
		return nil, nil
	}
	if err := p.Fits(c); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrShape, err)
	}
	for _, row := range c.Rows {
		shown, err := p.Event(ctx, row, nil)
		if err != nil {
			return nil, err
		}
		key := Key{}
		for _, at := range places {
			key = append(key, literal(p.Columns[at].Kind, p.Table.Columns[at].Kind == "decimal", shown[at]))
		}
		out = append(out, key)
	}
	return out, nil
}

// String are its literals.
func (k Key) String() string { return strings.Join(k, ",") }

// literal is a plain value as SQL, as literals shows it. A DECIMAL is plain text, and a number here.
func literal(kind rows.PlainKind, isDecimal bool, value []byte) string {
	switch {
	case value == nil:
		return "NULL"
	case isDecimal || kind == rows.PlainInt || kind == rows.PlainUint || kind == rows.PlainFloat:
		return string(value)
	case kind == rows.PlainBytes:
		return fmt.Sprintf("X'%X'", value)
	}
	return mysql.Quote(string(value))
}
