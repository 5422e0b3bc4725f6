package latest

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"stowage/farm"
	"stowage/mysql"
	"stowage/reshape/spec"
)

// Flags are those of one tenant.
type Flags struct {
	ID       string `json:"id"`
	Migrated bool   `json:"migrated"`
	Active   bool   `json:"active"`
}

// Flags are those of all tenants of a shard, in the order of their keys. A flag that the table does not have yet is not set.
func (s Shape) Flags(ctx context.Context, server *mysql.Server, shard farm.ShardName, table spec.Table) ([]Flags, error) {
	flag := func(name string) string {
		if _, there := table.Column(name); there {
			return mysql.Ident(name) + " <> 0"
		}
		return "0"
	}
	rows, err := mysql.Through(server).Records(ctx, "SELECT "+mysql.Ident(s.Tenant.Key)+" AS id, "+flag(s.Tenant.Migrated)+" AS migrated, "+flag(s.Tenant.Active)+" AS active FROM "+at(shard, s.Tenant.Table)+" ORDER BY "+mysql.Ident(s.Tenant.Key))
	out := make([]Flags, len(rows))
	for n, r := range rows {
		out[n] = Flags{r["id"], r["migrated"] == "1", r["active"] == "1"}
	}
	return out, err
}

// Flag are those of one tenant, on one session or another; ErrNoTenant where it has no row. Where the columns are not there yet, neither is set.
func (s Shape) Flag(ctx context.Context, conn interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, shard farm.ShardName, tenant string) (f Flags, err error) {
	table, where := s.tenantRow(shard)
	f.ID = tenant
	err = conn.QueryRowContext(ctx, "SELECT "+mysql.Ident(s.Tenant.Migrated)+" <> 0, "+mysql.Ident(s.Tenant.Active)+" <> 0 FROM "+table+where, tenant).Scan(&f.Migrated, &f.Active)
	if mysql.CodeOf(err) == 1054 { // no such column
		var there int
		err = conn.QueryRowContext(ctx, "SELECT 1 FROM "+table+where, tenant).Scan(&there)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNoTenant
	}
	return f, err
}

// TenantsQuery asks for the keys of the first n tenants.
func (s Shape) TenantsQuery(shard farm.ShardName, n int) string {
	return "SELECT " + mysql.Ident(s.Tenant.Key) + " FROM " + at(shard, s.Tenant.Table) + " ORDER BY 1 LIMIT " + itoa(n)
}

func itoa(n int) string { return strconv.Itoa(n) }
