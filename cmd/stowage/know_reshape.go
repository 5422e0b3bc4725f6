package main

import (
	"math"
	"time"

	"stowage/farm"
	"stowage/metrics"
	"stowage/report"
	"stowage/reshape"
	"stowage/serve"
	"stowage/session"
)

// knownSpec is what is known of the tenants of one spec without asking a server, as JSON, too.
type knownSpec struct {
	Spec   string         `json:"spec"`
	Shards []reshape.Kept `json:"shards"`
	Waves  []knownWave    `json:"waves"` // newest first
}

// knownWave is a run. Right and wrong are its tenants by their newest comparison, rows those that it has compared.
type knownWave struct {
	Run     string     `json:"run"`
	State   string     `json:"state"`
	Began   time.Time  `json:"began"`
	Ended   *time.Time `json:"ended"`
	Tenants int        `json:"tenants"`
	Right   int        `json:"right"`
	Wrong   int        `json:"wrong"`
	Rows    int64      `json:"rows_compared"`
}

// reshapesOf are the specs whose flags somebody has looked at. One that cannot be read keeps the shards that it had.
func reshapesOf(d *session.Session) (out []knownSpec, err error) {
	if d.Store == nil {
		return nil, nil
	}
	for _, name := range d.ReshapeNames() {
		s, broken := d.Workspace.Reshape(name)
		x := knownSpec{Spec: name, Waves: []knownWave{}}
		if x.Shards, err = reshape.KeptOf(d.Store, d.Farm, name, func(shard farm.ShardName) bool { return broken != nil || s.Takes(shard) }); err != nil {
			return nil, err
		}
		if len(x.Shards) == 0 {
			continue
		}
		waves, err := reshape.Waves(d.Store, name)
		if err != nil {
			return nil, err
		}
		by := map[reshape.Member]reshape.Tenant{}
		for _, k := range x.Shards {
			for _, t := range k.Tenants {
				by[t.Member()] = t
			}
		}
		for _, w := range waves {
			x.Waves = append(x.Waves, waveOf(w, by))
		}
		out = append(out, x)
	}
	return out, nil
}

func waveOf(w reshape.Wave, by map[reshape.Member]reshape.Tenant) knownWave {
	x := knownWave{Run: w.ID, State: string(w.State), Began: w.Started, Tenants: len(w.Members)}
	if !w.Ended.IsZero() {
		x.Ended = &w.Ended
	}
	for _, m := range w.Members {
		t := by[m] // one that was deleted meanwhile is neither
		switch {
		case !t.IsRight():
			x.Wrong++
		case t.VerifiedAt != nil:
			x.Right++
		}
		x.Rows += t.Rows
	}
	return x
}

// reshapesView is what the page Reshape has as JSON.
type reshapesView struct {
	FormatVersion int         `json:"format_version"`
	Specs         []knownSpec `json:"specs"`
}

// knownReshapes are what is known of tenants; nil where there is no spec, or nobody has looked at flags yet.
func knownReshapes(d *session.Session, f *report.KnowFacts, read func(*session.Session) ([]knownSpec, error)) (any, error) {
	specs, err := read(d)
	if err != nil || len(specs) == 0 {
		return nil, err
	}
	for _, s := range specs {
		x := report.ReshapeFacts{Spec: s.Spec}
		for _, k := range s.Shards {
			shard := report.ReshapeShard{Shard: k.Shard, Pair: k.Pair, SeenAt: k.SeenAt}
			for _, t := range k.Tenants {
				shard.Tenants = append(shard.Tenants, report.ReshapeTenant{ID: t.ID, Stand: report.ReshapeStand(t.Stand()), IsMigrated: t.Migrated, IsActive: t.Active,
					Rows: t.Rows, Keys: t.KeyTexts(), VerifiedAt: t.VerifiedAt, Normalised: t.Normalised, Denormalised: t.Denormalised})
				if !t.IsRight() {
					shard.Tenants[len(shard.Tenants)-1].Wrong = t.Wrong()
				}
			}
			x.Shards = append(x.Shards, shard)
		}
		for _, w := range s.Waves {
			wave := report.ReshapeWave{Run: w.Run, State: w.State, Began: w.Began, Tenants: w.Tenants, Right: w.Right, Wrong: w.Wrong, Rows: w.Rows}
			if w.Ended != nil {
				wave.Ended = *w.Ended
			}
			x.Waves = append(x.Waves, wave)
		}
		f.Reshapes = append(f.Reshapes, x)
	}
	return reshapesView{1, specs}, nil
}

// reshapeMetrics are none where no flags of a spec's tenants were ever read.
func reshapeMetrics(d *session.Session) ([]metrics.Reshape, error) {
	specs, err := reshapesOf(d)
	var out []metrics.Reshape
	for _, s := range specs {
		m := metrics.Reshape{Spec: s.Spec, Tenants: map[string]int{}}
		for _, stand := range reshape.Stands {
			m.Tenants[string(stand)] = 0
		}
		for _, k := range s.Shards {
			for _, t := range k.Tenants {
				m.Tenants[string(t.Stand())]++
				if !t.Migrated && !t.Active {
					continue
				}
				age := math.Inf(1)
				if t.VerifiedAt != nil {
					age = max(0, time.Since(*t.VerifiedAt).Seconds())
				}
				if m.Oldest == nil || age > *m.Oldest {
					m.Oldest = &age
				}
			}
		}
		out = append(out, m)
	}
	return out, err
}

// reshapes is the page about them. What is kept is read again when the store, farm.yaml or a spec has changed; ages are those of now.
func (s *shelf) reshapes() (serve.Shown, error) {
	db := s.ws.StatePath("stowage.db")
	files := []string{db, db + "-wal", s.ws.Path("farm.yaml"), s.ws.Path("reshape")}
	for _, name := range s.ws.ReshapeNames() {
		files = append(files, s.ws.Path("reshape/"+name+".yaml"))
	}
	read := func(d *session.Session) ([]knownSpec, error) {
		return s.tenants.of(func() ([]knownSpec, error) { return reshapesOf(d) }, files...)
	}
	return s.known("No tenant's flags have been read yet. reshape/NAME.yaml says what is carried onto the parent's row; stowage reshape status, and each wave, reads the flags of all tenants and keeps them.", []string{"reshape status"},
		func(d *session.Session, f *report.KnowFacts) (any, error) { return knownReshapes(d, f, read) }, report.NewReshapeDocument)
}
