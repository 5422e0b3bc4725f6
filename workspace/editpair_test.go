package workspace_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/workspace"
)

// A pair is added behind the others and taken away again, each twice; every
// other byte stays, comments included.
func TestAddAndRemovePair(t *testing.T) {
	third := farm.Pair{Name: "shardset001", Topology: farm.ActiveActive, Sides: map[farm.SideName]farm.Side{
		farm.A: {Host: "db001", Port: 3307, Datadir: "hosts/db001/shardset001a/data"},
		farm.B: {Host: "db003", Port: 3307, Datadir: "hosts/db003/shardset001b/data", Config: "hosts/db003/own.cnf"},
	}}
	const row = `  - name: shardset001
    topology: active-active
    sides:
      A: {host: db001, port: 3307, datadir: hosts/db001/shardset001a/data}
      B: {host: db003, port: 3307, datadir: hosts/db003/shardset001b/data, config: hosts/db003/own.cnf}
`
	w := openWith(t, shardFarm)
	edit := func(change func(*workspace.Edit)) error {
		return w.EditFarm(func(e *workspace.Edit) error { change(e); return nil })
	}
	text := func() string {
		raw, err := os.ReadFile(w.Path("farm.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for range 2 {
		if err := edit(func(e *workspace.Edit) { e.AddPair(third) }); err != nil {
			t.Fatal(err)
		}
	}
	if want := strings.Replace(shardFarm, "# the end", row+"# the end", 1); text() != want {
		t.Errorf("with a further pair:\n%s\nwant\n%s", text(), want)
	}
	// A shard moves in: the pair is still the one that was added, and does not go.
	if err := edit(func(e *workspace.Edit) { e.MoveShard("s1", third.Name) }); err != nil {
		t.Fatal(err)
	}
	if err := edit(func(e *workspace.Edit) { e.AddPair(third) }); err != nil {
		t.Errorf("added again, with a shard in it: %v", err)
	}
	if err := edit(func(e *workspace.Edit) { e.RemovePair(third.Name) }); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "has shards") {
		t.Errorf("a pair with a shard was removed: %v", err)
	}
	w = openWith(t, strings.Replace(shardFarm, "# the end", row+"# the end", 1))
	for range 2 {
		if err := edit(func(e *workspace.Edit) { e.RemovePair(third.Name) }); err != nil {
			t.Fatal(err)
		}
	}
	if text() != shardFarm {
		t.Errorf("there and back:\n%s", text())
	}
	// With the comment right above it.
	if err := edit(func(e *workspace.Edit) { e.RemovePair("two") }); err != nil {
		t.Fatal(err)
	}
	if now := text(); strings.Contains(now, "the second pair") || strings.Contains(now, "db003, port") || !strings.HasSuffix(now, "        }\n# the end\n") {
		t.Errorf("without the second pair:\n%s", now)
	}
	third.Name = "one"
	if err := edit(func(e *workspace.Edit) { e.AddPair(third) }); !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "another pair") {
		t.Errorf("another pair of that name: %v", err)
	}
}
