package schema

import (
	"strings"

	"stowage/internal/lazy"
)

// Apart are the two statements around a change that copies all rows: the keys go before it, and are built again behind it. MySQL enters each copied row into every key, one by one, where ADD KEY
// sorts: with two keys on 1,500,000 rows in memory 16.8 s became 8.7 (9.7.4, 2026-11-29). MariaDB sorts by itself (innodb_alter_copy_bulk), and gains nothing.
type Apart struct {
	Drop, Add string
	Keys      []Difference // that are missing in between
}

var plainKey = lazy.Regexp(`(?i)^(UNIQUE\s+)?(KEY|INDEX)\s`)

// KeysApart are those of a change. False where a key is none that can go for a while: of a foreign key, of the counter, of another kind than plain and unique, one that the change is about;
// where rows would have no primary key without it; and where there is none.
func KeysApart(c Change, before, after Table) (Apart, bool) {
	if before.Text == after.Text || before.Partitions != "" || after.Partitions != "" || len(before.Keys) < 2 || len(before.Keys) != len(after.Keys) {
		return Apart{}, false
	}
	for _, t := range []Table{before, after} {
		for _, k := range t.Constraints {
			if strings.Contains(strings.ToUpper(maskText(k.Text)), "FOREIGN KEY") {
				return Apart{}, false
			}
		}
		for _, col := range t.Columns {
			if columnOf(col, "").auto && !begins(t, col.Name) {
				return Apart{}, false
			}
		}
	}
	var out Apart
	var drop, add []string
	for n, k := range before.Keys {
		switch {
		case after.Keys[n] != k:
			return Apart{}, false
		case n == 0 && k.Name == "PRIMARY KEY":
		case n == 0, !plainKey().MatchString(k.Text), !keyOf(k).whole && strings.Contains(k.Text, "(("):
			return Apart{}, false
		default:
			drop, add = append(drop, "DROP KEY "+quoted(k.Name)), append(add, "ADD "+k.Text)
			out.Keys = append(out.Keys, Difference{OfKey, k.Name, "", k.Text})
		}
	}
	start := "ALTER TABLE " + quoted(c.Table) + " "
	out.Drop, out.Add = start+strings.Join(drop, ", "), start+strings.Join(add, ", ")
	return out, true
}

// begins reports whether the primary key of a table begins with a column.
func begins(t Table, column string) bool {
	k := keyOf(t.Keys[0])
	return t.Keys[0].Name == "PRIMARY KEY" && len(k.columns) > 0 && k.columns[0] == strings.ToLower(column)
}
