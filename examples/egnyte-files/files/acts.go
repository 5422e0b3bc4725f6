package files

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
)

// act does one transaction of some kind for the tenant.
func (c *client) act(ctx context.Context, t *tenant) error {
	switch n := c.r.IntN(100); {
	case n < 2 && c.c.DropTenants > 0:
		return c.dropTenant(ctx, t)
	case n < 4:
		return c.exclusive(t, func() error { return c.dropFile(ctx, t) })
	case n < 8:
		return c.shared(t, func() error { return c.newFile(ctx, t) })
	case n < 30:
		return c.shared(t, func() error { return c.renameFile(ctx, t) })
	case n < 60:
		return c.shared(t, func() error { return c.addVersion(ctx, t) })
	default:
		return c.shared(t, func() error { return c.changeVersion(ctx, t) })
	}
}

// shared and exclusive hold the tenant, unless it was deleted meanwhile.
func (c *client) shared(t *tenant, do func() error) error {
	t.whole.RLock()
	defer t.whole.RUnlock()
	return c.unlessGone(t, do)
}

func (c *client) exclusive(t *tenant, do func() error) error {
	t.whole.Lock()
	defer t.whole.Unlock()
	return c.unlessGone(t, do)
}

func (c *client) unlessGone(t *tenant, do func() error) error {
	c.ledger.mu.Lock()
	is := c.ledger.tenants[t.id] == t
	c.ledger.mu.Unlock()
	if !is {
		return nil
	}
	return do()
}

func (c *client) owns(id uint64) bool  { return id%uint64(c.c.Count) == c.number }
func (c *client) anybodys(uint64) bool { return true }
func (c *client) content() [32]byte    { return hashOf(c.r.Uint64(), 1) }
func (c *client) plainly() bool        { return c.r.IntN(2) == 0 }

// statement runs one statement that must touch exactly one row.
func statement(ctx context.Context, conn *sql.Conn, query string, args ...any) error {
	done, err := conn.ExecContext(ctx, query, args...)
	if isTaken(err) {
		return errSkipped
	}
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("an acknowledged row is lost: %.60q %v touched %d rows (%v)", query, args, n, err)
	}
	return nil
}

// lockFile is how half of the transactions begin. The others begin with a plain read, and so do not wait for each other.
func lockFile(id uint64, locks bool) func(context.Context, *sql.Conn) error {
	return func(ctx context.Context, conn *sql.Conn) error {
		query := "SELECT file_id FROM files WHERE file_id = ?"
		if locks {
			query += " FOR UPDATE"
		}
		found, err := numbers[uint64](ctx, conn, query, id)
		if err == nil && len(found) == 0 {
			return fmt.Errorf("an acknowledged row is lost: file %d", id)
		}
		return err
	}
}

// keep is what an application does that keeps the carried columns itself: the file's row is locked before its versions are looked
// at, as they are now.
func (c *client) keep(ctx context.Context, conn *sql.Conn, ids ...uint64) error {
	if !c.c.Keeps {
		return nil
	}
	for _, id := range ids {
		if err := lockFile(id, true)(ctx, conn); err != nil {
			return err
		}
		var v carriage
		var hash []byte
		err := conn.QueryRowContext(ctx, "SELECT version_id, version_no, size, hash FROM versions WHERE file_id = ? AND deleted_at IS NULL ORDER BY version_no DESC LIMIT 1 FOR UPDATE", id).Scan(&v.id, &v.no, &v.size, &hash)
		if v.is = err == nil; err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		carried := []any{nil, nil, nil, nil}
		if v.is {
			carried = []any{v.id, v.no, v.size, hash}
		}
		if _, err := conn.ExecContext(ctx, "UPDATE files SET latest_version_id = ?, latest_version_no = ?, latest_size = ?, latest_hash = ? WHERE file_id = ?", append(carried, id)...); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) addVersion(ctx context.Context, t *tenant) error {
	fileID, _, ok := t.anyFile(c.r, c.anybodys)
	if !ok {
		return nil
	}
	id, v := c.newID(), version{file: fileID, size: c.r.Uint64N(1e8), hash: c.content()}
	above, locks := 1+c.r.Uint32N(3), c.plainly()
	late := c.r.IntN(5) == 0 // a version with a lower number than the highest: it came late
	done, err := c.transact(ctx, t, "add version", lockFile(fileID, locks || c.c.Keeps), func(ctx context.Context, conn *sql.Conn) error {
		var most sql.Null[uint32]
		if err := conn.QueryRowContext(ctx, "SELECT MAX(version_no) FROM versions WHERE file_id = ?", fileID).Scan(&most); err != nil {
			return err
		}
		v.no = most.V + above
		if late && most.V > 1 {
			v.no = 1 + c.r.Uint32N(most.V)
		}
		if err := insertVersion(ctx, conn, t.id, id, v); err != nil {
			return err
		}
		return c.keep(ctx, conn, fileID)
	}, versionIs(id, &v))
	if done {
		t.setVersion(id, v)
	}
	return err
}

func insertVersion(ctx context.Context, conn *sql.Conn, tenant uint32, id uint64, v version) error {
	return statement(ctx, conn, "INSERT INTO versions (version_id, tenant_id, file_id, version_no, size, hash, author, made) VALUES (?, ?, ?, ?, ?, ?, 1, NOW(6))",
		id, tenant, v.file, v.no, v.size, v.hash[:])
}

// versionIs reads back whether the row is as it was written; want nil: whether it is gone.
func versionIs(id uint64, want *version) func(context.Context, *sql.Conn) (bool, error) {
	return func(ctx context.Context, conn *sql.Conn) (bool, error) {
		v, err := scanVersion(conn.QueryRowContext(ctx, "SELECT file_id, version_no, size, hash, deleted_at IS NOT NULL FROM versions WHERE version_id = ? FOR UPDATE", id))
		if errors.Is(err, sql.ErrNoRows) {
			return want == nil, nil
		}
		return want != nil && v == *want, err
	}
}

// changeVersion deletes, restores, replaces, moves or removes one of the client's versions.
func (c *client) changeVersion(ctx context.Context, t *tenant) error {
	id, old, ok := t.anyVersion(c.r, c.owns)
	if !ok {
		return nil
	}
	v, kind, want := old, "", (*version)(nil)
	var query string
	var args []any
	switch n := c.r.IntN(20); {
	case n < 3:
		kind, query, args = "remove version", "DELETE FROM versions WHERE version_id = ?", []any{id}
	case n < 5:
		other, _, ok := t.anyFile(c.r, c.anybodys)
		if !ok || other == old.file {
			return nil
		}
		v.file, v.no = other, old.no+c.r.Uint32N(4)
		kind, query, args = "move version", "UPDATE versions SET file_id = ?, version_no = ? WHERE version_id = ?", []any{v.file, v.no, id}
	case n < 9:
		v.size, v.hash = c.r.Uint64N(1e8), c.content()
		kind, query, args = "replace version", "UPDATE versions SET size = ?, hash = ? WHERE version_id = ?", []any{v.size, v.hash[:], id}
	case old.isDeleted:
		v.isDeleted = false
		kind, query, args = "restore version", "UPDATE versions SET deleted_at = NULL WHERE version_id = ?", []any{id}
	default:
		v.isDeleted = true
		kind, query, args = "delete version", "UPDATE versions SET deleted_at = NOW(6) WHERE version_id = ?", []any{id}
	}
	if kind != "remove version" {
		want = &v
	}
	done, err := c.transact(ctx, t, kind, lockFile(old.file, c.plainly() || c.c.Keeps), func(ctx context.Context, conn *sql.Conn) error {
		if err := statement(ctx, conn, query, args...); err != nil {
			return err
		}
		return c.keep(ctx, conn, touched(old.file, v.file)...)
	}, versionIs(id, want))
	if done && want == nil {
		t.removeVersion(id)
	} else if done {
		t.setVersion(id, v)
	}
	return err
}

func touched(a, b uint64) []uint64 {
	if a == b {
		return []uint64{a}
	}
	return []uint64{a, b}
}

func (c *client) renameFile(ctx context.Context, t *tenant) error {
	id, f, ok := t.anyFile(c.r, c.owns)
	if !ok {
		return nil
	}
	f.name = "renamed " + strconv.FormatUint(c.r.Uint64(), 36) + ".pdf"
	if c.r.IntN(2) == 0 {
		f.folder = t.folders[c.r.IntN(len(t.folders))]
	}
	done, err := c.transact(ctx, t, "rename file", lockFile(id, c.plainly()), func(ctx context.Context, conn *sql.Conn) error {
		return statement(ctx, conn, "UPDATE files SET folder_id = ?, name = ? WHERE file_id = ?", f.folder, f.name, id)
	}, fileIs(id, &f))
	if done {
		t.setFile(id, f)
	}
	return err
}

func fileIs(id uint64, want *file) func(context.Context, *sql.Conn) (bool, error) {
	return func(ctx context.Context, conn *sql.Conn) (bool, error) {
		var f file
		err := conn.QueryRowContext(ctx, "SELECT folder_id, name FROM files WHERE file_id = ? FOR UPDATE", id).Scan(&f.folder, &f.name)
		if errors.Is(err, sql.ErrNoRows) {
			return want == nil, nil
		}
		return want != nil && f == *want, err
	}
}

func (c *client) newFile(ctx context.Context, t *tenant) error {
	id, f := c.newID(), file{folder: t.folders[c.r.IntN(len(t.folders))], name: "new.pdf"}
	versionID, v := c.newID(), version{file: id, no: 1, size: c.r.Uint64N(1e8), hash: c.content()}
	done, err := c.transact(ctx, t, "new file", func(ctx context.Context, conn *sql.Conn) error {
		_, err := numbers[uint64](ctx, conn, "SELECT folder_id FROM folders WHERE folder_id = ?", f.folder)
		return err
	}, func(ctx context.Context, conn *sql.Conn) error {
		if err := statement(ctx, conn, "INSERT INTO files (file_id, tenant_id, folder_id, name, created) VALUES (?, ?, ?, ?, NOW(6))", id, t.id, f.folder, f.name); err != nil {
			return err
		}
		if err := insertVersion(ctx, conn, t.id, versionID, v); err != nil {
			return err
		}
		return c.keep(ctx, conn, id)
	}, fileIs(id, &f))
	if done {
		t.setFile(id, f)
		t.setVersion(versionID, v)
	}
	return err
}

// dropFile removes a file with its versions, whoever has written them: nobody else writes for the tenant meanwhile.
func (c *client) dropFile(ctx context.Context, t *tenant) error {
	id, _, ok := t.anyFile(c.r, c.anybodys)
	if !ok {
		return nil
	}
	done, err := c.transact(ctx, t, "remove file", lockFile(id, c.plainly()), func(ctx context.Context, conn *sql.Conn) error {
		if _, err := conn.ExecContext(ctx, "DELETE FROM versions WHERE file_id = ?", id); err != nil {
			return err
		}
		return statement(ctx, conn, "DELETE FROM files WHERE file_id = ?", id)
	}, fileIs(id, nil))
	if done {
		t.removeFile(id)
	}
	return err
}

func (c *client) dropTenant(ctx context.Context, t *tenant) error {
	if c.dropped.Add(1) > int64(c.c.DropTenants) {
		c.dropped.Add(-1)
		return nil
	}
	return c.exclusive(t, func() error {
		done, err := c.transact(ctx, t, "remove tenant", func(ctx context.Context, conn *sql.Conn) error {
			_, err := numbers[uint32](ctx, conn, "SELECT tenant_id FROM tenants WHERE tenant_id = ? FOR UPDATE", t.id)
			return err
		}, func(ctx context.Context, conn *sql.Conn) error {
			for _, table := range []string{"versions", "files", "folders", "tenants"} {
				if _, err := conn.ExecContext(ctx, "DELETE FROM "+table+" WHERE tenant_id = ?", t.id); err != nil {
					return err
				}
			}
			return nil
		}, func(ctx context.Context, conn *sql.Conn) (bool, error) {
			left, err := numbers[uint32](ctx, conn, "SELECT tenant_id FROM tenants WHERE tenant_id = ? FOR UPDATE", t.id)
			return len(left) == 0, err
		})
		if done {
			c.ledger.drop(t)
		}
		return err
	})
}
