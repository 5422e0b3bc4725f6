package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The plan of a class is asked for where it reads, never where it writes; and what an index changed is named in compare.
func TestDigestExplains(t *testing.T) {
	i := remembering(t, "explain", false)
	i.Exec(t, "INSERT INTO d.t WITH RECURSIVE n (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 900) SELECT k, k FROM n")
	dir := t.TempDir()
	var log strings.Builder
	for k := range 300 {
		for _, q := range []string{"SELECT id FROM t WHERE v = 7", "DELETE FROM t WHERE v = 7", "SELECT SLEEP(100) FROM t", "SELECT id FROM gone"} {
			fmt.Fprintf(&log, "# User@Host: app[app] @ h []\n# Thread_id: 5  Schema: d  QC_hit: No\n# Query_time: 0.01  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=%d;\n%s;\n", 1795000000+k, q)
		}
	}
	file := filepath.Join(dir, "slow.log")
	for name, text := range map[string]string{"slow.log": log.String(), "farm.yaml": "farm: one\nhost_types:\n  t: {cores: 2}\nhosts:\n  - {name: h1, type: t, address: 127.0.0.1}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stowage := func(arguments ...string) string {
		var out, said bytes.Buffer
		if code := run(t.Context(), append([]string{"digest", "-C", dir}, arguments...), &out, &said, nil); code != exitFine {
			t.Fatalf("%v: exit %d\n%s%s", arguments, code, out.String(), said.String())
		}
		return out.String()
	}
	login := loginFile(t)
	before := stowage(file, "--explain", i.Address, "--defaults-file", login, "--save", "before")
	if !strings.Contains(before, "plan      t: ALL, no index") || i.Value(t, "SELECT COUNT(*) FROM d.t") != "900" {
		t.Errorf("before: %s", before)
	}
	if n := strings.Count(before, "plan      not asked for"); n < 2 {
		t.Errorf("%d classes were not asked for; DELETE and the table that is gone must be\n%s", n, before)
	}
	i.Exec(t, "CREATE INDEX by_v ON d.t (v)")
	stowage(file, "--explain", i.Address, "--defaults-file", login, "--save", "after")
	if said := strings.Join(strings.Fields(stowage("compare", "before", "after")), " "); !strings.Contains(said, "plan: t ALL -> t ref by by_v") {
		t.Errorf("compare: %s", said)
	}
}
