package farmtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/route"
	"stowage/workspace"
)

// takeIn names the shard in farm.yaml and in routing.
func (f *FilesFarm) takeIn(ws *workspace.Workspace) {
	f.T.Helper()
	path := ws.Path("farm.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		f.T.Fatal(err)
	}
	at := strings.Index(string(text), "    shards:\n") + len("    shards:\n")
	if err := os.WriteFile(path, []byte(string(text[:at])+"      - {name: "+FilesShard+", disk: 1GB}\n"+string(text[at:])), 0o644); err != nil {
		f.T.Fatal(err)
	}
	fm, err := ws.Farm()
	if err == nil {
		err = route.NewFile(ws.Path("routing.json")).Change(f.T.Context(), fm.Pairs[0].Name, func(p *route.Pair) error { p.List(FilesShard); return nil })
	}
	if err != nil {
		f.T.Fatal(err)
	}
}

// add adds a line to farm.yaml.
func (f *FilesFarm) add(line string) {
	f.T.Helper()
	path := filepath.Join(f.Dir, "farm.yaml")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(text, line...), 0o644)
	}
	if err != nil {
		f.T.Fatal(err)
	}
}

// where is the address of a tenant's clients. They wait behind a closed gate, and while no pair lists the shard.
func (f *FilesFarm) where(ctx context.Context, tenant uint32) (string, error) {
	for {
		if p, err := f.serving(); err == nil && p != nil {
			if r, address := p.Locate(fmt.Sprint(tenant)); r.Gate == route.Open {
				return address, nil
			}
		}
		if f.Held != nil {
			f.Held()
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// serving is what routing says of the pair that serves the shard; nil while none does.
func (f *FilesFarm) serving() (*route.Pair, error) {
	table, err := route.ReadFile(f.Dir + "/routing.json")
	if err != nil {
		return nil, err
	}
	for _, name := range table.Serves(FilesShard) {
		return table.Pairs[name], nil
	}
	return nil, nil
}

// Pair is the one under which farm.yaml lists the shard.
func (f *FilesFarm) Pair() (*farm.Farm, farm.Pair) {
	f.T.Helper()
	_, fm, _, err := FarmAccess(f.Dir)
	if err != nil {
		f.T.Fatal(err)
	}
	for _, p := range fm.Pairs {
		if slices.ContainsFunc(p.Shards, func(s farm.Shard) bool { return s.Name == FilesShard }) {
			return fm, p
		}
	}
	f.T.Fatalf("farm.yaml does not list %s", FilesShard)
	return nil, farm.Pair{}
}
