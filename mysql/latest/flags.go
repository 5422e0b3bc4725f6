package latest

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"stowage/farm"
	"stowage/mysql"
)

// Flags are those of one tenant.
type Flags struct {
	Tenant   string `json:"id"`
	Migrated bool   `json:"migrated"`
	Active   bool   `json:"active"`
}

// Flags are those of all tenants of a shard, in the order of their keys. The flags must be there.
func (s Shape) Flags(ctx context.Context, server *mysql.Server, shard farm.ShardName) ([]Flags, error) {
	d := mysql.Through(server)
	rows, err := d.Records(ctx, "SELECT "+mysql.Ident(s.Tenant.Key)+" AS id, "+mysql.Ident(s.Tenant.Migrated)+" AS migrated, "+mysql.Ident(s.Tenant.Active)+" AS active FROM "+at(shard, s.Tenant.Table)+" ORDER BY "+mysql.Ident(s.Tenant.Key))
	if err != nil {
		return nil, err
	}
	out := make([]Flags, len(rows))
	for n, r := range rows {
		out[n] = Flags{r["id"], r["migrated"] != "0", r["active"] != "0"}
	}
	return out, nil
}

// Flag are those of one tenant, on one session or another; ErrNoTenant where it has no row. Where the columns are not there yet, neither is set.
func (s Shape) Flag(ctx context.Context, conn interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, shard farm.ShardName, tenant string) (f Flags, err error) {
	table, where := s.tenantRow(shard)
	f.Tenant = tenant
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

func itoa(n int) string { return strconv.Itoa(n) }
