package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/farm"
)

const hostsFile = `# the farm
farm: f
next_server_id: 1
host_types: {t: {cores: 1, disk: 2TB}, u: {cores: 2, disk: 2TB}}
hosts:
  # the old one
  - {name: h1,   type: t, address: 10.0.0.1, labels: {rack: r1}} # loud
  - name: h2
    type: t        # to be sold
    address: 10.0.0.2
pairs:
  - name: p1
    topology: active-active # both
    sides: {A: {host: h1, port: 1, datadir: /1}, B: {host: h2, port: 1, datadir: /1}}
    shards: [{name: s1, disk: 1GB}]
`

// TestSetHostKeepsTheRest: one value changes, and no comment, blank or order.
func TestSetHostKeepsTheRest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, farmFile)
	if err := os.WriteFile(path, []byte(hostsFile), 0o644); err != nil {
		t.Fatal(err)
	}
	w := &Workspace{Dir: dir}
	err := w.EditFarm(func(e *Edit) error {
		e.SetHost(farm.Host{Name: "h1", Type: "t", Address: "10.0.0.9", Labels: map[string]string{"rack": "r7"}})
		e.SetHost(farm.Host{Name: "h2", Type: "u", Address: "10.0.0.2"})
		e.SetTopology("p1", farm.PrimaryReplica)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("10.0.0.1,", "10.0.0.9,", "rack: r1", "rack: r7", "type: t        #", "type: u        #", "active-active", "primary-replica").Replace(hostsFile)
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for name, change := range map[string]func(*Edit){
		"a host that is not there": func(e *Edit) { e.SetHost(farm.Host{Name: "h9"}) },
		"a label without a place": func(e *Edit) {
			e.SetHost(farm.Host{Name: "h2", Type: "u", Address: "10.0.0.2", Labels: map[string]string{"a": "b"}})
		},
		"a type that is not there": func(e *Edit) { e.SetHost(farm.Host{Name: "h2", Type: "v", Address: "10.0.0.2"}) },
		"a pair that is not there": func(e *Edit) { e.SetTopology("p9", farm.Single) },
	} {
		if err := w.EditFarm(func(e *Edit) error { change(e); return nil }); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != want {
		t.Errorf("refused edits have changed the file: %v\n%s", err, after)
	}
}

// TestOptionsOfHostTypesAreWritten: into the options that a type has, spelled as they are there, or as its first; nothing else changes.
func TestOptionsOfHostTypesAreWritten(t *testing.T) {
	t.Parallel()
	const text = `farm: f
next_server_id: 1
host_types:
  t: {cores: 1, disk: 2TB, memory: 8GB} # no options yet
  u:
    cores: 2
    memory: 8GB
    options:
      innodb-io-capacity: 200 # disks
      innodb_buffer_pool_size: 50%
  v: {cores: 3, options: {innodb_flush_neighbors: 1}}
hosts: []
pairs: []
`
	dir := t.TempDir()
	path := filepath.Join(dir, farmFile)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	w := &Workspace{Dir: dir}
	err := w.EditFarm(func(e *Edit) error {
		e.SetHostTypeOption("t", "innodb_flush_method", "O_DIRECT")
		e.SetHostTypeOption("t", "innodb_flush_neighbors", "0")
		e.SetHostTypeOption("u", "innodb_io_capacity", "2000")
		e.SetHostTypeOption("u", "innodb_flush_neighbors", "0")
		e.SetHostTypeOption("v", "innodb_flush_neighbors", "0")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("memory: 8GB} # no", "memory: 8GB, options: {innodb_flush_method: O_DIRECT, innodb_flush_neighbors: 0}} # no", "capacity: 200 #", "capacity: 2000 #",
		"pool_size: 50%\n", "pool_size: 50%\n      innodb_flush_neighbors: 0\n", "{innodb_flush_neighbors: 1}", "{innodb_flush_neighbors: 0}").Replace(text)
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := w.EditFarm(func(e *Edit) error { e.SetHostTypeOption("x", "innodb_flush_neighbors", "0"); return nil }); err == nil {
		t.Error("a type that is not there has got an option")
	}
}
