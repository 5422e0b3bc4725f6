package latest

import (
	"cmp"
	"slices"
	"strings"

	"stowage/farm"
	"stowage/mysql"
	"stowage/reshape/spec"
)

// AddColumns are the statements that give a shard the columns and flags it lacks, without a database before the table. A column that is added is NULL in every row, so its sides may get it
// one after the other while both serve, as long as nobody writes it.
func (s Shape) AddColumns(t spec.Tables) (statements []string) {
	var parts []string
	for _, c := range s.Carry {
		if _, there := t[s.Parent.Table].Column(c.Column); there {
			continue
		}
		from, _ := t[s.Child.Table].Column(c.From)
		parts = append(parts, "ADD COLUMN "+mysql.Ident(c.Column)+" "+cmp.Or(c.Type, from.Type)+" NULL DEFAULT NULL")
	}
	statements = appendAlter(statements, s.Parent.Table, parts)
	parts = nil
	for _, flag := range []string{s.Tenant.Migrated, s.Tenant.Active} {
		if _, there := t[s.Tenant.Table].Column(flag); !there {
			parts = append(parts, "ADD COLUMN "+mysql.Ident(flag)+" TINYINT NOT NULL DEFAULT 0")
		}
	}
	return appendAlter(statements, s.Tenant.Table, parts)
}

// DropColumns are the statements that take away what AddColumns gave to tables that were so before.
func (s Shape) DropColumns(before, now spec.Tables) (statements []string) {
	var parts []string
	drop := func(table, column string) {
		_, was := before[table].Column(column)
		if _, is := now[table].Column(column); is && !was {
			parts = append(parts, "DROP COLUMN "+mysql.Ident(column))
		}
	}
	for _, i := range s.Indexes {
		if !has(before[s.Parent.Table], i.Name) && has(now[s.Parent.Table], i.Name) {
			parts = append(parts, "DROP INDEX "+mysql.Ident(i.Name))
		}
	}
	for _, c := range s.Carry {
		drop(s.Parent.Table, c.Column)
	}
	statements = appendAlter(statements, s.Parent.Table, parts)
	parts = nil
	drop(s.Tenant.Table, s.Tenant.Migrated)
	drop(s.Tenant.Table, s.Tenant.Active)
	return appendAlter(statements, s.Tenant.Table, parts)
}

// AreLast reports whether the columns that DropColumns would drop are the last of their tables; if not, the first that is behind them.
func (s Shape) AreLast(before, now spec.Tables) (string, bool) {
	for _, name := range []string{s.Parent.Table, s.Tenant.Table} {
		was, behind := len(before[name].Columns), now[name].Columns
		if len(behind) < was {
			continue
		}
		for _, c := range behind[was:] {
			carried := slices.ContainsFunc(s.Carry, func(x spec.Carry) bool { return x.Column == c.Name })
			if !carried && c.Name != s.Tenant.Migrated && c.Name != s.Tenant.Active {
				return c.Name, false
			}
		}
	}
	return "", true
}

// AddIndexes is the statement that makes the indexes which a shard lacks; "" where it has them all.
func (s Shape) AddIndexes(t spec.Tables) string {
	var parts []string
	for _, i := range s.Indexes {
		if !has(t[s.Parent.Table], i.Name) {
			columns := make([]string, len(i.Columns))
			for n, c := range i.Columns {
				columns[n] = mysql.Ident(c)
			}
			parts = append(parts, "ADD INDEX "+mysql.Ident(i.Name)+" ("+strings.Join(columns, ", ")+")")
		}
	}
	return strings.Join(appendAlter(nil, s.Parent.Table, parts), "")
}

func has(t spec.Table, index string) bool {
	for _, k := range t.Indexes {
		if k.Name == index {
			return true
		}
	}
	return false
}

func appendAlter(statements []string, table string, parts []string) []string {
	if len(parts) == 0 {
		return statements
	}
	return append(statements, "ALTER TABLE "+mysql.Ident(table)+" "+strings.Join(parts, ", "))
}

// tenantRow is the condition for a tenant's row.
func (s Shape) tenantRow(shard farm.ShardName) (table, where string) {
	return at(shard, s.Tenant.Table), " WHERE " + mysql.Ident(s.Tenant.Key) + " = ?"
}
