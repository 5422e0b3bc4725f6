package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/internal/mariadbtest"
	"stowage/mysql/traffic"
	"stowage/store"
)

// A replay that writes leaves its audit trail: who had what sent where, each
// kind of statement and how often, and no value of it. One that only reads
// leaves none.
func TestReplayThatWritesLeavesATrail(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/workspace")); err != nil {
		t.Fatal(err)
	}
	candidate := mariadbtest.Start(t, "candidate")
	candidate.Exec(t, append(traffic.MarkerSQL("bin"), "CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, a VARCHAR(20))", "INSERT INTO shop.t VALUES (1, ''), (2, '')",
		"CREATE USER writer@'%' IDENTIFIED BY 'writer-canary'", "GRANT SELECT, INSERT, UPDATE, DELETE, ALTER, PROCESS, REPLICA MONITOR, REPLICATION MASTER ADMIN ON *.* TO writer@'%'")...)
	account := filepath.Join(dir, "writer.cnf")
	if err := os.WriteFile(account, []byte("[replay]\nuser = writer\npassword = writer-canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := recordedReads(t, dir, "SELECT a FROM t WHERE id = 1", "UPDATE t SET a = 'value-canary' WHERE id = 1", "UPDATE t SET a = 'value-canary' WHERE id = 2", "ALTER TABLE t ADD COLUMN b INT")
	play := func(args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		args = append([]string{"-C", dir, "replay", log, "--to", candidate.Address, "--speed", "max", "--defaults-file", account}, args...)
		if code := run(t.Context(), args, &out, &errs, nil); code != exitFine && code != exitFindings {
			t.Fatalf("%v: exit code %d\n%s\n%s", args, code, errs.String(), out.String())
		}
	}
	trail := filepath.Join(dir, ".stowage", "audit.jsonl")
	play()
	if _, err := os.Stat(trail); err == nil {
		t.Error("a replay of reads opened an audit trail")
	}
	play("--writes", "--throw-away", "bin")
	if a := candidate.Value(t, "SELECT COUNT(b) + SUM(a = 'value-canary') FROM shop.t"); a != "2" {
		t.Fatalf("the writes were not applied: %s", a)
	}
	raw, err := os.ReadFile(trail)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("-canary")) {
		t.Errorf("a value or a password is in the trail:\n%s", raw)
	}
	var logged, errs bytes.Buffer
	if code := run(t.Context(), []string{"-C", dir, "log", "--run", "replay-1", "--json"}, &logged, &errs, nil); code != exitFine {
		t.Fatalf("log: exit code %d\n%s", code, errs.String())
	}
	sent := map[string]int64{}
	for line := range strings.Lines(logged.String()) {
		var d store.Deed
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		if d.Who == "" || d.Kind == "statement" && d.Address != candidate.Address {
			t.Errorf("who, and where to? %s", line)
		}
		sent[d.Text] += max(1, d.Count)
	}
	for text, n := range map[string]int64{
		log + " --to " + candidate.Address + " --writes --throw-away bin": 1,
		"replays UPDATE t SET ...":                                        2,
		"replays ALTER TABLE t ...":                                       1,
	} {
		if sent[text] != n {
			t.Errorf("%q is there %d times, want %d: %v", text, sent[text], n, sent)
		}
	}
}
