package reshape

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stowage/engine"
	"stowage/farm"
	"stowage/internal/nested"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/store"
)

// What was seen of flags is kept, for pages, reports and metrics, which ask no server.

// seen are the flags of one shard as its servers had them.
type seen struct {
	At    time.Time      `json:"at"`
	Flags []latest.Flags `json:"flags"`
}

// seenDocument is kept once for each spec and shard: only the newest counts.
const seenDocument = "flags of reshape"

func seenKey(spec string, shard farm.ShardName) string { return spec + " " + string(shard) }

// look reads the flags of a shard, those of each tenant where its clients are served, and keeps them. On the other side of a pair a flag changes a moment later.
func (a *Act) look(ctx context.Context, sp spec.Spec, p farm.Pair, shard farm.ShardName) ([]latest.Flags, error) {
	at := time.Now().UTC()
	server, err := a.anyOf(ctx, p)
	if err != nil {
		return nil, err
	}
	flags, err := flagsOf(ctx, server, latest.Shape{Spec: sp}, shard)
	server.Close()
	if err != nil {
		return nil, err
	}
	table, err := a.Router.Read(ctx)
	if err != nil {
		return nil, err
	}
	if in := table.Pairs[p.Name]; in != nil {
		asked := map[string]map[string]latest.Flags{server.Address(): nil}
		for n, f := range flags {
			_, address := in.Locate(sp.Tenant.ClientKey(shard, f.ID))
			there, done := asked[address]
			if !done {
				there = a.flagsAt(ctx, sp, p, shard, address)
				asked[address] = there
			}
			if is, ok := there[f.ID]; ok {
				flags[n] = is
			}
		}
	}
	return flags, a.Store.ReplaceDocument(seenDocument, seenKey(sp.Name, shard), at, seen{at, flags})
}

// flagsAt are the flags that one server has, by tenant; none where it does not answer: then those of the other side stand.
func (a *Act) flagsAt(ctx context.Context, sp spec.Spec, p farm.Pair, shard farm.ShardName, address string) map[string]latest.Flags {
	server := a.Server(farm.InstanceName(fmt.Sprintf("%s at %s", p.Name, address)), address)
	defer server.Close()
	if server.Answers(ctx) != nil {
		return nil
	}
	flags, err := flagsOf(ctx, server, latest.Shape{Spec: sp}, shard)
	if err != nil {
		return nil
	}
	out := make(map[string]latest.Flags, len(flags))
	for _, f := range flags {
		out[f.ID] = f
	}
	return out
}

// Look reads and keeps the flags of some tenants' shards again, behind a change of theirs.
func (a *Act) Look(ctx context.Context, sp spec.Spec, of []Tenant) error {
	shards, err := a.Shards(ctx, sp)
	if err != nil {
		return err
	}
	for _, s := range shards {
		if slices.ContainsFunc(of, func(t Tenant) bool { return t.Shard == s.Shard }) {
			if _, err := a.look(ctx, sp, s.Pair, s.Shard); err != nil {
				return err
			}
		}
	}
	return nil
}

// look reads and keeps the flags of the wave's shards again. What pages show may be old; the wave does not fail for that.
func (w *work) look(ctx context.Context) {
	done := map[farm.ShardName]bool{}
	for _, m := range w.members() {
		if done[m.Shard] {
			continue
		}
		done[m.Shard] = true
		if _, err := w.act.look(ctx, w.wave.Spec, *w.pair, m.Shard); err != nil {
			w.say("pages show older flags of %s, because reading them again failed: %v", m.Shard, err)
		}
	}
}

// Stand is how a tenant stands, in one word or two.
type Stand string

// The stands, each tenant in one of them. One whose last comparison found rows that are not right, or whose two queries differ, is wrong, whatever its flags say.
const (
	NotMigrated Stand = "not migrated"
	Migrated    Stand = "migrated"
	Active      Stand = "active"
	IsWrong     Stand = "wrong"
)

// Stands are all of them, in the order of a tenant's way.
var Stands = []Stand{NotMigrated, Migrated, Active, IsWrong}

// Stand is how the tenant stands.
func (t Tenant) Stand() Stand {
	switch {
	case !t.IsRight():
		return IsWrong
	case t.Active:
		return Active
	case t.Migrated:
		return Migrated
	}
	return NotMigrated
}

// KeyTexts are the keys of parents that were wrong, for people.
func (r Record) KeyTexts() (out []string) {
	for _, k := range r.Keys {
		out = append(out, keyText(k))
	}
	return out
}

// Kept is what is known of one shard's tenants without asking its servers.
type Kept struct {
	Shard   farm.ShardName `json:"shard"`
	Pair    farm.PairName  `json:"pair"`
	SeenAt  time.Time      `json:"seen_at"` // when its flags were read
	Tenants []Tenant       `json:"tenants"`
}

// KeptOf is what is known of the tenants of a spec, by shard in the order of farm.yaml. A shard whose flags were never read is not in it.
func KeptOf(in *store.Store, f *farm.Farm, spec string, takes func(farm.ShardName) bool) ([]Kept, error) {
	docs, err := in.Documents(seenDocument)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	ids := map[string]int64{}
	for _, d := range docs {
		ids[d.Name] = d.ID
	}
	var out []Kept
	for _, p := range f.Pairs {
		for _, s := range p.Shards {
			id, has := ids[seenKey(spec, s.Name)]
			if !has || !takes(s.Name) {
				continue
			}
			var x seen
			if err := in.DocumentByID(id, &x); err != nil {
				return nil, err
			}
			k := Kept{Shard: s.Name, Pair: p.Name, SeenAt: x.At, Tenants: make([]Tenant, len(x.Flags))}
			for n, flags := range x.Flags {
				t := Tenant{Shard: s.Name, Pair: p.Name, Flags: flags}
				if t.Record, err = recordOf(in, spec, t.Member()); err != nil {
					return nil, err
				}
				k.Tenants[n] = t
			}
			out = append(out, k)
		}
	}
	return out, nil
}

// Wave is a run, and the tenants that it is for.
type Wave struct {
	store.Run
	Members []Member
}

// Waves are the runs of a spec, newest first.
func Waves(in *store.Store, spec string) ([]Wave, error) {
	runs, err := in.Runs(Name)
	var out []Wave
	for _, r := range runs {
		if r.Subject != spec {
			continue
		}
		_, members, err := waveOf(in, r.ID)
		if err != nil && !errors.Is(err, store.ErrNone) { // killed before its job was kept
			return nil, err
		}
		out = append(out, Wave{r, members})
	}
	return out, err
}

// waveOf is what a run was begun for, and its tenants in the order of its lanes.
func waveOf(in *store.Store, run string) (next wave, members []Member, err error) {
	var job engine.Job
	if _, err := in.LatestDocument("job", run, &job); err != nil || len(job.Lanes) == 0 {
		return next, nil, err
	}
	var first order
	if err := nested.Unmarshal(job.Lanes[0].Parts[0].Args, &first); err != nil {
		return next, nil, err
	}
	if _, err := in.LatestDocument(waveDocument, first.Key, &next); err != nil {
		return next, nil, err
	}
	for _, lane := range job.Lanes {
		members = append(members, next.Members[farm.PairName(lane.Name)]...)
	}
	return next, members, nil
}
