package foreign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/demo"
	"stowage/e2e/farmtest"
	"stowage/farm"
)

// TestForeignFarmIsAltered: tables of servers that nobody of us made, in shared option files, with views and triggers on them. What keeps a pair from being altered is said before
// anything begins; afterwards every option file is as it was, byte for byte.
func TestForeignFarmIsAltered(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.RaiseForeign(t, demo.Options{Pairs: 2, Shards: 1, Hosts: 2, Rows: 50}, 40,
		farmtest.Machine{Name: "m1", Way: farmtest.ByMulti, Instances: []farm.InstanceName{"dbshard001a", "dbshard002a"}},
		farmtest.Machine{Name: "m2", Way: farmtest.BySuffix, Instances: []farm.InstanceName{"dbshard001b", "dbshard002b"}})
	f.Films("dbshard001a")
	f.InDomainZero()
	f.Column = "colour"
	if err := f.StartClients(); err != nil {
		t.Fatal(err)
	}
	alter := func(code int, want, statement string, more ...string) {
		t.Helper()
		script := filepath.Join(t.TempDir(), "change.sql")
		if err := os.WriteFile(script, []byte(statement+";\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		p := farmtest.RunProgram(t, "", append([]string{"alter", script, "--yes", "-C", f.Dir}, more...)...)
		if p.Code != code || !strings.Contains(p.Stdout+p.Stderr, want) {
			t.Fatalf("alter %s: exit %d, want %d and %q\n%s%s", statement, p.Code, code, want, p.Stdout, p.Stderr)
		}
	}
	add := "ALTER TABLE receipts ADD COLUMN colour BIGINT NOT NULL DEFAULT -7"
	alter(farmtest.ExitRefused, "stowage domains", add)
	f.CheckFiles()
	separated(f)
	alter(farmtest.ExitRefused, "the shard has no such table", "ALTER TABLE film COMMENT 'films'")
	alter(farmtest.ExitRefused, "trigger", "ALTER TABLE film MODIFY title VARCHAR(300) NOT NULL", "--shards", "etsy_shard_0001")
	f.CheckFiles()

	alter(farmtest.ExitFine, "2 of 2 pairs", add)
	alter(farmtest.ExitFine, "1 of 1 pair", "CREATE INDEX of_title ON film (title)", "--shards", "etsy_shard_0001")
	alter(farmtest.ExitFine, "2 of 2 pairs", "ALTER TABLE receipts MODIFY amount BIGINT NOT NULL")
	f.CheckFiles()
	f.CheckLedger()
}
