package preflight

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"stowage/e2e/farmtest"
	"stowage/farm"
)

// dense gives the type of the new hosts options.
func dense(t *testing.T, f *farmtest.LiveFarm, options string) {
	t.Helper()
	raw, err := os.ReadFile(f.Path("farm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^(  r630-ssd: \{.*?)(, options: \{.*\})?\}`).ReplaceAllString(string(raw), "${1}, options: {"+options+"}}")
	if err := os.WriteFile(f.Path("farm.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A new instance starts with what its host's type says, and keeps the rest of
// the old one's tuning; on the way back it has what it had.
func TestInstancesHaveTheOptionsOfTheirHostType(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	old := f.Value(farm.A, "SELECT CONCAT_WS(' ', @@innodb_buffer_pool_size, @@innodb_io_capacity, @@innodb_log_file_size, @@max_connections)")
	dense(t, f, "innodb_buffer_pool_size: 48M, innodb-io-capacity: 321, aria_pagecache_buffer_size: 0.01%")
	f.Must("plan", "--name", "sized")
	f.Must("move", "sized")
	rest := strings.Fields(old)[2:]
	for _, side := range []farm.SideName{farm.A, farm.B} {
		got := strings.Fields(f.Value(side, "SELECT CONCAT_WS(' ', @@innodb_buffer_pool_size, @@innodb_io_capacity, @@innodb_log_file_size, @@max_connections)"))
		if got[0] != "50331648" || got[1] != "321" || got[2] != rest[0] || got[3] != rest[1] {
			t.Errorf("side %s: %v, before %s", side, got, old)
		}
	}
	f.CheckWhole()
}

// An option that a move, or the pair, decides is refused with its line; caches
// that the host does not hold are a blocker, and nothing is touched.
func TestCachesMustFit(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.StartFarm(t)
	before := f.Places()
	dense(t, f, "read_only: 1, innodb_buffer_pool_size: 9000G, sort_buffer_size: 5%")
	p := farmtest.RunProgram(t, "", "plan", "--name", "wrong", "-C", f.Dir)
	for _, want := range []string{"farm.yaml:", "must not set read_only: a move sets it", "one instance of host type r630-ssd would have", "sort_buffer_size of host type r630-ssd is a share"} {
		if p.Code != farmtest.ExitUsage || !strings.Contains(p.Stderr, want) {
			t.Errorf("exit %d, want %d and %q\n%s", p.Code, farmtest.ExitUsage, want, p.Stderr)
		}
	}
	raw, err := os.ReadFile(f.Path("farm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^(  r630-ssd: \{.*)memory: [^,]+(.*?), options: \{.*\}\}`).ReplaceAllString(string(raw), "${1}memory: 5MB${2}}")
	text = regexp.MustCompile(`memory: \d+[KMG]i?B, cpu`).ReplaceAllString(text, "memory: 1MB, cpu")
	if err := os.WriteFile(f.Path("farm.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	f.Must("plan", "--name", "tight")
	p = farmtest.RunProgram(t, "", "move", "tight", "-C", f.Dir)
	if p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "its caches would have") || f.Places() != before {
		t.Errorf("exit %d, want %d and the caches named\n%s", p.Code, farmtest.ExitRefused, p.Stderr)
	}
}
