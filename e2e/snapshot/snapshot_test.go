// Package snapshot writes tenants of a farm under load with the built program, from the side that is chosen.
package snapshot

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

func TestMain(m *testing.M) { farmtest.Main(m) }

const spec = `tenant: {table: tenants, key: tenant_id}
parent: {table: files, tenant: tenant_id}
child: {table: versions, parent: [file_id], counts: "deleted_at IS NULL", latest: [version_no DESC]}
carry: {latest_id: version_id, latest_size: size}
snapshot: {columns: [files.file_id, files.name, versions.size]}
`

var schema = []string{
	"CREATE TABLE tenants (tenant_id INT UNSIGNED PRIMARY KEY, latest_entry_migrated TINYINT NOT NULL DEFAULT 0, latest_entry_active TINYINT NOT NULL DEFAULT 0)",
	"CREATE TABLE files (file_id BIGINT UNSIGNED PRIMARY KEY, tenant_id INT UNSIGNED NOT NULL, name VARCHAR(255), latest_id BIGINT UNSIGNED, latest_size BIGINT UNSIGNED, KEY (tenant_id, file_id))",
	"CREATE TABLE versions (version_id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, file_id BIGINT UNSIGNED NOT NULL, version_no INT UNSIGNED NOT NULL, size BIGINT UNSIGNED, deleted_at DATETIME(6), UNIQUE (file_id, version_no))",
	"INSERT INTO tenants (tenant_id) VALUES (1), (2)",
	"INSERT INTO files (file_id, tenant_id, name) SELECT seq, 1 + seq % 2, CONCAT('f', seq) FROM seq_1_to_500",
	"INSERT INTO versions (version_id, file_id, version_no, size, deleted_at) SELECT f.seq * 10 + v.seq, f.seq, v.seq, f.seq * v.seq, IF(v.seq = 3 AND f.seq % 5 = 0, NOW(6), NULL) FROM seq_1_to_3 v JOIN seq_1_to_500 f",
	"UPDATE files p JOIN versions c ON c.file_id = p.file_id AND c.version_no = IF(p.file_id % 5, 3, 2) SET p.latest_id = c.version_id, p.latest_size = c.size",
}

// The tenant's rows come from the side that is free to be read, by the query that its flag says; what differs is named; sides that are fenced or do
// not follow are not read, and it is said which and why.
func TestSnapshotOfATenant(t *testing.T) {
	f := farmtest.StartShardFarm(t)
	_, fm, _, err := farmtest.FarmAccess(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	pair := fm.Pairs[0]
	shard := string(pair.Shards[0].Name)
	on := func(side farm.SideName, statements ...string) {
		t.Helper()
		db := f.Login(fm.Address(pair.Sides[side]), "stowage")
		defer db.Close()
		db.SetMaxOpenConns(1)
		for _, s := range append([]string{"USE `" + shard + "`"}, statements...) {
			if _, err := db.Exec(s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	both := func(statements ...string) {
		for _, side := range []farm.SideName{farm.A, farm.B} {
			on(side, append([]string{"SET sql_log_bin = 0"}, statements...)...)
		}
	}
	both(schema...)
	if err := os.MkdirAll(filepath.Join(f.Dir, "reshape"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.Dir, "reshape", "latest.yaml"), []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(code int, words string, more ...string) farmtest.Program {
		t.Helper()
		p := farmtest.RunProgram(t, "", append([]string{"snapshot", "-C", f.Dir, "--shard", shard}, more...)...)
		if p.Code != code || !strings.Contains(p.Stdout+p.Stderr, words) {
			t.Fatalf("snapshot %s: exit %d, want %d and %q\n%s%s", strings.Join(more, " "), p.Code, code, words, p.Stdout, p.Stderr)
		}
		return p
	}
	rows := run(farmtest.ExitFine, "normalised query (correlated), position ", "--tenant", "1")
	if n := strings.Count(rows.Stdout, "\n"); n != 250 || !strings.Contains(rows.Stdout, `{"file_id":10,"name":"f10","size":20}`) || !strings.Contains(rows.Stdout, `{"file_id":12,"name":"f12","size":36}`) {
		t.Errorf("%d lines, the first %.100s", n, rows.Stdout)
	}
	on(farm.A, "UPDATE tenants SET latest_entry_migrated = 1, latest_entry_active = 1 WHERE tenant_id = 1")
	file := filepath.Join(t.TempDir(), "rows.csv")
	var sum struct {
		Position, Query, Side string
		Rows, Bytes           int64
	}
	for deadline := time.Now().Add(time.Minute); sum.Query != "denormalised" && time.Now().Before(deadline); { // the flag comes to B by replication
		if err := json.Unmarshal([]byte(run(farmtest.ExitFine, "", "--tenant", "1", "--format", "csv", "--out", file, "--json").Stdout), &sum); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := csv.NewReader(strings.NewReader(string(raw))).ReadAll(); err != nil || len(got) != 251 || sum.Rows != 250 || sum.Bytes != int64(len(raw)) || sum.Query != "denormalised" || sum.Position == "" {
		t.Errorf("%d records, %+v, %v", len(got), sum, err)
	}
	run(farmtest.ExitFine, "both queries give the same rows", "--tenant", "2", "--compare")
	both("UPDATE files SET latest_size = 1 WHERE file_id = 100")
	run(farmtest.ExitFindings, `file_id=100 differs; normalised: file_id=100 name="f100" size=200; denormalised: file_id=100 name="f100" size=1`, "--tenant", "1", "--compare")
	run(farmtest.ExitRefused, "latest_entry_active is not set", "--tenant", "2", "--form", "denormalised")
	run(farmtest.ExitUsage, "there are: 1, 2", "--tenant", "3")
	run(farmtest.ExitUsage, "there are: 1, 2", "--tenant", "1x")

	// In chunks: killed after a while, wherever it is then, it goes on; nothing but the rows stays.
	dir := t.TempDir()
	state, chunked := filepath.Join(dir, "state"), filepath.Join(dir, "rows.jsonl")
	for delay := 40 * time.Millisecond; ; delay *= 2 {
		farmtest.KillAfter(t, delay, "snapshot", "-C", f.Dir, "--shard", shard, "--tenant", "2", "--chunks", "--state", state, "--out", chunked)
		if _, err := os.Stat(state); err == nil || delay > 5*time.Second {
			break
		}
		if _, err := os.Stat(chunked); err == nil {
			break // it was quicker
		}
	}
	on(farm.A, "UPDATE versions SET deleted_at = NOW(6) WHERE file_id = 11 AND version_no = 3")
	run(farmtest.ExitUsage, "it is of shard", "--tenant", "1", "--chunks", "--state", writeState(t, dir), "--out", chunked)
	run(farmtest.ExitFine, "position", "--tenant", "2", "--chunks", "--state", state, "--out", chunked, "--side", "A")
	if raw, err := os.ReadFile(chunked); err != nil || strings.Count(string(raw), "\n") != 250 || !strings.Contains(string(raw), `{"file_id":11,"name":"f11","size":22}`) {
		t.Errorf("%v: %d lines", err, strings.Count(string(raw), "\n"))
	}
	if left, _ := filepath.Glob(state + "*"); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}

	// A reader that has seen enough.
	cut := exec.Command("bash", "-c", `"$0" snapshot -C "$1" --shard "$2" --tenant 1 | head -n 1`, farmtest.LiveProgram(t), f.Dir, shard)
	if out, err := cut.Output(); err != nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("%v: %s", err, out)
	}

	on(farm.B, "SET GLOBAL read_only = 1")
	run(farmtest.ExitFine, "side B is fenced", "--tenant", "1", "--out", "/dev/null")
	on(farm.B, "SET GLOBAL read_only = 0")
	on(farm.A, "STOP SLAVE SQL_THREAD")
	run(farmtest.ExitFine, "side A does not replicate from its twin", "--tenant", "1", "--out", "/dev/null")
	on(farm.B, "STOP SLAVE SQL_THREAD")
	run(farmtest.ExitRefused, "no side can be read", "--tenant", "1", "--out", "/dev/null")
	run(farmtest.ExitFine, "reading side B", "--tenant", "1", "--out", "/dev/null", "--side", "B")
	on(farm.A, "START SLAVE SQL_THREAD")
	on(farm.B, "START SLAVE SQL_THREAD")
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(left) != 1 {
		t.Errorf("left over: %v", left)
	}
	f.CheckLedger()
}

// writeState is a state of another tenant.
func writeState(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "another")
	if err := os.WriteFile(path, []byte(`{"format_version": 1, "shard": "x", "tenant": "9", "spec": "latest", "progress": {"server_id": 1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
