package snapshot

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/mysql/rows"
	"stowage/reshape/spec"
)

// The case of a cloud file system: folders, files, versions.
var filesSchema = []string{
	"CREATE DATABASE fs1 CHARACTER SET utf8mb4", "USE fs1",
	"CREATE TABLE tenants (tenant_id INT UNSIGNED PRIMARY KEY, name VARCHAR(100))",
	"CREATE TABLE folders (folder_id BIGINT UNSIGNED PRIMARY KEY, tenant_id INT UNSIGNED NOT NULL, parent_id BIGINT UNSIGNED, path VARCHAR(700) NOT NULL, KEY (tenant_id))",
	"CREATE TABLE files (file_id BIGINT UNSIGNED PRIMARY KEY, tenant_id INT UNSIGNED NOT NULL, folder_id BIGINT UNSIGNED NOT NULL, name VARCHAR(255) NOT NULL, created DATETIME(6), KEY (tenant_id, file_id))",
	`CREATE TABLE versions (version_id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, tenant_id INT UNSIGNED NOT NULL, file_id BIGINT UNSIGNED NOT NULL, version_no INT UNSIGNED NOT NULL, size BIGINT UNSIGNED,
		hash BINARY(32), author INT UNSIGNED, made DATETIME(6), deleted_at DATETIME(6), UNIQUE (file_id, version_no), KEY (tenant_id, file_id, version_no))`,
	"INSERT INTO tenants VALUES (1, 'one'), (2, 'two'), (7, 'seven')",
	"INSERT INTO folders SELECT seq, 1 + seq % 2, NULL, CONCAT('/home/', seq, '/größe \"x\", 1') FROM seq_1_to_10",
	"INSERT INTO files SELECT seq, 1 + seq % 2, 1 + seq % 10, CONCAT('f', seq), NOW(6) FROM seq_1_to_2000",
	"INSERT INTO versions (tenant_id, file_id, version_no, size, hash, made, deleted_at) SELECT 1 + f.seq % 2, f.seq, v.seq, f.seq * v.seq, UNHEX(SHA2(f.seq * 10 + v.seq, 256)), NOW(6), IF((f.seq + v.seq) % 7 = 0, NOW(6), NULL)" +
		" FROM seq_1_to_5 v JOIN seq_1_to_1990 f",
}

var filesSpec = spec.Spec{Name: "latest-version", File: "reshape/latest-version.yaml",
	Tenant:   spec.Tenant{Table: "tenants", Key: "tenant_id", Migrated: "latest_entry_migrated", Active: "latest_entry_active"},
	Parent:   spec.Parent{Table: "files", Tenant: "tenant_id"},
	Child:    spec.Child{Table: "versions", Parent: []string{"file_id"}, Counts: "deleted_at IS NULL", Latest: []spec.Order{{Column: "version_no", Desc: true}}},
	Carry:    []spec.Carry{{Column: "latest_version_id", From: "version_id"}, {Column: "latest_size", From: "size"}, {Column: "latest_hash", From: "hash"}},
	Indexes:  []spec.Index{{Name: "latest_by_tenant", Columns: []string{"tenant_id", "latest_version_id"}}},
	Snapshot: spec.Snapshot{Join: []spec.Join{{Table: "folders", On: map[string]string{"folder_id": "folder_id"}}}, Columns: []string{"folders.path", "files.name", "files.file_id", "versions.size", "versions.hash"}},
}

// sorted are the lines of a snapshot.
func sorted(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(lines)
	return lines
}

// A tenant is read by the form that its flag says in the view; every form gives the same rows; Compare finds what was planted.
func TestTenantOfFiles(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "files")
	server, ctx := mysqltest.Open(t, i), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(server.Build(ctx, filesSchema))
	shape, err := ShapeOf(ctx, server, filesSpec, "fs1")
	must(err)

	before, sum := take(t, server, Of(shape, "fs1", "2", ""), "jsonl") // there are no carried columns, and no flags
	if sum.Form != latest.Correlated || sum.Rows < 900 || sum.Rows > 995 {
		t.Fatalf("before the reshape: %+v", sum)
	}
	tables, err := latest.Tables(ctx, server, "fs1", filesSpec.Names())
	must(err)
	must(server.Build(ctx, append([]string{"USE fs1"}, shape.AddColumns(tables)...)))
	session, err := shape.Open(ctx, server, nil)
	must(err)
	defer session.Close()
	for after := latest.Key(nil); ; {
		c, err := session.Fill(ctx, "fs1", "2", after, 300)
		must(err)
		if after = c.Last; after == nil {
			break
		}
	}
	if _, _, err := Of(shape, "fs1", "2", latest.Denormalised).Choose(ctx, viewOf(t, server)); !errors.Is(err, farm.ErrRefused) || !strings.Contains(err.Error(), "latest_entry_active is not set") {
		t.Errorf("denormalised before it is active: %v", err)
	}
	must(session.Set(ctx, "fs1", "2", map[string]bool{"latest_entry_migrated": true, "latest_entry_active": true}))
	for _, form := range append(shape.Forms(), "") {
		got, sum := take(t, server, Of(shape, "fs1", "2", form), "jsonl")
		if !slices.Equal(sorted(got), sorted(before)) {
			t.Errorf("form %q has other rows: %d bytes, was %d", form, len(got), len(before))
		}
		if form == "" && sum.Form != latest.Denormalised {
			t.Errorf("an active tenant is read by %s", sum.Form)
		}
	}
	c, err := Compare(ctx, server, shape, "fs1", "2")
	if err != nil || c.Different != 0 || c.Rows != sum.Rows {
		t.Errorf("%+v %v", c, err)
	}
	i.Exec(t, "UPDATE fs1.files SET latest_size = latest_size + 1 WHERE file_id = 777")
	c, err = Compare(ctx, server, shape, "fs1", "2")
	if err != nil || c.Different != 1 || len(c.Differences) != 1 || c.Differences[0].Key != "file_id=777" {
		t.Errorf("%+v %v", c, err)
	}
}

func viewOf(t *testing.T, server *mysql.Server) *rows.View {
	t.Helper()
	v, err := rows.Snapshot(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

// A tenant that is not there is named with those that are; 7x is not taken for 7, as the server would.
func TestUnknownTenant(t *testing.T) {
	t.Parallel()
	i := mariadbtest.Start(t, "files")
	server, ctx := mysqltest.Open(t, i), t.Context()
	if err := server.Build(ctx, filesSchema); err != nil {
		t.Fatal(err)
	}
	shape, err := ShapeOf(ctx, server, filesSpec, "fs1")
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckTenant(ctx, server, shape, "fs1", "7"); err != nil {
		t.Error(err)
	}
	for _, tenant := range []string{"8", "7x", "", "seven"} {
		if err := CheckTenant(ctx, server, shape, "fs1", tenant); !errors.Is(err, farm.ErrInput) || farm.Hint(err) != "there are: 1, 2, 7" {
			t.Errorf("%q: %v, %s", tenant, err, farm.Hint(err))
		}
	}
	if _, sum := take(t, server, Of(shape, "fs1", "7", ""), "csv"); sum.Rows != 0 || sum.Bytes == 0 {
		t.Errorf("a tenant without files: %+v", sum)
	}
	if _, err := Take(ctx, server, Of(shape, "fs1", "8", ""), "jsonl", io.Discard, nil); !errors.Is(err, latest.ErrNoTenant) {
		t.Errorf("a tenant that went away: %v", err)
	}
	wrong := filesSpec
	wrong.Child.Latest = []spec.Order{{Column: "size", Desc: true}}
	wrong.Lines = map[string]int{"child.latest": 9}
	if _, err := ShapeOf(ctx, server, wrong, "fs1"); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "reshape/latest-version.yaml:9") {
		t.Errorf("a spec that does not decide which child is the latest: %v", err)
	}
}
