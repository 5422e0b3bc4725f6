package latest

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"stowage/farm"
	"stowage/mysql"
)

// Verdict is what comparing a tenant's rows with its children said.
type Verdict struct {
	Rows       int64 `json:"rows"`       // parents
	Mismatches int64 `json:"mismatches"` // those whose carried columns are not the latest child's
	Keys       []Key `json:"keys"`       // of some of them
}

// shownKeys is how many mismatches are named.
const shownKeys = 20

// ErrMismatch says that a tenant's rows are not what its children say, and that its flags are as they were.
var ErrMismatch = errors.New("carried columns differ from the latest child")

// ErrNoTenant says that a shard has no row for a tenant.
var ErrNoTenant = errors.New("there is no such tenant")

// Verify compares all rows of a tenant at one moment. set: flags that are set in the same transaction, if all are right; ErrMismatch and nothing is set where one is not.
func (s *Session) Verify(ctx context.Context, shard farm.ShardName, tenant string, set map[string]bool) (v Verdict, err error) {
	err = s.within(ctx, true, func() error {
		if v, err = s.compare(ctx, shard, tenant, "", shownKeys); err != nil || len(set) == 0 {
			return err
		}
		if v.Mismatches > 0 {
			return ErrMismatch
		}
		return s.set(ctx, shard, tenant, set)
	})
	return v, err
}

// VerifySome compares up to n parents of a tenant behind a key, as rows are now.
func (s *Session) VerifySome(ctx context.Context, shard farm.ShardName, tenant string, after Key, n int) (v Verdict, last Key, err error) {
	keys, err := s.keys(ctx, shard, tenant, after, n)
	if err != nil || len(keys) == 0 {
		return v, nil, err
	}
	if len(keys) == n {
		last = keys[n-1]
	}
	err = s.within(ctx, true, func() error {
		v, err = s.compare(ctx, shard, tenant, " AND "+anyOf("p", s.Parent.Key, keys), shownKeys)
		return err
	})
	return v, last, err
}

// compare compares a tenant's parents for which more is true, and gives the keys of up to so many that are wrong.
func (s *Session) compare(ctx context.Context, shard farm.ShardName, tenant, more string, most int) (v Verdict, err error) {
	from := " FROM " + at(shard, s.Parent.Table) + " p LEFT JOIN " + at(shard, s.Child.Table) + " c ON c." + mysql.Ident(s.Child.Key) + " = (" + s.latestKey(shard, "p") + ") WHERE p." + mysql.Ident(s.Parent.Tenant) + " = ?" + more
	if err := s.conn.QueryRowContext(ctx, "SELECT COUNT(*), COALESCE(SUM("+s.differ()+"), 0)"+from, tenant).Scan(&v.Rows, &v.Mismatches); err != nil || v.Mismatches == 0 {
		return v, s.server.Fail("compare rows", err)
	}
	rows, err := s.conn.QueryContext(ctx, "SELECT "+s.literals()+from+" AND "+s.differ()+" ORDER BY "+names("p", s.Parent.Key, "")+" LIMIT "+itoa(most), tenant)
	if err != nil {
		return v, s.server.Fail("compare rows", err)
	}
	defer rows.Close()
	for rows.Next() {
		key, err := scanKey(rows, len(s.Parent.Key))
		if err != nil {
			return v, s.server.Fail("compare rows", err)
		}
		v.Keys = append(v.Keys, key)
	}
	return v, s.server.Fail("compare rows", rows.Err())
}

// Set sets flags of a tenant, by the names of their columns.
func (s *Session) Set(ctx context.Context, shard farm.ShardName, tenant string, flags map[string]bool) error {
	return s.within(ctx, false, func() error { return s.set(ctx, shard, tenant, flags) })
}

func (s *Session) set(ctx context.Context, shard farm.ShardName, tenant string, flags map[string]bool) error {
	table, where := s.tenantRow(shard)
	var there int
	if err := s.conn.QueryRowContext(ctx, "SELECT 1 FROM "+table+where+" FOR UPDATE", tenant).Scan(&there); errors.Is(err, sql.ErrNoRows) {
		return ErrNoTenant
	} else if err != nil {
		return s.server.Fail("lock flags", err)
	}
	var terms []string
	var args []any
	for _, name := range []string{s.Tenant.Migrated, s.Tenant.Active} {
		if on, ok := flags[name]; ok {
			terms, args = append(terms, mysql.Ident(name)+" = ?"), append(args, on)
		}
	}
	_, err := s.exec(ctx, "UPDATE "+table+" SET "+strings.Join(terms, ", ")+where, append(args, tenant)...)
	return err
}
