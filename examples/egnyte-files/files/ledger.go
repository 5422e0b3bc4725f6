package files

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
)

// file and version are rows as their clients know them.
type file struct {
	folder uint64
	name   string
}

type version struct {
	file, size uint64
	no         uint32
	hash       [32]byte
	isDeleted  bool
}

// tenant is what must be in the tables. Whoever writes one row of it holds whole for reading; whoever removes files or all of it,
// for writing. mu guards the maps and slices.
type tenant struct {
	id       uint32
	whole    sync.RWMutex
	mu       sync.Mutex
	files    map[uint64]file
	versions map[uint64]version
	folders  []uint64
	fileIDs  []uint64 // some are gone from files
	newest   []uint64 // ids of versions; some are gone from versions
}

// ledger is what was acknowledged.
type ledger struct {
	shard   string
	mu      sync.Mutex
	tenants map[uint32]*tenant
	order   []uint32
	highest uint64 // id of a version or file
}

// readLedger takes over what the tables have.
func readLedger(ctx context.Context, db *sql.DB, shard string) (*ledger, error) {
	l := &ledger{shard: shard, tenants: map[uint32]*tenant{}}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if err := run(ctx, conn, "USE `"+shard+"`", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"); err != nil {
		return nil, err
	}
	l.order, err = numbers[uint32](ctx, conn, "SELECT tenant_id FROM tenants ORDER BY tenant_id")
	if err != nil {
		return nil, err
	}
	for _, id := range l.order {
		t := &tenant{id: id, files: map[uint64]file{}, versions: map[uint64]version{}}
		l.tenants[id] = t
		if t.folders, err = numbers[uint64](ctx, conn, "SELECT folder_id FROM folders WHERE tenant_id = ? ORDER BY folder_id", id); err != nil {
			return nil, err
		}
		if err := t.read(ctx, conn); err != nil {
			return nil, fmt.Errorf("tenant %d: %w", id, err)
		}
		t.fileIDs, t.newest = slices.Sorted(maps.Keys(t.files)), slices.Sorted(maps.Keys(t.versions))
		for _, ids := range [][]uint64{t.fileIDs, t.newest} {
			if len(ids) > 0 {
				l.highest = max(l.highest, ids[len(ids)-1])
			}
		}
	}
	return l, run(ctx, conn, "COMMIT")
}

func (t *tenant) read(ctx context.Context, conn *sql.Conn) (err error) {
	rows, err := conn.QueryContext(ctx, "SELECT file_id, folder_id, name FROM files WHERE tenant_id = ?", t.id)
	if err != nil {
		return err
	}
	for rows.Next() {
		var id uint64
		var f file
		if err := rows.Scan(&id, &f.folder, &f.name); err != nil {
			return errors.Join(err, rows.Close())
		}
		t.files[id] = f
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	rows, err = conn.QueryContext(ctx, "SELECT version_id, file_id, version_no, size, hash, deleted_at IS NOT NULL FROM versions WHERE tenant_id = ?", t.id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id uint64
		v, err := scanVersion(rows, &id)
		if err != nil {
			return err
		}
		t.versions[id] = v
	}
	return rows.Err()
}

func scanVersion(row interface{ Scan(...any) error }, first ...any) (v version, err error) {
	var hash []byte
	err = row.Scan(append(first, &v.file, &v.no, &v.size, &hash, &v.isDeleted)...)
	copy(v.hash[:], hash)
	return v, err
}

// pick is any tenant, nil where none is left.
func (l *ledger) pick(r *rand.Rand) *tenant {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.order) == 0 {
		return nil
	}
	return l.tenants[l.order[r.IntN(len(l.order))]]
}

// drop forgets a tenant that was deleted.
func (l *ledger) drop(t *tenant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.order = slices.DeleteFunc(l.order, func(id uint32) bool { return id == t.id })
	delete(l.tenants, t.id)
}

// anyFile is a file that is there and whose row belongs to the client, or anybody's where owner is nil.
func (t *tenant) anyFile(r *rand.Rand, owns func(id uint64) bool) (id uint64, f file, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return pickOf(r, &t.fileIDs, t.files, owns)
}

func (t *tenant) anyVersion(r *rand.Rand, owns func(id uint64) bool) (id uint64, v version, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return pickOf(r, &t.newest, t.versions, owns)
}

// pickOf prefers the end of the list: what is new is changed more often, and is the latest more often.
func pickOf[V any](r *rand.Rand, ids *[]uint64, rows map[uint64]V, owns func(uint64) bool) (id uint64, row V, ok bool) {
	for range 64 {
		n := len(*ids)
		if n == 0 {
			return 0, row, false
		}
		i := r.IntN(n)
		if r.IntN(2) == 0 {
			i = n - 1 - r.IntN(min(n, 20))
		}
		id = (*ids)[i]
		if row, ok = rows[id]; !ok {
			*ids = slices.Delete(*ids, i, i+1)
		} else if owns(id) {
			return id, row, true
		}
	}
	return 0, row, false
}

func (t *tenant) setFile(id uint64, f file) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, is := t.files[id]; !is {
		t.fileIDs = append(t.fileIDs, id)
	}
	t.files[id] = f
}

func (t *tenant) setVersion(id uint64, v version) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, is := t.versions[id]; !is {
		t.newest = append(t.newest, id)
	}
	t.versions[id] = v
}

func (t *tenant) removeVersion(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.versions, id)
}

func (t *tenant) removeFile(id uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.files, id)
	maps.DeleteFunc(t.versions, func(_ uint64, v version) bool { return v.file == id })
}

// Compare holds the tables of one server against what was acknowledged, while nobody writes: a row that is missing, one that
// should be gone, and one with other values. The carried columns are Check's business.
func (w *Writers) Compare(ctx context.Context, db *sql.DB) (faults []string, err error) {
	has, err := readLedger(ctx, db, w.c.Shard)
	if err != nil {
		return nil, fmt.Errorf("compare with what was acknowledged: %w", err)
	}
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	faults = differ(faults, "tenant", func(t *tenant) any { return t.id }, has.tenants, w.ledger.tenants)
	for id, want := range w.ledger.tenants {
		if t, is := has.tenants[id]; is {
			faults = differ(faults, fmt.Sprintf("tenant %d, file", id), func(f file) any { return f }, t.files, want.files)
			faults = differ(faults, fmt.Sprintf("tenant %d, version", id), func(v version) any { return v }, t.versions, want.versions)
		}
	}
	slices.Sort(faults)
	return faults, nil
}

func differ[K comparable, V any](faults []string, what string, value func(V) any, has, want map[K]V) []string {
	for id, w := range want {
		h, is := has[id]
		switch {
		case !is:
			faults = append(faults, fmt.Sprintf("%s %v is missing", what, id))
		case value(h) != value(w):
			faults = append(faults, fmt.Sprintf("%s %v is %+v, acknowledged was %+v", what, id, value(h), value(w)))
		}
	}
	for id := range has {
		if _, is := want[id]; !is {
			faults = append(faults, fmt.Sprintf("%s %v is there, and was removed", what, id))
		}
	}
	return faults
}
