package backup

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"stowage/backup/catalogue"
	"stowage/farm"
	"stowage/internal/nested"
	"stowage/workspace"
)

// What was seen of archives of binary logs last is a file for each instance below .stowage: it changes every few seconds, and only the newest counts.
const archivesDir = "binlogs"

// keepArchived keeps what there is of a log now.
func (a *Act) keepArchived(x Archiving) error {
	out := catalogue.Archived{Farm: a.Farm.Name, Pair: x.Pair, Instance: x.Instance, From: x.From, Until: x.Until, Position: x.Position}
	for _, g := range x.Gaps {
		out.Gaps = append(out.Gaps, catalogue.Gap{Has: g.Has, Next: g.Next, Last: g.Last})
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return err
	}
	dir := a.StatePath(archivesDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return &farm.Error{Op: "keep", Subject: dir, Err: err}
	}
	return workspace.WriteFileAtomic(filepath.Join(dir, string(x.Instance)+".json"), append(raw, '\n'), 0o600)
}

// ArchivedIn is what was seen of the archives last.
func ArchivedIn(ws *workspace.Workspace) ([]catalogue.Archived, error) {
	dir := ws.StatePath(archivesDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &farm.Error{Op: "read", Subject: dir, Err: err}
	}
	var out []catalogue.Archived
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		var x catalogue.Archived
		if err == nil && filepath.Ext(e.Name()) == ".json" && nested.Unmarshal(raw, &x) == nil {
			out = append(out, x)
		}
	}
	return out, nil
}
