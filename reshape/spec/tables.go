package spec

import (
	"slices"
	"strings"

	"stowage/internal/lazy"
)

// Tables are what one shard has, by name.
type Tables map[string]Table

// Table is one table.
type Table struct {
	Columns    []Column
	Unique     []Key // the primary key first
	Indexes    []Key // all of them
	Engine     string
	References []Reference
	Triggers   []string // "BEFORE INSERT name", those of Stowage left out
}

// Reference is a foreign key: its columns, and those of another table that they name.
type Reference struct {
	Table       string
	Columns, Of []string
	// Deletes and Updates: rows are deleted, or changed, together with those of the other table. No trigger fires then, and no row event says so.
	Deletes, Updates bool
	// Leaves: with a row of the other table that is deleted, rows here stay and get another value (SET NULL, SET DEFAULT).
	Leaves bool
}

// leads reports whether a row names the row of the other table that has its values of columns in keys.
func (r Reference) leads(table string, columns, keys []string) bool {
	if r.Table != table {
		return false
	}
	for n, c := range columns {
		if i := slices.Index(r.Columns, c); i < 0 || r.Of[i] != keys[n] {
			return false
		}
	}
	return true
}

// Column is one column.
type Column struct {
	Name      string
	Type      string // with character set and collation: varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
	Nullable  bool
	Generated bool
	Drawn     bool // AUTO_INCREMENT
	Stamped   bool // ON UPDATE CURRENT_TIMESTAMP: it changes by itself when its row does
}

// Key is an index.
type Key struct {
	Name    string
	Columns []string
	Whole   bool // of whole columns, and a tree
}

// Column is the column of that name.
func (t Table) Column(name string) (Column, bool) {
	for _, c := range t.Columns {
		if c.Name == name {
			return c, true
		}
	}
	return Column{}, false
}

// isUnique reports whether these columns, in any order, hold a unique key none of whose columns can be NULL, but for some.
func (t Table) isUnique(columns []string, but ...string) bool {
	return slices.ContainsFunc(t.Unique, func(k Key) bool {
		return k.Whole && !slices.ContainsFunc(k.Columns, func(name string) bool {
			c, ok := t.Column(name)
			return !ok || c.Nullable && !slices.Contains(but, name) || !slices.Contains(columns, name)
		})
	})
}

// leads reports whether an index begins with these columns, in any order.
func (t Table) leads(columns []string) bool {
	return slices.ContainsFunc(t.Indexes, func(k Key) bool {
		return k.Whole && len(k.Columns) >= len(columns) && !slices.ContainsFunc(k.Columns[:len(columns)], func(name string) bool { return !slices.Contains(columns, name) })
	})
}

func (t Table) primary() []string {
	if len(t.Unique) > 0 && t.Unique[0].Name == "PRIMARY" {
		return t.Unique[0].Columns
	}
	return nil
}

// charset is the character set of text.
func (c Column) charset() string {
	_, after, _ := strings.Cut(c.Type, " CHARACTER SET ")
	name, _, _ := strings.Cut(after, " ")
	return name
}

var widths = lazy.Regexp(`\b(tinyint|smallint|mediumint|int|bigint|year)\(\d+\)`)

// plain is the type without what does not decide which values fit.
func (c Column) plain() string {
	text, _, _ := strings.Cut(strings.ToLower(c.Type), " character set ")
	text, _, _ = strings.Cut(text, " collate ")
	return strings.TrimSpace(widths().ReplaceAllString(strings.ReplaceAll(text, "integer", "int"), "$1"))
}
