package workspace_test

import (
	"os"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/workspace"
)

const shardFarm = `farm: etsy-2016
next_server_id: 1025
host_types:
  platter: {cores: 16, disk: 2.2TB}
hosts:
  - {name: db001, type: platter, address: 10.0.0.1}
  - {name: db002, type: platter, address: 10.0.0.2}
  - {name: db003, type: platter, address: 10.0.0.3}
  - {name: db004, type: platter, address: 10.0.0.4}
pairs:
  - name: one
    topology: active-active
    sides:
      A: {host: db001, port: 3306, datadir: /a}
      B: {host: db002, port: 3306, datadir: /b}
    shards:
      # the oldest
      - {name: s1, disk: 0.1TB, growth: 40MB/day, cpu: 0.07}   # aligned by hand

      # s2 is the big one,
      # by far
      - name: s2
        disk: 48GB   # measured
        # on a Sunday
        cpu: 1

      # behind s2
      - {name: s3,
         disk: 1GB
        }
  # the second pair
  - name: two
    topology: active-active
    sides:
      A: {host: db003, port: 3306, datadir: /a}
      B: {host: db004, port: 3306, datadir: /b}
# the end
`

// A shard goes under another pair with its sizes and its comments, every other
// byte stays, and back again gives the file that was.
func TestMoveShard(t *testing.T) {
	w := openWith(t, shardFarm)
	steps := []struct {
		shard    farm.ShardName
		to       farm.PairName
		cut, put string // what goes, and where it stands afterwards, before "# the end" or behind what is there
	}{
		{"s2", "two", "      # s2 is the big one,\n      # by far\n      - name: s2\n        disk: 48GB   # measured\n        # on a Sunday\n        cpu: 1\n", ""},
		{"s3", "two", "      - {name: s3,\n         disk: 1GB\n        }\n", ""},
		{"s1", "two", "      # the oldest\n      - {name: s1, disk: 0.1TB, growth: 40MB/day, cpu: 0.07}   # aligned by hand\n", ""},
	}
	rest := shardFarm
	moved := ""
	for n, s := range steps {
		if err := w.EditFarm(func(e *workspace.Edit) error { e.MoveShard(s.shard, s.to); return nil }); err != nil {
			t.Fatal(err)
		}
		comment := ""
		if s.shard == "s3" {
			comment = "      # behind s2\n"
		}
		rest = strings.Replace(rest, comment+s.cut, "", 1)
		if n == len(steps)-1 { // the last one takes the key with it
			rest = strings.Replace(rest, "    shards:\n", "", 1)
		}
		moved += comment + s.cut
		want := strings.Replace(rest, "# the end\n", "    shards:\n"+moved+"# the end\n", 1)
		raw, err := os.ReadFile(w.Path("farm.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if string(raw) != want {
			t.Fatalf("after %s:\n%s\nwant\n%s", s.shard, raw, want)
		}
	}
	f, err := w.Farm()
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := f.Pair("two"); len(p.Shards) != 3 || p.Shards[0].Needs[farm.Disk] != 48e9 || p.Shards[2].Growth != 40e6 {
		t.Errorf("pair two holds %+v", p.Shards)
	}
	// There already: nothing is written.
	before, _ := os.ReadFile(w.Path("farm.yaml"))
	if err := w.EditFarm(func(e *workspace.Edit) error { e.MoveShard("s1", "two"); return nil }); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.ReadFile(w.Path("farm.yaml")); string(after) != string(before) {
		t.Errorf("a shard that is there was moved:\n%s", after)
	}
}

// What cannot be moved is refused, and the file stays.
func TestMoveShardRefused(t *testing.T) {
	for name, c := range map[string]struct {
		text, shard, to, says string
	}{
		"no shard":    {shardFarm, "s9", "two", "no shard"},
		"no pair":     {shardFarm, "s1", "three", "no pair"},
		"one line":    {strings.Replace(shardFarm, "    sides:\n      A: {host: db003, port: 3306, datadir: /a}\n      B: {host: db004, port: 3306, datadir: /b}\n# the end", "    sides: {A: {host: db003, port: 3306, datadir: /a}, B: {host: db004, port: 3306, datadir: /b}}\n    shards: [{name: s4}]\n# the end", 1), "s1", "two", "its own line"},
		"empty list":  {strings.Replace(shardFarm, "# the end", "    shards: []\n# the end", 1), "s1", "two", "empty list"},
		"flow source": {strings.Replace(shardFarm, "# the end", "    shards: [{name: s4}]\n# the end", 1), "s4", "one", "its own line"},
	} {
		t.Run(name, func(t *testing.T) {
			w := openWith(t, c.text)
			err := w.EditFarm(func(e *workspace.Edit) error { e.MoveShard(farm.ShardName(c.shard), farm.PairName(c.to)); return nil })
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %q", err, c.says)
			}
			if raw, _ := os.ReadFile(w.Path("farm.yaml")); string(raw) != c.text {
				t.Errorf("the file was changed:\n%s", raw)
			}
		})
	}
}
