package reshape

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"stowage/act"
	"stowage/engine"
	"stowage/farm"
	"stowage/mysql"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/store"
)

// Wish is the next wave that somebody wants.
type Wish struct {
	Spec spec.Spec
	// Tenants are those of the wave; none: the first Count that are not done yet, of all shards; 0: all of them.
	Tenants []string
	Count   int
	// OnlyMigrate leaves the flag active as it is.
	OnlyMigrate bool
	// Prepare gives the tables what they need, and takes no tenant.
	Prepare bool
}

// Member is one tenant in one shard.
type Member struct {
	Shard  farm.ShardName `json:"shard"`
	Tenant string         `json:"tenant"`
}

// String is SHARD/TENANT.
func (m Member) String() string { return string(m.Shard) + "/" + m.Tenant }

// wave is what a run does: a document of the store, found by the key of its orders.
type wave struct {
	Spec     spec.Spec                  `json:"spec"`
	Shards   map[farm.PairName][]string `json:"shards"`
	Members  map[farm.PairName][]Member `json:"members"`
	Activate bool                       `json:"activate"`
}

const waveDocument = "wave of reshape"

// order is what the part of one pair says.
type order struct {
	Key  string        `json:"key"`
	Pair farm.PairName `json:"pair"`
}

// Begin begins a wave, after everything was asked. The zero Run: every tenant is done.
func (a *Act) Begin(ctx context.Context, w Wish) (store.Run, []farm.Finding, error) {
	if err := a.NothingOpen(); err != nil {
		return store.Run{}, nil, err
	}
	next, err := a.wave(ctx, w)
	if err != nil {
		return store.Run{}, nil, err
	}
	return a.begin(ctx, next)
}

func (a *Act) begin(ctx context.Context, next wave) (store.Run, []farm.Finding, error) {
	return a.Act.Begin(ctx, act.Proposal{
		Name: next.Spec.Name, Subject: next.Spec.Name,
		Job: func(run string) (engine.Job, uint32, error) {
			job, err := a.job(run, next)
			return job, 0, err
		},
		Survey: a.SurveyJob, Remedy: "remedy them; nothing was changed",
	})
}

// wave chooses the tenants.
func (a *Act) wave(ctx context.Context, w Wish) (wave, error) {
	out := wave{Spec: w.Spec, Shards: map[farm.PairName][]string{}, Members: map[farm.PairName][]Member{}, Activate: !w.OnlyMigrate}
	chosen, err := a.Chosen(ctx, w.Spec, w.Tenants, func(Tenant) bool { return !w.Prepare })
	if err != nil {
		return out, err
	}
	count := 0
	for _, t := range chosen {
		if t.Migrated && (t.Active || w.OnlyMigrate) || len(w.Tenants) == 0 && w.Count > 0 && count == w.Count {
			continue
		}
		count++
		out.Members[t.Pair] = append(out.Members[t.Pair], t.Member())
	}
	for _, p := range a.Farm.Pairs {
		if len(out.Members[p.Name]) == 0 && !w.Prepare {
			continue
		}
		for _, s := range p.Shards {
			if w.Spec.Takes(s.Name) {
				out.Shards[p.Name] = append(out.Shards[p.Name], string(s.Name))
			}
		}
	}
	return out, nil
}

func (a *Act) job(run string, w wave) (engine.Job, error) {
	job := engine.Job{ID: run, Kind: Name, Budgets: map[string]int{act.WholeFarm: max(1, a.Parallel)}}
	key := strings.ToLower(rand.Text())[:16]
	book, _ := a.Kind.Runbook(Name)
	for _, p := range a.Farm.Pairs {
		if len(w.Shards[p.Name]) == 0 {
			continue
		}
		args, err := json.Marshal(order{Key: key, Pair: p.Name})
		if err != nil {
			return job, err
		}
		job.Lanes = append(job.Lanes, engine.Lane{Name: string(p.Name), Holds: []string{act.WholeFarm}, Parts: []engine.Part{{Subject: string(p.Name), Args: args, Steps: book.EngineSteps()}}})
	}
	if a.Parallel == 0 {
		job.Budgets[act.WholeFarm] = max(1, len(job.Lanes))
	}
	job.Spares = len(job.Lanes) // one that fails does not stop the others
	if len(job.Lanes) == 0 {
		return job, nil
	}
	return job, a.Store.PutDocument(waveDocument, key, time.Now(), w)
}

// Tenant is one tenant as its flags and the last comparison have it.
type Tenant struct {
	Shard farm.ShardName `json:"shard"`
	Pair  farm.PairName  `json:"pair"`
	latest.Flags
	Record
}

// Member is its place.
func (t Tenant) Member() Member { return Member{t.Shard, t.ID} }

// Record is what was last found out about a tenant.
type Record struct {
	Rows       int64        `json:"rows"`
	Mismatches int64        `json:"mismatches"`
	Keys       []latest.Key `json:"keys,omitempty"` // of parents that were wrong
	VerifiedAt *time.Time   `json:"verified_at"`
	// Different are rows that the two queries did not say alike when they were compared with each other.
	Different int64 `json:"different,omitempty"`
	// Normalised and Denormalised are how long the two queries took when they were compared with each other, in milliseconds.
	Normalised   float64 `json:"normalised_ms,omitempty"`
	Denormalised float64 `json:"denormalised_ms,omitempty"`
}

const recordDocument = "reshaped tenant"

func recordKey(spec string, m Member) string { return spec + " " + m.String() }

func (a *Act) record(spec string, m Member) (Record, error) { return recordOf(a.Store, spec, m) }

func recordOf(in *store.Store, spec string, m Member) (r Record, err error) {
	_, err = in.LatestDocument(recordDocument, recordKey(spec, m), &r)
	if errors.Is(err, store.ErrNone) {
		err = nil
	}
	return r, err
}

// note keeps what was found out; what the two queries said stays. anew: they are to be asked once more before anything is said of them.
func (a *Act) note(spec string, m Member, v latest.Verdict, anew bool) error {
	r, err := a.record(spec, m)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	r.Rows, r.Mismatches, r.Keys, r.VerifiedAt = v.Rows, v.Mismatches, v.Keys, &now
	if anew {
		r.Different = 0
	}
	return a.Store.ReplaceDocument(recordDocument, recordKey(spec, m), now, r)
}

// Tenants are all tenants of the shards that a spec is for, in the order of farm.yaml. Where the flags are not there yet, none is set. What can be read comes with the error of what cannot.
func (a *Act) Tenants(ctx context.Context, sp spec.Spec) ([]Tenant, error) {
	return a.tenantsOf(ctx, sp, func(farm.ShardName) bool { return true })
}

// tenantsOf are those of some shards of a spec. A pair that does not answer is asked once, and keeps nobody from the tenants of the others.
func (a *Act) tenantsOf(ctx context.Context, sp spec.Spec, of func(farm.ShardName) bool) (out []Tenant, err error) {
	shards, err := a.Shards(ctx, sp)
	if err != nil {
		return nil, err
	}
	var unread error
	down := map[farm.PairName]bool{}
	for _, s := range shards {
		if !of(s.Shard) || down[s.Pair.Name] {
			continue
		}
		some, err := a.TenantsIn(ctx, sp, s)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			down[s.Pair.Name] = !errors.Is(err, farm.ErrInput) // else it is the shard that cannot be read
			unread = errors.Join(unread, fmt.Errorf("the tenants of pair %s were not read: %w", s.Pair.Name, err))
		}
		out = append(out, some...)
	}
	return out, unread
}

// TenantsIn are the tenants of one shard.
func (a *Act) TenantsIn(ctx context.Context, sp spec.Spec, s Served) (out []Tenant, err error) {
	flags, err := a.look(ctx, sp, s.Pair, s.Shard)
	if err != nil {
		return nil, err
	}
	for _, f := range flags {
		t := Tenant{Shard: s.Shard, Pair: s.Pair.Name, Flags: f}
		if t.Record, err = a.record(sp.Name, t.Member()); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func (a *Act) noShard(sp spec.Spec) error {
	return &farm.Error{Op: Name, Subject: fmt.Sprintf("%s:%d", sp.File, sp.Line("shards")), Err: fmt.Errorf("%w: farm.yaml has no shard of this name: %s", farm.ErrInput, farm.Some(sp.Shards)), Hint: "stowage inventory lists them"}
}

// flagsOf reads flags; before they are there, the tenants.
func flagsOf(ctx context.Context, server *mysql.Server, shape latest.Shape, shard farm.ShardName) ([]latest.Flags, error) {
	t, err := latest.Tables(ctx, server, shard, []string{shape.Tenant.Table})
	if err != nil {
		return nil, err
	}
	table, ok := t[shape.Tenant.Table]
	if !ok {
		return nil, atLine(shape.Spec, "tenant.table", fmt.Sprintf("shard %s has no table %s", shard, shape.Tenant.Table))
	}
	if _, ok := table.Column(shape.Tenant.Key); !ok {
		return nil, atLine(shape.Spec, "tenant.key", fmt.Sprintf("table %s of shard %s has no column %s", shape.Tenant.Table, shard, shape.Tenant.Key))
	}
	return shape.Flags(ctx, server, shard, table)
}

// atLine is an error of the spec.
func atLine(s spec.Spec, key, text string) error {
	return &farm.Error{Op: "check spec", Subject: fmt.Sprintf("%s:%d", s.File, s.Line(key)), Err: fmt.Errorf("%w: %s", farm.ErrInput, text), Hint: "correct " + s.File + "; nothing was changed: docs/guide/reshape.md"}
}

// anyOf is a server of a pair that is in rotation and answers.
func (a *Act) anyOf(ctx context.Context, p farm.Pair) (*mysql.Server, error) {
	in, err := a.routing(ctx, p.Name)
	if err != nil {
		return nil, err
	}
	var last error
	for _, side := range p.SideNames() {
		at, ok := in.Sides[side]
		if !ok {
			continue
		}
		server := a.Server(p.Instance(side), at.Address)
		if last = server.Answers(ctx); last == nil {
			return server, nil
		}
		server.Close()
	}
	if last == nil {
		last = &farm.Error{Op: Name, Subject: string(p.Name), Err: errors.New("no side of the pair is in rotation"), Hint: "stowage routing show"}
	}
	return nil, last
}
