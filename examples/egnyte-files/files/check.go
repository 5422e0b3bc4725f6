package files

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Mismatch is a carried column of a file of an active tenant that is not as its versions say.
type Mismatch struct {
	Tenant uint32
	File   uint64
	Column string
	Has    string // "NULL" for none
	Want   string
}

func (m Mismatch) String() string {
	return fmt.Sprintf("tenant %d, file %d: %s is %s, and by the versions %s", m.Tenant, m.File, m.Column, m.Has, m.Want)
}

// Checked says how much was looked at, so that a judge who saw nothing is not taken for one who found nothing.
type Checked struct {
	Tenants, Files, Versions int64
	Mismatches               []Mismatch
	Leased                   bool // an application would have read the carried columns of active tenants that are served here
}

// Check is Look without the numbers.
func Check(ctx context.Context, db *sql.DB, shard string) ([]Mismatch, error) {
	c, err := Look(ctx, db, shard)
	return c.Mismatches, err
}

// Look recomputes the latest version of every file of every tenant whose flag latest_entry_active is set, from plain rows of one
// consistent view, and compares it with the columns that the file's row carries. It memorises the files of one tenant at a time.
// Where the flags have not been added yet nobody is active.
func Look(ctx context.Context, db *sql.DB, shard string) (Checked, error) {
	var c Checked
	conn, err := db.Conn(ctx)
	if err != nil {
		return c, fmt.Errorf("check %s: %w", shard, err)
	}
	defer func() { _ = conn.Close() }()
	err = run(ctx, conn, "USE `"+shard+"`", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
		"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
	if err == nil {
		err = c.tenants(ctx, conn)
	}
	if err == nil {
		err = run(ctx, conn, "COMMIT")
	}
	if err != nil {
		return c, fmt.Errorf("check %s: %w", shard, err)
	}
	return c, nil
}

func (c *Checked) tenants(ctx context.Context, conn *sql.Conn) error {
	var flags int
	if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'tenants' AND COLUMN_NAME = 'latest_entry_active'").Scan(&flags); err != nil || flags == 0 {
		return err
	}
	var err error
	if c.Leased, err = leased(ctx, conn); err != nil {
		return err
	}
	active, err := numbers[uint32](ctx, conn, "SELECT tenant_id FROM tenants WHERE latest_entry_active <> 0")
	for _, t := range active {
		c.Tenants++
		if err := c.tenant(ctx, conn, t); err != nil {
			return fmt.Errorf("tenant %d: %w", t, err)
		}
	}
	return err
}

// carriage is what a file's row should carry; the zero value is a file without a version that counts.
type carriage struct {
	is       bool
	id       uint64
	no, size uint64
	hash     [32]byte
}

func (c *Checked) tenant(ctx context.Context, conn *sql.Conn, tenant uint32) error {
	want, err := c.latestOf(ctx, conn, tenant)
	if err != nil {
		return err
	}
	rows, err := conn.QueryContext(ctx, "SELECT file_id, latest_version_id, latest_version_no, latest_size, latest_hash FROM files WHERE tenant_id = ?", tenant)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var file uint64
		var id, no, size sql.Null[uint64]
		var hash []byte
		if err := rows.Scan(&file, &id, &no, &size, &hash); err != nil {
			return err
		}
		c.Files++
		w := want[file]
		c.number(tenant, file, "latest_version_id", id, w.is, w.id)
		c.number(tenant, file, "latest_version_no", no, w.is, w.no)
		c.number(tenant, file, "latest_size", size, w.is, w.size)
		if (hash != nil) != w.is || w.is && !bytes.Equal(hash, w.hash[:]) {
			c.add(tenant, file, "latest_hash", hash != nil, fmt.Sprintf("%x", hash), w.is, fmt.Sprintf("%x", w.hash))
		}
	}
	return rows.Err()
}

// latestOf is the version that counts of each file, found by looking at every version.
func (c *Checked) latestOf(ctx context.Context, conn *sql.Conn, tenant uint32) (map[uint64]carriage, error) {
	rows, err := conn.QueryContext(ctx, "SELECT file_id, version_id, version_no, size, hash, deleted_at IS NULL FROM versions WHERE tenant_id = ?", tenant)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	best := map[uint64]carriage{}
	for rows.Next() {
		var file uint64
		var v carriage
		var hash sql.RawBytes
		if err := rows.Scan(&file, &v.id, &v.no, &v.size, &hash, &v.is); err != nil {
			return nil, err
		}
		if len(hash) != len(v.hash) {
			return nil, fmt.Errorf("version %d has a hash of %d bytes", v.id, len(hash))
		}
		copy(v.hash[:], hash)
		c.Versions++
		if b := best[file]; v.is && (!b.is || v.no > b.no) {
			best[file] = v
		}
	}
	return best, rows.Err()
}

func (c *Checked) number(tenant uint32, file uint64, column string, has sql.Null[uint64], is bool, want uint64) {
	if has.Valid != is || is && has.V != want {
		c.add(tenant, file, column, has.Valid, fmt.Sprint(has.V), is, fmt.Sprint(want))
	}
}

func (c *Checked) add(tenant uint32, file uint64, column string, hasOne bool, has string, wantsOne bool, want string) {
	if !hasOne {
		has = "NULL"
	}
	if !wantsOne {
		want = "NULL"
	}
	c.Mismatches = append(c.Mismatches, Mismatch{tenant, file, column, has, want})
}

// numbers are the values of a query with one column.
func numbers[T uint32 | uint64](ctx context.Context, conn *sql.Conn, query string, args ...any) (out []T, err error) {
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var n T
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, rows.Err()
}
