package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"stowage/farm"
	"stowage/internal/nested"
	"stowage/placement"
)

// measuredFile says which figures of farm.yaml somebody has measured. It is kept beside farm.yaml, in git.
const measuredFile = "measured.json"

// Growth is what Measured calls the growth of a shard, in bytes a day.
const Growth farm.ResourceName = "growth"

// Measured are the figures of farm.yaml that were measured. A figure that somebody has changed since is typed again.
type Measured struct {
	FormatVersion int                              `json:"format_version"`
	Shards        map[farm.ShardName]MeasuredShard `json:"shards"`
}

// MeasuredShard is what was measured of one shard.
type MeasuredShard struct {
	At      time.Time      `json:"at"`
	Seconds float64        `json:"seconds"` // how long it was measured
	Figures farm.Resources `json:"figures"` // as they were written into farm.yaml
}

// Measured reads the file; without one nothing was measured.
func (w *Workspace) Measured() (Measured, error) {
	m := Measured{FormatVersion: 1, Shards: map[farm.ShardName]MeasuredShard{}}
	raw, err := read(w.Path(measuredFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = nested.Unmarshal(raw, &m)
	}
	if err == nil && m.FormatVersion != 1 {
		err = fmt.Errorf("%w: format_version %d, and this program reads 1", farm.ErrInput, m.FormatVersion)
	}
	if err != nil {
		return m, &farm.Error{Op: "read", Subject: measuredFile, Err: fmt.Errorf("%w: %w", farm.ErrInput, err),
			Hint: "bring it back from git, or remove it: its figures count as typed then"}
	}
	if m.Shards == nil {
		m.Shards = map[farm.ShardName]MeasuredShard{}
	}
	return m, nil
}

// SaveMeasured writes it.
func (w *Workspace) SaveMeasured(m Measured) error {
	raw, err := json.MarshalIndent(m, "", " ")
	if err == nil {
		err = WriteFileAtomic(w.Path(measuredFile), append(raw, '\n'), 0o644)
	}
	if err != nil {
		return &farm.Error{Op: "write", Subject: measuredFile, Err: err}
	}
	return nil
}

// mostNamed is how many shards with typed figures are named.
const mostNamed = 10

// Evidence says which figures of a farm were measured, and when; nil where none was.
func (m Measured) Evidence(f *farm.Farm) []placement.Evidence {
	all := map[farm.ResourceName]*placement.Evidence{}
	count := func(shard farm.ShardName, r farm.ResourceName, value float64) {
		e := all[r]
		if e == nil {
			e = &placement.Evidence{Resource: r}
			all[r] = e
		}
		got := m.Shards[shard]
		if was, ok := got.Figures[r]; !ok || was != value {
			e.Typed++
			if len(e.TypedOf) < mostNamed {
				e.TypedOf = append(e.TypedOf, shard)
			}
			return
		}
		e.Measured++
		at := got.At.UTC().Format(time.RFC3339)
		if e.From == "" || at < e.From {
			e.From = at
		}
		e.Until = max(e.Until, at)
	}
	for _, p := range f.Pairs {
		for _, s := range p.Shards {
			for _, r := range s.Needs.Names() {
				count(s.Name, r, s.Needs[r])
			}
			if s.Growth != 0 {
				count(s.Name, Growth, s.Growth)
			}
		}
	}
	var out []placement.Evidence
	measured := 0
	for _, e := range all {
		out = append(out, *e)
		measured += e.Measured
	}
	if measured == 0 {
		return nil
	}
	slices.SortFunc(out, func(a, b placement.Evidence) int { return strings.Compare(string(a.Resource), string(b.Resource)) })
	return out
}
