package route_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"stowage/farm"
	"stowage/route"
	"stowage/route/routetest"
)

const pairName farm.PairName = "dbshard001"

func newFile(t *testing.T, pairs map[farm.PairName]*route.Pair) *route.File {
	t.Helper()
	f := route.NewFile(filepath.Join(t.TempDir(), "routing.json"))
	if err := f.Create(pairs); err != nil {
		t.Fatal(err)
	}
	return f
}

func onePair() map[farm.PairName]*route.Pair {
	return map[farm.PairName]*route.Pair{pairName: route.NewPair([]farm.ShardName{"s"}, "127.0.10.1:23306", "127.0.10.2:23306")}
}

func TestFileConforms(t *testing.T) {
	routetest.Run(t, func(t *testing.T, pairs map[farm.PairName]*route.Pair) route.Router { return newFile(t, pairs) })
}

// TestTwoPrograms: two Files on one path, as two programs would have.
func TestTwoPrograms(t *testing.T) {
	f := newFile(t, onePair())
	var wg sync.WaitGroup
	for w := range 2 {
		own := route.NewFile(f.Path())
		wg.Go(func() {
			for n := range 50 {
				err := own.Change(context.Background(), pairName, func(p *route.Pair) error {
					p.Shards = append(p.Shards, farm.ShardName(fmt.Sprintf("added_%d_%d", w, n)))
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	table, err := f.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := len(table.Pairs[pairName].Shards); got != 101 || table.Generation != 101 {
		t.Errorf("%d shards at generation %d, want 101 and 101", got, table.Generation)
	}
}

// TestCreateKeepsWhatIsThere: a table in use is never replaced by a first one.
func TestCreateKeepsWhatIsThere(t *testing.T) {
	f := newFile(t, onePair())
	before, err := os.ReadFile(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Create(onePair()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create over a table: %v, want it to exist", err)
	}
	if after, err := os.ReadFile(f.Path()); err != nil || string(after) != string(before) {
		t.Errorf("the table was touched: %v", err)
	}
	bad := route.NewFile(filepath.Join(t.TempDir(), "routing.json"))
	pairs := onePair()
	pairs[pairName].Routes = pairs[pairName].Routes[:1]
	if err := bad.Create(pairs); err == nil {
		t.Error("a table with a hole was created")
	}
	if _, err := os.Stat(bad.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused table is there: %v", err)
	}
}

// TestUnreadableFile: each names the file and what is wrong with it.
func TestUnreadableFile(t *testing.T) {
	good := newFile(t, onePair())
	raw, err := os.ReadFile(good.Path())
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "routing.json"},
		"cut off":       {text[:len(text)/2], "routing.json"},
		"unknown key":   {strings.Replace(text, `"slots"`, `"slotz"`, 1), "slotz"},
		"other format":  {strings.Replace(text, `"format_version": 1`, `"format_version": 2`, 1), "format_version is 2"},
		"unknown gate":  {strings.Replace(text, `"open"`, `"shut"`, 1), `gate is "shut"`},
		"hole":          {strings.Replace(text, `"to": 499`, `"to": 498`, 1), "routes[1]"},
		"unknown side":  {strings.Replace(text, `"side": "A"`, `"side": "C"`, 1), "side C"},
		"null pair":     {`{"format_version": 1, "pairs": {"dbshard001": null}}`, "dbshard001"},
		"text for slot": {strings.Replace(text, `"slots": 1000`, `"slots": "many"`, 1), "slots"},
	} {
		path := filepath.Join(t.TempDir(), "routing.json")
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := route.ReadFile(path)
		if !errors.Is(err, farm.ErrInput) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want unusable input that names the file and %q", name, err, c.want)
		}
	}
	if _, err := route.ReadFile(filepath.Join(t.TempDir(), "routing.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// TestManualExample: the file shown in docs/reference/routing.md is one that a client
// could be given, and its table of slots is right.
func TestManualExample(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/routing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```json\n")
	example, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("docs/reference/routing.md shows no example")
	}
	path := filepath.Join(t.TempDir(), "routing.json")
	if err := os.WriteFile(path, []byte(example), 0o644); err != nil {
		t.Fatal(err)
	}
	table, err := route.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]struct {
		slot int
		side farm.SideName
	}{"client-01": {193, farm.A}, "alice": {735, farm.B}} {
		slot := route.Slot(key, route.Slots)
		r, address := table.Pairs[pairName].Locate(key)
		if slot != want.slot || r.Side != want.side || address != table.Pairs[pairName].Sides[want.side].Address {
			t.Errorf("%s: slot %d, side %s at %s, want %d and %s", key, slot, r.Side, address, want.slot, want.side)
		}
		if line := fmt.Sprintf("| `%s` |", key); !strings.Contains(string(page), line) || !strings.Contains(string(page), fmt.Sprintf("| %d |", slot)) {
			t.Errorf("docs/reference/routing.md does not show %s at %d", key, slot)
		}
	}
}
