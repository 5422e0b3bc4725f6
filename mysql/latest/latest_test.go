package latest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
	"stowage/reshape/spec"
)

var filesSchema = []string{
	"CREATE DATABASE fs1", "USE fs1",
	"CREATE TABLE tenants (tenant_id INT UNSIGNED PRIMARY KEY, name VARCHAR(100))",
	"CREATE TABLE folders (folder_id BIGINT UNSIGNED PRIMARY KEY, tenant_id INT UNSIGNED, path VARCHAR(700), KEY (tenant_id))",
	"CREATE TABLE files (file_id BIGINT UNSIGNED PRIMARY KEY, tenant_id INT UNSIGNED NOT NULL, folder_id BIGINT UNSIGNED, name VARCHAR(255), touched INT NOT NULL DEFAULT 0, KEY (tenant_id, file_id))",
	`CREATE TABLE versions (version_id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, tenant_id INT UNSIGNED NOT NULL, file_id BIGINT UNSIGNED NOT NULL, version_no INT UNSIGNED NOT NULL,
		size BIGINT UNSIGNED, hash BINARY(16), note VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, deleted_at DATETIME(6), UNIQUE (file_id, version_no))`,
	"INSERT INTO tenants VALUES (1, 'one'), (2, 'two')",
	"INSERT INTO folders SELECT seq, 1 + seq % 2, CONCAT('/', seq) FROM seq_1_to_10",
	"INSERT INTO files SELECT seq, 1 + seq % 2, 1 + seq % 10, CONCAT('f', seq), 0 FROM seq_1_to_2000",
	"INSERT INTO versions (tenant_id, file_id, version_no, size, hash, note, deleted_at) SELECT 1 + f.seq % 2, f.seq, v.seq, f.seq * v.seq, UNHEX(MD5(f.seq * 10 + v.seq)), CONCAT('ü', v.seq), IF((f.seq + v.seq) % 7 = 0, NOW(6), NULL) FROM seq_1_to_5 v JOIN seq_1_to_1990 f",
}

func filesSpec() spec.Spec {
	return spec.Spec{Name: "latest-version", File: "reshape/latest-version.yaml",
		Tenant:   spec.Tenant{Table: "tenants", Key: "tenant_id", Migrated: "latest_entry_migrated", Active: "latest_entry_active"},
		Parent:   spec.Parent{Table: "files", Tenant: "tenant_id"},
		Child:    spec.Child{Table: "versions", Parent: []string{"file_id"}, Counts: "deleted_at IS NULL", Latest: []spec.Order{{Column: "version_no", Desc: true}}},
		Carry:    []spec.Carry{{Column: "latest_id", From: "version_id"}, {Column: "latest_no", From: "version_no"}, {Column: "latest_size", From: "size"}, {Column: "latest_hash", From: "hash"}, {Column: "latest_note", From: "note"}},
		Indexes:  []spec.Index{{Name: "latest_by_tenant", Columns: []string{"tenant_id", "latest_id"}}},
		Keep:     spec.Triggers,
		Snapshot: spec.Snapshot{Join: []spec.Join{{Table: "folders", On: map[string]string{"folder_id": "folder_id"}}}, Columns: []string{"folders.path", "files.name", "files.file_id", "versions.size", "versions.hash", "versions.note"}},
	}
}

type stand struct {
	*testing.T
	i      *mariadbtest.Instance
	server *mysql.Server
	shape  Shape
	db     *sql.DB
}

// raise starts a server with the example's tables, columns and triggers.
func raise(t *testing.T) *stand {
	i := mariadbtest.Start(t, "files")
	s := &stand{T: t, i: i, server: mysql.Open("files", i.Address, mysqltest.Account(mariadbtest.Stowage), slog.New(slog.DiscardHandler))}
	t.Cleanup(func() { s.server.Close() })
	s.db = mysql.Through(s.server).DB()
	s.must(s.server.Build(t.Context(), filesSchema))
	tables := s.tables()
	s.shape = Shape{filesSpec().Complete(tables)}
	if found := s.shape.Check(tables); len(found) > 0 {
		t.Fatalf("a spec that fits is refused: %v", found)
	}
	s.build(s.shape.AddColumns(tables)...)
	return s
}

func (s *stand) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stand) build(statements ...string) {
	s.Helper()
	s.must(s.server.Build(s.Context(), append([]string{"USE fs1"}, statements...)))
}

func (s *stand) tables() spec.Tables {
	s.Helper()
	t, err := Tables(s.Context(), s.server, "fs1", filesSpec().Names())
	s.must(err)
	return t
}

func (s *stand) triggers() {
	s.Helper()
	for _, tr := range s.shape.Triggers(s.tables()) {
		s.build(tr.Create)
	}
}

func (s *stand) session() *Session {
	s.Helper()
	x, err := s.shape.Open(s.Context(), s.server, nil)
	s.must(err)
	s.Cleanup(x.Close)
	return x
}

// A tenant's row that others write all the time does not keep its flags from being set: of it the newest counts, and not the view in which rows were compared.
func TestFlagsOfATenantThatIsWritten(t *testing.T) {
	s := raise(t)
	s.build("ALTER TABLE tenants ADD COLUMN seen INT NOT NULL DEFAULT 0", "SET GLOBAL innodb_snapshot_isolation = ON") // as MariaDB 11.8 begins
	s.triggers()
	s.fill(s.session(), "1", 500)
	x := s.session()
	s.must(x.within(t.Context(), true, func() error {
		if v, err := x.compare(t.Context(), "fs1", "1", "", shownKeys); err != nil || v.Mismatches > 0 || v.Rows == 0 {
			t.Errorf("%+v %v", v, err)
		}
		s.build("UPDATE tenants SET seen = seen + 1 WHERE tenant_id = 1")
		return x.set(t.Context(), "fs1", "1", map[string]bool{"latest_entry_active": true})
	}))
	var seen, active int
	s.must(s.db.QueryRowContext(t.Context(), "SELECT seen, latest_entry_active FROM fs1.tenants WHERE tenant_id = 1").Scan(&seen, &active))
	if seen != 1 || active != 1 {
		t.Errorf("seen %d, active %d", seen, active)
	}
}

// fill fills a tenant in; what clients hold is tried again.
func (s *stand) fill(x *Session, tenant string, n int) (busy int) {
	s.Helper()
	for after := Key(nil); ; {
		c, err := x.Fill(s.Context(), "fs1", tenant, after, n)
		if errors.Is(err, ErrBusy) {
			busy++
			continue
		}
		s.must(err)
		if after = c.Last; after == nil {
			return busy
		}
	}
}

func (s *stand) rows(f Form) []string {
	s.Helper()
	rows, err := s.db.QueryContext(s.Context(), s.shape.Query("fs1", f, f != Grouped), "2")
	s.must(err)
	defer rows.Close()
	var out []string
	for rows.Next() {
		v := make([]sql.NullString, 6)
		s.must(rows.Scan(&v[0], &v[1], &v[2], &v[3], &v[4], &v[5]))
		out = append(out, fmt.Sprint(v))
	}
	s.must(rows.Err())
	return out
}

func TestFillFlagsAndQueries(t *testing.T) {
	t.Parallel()
	s := raise(t)
	x := s.session()
	if v, err := x.Verify(t.Context(), "fs1", "2", map[string]bool{"latest_entry_migrated": true}); !errors.Is(err, ErrMismatch) || v.Mismatches == 0 || len(v.Keys) != shownKeys {
		t.Fatalf("rows that are not filled in are taken for right: %+v, %v", v, err)
	}
	s.triggers()
	s.fill(x, "2", 300)
	v, err := x.Verify(t.Context(), "fs1", "2", map[string]bool{"latest_entry_migrated": true})
	s.must(err)
	if v.Rows != 1000 || v.Mismatches != 0 {
		t.Errorf("compared: %+v", v)
	}
	flags, err := s.shape.Flags(t.Context(), s.server, "fs1", s.tables()["tenants"])
	s.must(err)
	if want := []Flags{{"1", false, false}, {"2", true, false}}; fmt.Sprint(flags) != fmt.Sprint(want) {
		t.Errorf("flags: %v, want %v", flags, want)
	}
	if _, err := x.Verify(t.Context(), "fs1", "3", map[string]bool{"latest_entry_migrated": true}); !errors.Is(err, ErrNoTenant) {
		t.Errorf("a tenant that is not there: %v", err)
	}
	want := s.rows(Correlated)
	if len(want) < 900 {
		t.Fatalf("%d rows", len(want))
	}
	if got := s.rows(Denormalised); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Error("the denormalised query gives other rows")
	}
	seen := map[string]bool{}
	for _, r := range s.rows(Grouped) {
		seen[r] = true
	}
	for _, r := range want {
		if !seen[r] {
			t.Fatalf("the grouped query lacks %s", r)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("the grouped query gives %d rows, want %d", len(seen), len(want))
	}
}

// One change after the other: what triggers must keep up with.
func TestTriggersKeepUp(t *testing.T) {
	t.Parallel()
	s := raise(t)
	s.triggers()
	x := s.session()
	s.fill(x, "1", 900)
	s.fill(x, "2", 900)
	for _, st := range []string{
		"INSERT INTO versions (tenant_id, file_id, version_no, size) VALUES (1, 2, 9, 1), (1, 4, 8, 2), (1, 4, 7, 3)",
		"UPDATE versions SET deleted_at = NOW(6) WHERE file_id = 2 AND version_no = 9",
		"UPDATE versions SET deleted_at = NULL WHERE file_id = 2",
		"DELETE FROM versions WHERE file_id = 4 AND version_no > 6",
		"UPDATE versions SET size = size + 1 WHERE file_id < 100",
		"UPDATE versions SET file_id = 1995 WHERE file_id = 10",
		"DELETE FROM versions WHERE file_id = 12",
		"INSERT INTO versions (tenant_id, file_id, version_no, size) VALUES (1, 3000, 1, 77)",
		"INSERT INTO files (file_id, tenant_id, name) VALUES (3000, 1, 'after its versions')",
		"UPDATE files SET file_id = 3001 WHERE file_id = 14",
		"REPLACE INTO files (file_id, tenant_id, name) VALUES (16, 1, 'replaced')",
		"REPLACE INTO versions (tenant_id, file_id, version_no, size) VALUES (1, 18, 5, 99)",
		"INSERT INTO versions (tenant_id, file_id, version_no, size) VALUES (1, 20, 5, 98) ON DUPLICATE KEY UPDATE size = 98, version_no = 6",
		"UPDATE versions v JOIN tenants t USING (tenant_id) SET v.deleted_at = NOW(6) WHERE file_id IN (22, 24)",
		"UPDATE versions SET version_no = version_no + 100 WHERE file_id = 26 ORDER BY version_no DESC",
		"DELETE FROM versions WHERE tenant_id = 2",
	} {
		s.build(st)
		for _, tenant := range []string{"1", "2"} {
			v, err := x.Verify(t.Context(), "fs1", tenant, nil)
			s.must(err)
			if v.Mismatches > 0 {
				t.Fatalf("after %s: files %v of tenant %s do not say what their versions do", st, v.Keys, tenant)
			}
		}
	}
	var warned int
	conn, err := s.db.Conn(t.Context())
	s.must(err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "DELETE FROM fs1.versions WHERE file_id = 28")
	s.must(err)
	s.must(conn.QueryRowContext(t.Context(), "SELECT @@warning_count").Scan(&warned))
	if warned > 0 {
		t.Errorf("a client gets %d warnings of a trigger", warned)
	}
}

// Clients write children and parents of the rows that are filled in: none of them may lose a write or be the victim of a deadlock because of it.
func TestFillBesideWriters(t *testing.T) {
	t.Parallel()
	s := raise(t)
	s.triggers()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var touched, written atomic.Int64
	for c := range 4 {
		wg.Go(func() {
			dice := rand.New(rand.NewPCG(7, uint64(c)))
			db, err := sql.Open("mysql", string(mariadbtest.Stowage)+":"+mariadbtest.Stowage.Password()+"@tcp("+s.i.Address+")/fs1")
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			for n := 0; ctx.Err() == nil; n++ {
				// One file a transaction, in turns that no two clients share: what deadlocks there are, are ours.
				file := 1 + 4*dice.IntN(490) + c
				tx, err := db.BeginTx(t.Context(), nil)
				if err == nil {
					_, err = tx.Exec("UPDATE files SET touched = touched + 1 WHERE file_id = ?", file)
				}
				if err == nil {
					switch dice.IntN(3) {
					case 0:
						_, err = tx.Exec("INSERT INTO versions (tenant_id, file_id, version_no, size) SELECT ?, ?, MAX(version_no) + 1, ? FROM versions WHERE file_id = ?", 1+file%2, file, n, file)
					case 1:
						_, err = tx.Exec("UPDATE versions SET deleted_at = IF(deleted_at IS NULL, NOW(6), NULL) WHERE file_id = ? ORDER BY version_no DESC LIMIT 1", file)
					default:
						_, err = tx.Exec("DELETE FROM versions WHERE file_id = ? AND version_no > 5 ORDER BY version_no DESC LIMIT 1", file)
					}
				}
				if err == nil {
					err = tx.Commit()
				}
				if err != nil {
					t.Errorf("client %d: %v", c, err)
					return
				}
				touched.Add(1)
				written.Add(1)
			}
		})
	}
	x := s.session()
	busy := 0
	for range 6 {
		for _, tenant := range []string{"1", "2"} {
			busy += s.fill(x, tenant, 50)
			v, err := x.Verify(t.Context(), "fs1", tenant, nil)
			s.must(err)
			if v.Mismatches > 0 {
				t.Errorf("beside writers: %v", v)
			}
		}
		_, err := s.db.ExecContext(t.Context(), "UPDATE fs1.files SET latest_size = 0, latest_id = NULL WHERE file_id > 1960") // nobody writes these
		s.must(err)
	}
	stop()
	wg.Wait()
	var sum int64
	s.must(s.db.QueryRowContext(t.Context(), "SELECT SUM(touched) FROM fs1.files").Scan(&sum))
	if sum != touched.Load() {
		t.Errorf("clients touched %d times, files say %d: a write was lost", touched.Load(), sum)
	}
	t.Logf("%d transactions of clients, %d times a chunk was busy", written.Load(), busy)
}

func TestFlagOfATenant(t *testing.T) {
	t.Parallel()
	s := raise(t)
	x := s.session()
	s.must(x.Set(t.Context(), "fs1", "1", map[string]bool{"latest_entry_migrated": true, "latest_entry_active": true}))
	f, err := s.shape.Flag(t.Context(), s.db, "fs1", "1")
	s.must(err)
	if !f.Migrated || !f.Active {
		t.Errorf("flags %+v", f)
	}
	if _, err := s.shape.Flag(t.Context(), s.db, farm.ShardName("fs1"), "9"); !errors.Is(err, ErrNoTenant) {
		t.Errorf("no tenant: %v", err)
	}
	x.May = func(context.Context) error { return errors.New("somebody else serves it") }
	if err := x.Set(t.Context(), "fs1", "1", map[string]bool{"latest_entry_active": false}); err == nil {
		t.Error("a flag was set where the tenant is not served any more")
	}
	f, err = s.shape.Flag(t.Context(), s.db, "fs1", "1")
	s.must(err)
	if !f.Active {
		t.Error("it was set all the same")
	}
}
