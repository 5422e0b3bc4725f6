package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stowage/farm"
)

const fuzzedInventory = `sources:
  live: {kind: live, timeout: 3s}
  cmdb: {kind: csv, path: cmdb.csv, subject: hosts, name: Name, attributes: {address: IP}, covers: [hosts]}
  php: {kind: php, path: x.php, each: shards.*, attributes: {address: dsn}, copy_of: cmdb}
  x: {kind: exec, command: [./x, a]}
  p: {kind: prometheus, url: "http://p:9090/"}
authorities: {host.address: [cmdb, farm], "*": live}
tolerances: {shard.disk: 30%}
`

func TestInventoryFile(t *testing.T) {
	t.Parallel()
	d, err := parseInventory("inventory.yaml", []byte(fuzzedInventory))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Specs) != 5 || d.Specs[0].Timeout != 3*time.Second || d.Specs[1].Subject != "host" || d.Specs[1].Covers[0] != "host" || d.Specs[2].CopyOf != "cmdb" ||
		d.Specs[3].Command[1] != "a" || d.Specs[4].URL != "http://p:9090" || d.Authorities["*"][0] != "live" || d.Tolerances["shard.disk"] != 0.3 {
		t.Errorf("read as %+v", d)
	}
	for text, want := range map[string]string{
		"sources: {a: {path: x}}":                                                             "inventory.yaml:1: source a has no kind; known are ansible, backups, csv",
		"sources:\n  a: {kind: csv, path: x, attributes: {a: b}}":                             "inventory.yaml:2: source a: kind csv needs name",
		"sources:\n  a: {kind: haproxy, path: x, each: y}":                                    "source a: kind haproxy has no each",
		"sources:\n  a: {kind: haproxy, pth: x}":                                              "did you mean \"path\"?",
		"sources:\n  farm: {kind: live}":                                                      "farm.yaml is a source by itself",
		"sources:\n  a: {kind: live, timeout: soon}":                                          "is a time up to 10m",
		"sources:\n  a: {kind: csv, path: x, name: n, attributes: {\n    root: db_password}}": "inventory.yaml:3: attributes of source a: root: db_password may be a secret",
		"sources:\n  a: {kind: prometheus, url: p:9090}":                                      "is an address such as http://prometheus:9090",
		"sources:\n  a: {kind: live, covers: [boxes]}":                                        "is host, instance, pair or shard, not boxes",
		"sources: {a: {kind: live}}\nauthorities:\n  host.address: [a, b]":                    "inventory.yaml:3: authority of host.address is \"b\", which is not a source",
		"sources: {a: {kind: exec, command: []}}":                                             "is a program and its arguments",
	} {
		_, err := parseInventory("inventory.yaml", []byte(text))
		if err == nil || !errors.Is(err, farm.ErrInput) || !strings.Contains(strings.ReplaceAll(err.Error(), "read ", ""), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

// TestInventoryThatOthersMayWrite: it can name programs, so it is not obeyed.
func TestInventoryThatOthersMayWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, inventoryFile)
	if err := os.WriteFile(path, []byte("sources: {x: {kind: exec, command: [/bin/true]}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := &Workspace{Dir: dir}
	if _, err := w.Inventory(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Inventory(); !errors.Is(err, farm.ErrRefused) {
		t.Errorf("a program that anybody could have written there: %v", err)
	}
}

// FuzzInventoryFile: a file is read, or refused as unusable.
func FuzzInventoryFile(f *testing.F) {
	f.Add([]byte(fuzzedInventory))
	f.Fuzz(func(t *testing.T, src []byte) {
		if _, err := parseInventory("inventory.yaml", src); err != nil && !errors.Is(err, farm.ErrInput) {
			t.Errorf("error %v is not of unusable input", err)
		}
	})
}
