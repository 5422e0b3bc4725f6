package latest

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"stowage/farm"
	"stowage/mysql"
)

// Key is a parent's key, as the server shows it: a literal for each of its columns. Nil: before the first.
type Key []string

// Chunk is what one call of Fill has done.
type Chunk struct {
	Parents int   // looked at
	Changed int64 // written
	Last    Key   // the last parent; nil: the tenant has no more
}

// Fill fills in up to n parents of a tenant behind a key, in the order of keys. n is at most some thousands: their locks are held until it returns.
//
// The write reads children with shared locks (REPEATABLE READ) and waits for none: a lock that a client holds ends it with ErrBusy, and nothing is changed.
func (s *Session) Fill(ctx context.Context, shard farm.ShardName, tenant string, after Key, n int) (Chunk, error) {
	keys, err := s.keys(ctx, shard, tenant, after, n)
	if err != nil || len(keys) == 0 {
		return Chunk{}, err
	}
	out := Chunk{Parents: len(keys)}
	if len(keys) == n {
		out.Last = keys[n-1]
	}
	err = s.within(ctx, false, func() error {
		parents := anyOf("p", s.Parent.Key, keys)
		if s.waits {
			if err := s.lockFirst(ctx, shard, keys, parents); err != nil {
				return err
			}
		}
		var err error
		out.Changed, err = s.exec(ctx, s.carry(shard, parents)+" AND p."+mysql.Ident(s.Parent.Tenant)+" = ?", tenant)
		return err
	})
	return out, err
}

// carry is the statement that makes parents say what their latest child has. It changes no row that says so already.
func (s Shape) carry(shard farm.ShardName, parents string) string {
	set := make([]string, len(s.Carry))
	for i, c := range s.Carry {
		set[i] = "p." + mysql.Ident(c.Column) + " = c." + mysql.Ident(c.From)
	}
	set = append(set, s.stays("p.")...)
	return "UPDATE " + at(shard, s.Parent.Table) + " p LEFT JOIN " + at(shard, s.Child.Table) + " c ON c." + mysql.Ident(s.Child.Key) + " = (" + s.latestKey(shard, "p") + ") SET " + strings.Join(set, ", ") +
		" WHERE " + parents + " AND " + s.differ()
}

// stays sets the columns that would change by themselves with their row to what they are: their times are those of the clients' writes.
func (s Shape) stays(prefix string) []string {
	out := make([]string, len(s.Parent.Stamped))
	for i, name := range s.Parent.Stamped {
		out[i] = prefix + mysql.Ident(name) + " = " + prefix + mysql.Ident(name)
	}
	return out
}

// lockFirst takes all locks that the write needs, on a server whose statements wait for locks at least a second.
func (s *Session) lockFirst(ctx context.Context, shard farm.ShardName, keys []Key, parents string) error {
	for _, query := range []string{
		"SELECT COUNT(*) FROM (SELECT " + names("x", s.carriedFrom(), "") + " FROM " + at(shard, s.Child.Table) + " x WHERE " + anyOf("x", s.Child.Parent, keys) + " FOR SHARE NOWAIT) l",
		"SELECT COUNT(*) FROM " + at(shard, s.Parent.Table) + " p WHERE " + parents + " FOR UPDATE NOWAIT",
	} {
		var n int64
		if err := s.conn.QueryRowContext(ctx, query).Scan(&n); err != nil {
			return s.server.Fail("lock rows", err)
		}
	}
	return nil
}

// carriedFrom are the columns of the child that are carried.
func (s Shape) carriedFrom() []string {
	out := make([]string, len(s.Carry))
	for n, c := range s.Carry {
		out[n] = c.From
	}
	return out
}

// keys are the next keys of a tenant. Nothing is locked.
func (s *Session) keys(ctx context.Context, shard farm.ShardName, tenant string, after Key, n int) ([]Key, error) {
	query := "SELECT " + s.literals() + " FROM " + at(shard, s.Parent.Table) + " p WHERE p." + mysql.Ident(s.Parent.Tenant) + " = ?" + s.beyond(after) + " ORDER BY " + names("p", s.Parent.Key, "") + " LIMIT " + strconv.Itoa(n)
	rows, err := s.conn.QueryContext(ctx, query, tenant)
	if err != nil {
		return nil, s.server.Fail("read keys", err)
	}
	defer rows.Close()
	var out []Key
	for rows.Next() {
		key, err := scanKey(rows, len(s.Parent.Key))
		if err != nil {
			return nil, s.server.Fail("read keys", err)
		}
		out = append(out, key)
	}
	return out, s.server.Fail("read keys", rows.Err())
}

// literals shows the key of p. Bytes have no character set: MySQL makes no QUOTE of them. Words of an ENUM come in the order of their numbers, and compared with a text in that of letters. A DECIMAL that is compared with a text is
// rounded to a DOUBLE: it stands as a number.
func (s Shape) literals() string {
	list := make([]string, len(s.Parent.Key))
	for i, k := range s.Parent.Key {
		column := "p." + mysql.Ident(k)
		switch {
		case i < len(s.Parent.Bytes) && s.Parent.Bytes[i]:
			list[i] = "CONCAT('X''', HEX(" + column + "), '''')"
		case i < len(s.Parent.Numbers) && s.Parent.Numbers[i]:
			list[i] = "CAST(" + column + " AS UNSIGNED)"
		case i < len(s.Parent.Decimals) && s.Parent.Decimals[i]:
			list[i] = "CAST(" + column + " AS CHAR)"
		default:
			list[i] = "QUOTE(" + column + ")"
		}
	}
	return strings.Join(list, ", ")
}

func scanKey(rows *sql.Rows, columns int, more ...any) (Key, error) {
	key, into := make(Key, columns), make([]any, columns)
	for i := range key {
		into[i] = &key[i]
	}
	return key, rows.Scan(append(into, more...)...)
}

// beyond is the condition for keys behind one, spelled out so that an index is used: row constructors use none.
func (s Shape) beyond(after Key) string {
	if after == nil {
		return ""
	}
	var terms []string
	for i := range after {
		var parts []string
		for j := range i {
			parts = append(parts, "p."+mysql.Ident(s.Parent.Key[j])+" = "+after[j])
		}
		terms = append(terms, "("+strings.Join(append(parts, "p."+mysql.Ident(s.Parent.Key[i])+" > "+after[i]), " AND ")+")")
	}
	first := "p." + mysql.Ident(s.Parent.Key[0]) + " >= " + after[0] // the range that the index is read from
	return " AND " + first + " AND (" + strings.Join(terms, " OR ") + ")"
}

// anyOf is the condition for rows with one of these keys.
func anyOf(alias string, columns []string, keys []Key) string {
	terms := make([]string, len(keys))
	if len(columns) == 1 {
		for n, k := range keys {
			terms[n] = k[0]
		}
		return alias + "." + mysql.Ident(columns[0]) + " IN (" + strings.Join(terms, ", ") + ")"
	}
	for n, k := range keys {
		parts := make([]string, len(columns))
		for i, c := range columns {
			parts[i] = alias + "." + mysql.Ident(c) + " = " + k[i]
		}
		terms[n] = strings.Join(parts, " AND ")
	}
	return "(" + strings.Join(terms, " OR ") + ")"
}
