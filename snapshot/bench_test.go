package snapshot

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"stowage/internal/mariadbtest"
	"stowage/internal/mysqltest"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/snapshot/format"
)

// TestBenchBesideQuick measures a snapshot in each format beside `mariadb --quick`, which writes the same columns of the same query to a
// file, in turns. scripts/bench/snapshot.sh runs it and reads its lines: BENCH_SNAPSHOT is how many rows.
func TestBenchBesideQuick(t *testing.T) {
	rows, err := strconv.Atoi(os.Getenv("BENCH_SNAPSHOT"))
	if err != nil {
		t.Skip("BENCH_SNAPSHOT is not set: this is a measurement, not a test")
	}
	rounds := 3
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil {
		rounds = n
	}
	a := mariadbtest.Start(t, "a", "--innodb-buffer-pool-size=1G", "--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0")
	a.Exec(t, "CREATE DATABASE d CHARACTER SET utf8mb4", "USE d",
		"CREATE TABLE folders (folder_id BIGINT UNSIGNED PRIMARY KEY, path VARCHAR(700))",
		"CREATE TABLE files (file_id BIGINT UNSIGNED PRIMARY KEY, tenant_id INT UNSIGNED, folder_id BIGINT UNSIGNED, name VARCHAR(255), latest_version_id BIGINT UNSIGNED, latest_size BIGINT UNSIGNED, latest_hash BINARY(32), KEY (tenant_id, file_id))",
		"INSERT folders SELECT seq, CONCAT('/home/of/the/tenant/project ', seq, '/documents') FROM seq_1_to_1000",
		fmt.Sprintf("INSERT files SELECT seq, 1, 1 + seq %% 1000, CONCAT('report of the quarter ', seq, '.pdf'), seq * 10, seq * 4711, UNHEX(SHA2(seq, 256)) FROM seq_1_to_%d", rows),
		"CREATE TABLE tenants (tenant_id INT UNSIGNED PRIMARY KEY, migrated TINYINT, active TINYINT)", "INSERT tenants VALUES (1, 1, 1)",
		"ALTER TABLE files ADD KEY latest_by_tenant (tenant_id, latest_version_id)", "ANALYZE TABLE files, folders")
	const query = "SELECT o.path, f.name, f.file_id, f.latest_size AS size, f.latest_hash AS hash FROM d.files f JOIN d.folders o ON o.folder_id = f.folder_id WHERE f.tenant_id = %s AND f.latest_version_id IS NOT NULL"
	dir := t.TempDir()
	quick := func() time.Duration {
		out, err := os.Create(filepath.Join(dir, "quick"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("mariadb", "--no-defaults", "--quick", "--batch", "--host", a.Host, "--port", strconv.Itoa(a.Port), "--user", string(mariadbtest.Stowage), "-e", fmt.Sprintf(query, "1"))
		cmd.Env = append(os.Environ(), "MYSQL_PWD="+mariadbtest.Stowage.Password())
		cmd.Stdout, cmd.Stderr = out, os.Stderr
		began := time.Now()
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		_ = out.Close()
		return took
	}
	server := mysqltest.Open(t, a)
	ours := func(name string) time.Duration {
		out, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		began := time.Now()
		sum, err := Take(t.Context(), server, text(fmt.Sprintf(query, "?"), "1"), name, out, nil)
		if err != nil || sum.Rows != int64(rows) {
			t.Fatalf("%+v %v", sum, err)
		}
		return time.Since(began)
	}
	chunks := func() time.Duration {
		out, err1 := os.Create(filepath.Join(dir, "chunks"))
		spool, err2 := os.Create(filepath.Join(dir, "spool"))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		defer spool.Close()
		c := Chunked{Shape: benchShape, Shard: "d", Tenant: "1", Server: server, Spool: spool, Progress: Progress{ServerID: 4_000_000_009}, Keep: func(Progress) error { return nil }}
		began := time.Now()
		if sum, err := c.Run(t.Context(), out); err != nil || sum.Rows != int64(rows) {
			t.Fatalf("%+v %v", sum, err)
		}
		return time.Since(began)
	}
	quick() // the pool is filled
	for round := range rounds {
		line := fmt.Sprintf("round %d quick %.3f", round+1, quick().Seconds())
		for _, name := range format.Names {
			line += fmt.Sprintf(" %s %.3f", name, ours(name).Seconds())
		}
		fmt.Printf("%s chunks %.3f\n", line, chunks().Seconds()) // read by the script
	}
}

// benchShape is a spec of the same columns.
var benchShape = latest.Shape{Spec: spec.Spec{Tenant: spec.Tenant{Table: "tenants", Key: "tenant_id", Migrated: "migrated", Active: "active"},
	Parent: spec.Parent{Table: "files", Tenant: "tenant_id", Key: []string{"file_id"}}, Child: spec.Child{Table: "versions", Parent: []string{"file_id"}, Key: "version_id"},
	Carry:    []spec.Carry{{Column: "latest_version_id", From: "version_id"}, {Column: "latest_size", From: "size"}, {Column: "latest_hash", From: "hash"}},
	Snapshot: spec.Snapshot{Join: []spec.Join{{Table: "folders", On: map[string]string{"folder_id": "folder_id"}}}, Columns: []string{"folders.path", "files.name", "files.file_id", "versions.size", "versions.hash"}}}}
