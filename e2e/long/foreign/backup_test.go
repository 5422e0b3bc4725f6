package foreign

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"stowage/demo"
	"stowage/e2e/farmtest"
	"stowage/farm"
)

// TestForeignFarmIsBackedUp: servers that nobody of us made, with option files in their owners' ways, a schema of a film shop with a MyISAM table, everything
// in domain 0 at first, two that replicate by position. They are backed up, verified and restored under load, before and after each side has its own domain, and no file of theirs changes.
func TestForeignFarmIsBackedUp(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.RaiseForeign(t, demo.Options{Pairs: 3, Shards: 1, Hosts: 2, Rows: 50}, 40,
		farmtest.Machine{Name: "m1", Way: farmtest.ByMulti, Instances: []farm.InstanceName{"dbshard001a", "dbshard002a"}},
		farmtest.Machine{Name: "m2", Way: farmtest.BySuffix, Instances: []farm.InstanceName{"dbshard001b", "dbshard002b"}},
		farmtest.Machine{Name: "m3", Way: farmtest.AsDebian, Instances: []farm.InstanceName{"dbshard003a"}},
		farmtest.Machine{Name: "m4", Way: farmtest.AsDebian, Instances: []farm.InstanceName{"dbshard003b"}})
	f.Films("dbshard003a")
	f.InDomainZero()
	f.ByPosition("dbshard002a")
	f.ByPosition("dbshard002b")
	if err := f.StartClients(); err != nil {
		t.Fatal(err)
	}
	vault := filepath.Join(f.Dir, "vault")
	if err := os.Mkdir(vault, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.Dir, "farm.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "backup: {dir: "+vault+"}\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	f.Must("backup", "run")
	f.Must("backup", "verify")
	f.CheckFiles()
	separated(f)
	f.Must("backup", "run", "--full")
	time.Sleep(time.Second)
	f.Must("backup", "run", "--incremental")
	f.Must("backup", "binlogs")
	f.Must("backup", "verify")
	f.Must("restore", "dbshard003", "--latest")
	p, _ := f.Farm().Pair("dbshard003")
	shard := string(p.Shards[0].Name)
	f.Must("restore", "--shard", shard, "--latest", "--as", "films_then")
	if was, is := f.Kinds(p.Shards[0].Name), f.KindsIn(p.Shards[0].Name, "films_then"); !slices.Equal(was[1:], is[1:]) || is[0] != "events 0" { // its event names the shard
		t.Errorf("restored: %q of %q", is, was)
	}
	f.CheckFiles()
	f.CheckLedger()
}
