package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"stowage/farm"
	"stowage/internal/raced"
	"stowage/workspace"
)

// named is what completion shows of a farm.
func named(f *farm.Farm) (out []string) {
	for _, t := range f.HostTypes {
		out = append(out, "type "+string(t.Name))
	}
	for _, h := range f.Hosts {
		out = append(out, fmt.Sprintf("host %s of %s", h.Name, h.Type))
	}
	for _, p := range f.Pairs {
		for _, s := range p.SideNames() {
			out = append(out, fmt.Sprintf("side %s on %s", p.Instance(s), p.Sides[s].Host))
		}
		for _, s := range p.Shards {
			out = append(out, fmt.Sprintf("shard %s in %s", s.Name, p.Name))
		}
	}
	return out
}

const blockFarm = `# as a person types it
farm: typed
next_server_id: 9
host_types:
    old: # the first
        max_instances: 2
    "new": {max_instances: 6, watts: 250}
hosts:
- name: db1
  type: old
  address: 127.0.0.1
  labels: {name: rack}
- address: 127.0.0.2   # in another order
  name: 'db2'  # a remark
  type: new
- {address: 127.0.0.3, type: new, name: "db3"}

pairs:
- name: shop
  topology: primary-replica
  sides:
    A:
      host: db1
      port: 3306
      datadir: /srv/a
    B: {port: 3306, host: db2, datadir: /srv/b}
    C: {host: db3, port: 3306, datadir: /srv/c}
  shards:
  - {disk: 1GB, name: shop}
  - name: shop2
    disk: 1GB
- name: solo
  topology: single
  sides: 
    A: {host: db3, port: 3307, datadir: /srv/d}
  shards:
    - {name: solo, customer: name}
`

// The scan of a large file finds the names that parsing it finds.
func TestScannedNamesAreThoseOfTheFarm(t *testing.T) {
	files := map[string]string{"typed": blockFarm, "large": largeFarm()}
	for _, path := range []string{"../examples/etsy-2016/farm.yaml", "../cmd/stowage/testdata/workspace/farm.yaml"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = string(text)
	}
	if raced.On {
		delete(files, "large") // half a minute; without the race detector it is a second
	}
	for name, text := range files {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := workspace.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := w.FarmNames(len(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		scanned, err := w.FarmNames(0)
		if err != nil {
			t.Fatal(err)
		}
		want, got := named(parsed), named(scanned)
		if len(got) != len(want) {
			t.Errorf("%s: %d names, want %d", name, len(got), len(want))
		}
		for n := range min(len(got), len(want)) {
			if got[n] != want[n] {
				t.Errorf("%s: %q, want %q", name, got[n], want[n])
				break
			}
		}
	}
}

// BenchmarkFarmNames100000Shards is what a shell waits for between two keys: it must stay under 100 ms for 1.5 MB, which is a tenth of this.
func BenchmarkFarmNames100000Shards(b *testing.B) {
	w := largeWorkspace(b)
	for b.Loop() {
		if _, err := w.FarmNames(0); err != nil {
			b.Fatal(err)
		}
	}
}
