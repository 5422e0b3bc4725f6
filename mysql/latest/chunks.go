package latest

import (
	"strings"

	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/rows"
)

// Keyed is the form by which single parents are asked for: Grouped makes its groups of all of them first.
func (s Shape) Keyed(active bool) Form {
	if s.isExact(active) {
		return Denormalised
	}
	return Correlated
}

// Exact are the columns of the parent's key, each value of which is shown as its exact literal.
type Exact []rows.CopyColumn

// shown are the literals of the key of p.
func (e Exact) shown() string {
	list := make([]string, len(e))
	for i, c := range e {
		list[i] = c.Exact("p")
	}
	return strings.Join(list, ", ")
}

// ChunkQuery is Query for up to n parents behind a key, in the order of keys. The parent's key comes in front of the columns. f is one that Keyed names.
func (s Shape) ChunkQuery(shard farm.ShardName, f Form, by Exact, after Key, n int) string {
	return s.withKey(shard, f, by) + s.beyond(after) + " ORDER BY " + names("p", s.Parent.Key, "") + " LIMIT " + itoa(n)
}

// KeysQuery is Query for some parents by their keys, which come in front of the columns, in the order of keys.
func (s Shape) KeysQuery(shard farm.ShardName, f Form, by Exact, keys []Key) string {
	return s.withKey(shard, f, by) + " AND " + anyOf("p", s.Parent.Key, keys) + " ORDER BY " + names("p", s.Parent.Key, "")
}

func (s Shape) withKey(shard farm.ShardName, f Form, by Exact) string {
	return "SELECT " + by.shown() + ", " + strings.TrimPrefix(s.Query(shard, f, false), "SELECT ")
}

// ParentsQuery asks for the keys of a tenant's parents, its only parameter, that have one of some values, literals, in some columns.
func (s Shape) ParentsQuery(shard farm.ShardName, by Exact, columns []string, values []Key) string {
	return "SELECT " + by.shown() + " FROM " + at(shard, s.Parent.Table) + " p WHERE p." + mysql.Ident(s.Parent.Tenant) + " = ? AND " + anyOf("p", columns, values)
}
