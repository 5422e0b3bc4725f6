package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"stowage/demo"
	"stowage/e2e/farmtest"
	"stowage/farm"
	"stowage/internal/turns"
	"stowage/workspace"
)

// TestDiscoverDemo: discovering a demo's farm from one server of each pair
// gives the pairs, sides, shards and server ids of its own farm.yaml.
func TestDiscoverDemo(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, topology := range []farm.Topology{farm.ActiveActive, farm.PrimaryReplica, farm.Single} {
		t.Run(string(topology), func(t *testing.T) {
			turns.One(t, 8)
			f := farmtest.EmptyFarm(t, "r630-ssd", 0)
			t.Cleanup(f.Down)
			dir := f.Dir
			if err := demo.Up(t.Context(), demo.Options{Dir: dir, Topology: topology, Pairs: 2, Shards: 2, Hosts: 2, Rows: 20, Tell: func(string) {}}, farmtest.QuietLog()); err != nil {
				t.Fatal(err)
			}
			own := farmOf(t, dir)
			fresh := t.TempDir() // a person's new workspace
			accounts := filepath.Join(dir, own.Accounts)
			args := []string{"inventory", "discover", "-C", fresh, "--accounts", accounts, "--follow"}
			for _, p := range slices.Backward(own.Pairs) {
				sides := p.SideNames()
				args = append(args, own.Address(p.Sides[sides[len(sides)-1]]))
			}
			var out, errOut bytes.Buffer
			if code := run(t.Context(), args, &out, &errOut, nil); code != exitFine {
				t.Fatalf("exit code %d\n%s%s", code, out.String(), errOut.String())
			}
			if got, want := places(farmOf(t, fresh)), places(own); !reflect.DeepEqual(got, want) {
				t.Errorf("discovered\n%v\nthe demo's own\n%v", got, want)
			}
			if got, want := configs(farmOf(t, fresh)), configs(own); !reflect.DeepEqual(got, want) {
				t.Errorf("option files %v, want %v", got, want)
			}
			// Servers have ids, and one above them is the next.
			if got := farmOf(t, fresh); got.NextServerID != own.NextServerID || got.Accounts != accounts {
				t.Errorf("next_server_id %d, accounts %s; want %d, %s", got.NextServerID, got.Accounts, own.NextServerID, accounts)
			}
			first, err := os.ReadFile(filepath.Join(fresh, "farm.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			// The draft is what an inventory is taken of, and nothing in it disagrees.
			out.Reset()
			if code := run(t.Context(), []string{"inventory", "-C", fresh, "--json"}, &out, &errOut, nil); code != exitFine {
				t.Fatalf("inventory of the draft: exit code %d\n%s%s", code, out.String(), errOut.String())
			}
			var inv struct {
				Findings []farm.Finding `json:"findings"`
			}
			if err := json.Unmarshal(out.Bytes(), &inv); err != nil || len(inv.Findings) > 0 {
				t.Errorf("findings %v, %v", inv.Findings, err)
			}
			// Asked again, in another order, it is the same file.
			again := filepath.Join(fresh, "again.yaml")
			args = append(args[:len(args)-2], args[len(args)-1], args[len(args)-2], "-o", again)
			if code := run(t.Context(), args, &out, &errOut, nil); code != exitFine {
				t.Fatalf("exit code %d\n%s", code, errOut.String())
			}
			if second, err := os.ReadFile(again); err != nil || !bytes.Equal(first, second) {
				t.Errorf("asked again it is\n%s\nand was\n%s\n%v", second, first, err)
			}
		})
	}
}

func farmOf(t *testing.T, dir string) *farm.Farm {
	t.Helper()
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := ws.Farm()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// configs are the ends of the paths of all option files.
func configs(f *farm.Farm) []string {
	var out []string
	for _, p := range f.Pairs {
		for _, s := range p.Sides {
			out = append(out, filepath.Join(filepath.Base(filepath.Dir(filepath.Dir(s.Config))), filepath.Base(filepath.Dir(s.Config)), filepath.Base(s.Config)))
		}
	}
	slices.Sort(out)
	return out
}

// places are the sides of all pairs with where they are, and their shards.
func places(f *farm.Farm) []string {
	var out []string
	for _, p := range f.Pairs {
		for _, side := range slices.Sorted(maps.Keys(p.Sides)) {
			out = append(out, fmt.Sprintf("%s %s %s %s", p.Name, p.Topology, side, f.Address(p.Sides[side])))
		}
		for _, s := range p.Shards {
			out = append(out, fmt.Sprintf("%s %s", p.Name, s.Name))
		}
	}
	return out
}
