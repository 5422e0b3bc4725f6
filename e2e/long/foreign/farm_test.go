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

// ten are the owners of the farm's ten servers, and how they start them.
var ten = []farmtest.Machine{
	{Name: "m1", Way: farmtest.ByMulti, Instances: []farm.InstanceName{"dbshard001a", "dbshard002a"}},
	{Name: "m2", Way: farmtest.ByMulti, Instances: []farm.InstanceName{"dbshard001b", "dbshard002b"}},
	{Name: "m3", Way: farmtest.BySuffix, Instances: []farm.InstanceName{"dbshard003a", "dbshard004a"}},
	{Name: "m4", Way: farmtest.BySuffix, Instances: []farm.InstanceName{"dbshard003b", "dbshard004b"}},
	{Name: "m5", Way: farmtest.AsDebian, Instances: []farm.InstanceName{"dbshard005a"}},
	{Name: "m6", Way: farmtest.AsDebian, Instances: []farm.InstanceName{"dbshard005b"}},
}

// TestForeignFarmIsMovedAndBackAndMoved: ten servers that nobody of us made,
// under load all the time, from the first question to the second move. Every
// option file of theirs is afterwards as it was, byte for byte, and no server that
// has retired comes up when somebody starts it by mistake.
func TestForeignFarmIsMovedAndBackAndMoved(t *testing.T) {
	f := farmtest.RaiseForeign(t, demo.Options{Pairs: 5, Shards: 1, Hosts: 3, Rows: 50}, 40, ten...)
	f.Films("dbshard003a")
	f.InDomainZero()
	f.ByPosition("dbshard004a")
	f.ByPosition("dbshard004b")
	if err := f.StartClients(); err != nil {
		t.Fatal(err)
	}
	own := f.Farm()
	f.Discovered()
	for name, i := range f.Places {
		if s := f.SideAt(i.Dial()); s.Config != i.Config || s.GroupSuffix != i.GroupSuffix {
			t.Errorf("%s: discovered with config %s and suffix %q, is %s and %q", name, s.Config, s.GroupSuffix, i.Config, i.GroupSuffix)
		}
	}
	f.AddHosts(own)
	separated(f)
	f.Must("inventory")
	f.Must("plan", "--name", "first")
	// What does not go, is said before anything begins, with what to do.
	p := farmtest.RunProgram(t, "", "move", "first", "-C", f.Dir)
	if p.Code != farmtest.ExitRefused || !strings.Contains(p.Stdout+p.Stderr, "film_text") {
		t.Fatalf("a MyISAM table: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	f.CheckFiles()
	f.Do("dbshard003a", "ALTER TABLE etsy_shard_0003.film_text ENGINE = InnoDB")

	f.Must("move", "first")
	f.CheckFiles()
	for _, name := range f.Names() {
		f.StaysRetired(name)
	}
	p = farmtest.RunProgram(t, "", "undo", "-C", f.Dir)
	if p.Code != farmtest.ExitFine {
		t.Fatalf("undo: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	f.Must("move", "undo-first")
	for name, i := range f.Places {
		if s := f.SideAt(i.Dial()); s.Port == 0 {
			t.Errorf("%s is not back at %s", name, i.Dial())
		}
	}
	f.Must("plan", "--name", "again")
	for _, h := range own.Hosts { // what was taken back has left its files
		if h.Type == "r630-ssd" {
			if err := os.RemoveAll(filepath.Join(f.Dir, h.Dir)); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.Must("move", "again")
	f.CheckFiles()
	f.CheckLedger()
	if got, want := strings.Join(f.Kinds("etsy_shard_0003"), " "), "events 1 films 1000 text 1000 view 1000"; got != want {
		t.Errorf("of the films there are %s, want %s", got, want)
	}
}

// separated gives each side a domain of its own, by the verb that the messages
// name: what it writes into option files is what was asked for, and theirs from
// here on. Clients reconnect when it names them.
func separated(f *farmtest.Foreign) {
	t := f.T
	t.Helper()
	if p := farmtest.RunProgram(t, "", "inventory", "-C", f.Dir); !strings.Contains(p.Stdout+p.Stderr, "stowage domains") {
		t.Errorf("inventory of a farm in domain 0 does not name the verb: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	if p := farmtest.RunProgram(t, "", "domains", "separate", "--wait", "2s", "-C", f.Dir); p.Code != farmtest.ExitRefused || !strings.Contains(p.Stderr, "app from 127.0") {
		t.Fatalf("clients that keep their connections: exit %d\n%s%s", p.Code, p.Stdout, p.Stderr)
	}
	f.Reconnect()
	f.Must("domains", "separate", "--wait", "2m")
	f.FilesAreTheirs()
}

// TestFarmInDomainZeroIsSeparatedAndMoved: what keeps servers that nobody has prepared
// from being moved is said of all of them before anything begins, and nothing of
// theirs is touched. The verb that it names is the way out.
func TestFarmInDomainZeroIsSeparatedAndMoved(t *testing.T) {
	t.Parallel() // it mostly waits
	f := farmtest.RaiseForeign(t, demo.Options{Pairs: 2, Shards: 1, Hosts: 2, Rows: 50}, 40,
		farmtest.Machine{Name: "m1", Way: farmtest.ByMulti, Instances: []farm.InstanceName{"dbshard001a", "dbshard002a"}},
		farmtest.Machine{Name: "m2", Way: farmtest.BySuffix, Instances: []farm.InstanceName{"dbshard001b", "dbshard002b"}})
	f.InDomainZero()
	f.ByPosition("dbshard002a")
	f.ByPosition("dbshard002b")
	if err := f.StartClients(); err != nil {
		t.Fatal(err)
	}
	f.Must("plan", "--name", "first")
	for _, args := range [][]string{{"--dry-run"}, nil} {
		p := farmtest.RunProgram(t, "", append([]string{"move", "first", "-C", f.Dir}, args...)...)
		said := strings.Join(strings.Fields(p.Stdout+p.Stderr), " ")
		if p.Code != farmtest.ExitRefused {
			t.Errorf("%v: exit %d\n%s", args, p.Code, said)
		}
		for _, want := range []string{"gtid_strict_mode is OFF, must be ON", "has GTID domain 0, as", "dbshard002a: it replicates by file and position", "dbshard002b: it replicates by file and position"} {
			if !strings.Contains(said, want) {
				t.Errorf("%v: it does not say %q:\n%s", args, want, said)
			}
		}
	}
	f.CheckFiles()
	separated(f)
	f.Must("move", "first")
	f.CheckFiles()
	f.CheckLedger()
}
