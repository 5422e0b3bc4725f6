package latest

import (
	"strings"

	"stowage/farm"
	"stowage/mysql"
)

// Keyed is the form by which single parents are asked for: Grouped makes its groups of all of them first.
func (s Shape) Keyed(active bool) Form {
	if s.isExact(active) {
		return Denormalised
	}
	return Correlated
}

// ChunkQuery is Query for up to n parents behind a key, in the order of keys. The parent's key comes in front of the columns. f is one that Keyed names.
func (s Shape) ChunkQuery(shard farm.ShardName, f Form, after Key, n int) string {
	return s.withKey(shard, f) + s.beyond(after) + " ORDER BY " + names("p", s.Parent.Key, "") + " LIMIT " + itoa(n)
}

// KeysQuery is Query for some parents by their keys, which come in front of the columns, in the order of keys.
func (s Shape) KeysQuery(shard farm.ShardName, f Form, keys []Key) string {
	return s.withKey(shard, f) + " AND " + anyOf("p", s.Parent.Key, keys) + " ORDER BY " + names("p", s.Parent.Key, "")
}

func (s Shape) withKey(shard farm.ShardName, f Form) string {
	return "SELECT " + names("p", s.Parent.Key, "") + ", " + strings.TrimPrefix(s.Query(shard, f, false), "SELECT ")
}

// ParentsQuery asks for the keys of a tenant's parents, its only parameter, that have one of some values, literals, in a column.
func (s Shape) ParentsQuery(shard farm.ShardName, column string, values []string) string {
	return "SELECT " + names("p", s.Parent.Key, "") + " FROM " + at(shard, s.Parent.Table) + " p WHERE p." + mysql.Ident(s.Parent.Tenant) + " = ? AND p." + mysql.Ident(column) + " IN (" + strings.Join(values, ", ") + ")"
}
