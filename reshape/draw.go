package reshape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"stowage/farm"
	"stowage/mysql/latest"
	"stowage/reshape/spec"
	"stowage/store"
)

// Plan is what a wave would mean.
type Plan struct {
	FormatVersion int            `json:"format_version"`
	Spec          string         `json:"spec"`
	Keep          spec.Keep      `json:"keep"`
	Shards        []PlannedShard `json:"shards"`
	Findings      []farm.Finding `json:"findings"`
	Tenants       int            `json:"tenants"` // of the wave
	none          bool           // no shard has any tenant
}

// PlannedShard is one shard of it.
type PlannedShard struct {
	Shard    farm.ShardName `json:"shard"`
	Pair     farm.PairName  `json:"pair"`
	Tenants  int            `json:"tenants"` // of the wave
	Parents  int64          `json:"parents"` // of all tenants, as the server estimates
	Children int64          `json:"children"`
	// Bytes is by how much the parent's table may grow when all tenants are filled in: what the carried columns of the children take, and the indexes.
	Bytes int64 `json:"bytes"`
	// Seconds is how long all its parents take at the speed of the pair's last wave; nil: there was none.
	Seconds *float64 `json:"seconds"`
	// FreeBytes is what the fullest disk of its pair has now; nil: it cannot be seen from here.
	FreeBytes *int64 `json:"free_bytes"`
	// DaysLeft is how long the disks last when all of its tenants are filled in, by the growth in farm.yaml; nil where that declares none.
	DaysLeft   *float64 `json:"days_left"`
	Statements []string `json:"statements"` // that change definitions
}

// Draw says what a wave would mean, and what its questions find.
func (a *Act) Draw(ctx context.Context, w Wish) (Plan, error) {
	p := Plan{FormatVersion: 1, Spec: w.Spec.Name, Keep: w.Spec.Keep, Shards: []PlannedShard{}, Findings: []farm.Finding{}}
	next, err := a.wave(ctx, w)
	if err != nil {
		return p, err
	}
	if len(next.Members) == 0 && len(w.Tenants) == 0 {
		all, err := a.Tenants(ctx, w.Spec)
		if err != nil {
			return p, err
		}
		p.none = len(all) == 0
	}
	growth := growthOf(a.Farm)
	for _, pair := range a.Farm.Pairs {
		if len(next.Shards[pair.Name]) == 0 {
			continue
		}
		o, err := a.outlook(ctx, w.Spec, pair, growth)
		if err != nil {
			return p, err
		}
		for _, shard := range next.Shards[pair.Name] {
			s, err := a.plannedShard(ctx, w.Spec, pair, farm.ShardName(shard), next.Members[pair.Name])
			if err != nil {
				return p, err
			}
			o.of(&s)
			p.Shards = append(p.Shards, s)
			p.Tenants += s.Tenants
		}
	}
	_, found, err := a.begin(ctx, next)
	p.Findings = append(p.Findings, found...)
	if farm.Blocks(found) && errors.Is(err, farm.ErrRefused) {
		err = nil // the findings say it
	}
	return p, err
}

func (a *Act) plannedShard(ctx context.Context, sp spec.Spec, pair farm.Pair, shard farm.ShardName, members []Member) (PlannedShard, error) {
	out := PlannedShard{Shard: shard, Pair: pair.Name, Statements: []string{}}
	for _, m := range members {
		if m.Shard == shard {
			out.Tenants++
		}
	}
	server, err := a.anyOf(ctx, pair)
	if err != nil {
		return out, err
	}
	defer server.Close()
	shape, t, err := tablesOf(ctx, server, sp, shard)
	if err != nil {
		return out, err
	}
	if problems := shape.Check(t); slices.ContainsFunc(problems, func(p spec.Problem) bool { return !p.Slow }) {
		return out, nil // the findings say it
	}
	sizes, err := server.TableSizes(ctx, []string{string(shard)})
	if err != nil {
		return out, err
	}
	of := sizes[string(shard)]
	out.Parents, out.Children, out.Bytes = of[sp.Parent.Table].Rows, of[sp.Child.Table].Rows, growth(of, shape, t)
	out.Statements = append(out.Statements, shape.AddColumns(t)...)
	if x := shape.AddIndexes(t); x != "" {
		out.Statements = append(out.Statements, x)
	}
	if sp.Keep == spec.Applier {
		_, there, err := shape.Leases(ctx, server, shard)
		if err != nil {
			return out, err
		}
		if !there {
			out.Statements = append(out.Statements, latest.CreateLeases)
		}
	}
	if sp.Keep == spec.Triggers {
		there, err := latest.ThereTriggers(ctx, server, shard)
		if err != nil {
			return out, err
		}
		for _, tr := range shape.Triggers(t) {
			if there[tr.Name] != tr.Body {
				out.Statements = append(out.Statements, tr.Create)
			}
		}
	}
	return out, nil
}

// outlook is what a pair is like to fill in.
type outlook struct {
	speed speed // zero: not known
	disks []disk
}

// disk is the fullest of one server, and by how many bytes a day its host grows.
type disk struct {
	free   int64
	growth float64
}

func (a *Act) outlook(ctx context.Context, sp spec.Spec, pair farm.Pair, growth map[farm.HostName]float64) (o outlook, err error) {
	if _, err := a.Store.LatestDocument(speedDocument, speedKey(sp, pair.Name), &o.speed); err != nil && !errors.Is(err, store.ErrNone) {
		return o, err
	}
	for _, side := range pair.SideNames() {
		at := pair.Sides[side]
		server := a.Server(pair.Instance(side), a.Farm.Address(at))
		if free, err := a.room(ctx, server, at); err == nil { // else the findings say it
			o.disks = append(o.disks, disk{free, growth[at.Host]})
		}
		server.Close()
	}
	return o, ctx.Err()
}

// of says how long a shard takes, and what room its disks have then.
func (o outlook) of(s *PlannedShard) {
	if o.speed.Parents > 0 {
		seconds := float64(s.Parents) * o.speed.Seconds / float64(o.speed.Parents)
		s.Seconds = &seconds
	}
	for _, d := range o.disks {
		if s.FreeBytes == nil || d.free < *s.FreeBytes {
			s.FreeBytes = &d.free
		}
		if days := max(0, float64(d.free-s.Bytes)/d.growth); d.growth > 0 && (s.DaysLeft == nil || days < *s.DaysLeft) {
			s.DaysLeft = &days
		}
	}
}

// text is how long it takes and what is left then, as far as is known.
func (s PlannedShard) text() string {
	out := ""
	if s.Seconds != nil {
		out += fmt.Sprintf("; about %s at the speed of the last wave", farm.Counted(int(math.Ceil(*s.Seconds/60)), "minute"))
	}
	if s.FreeBytes != nil {
		out += "; " + bytesText(*s.FreeBytes) + " are free"
	}
	if s.DaysLeft != nil {
		out += fmt.Sprintf(", which last %.0f days then", *s.DaysLeft)
	}
	return out
}

// WriteText prints it. What is the same for all shards is shown once.
func (p Plan) WriteText(w io.Writer) error {
	say := func(format string, args ...any) error { _, err := fmt.Fprintf(w, format, args...); return err }
	if p.Tenants == 0 && !slices.ContainsFunc(p.Shards, func(s PlannedShard) bool { return len(s.Statements) > 0 }) {
		if p.none {
			return say("%s: its shards have no tenants yet\n", p.Spec)
		}
		return say("%s: every tenant is done\n", p.Spec)
	}
	if err := say("%s: %s of %s left; kept current by %s\n", p.Spec, farm.Counted(p.Tenants, "tenant"), farm.Counted(len(p.Shards), "shard"), map[spec.Keep]string{spec.Triggers: "triggers", spec.Application: "the application", spec.Applier: "stowage reshape apply"}[p.Keep]); err != nil {
		return err
	}
	shown := map[string]bool{}
	for _, s := range p.Shards {
		if err := say("  %-16s %-12s %14s, about %s and %s; the parent's table grows by about %s%s\n", s.Shard, s.Pair, farm.Counted(s.Tenants, "tenant"), farm.Counted(s.Parents, "parent"), farm.CountedAs(s.Children, "child", "children"), bytesText(s.Bytes), s.text()); err != nil {
			return err
		}
	}
	for _, s := range p.Shards {
		for _, text := range s.Statements {
			if shown[text] {
				continue
			}
			shown[text] = true
			if err := say("\n%s;\n", text); err != nil {
				return err
			}
		}
	}
	return say("\nbegin with one tenant: stowage reshape %s --tenants 1\n", p.Spec)
}

// Ended is what a wave has found of one tenant.
type Ended struct {
	Member
	Record
}

// Right reports whether all its rows were compared and are right.
func (e Ended) Right() bool { return e.VerifiedAt != nil && e.IsRight() }

// OfRun are the tenants of a run's wave.
func OfRun(in *store.Store, run string) ([]Ended, error) {
	next, members, err := waveOf(in, run)
	if err != nil {
		return nil, err
	}
	out := []Ended{}
	for _, m := range members {
		r, err := recordOf(in, next.Spec.Name, m)
		if err != nil {
			return nil, err
		}
		out = append(out, Ended{m, r})
	}
	return out, nil
}

// Wrong is the error of a tenant whose rows are not right.
func Wrong(v latest.Verdict) error {
	return fmt.Errorf("%w: %s; it is read from its children", farm.ErrFindings, wrongText(v))
}

// IsRight reports whether nothing was found to be wrong.
func (r Record) IsRight() bool { return r.Mismatches == 0 && r.Different == 0 }

// Wrong says what the last comparison found.
func (r Record) Wrong() string {
	if r.Mismatches == 0 {
		return fmt.Sprintf("the two queries differ in %s: stowage snapshot --compare names them", farm.Counted(r.Different, "row"))
	}
	return wrongText(latest.Verdict{Rows: r.Rows, Mismatches: r.Mismatches, Keys: r.Keys})
}
