package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/workspace"
)

// editedFarm has every layout that people use, and comments everywhere.
const editedFarm = `# Ours since 2009.
farm: etsy-2016   # the famous one

host_types:
  platter:  {cores: 16, disk: 2.2TB, licences: 4}   # aligned by hand
  r630-ssd: {cores: 32, disk: 14TB,  licences: 40}

hosts:
  - {name: db001, type: platter, address: 10.0.0.1}
  - {name: db002, type: platter, address: 10.0.0.2}  # däs ist Umlaut
  - {name: ssd1, type: r630-ssd, address: 10.0.1.1, labels: {räck: "é", power: a}}

pairs:
  # the first one
  - name: dbshard001
    topology: active-active
    sides:
      A: {host: db001, port: 3306, datadir: '/var/lib/it''s', config: /etc/a.cnf}   # old A
      B:
        host: db002       # slow disk
        port: 3306
        datadir: "/var/lib/b"
        config: /etc/b.cnf

    shards:
      - {name: s1, disk: 0.1TB, growth: 40MB/day, cpu: 0.07}
      # s2 is the big one
      - name: s2
        disk: 48GB   # measured

next_server_id: 1025
`

func openWith(t *testing.T, text string) *workspace.Workspace {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func farmText(t *testing.T, w *workspace.Workspace) string {
	t.Helper()
	text, err := os.ReadFile(w.Path("farm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEditChangesOnlyWhatItMust(t *testing.T) {
	tests := []struct {
		name     string
		change   func(*workspace.Edit)
		old, new []string // old[i] becomes new[i], and nothing else changes
	}{
		{"side in flow layout", func(e *workspace.Edit) {
			e.SetSide("dbshard001", farm.A, farm.Side{Host: "ssd1", Port: 3307, Datadir: "/srv/dbshard001a/data", Config: "/srv/dbshard001a/my.cnf"})
		},
			[]string{"{host: db001, port: 3306, datadir: '/var/lib/it''s', config: /etc/a.cnf}"},
			[]string{"{host: ssd1, port: 3307, datadir: /srv/dbshard001a/data, config: /srv/dbshard001a/my.cnf}"}},
		{"side loses its config", func(e *workspace.Edit) {
			e.SetSide("dbshard001", farm.A, farm.Side{Host: "db001", Port: 3306, Datadir: "/var/lib/it's"})
		},
			[]string{", config: /etc/a.cnf"}, []string{""}},
		{"side in block layout", func(e *workspace.Edit) {
			e.SetSide("dbshard001", farm.B, farm.Side{Host: "ssd1", Port: 3308, Datadir: "/srv/b: c"})
		},
			[]string{"host: db002  ", "        port: 3306", "        datadir: \"/var/lib/b\"\n        config: /etc/b.cnf\n"},
			[]string{"host: ssd1  ", "        port: 3308", "        datadir: \"/srv/b: c\"\n"}},
		{"needs, some new, some gone, one as before", func(e *workspace.Edit) {
			e.SetShardNeeds("s1", farm.Resources{farm.Disk: 1e11, farm.Memory: 4 << 30, "licences": 2})
		},
			[]string{"disk: 0.1TB, growth: 40MB/day, cpu: 0.07"}, []string{"disk: 0.1TB, growth: 40MB/day, memory: 4GiB, licences: 2"}},
		{"needs in block layout", func(e *workspace.Edit) {
			e.SetShardNeeds("s2", farm.Resources{farm.Disk: 5e10, farm.CPU: 0.25})
		},
			[]string{"        disk: 48GB   # measured\n"}, []string{"        disk: 50GB   # measured\n        cpu: 0.25\n"}},
		{"server id", func(e *workspace.Edit) { e.SetNextServerID(1049) },
			[]string{"next_server_id: 1025"}, []string{"next_server_id: 1049"}},
		{"two edits of one side: the last holds", func(e *workspace.Edit) {
			e.SetSide("dbshard001", farm.B, farm.Side{Host: "ssd1", Port: 3308, Datadir: "/x"})
			e.SetSide("dbshard001", farm.B, farm.Side{Host: "db002", Port: 3309, Datadir: "/var/lib/b", Config: "/etc/b.cnf"})
		},
			[]string{"        port: 3306"}, []string{"        port: 3309"}},
		{"nothing", func(*workspace.Edit) {}, nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := openWith(t, editedFarm)
			err := w.EditFarm(func(e *workspace.Edit) error { test.change(e); return nil })
			if err != nil {
				t.Fatal(err)
			}
			want := editedFarm
			for i := range test.old {
				if strings.Count(want, test.old[i]) != 1 {
					t.Fatalf("%q is not there once", test.old[i])
				}
				want = strings.Replace(want, test.old[i], test.new[i], 1)
			}
			if got := farmText(t, w); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if st, err := os.Stat(w.Path("farm.yaml")); err != nil || st.Mode().Perm() != 0o640 {
				t.Errorf("mode %v, %v: want 0640 as before", st.Mode(), err)
			}
		})
	}
}

func TestEditAddsWhatWasNeverThere(t *testing.T) {
	short := strings.Replace(editedFarm, "\nnext_server_id: 1025\n", "", 1)
	short = strings.TrimRight(short[:strings.Index(short, "\npairs:")], "\n") // no pairs, no line end
	w := openWith(t, short)
	if err := w.EditFarm(func(e *workspace.Edit) error { e.SetNextServerID(7); return nil }); err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(short, "# the famous one\n", "# the famous one\nnext_server_id: 7\n", 1)
	if got := farmText(t, w); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestRefusedEditsChangeNothing(t *testing.T) {
	own := errors.New("changed my mind")
	tests := []struct {
		name   string
		change func(*workspace.Edit) error
		want   string
	}{
		{"both sides on one host", func(e *workspace.Edit) error {
			e.SetSide("dbshard001", farm.B, farm.Side{Host: "db001", Port: 3307, Datadir: "/x"})
			return nil
		}, "both sides of pair dbshard001 are on host db001"},
		{"no such pair", func(e *workspace.Edit) error {
			e.SetSide("dbshard002", farm.B, farm.Side{})
			return nil
		}, `no pair "dbshard002"`},
		{"no such shard", func(e *workspace.Edit) error {
			e.SetShardNeeds("s3", nil)
			return nil
		}, `no shard "s3"`},
		{"server id goes down", func(e *workspace.Edit) error {
			e.SetNextServerID(1024)
			return nil
		}, "must not go down to 1024"},
		{"undeclared resource", func(e *workspace.Edit) error {
			e.SetShardNeeds("s1", farm.Resources{"seats": 2})
			return nil
		}, `unknown key "seats"`},
		{"its own error", func(e *workspace.Edit) error {
			e.SetNextServerID(2000)
			return own
		}, "changed my mind"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := openWith(t, editedFarm)
			err := w.EditFarm(test.change)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want %q", err, test.want)
			}
			if got := farmText(t, w); got != editedFarm {
				t.Errorf("the file changed:\n%s", got)
			}
			if rest, err := filepath.Glob(w.Path(".farm.yaml.*")); err != nil || len(rest) > 0 {
				t.Errorf("left behind: %v %v", rest, err)
			}
		})
	}
}

// TestEditOverwritesWhatAPersonSaves: an editor knows nothing of the lock. What
// it saves while an edit is made stays, and the edit comes on top.
func TestEditOverwritesWhatAPersonSaves(t *testing.T) {
	w := openWith(t, editedFarm)
	saved, calls := strings.Replace(editedFarm, "disk: 0.1TB", "disk: 0.3TB", 1), 0
	err := w.EditFarm(func(e *workspace.Edit) error {
		if calls++; calls == 1 {
			must(t, os.WriteFile(w.Path("farm.yaml"), []byte(saved), 0o640))
		}
		e.SetNextServerID(e.Farm().NextServerID + 1)
		return nil
	})
	want := strings.Replace(saved, "next_server_id: 1025", "next_server_id: 1026", 1)
	if got := farmText(t, w); err != nil || got != want || calls != 2 {
		t.Errorf("called %d times, %v; got:\n%s\nwant:\n%s", calls, err, got, want)
	}

	err = w.EditFarm(func(e *workspace.Edit) error {
		calls++
		saved += "# again\n"
		must(t, os.WriteFile(w.Path("farm.yaml"), []byte(saved), 0o640))
		e.SetNextServerID(2000)
		return nil
	})
	if !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), "farm.yaml was changed meanwhile") || farm.Hint(err) == "" || calls > 20 {
		t.Errorf("called %d times, %v", calls, err)
	}
	if got := farmText(t, w); got != saved {
		t.Errorf("got:\n%s\nwant:\n%s", got, saved)
	}
	if rest, err := filepath.Glob(w.Path(".farm.yaml.*")); err != nil || len(rest) > 0 {
		t.Errorf("left behind: %v %v", rest, err)
	}
}
