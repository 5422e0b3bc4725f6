package files

import (
	"context"
	"database/sql"
	"fmt"

	egnyte "stowage/examples/egnyte-files"
)

// Latest is a row of a tenant's snapshot.
type Latest struct {
	Path, Name string
	File, Size uint64
	Hash       [32]byte
}

// Read hands out the latest files of a tenant, in no particular order, by the query that the tenant's flag asks for. The flag
// and the files are read in one view, so that a flag that is switched meanwhile does no harm. Form says which query it was; it
// is "none" where there is no such tenant. normalised is the form for tenants that are not active.
func Read(ctx context.Context, db *sql.DB, shard string, tenant uint32, normalised string, each func(Latest) error) (form string, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return "", fmt.Errorf("read tenant %d: %w", tenant, err)
	}
	defer func() { _ = conn.Close() }()
	form, err = read(ctx, conn, shard, tenant, normalised, each)
	if err == nil {
		err = run(ctx, conn, "COMMIT")
	}
	if err != nil {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // a lost connection has no transaction either
		return form, fmt.Errorf("read tenant %d (%s): %w", tenant, form, err)
	}
	return form, nil
}

func read(ctx context.Context, conn *sql.Conn, shard string, tenant uint32, normalised string, each func(Latest) error) (form string, err error) {
	if err := run(ctx, conn, "USE `"+shard+"`", "START TRANSACTION READ ONLY"); err != nil {
		return "", err
	}
	// The tenant's row may not have the flags yet: SELECT * is right with and without them.
	row, err := oneRow(ctx, conn, "SELECT * FROM tenants WHERE tenant_id = ?", tenant)
	isGood := false
	if err == nil {
		isGood, err = leased(ctx, conn)
	}
	switch {
	case err != nil:
		return "", err
	case row == nil:
		return "none", nil
	case row["latest_entry_active"] == "1" && isGood:
		form = "denormalised"
	default:
		form = normalised
	}
	return form, ReadBy(ctx, conn, form, tenant, each)
}

// ReadBy hands out the latest files of a tenant by the query of that form. The session has chosen the shard.
func ReadBy(ctx context.Context, conn *sql.Conn, form string, tenant uint32, each func(Latest) error) error {
	query, err := egnyte.Query(form)
	if err != nil {
		return err
	}
	rows, err := conn.QueryContext(ctx, query, tenant)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	sorted := newest{}
	for rows.Next() {
		var l Latest
		var hash sql.RawBytes
		var no uint32
		into := []any{&l.Path, &l.Name, &l.File, &l.Size, &hash, &no}
		if form != "sorted" {
			into = into[:5]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if copy(l.Hash[:], hash); form == "sorted" {
			sorted.see(l, no)
		} else if err := each(l); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, l := range sorted {
		if err := each(l.Latest); err != nil {
			return err
		}
	}
	return nil
}

// newest keeps the version with the highest number of each file: what the application does for the form "sorted".
type newest map[uint64]numbered

type numbered struct {
	Latest
	no uint32
}

func (n newest) see(l Latest, no uint32) {
	if has, ok := n[l.File]; !ok || no > has.no {
		n[l.File] = numbered{l, no}
	}
}

// oneRow is a row as text by column name, nil where there is none.
func oneRow(ctx context.Context, conn *sql.Conn, query string, args ...any) (map[string]string, error) {
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		return nil, firstOf(err, rows.Err())
	}
	values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	row := map[string]string{}
	for i, c := range columns {
		row[c] = values[i].String
	}
	return row, rows.Err()
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
