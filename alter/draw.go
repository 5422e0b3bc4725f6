package alter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"stowage/alter/plan"
	"stowage/farm"
	"stowage/mysql"
	"stowage/schema"
	"stowage/schema/ask"
	"stowage/schema/scratch"
)

// Wanted is one change, and the shards that get it.
type Wanted struct {
	schema.Change
	Shards map[farm.ShardName]bool
}

// Request is what a person wants changed.
type Request struct {
	Farm    *farm.Farm
	Changes []Wanted
	// Open reaches a side's server.
	Open func(farm.InstanceName, string) *mysql.Server
	// Scratch is the throw-away server that is asked what a change means.
	Scratch *scratch.Server
	Mixed   bool
	Waves   []string
	AtOnce  int
}

// asked bounds how many servers are asked at the same time.
const asked = 16

// Draw reads the tables on all servers, asks what each change means to each, and makes a plan. Refusals come back beside it.
func Draw(ctx context.Context, r Request) (plan.Plan, []plan.Refusal, error) {
	seen, err := r.read(ctx)
	if err != nil {
		return plan.Plan{}, nil, err
	}
	d := plan.Drawn{Farm: r.Farm, Mixed: r.Mixed, Waves: r.Waves, AtOnce: r.AtOnce}
	for _, w := range r.Changes {
		d.Changes = append(d.Changes, w.Change)
	}
	if err := r.judge(ctx, seen, &d); err != nil {
		return plan.Plan{}, nil, err
	}
	return plan.Make(d)
}

// onServer is what one server has of the shards of the request.
type onServer struct {
	instance farm.InstanceName
	shards   []farm.ShardName
	tables   map[string]map[string]string
	sizes    map[string]map[string]mysql.TableSize
	around   map[string]map[string]schema.Around
	flavor   mysql.Flavor
	settings map[string]string // with which it reads a statement
}

func (r Request) read(ctx context.Context) ([]*onServer, error) {
	type target struct {
		server *mysql.Server
		shards []farm.ShardName
	}
	var targets []target
	for _, p := range r.Farm.Pairs {
		var shards []farm.ShardName
		for _, s := range p.Shards {
			if slices.ContainsFunc(r.Changes, func(w Wanted) bool { return w.Shards[s.Name] }) {
				shards = append(shards, s.Name)
			}
		}
		if len(shards) == 0 {
			continue
		}
		for _, side := range p.SideNames() {
			targets = append(targets, target{r.Open(p.Instance(side), r.Farm.Address(p.Sides[side])), shards})
		}
	}
	out, errs := make([]*onServer, len(targets)), make([]error, len(targets))
	var wg sync.WaitGroup
	room := make(chan struct{}, asked)
	for n, t := range targets {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room; _ = t.server.Close() }()
			out[n], errs[n] = r.readOne(ctx, t.server, t.shards)
		})
	}
	wg.Wait()
	return out, errors.Join(errs...)
}

func (r Request) readOne(ctx context.Context, s *mysql.Server, shards []farm.ShardName) (*onServer, error) {
	if err := s.Answers(ctx); err != nil {
		return nil, err
	}
	on := &onServer{instance: s.Name(), shards: shards}
	names := make([]string, len(shards))
	changed := map[string][]string{}
	for n, shard := range shards {
		names[n] = string(shard)
		for _, w := range r.Changes {
			if w.Shards[shard] {
				changed[names[n]] = append(changed[names[n]], w.Table)
			}
		}
	}
	var err error
	if on.flavor, err = s.Flavor(ctx); err != nil {
		return nil, err
	}
	if on.settings, err = s.Defining(ctx); err != nil {
		return nil, err
	}
	if on.tables, err = s.CreatedTables(ctx, names); err != nil {
		return nil, err
	}
	if on.sizes, err = s.TableSizes(ctx, names); err != nil {
		return nil, err
	}
	on.around, err = s.Around(ctx, changed)
	return on, err
}

// key tells tables apart. The throw-away server is asked once about all that have the same key.
type key struct {
	change                   int
	before, around, settings string
}

// asking is what the throw-away server is asked once.
type asking struct {
	change           int
	before, settings string
}

// judge makes a form of each change and each table that it finds.
func (r Request) judge(ctx context.Context, seen []*onServer, d *plan.Drawn) error {
	j := &judging{Request: r, tried: map[asking]trial{}, forms: map[key]int{}, d: d}
	for _, on := range seen {
		if err := r.sameSeries(on); err != nil {
			return err
		}
		for _, shard := range on.shards {
			for n, w := range r.Changes {
				if !w.Shards[shard] {
					continue
				}
				if err := j.table(ctx, on, shard, n); err != nil {
					return err
				}
			}
		}
	}
	return j.settle()
}

// sameSeries refuses a throw-away server of another series: what it makes of a change says nothing about the farm.
func (r Request) sameSeries(on *onServer) error {
	if ask.Series(on.flavor) == ask.Series(r.Scratch.Flavor) {
		return nil
	}
	return &farm.Error{Op: "plan", Subject: string(on.instance), Err: fmt.Errorf("%w: it is %s, and the server programs of this machine are %s", farm.ErrRefused, on.flavor, r.Scratch.Flavor),
		Hint: "a throw-away server of the same series says what a change means: install one here, or plan elsewhere"}
}

type judging struct {
	Request
	tried map[asking]trial
	forms map[key]int
	d     *plan.Drawn
}

// trial is what the throw-away server made of a change of one definition.
type trial struct {
	schema.Tried
	err error
}

func (j *judging) table(ctx context.Context, on *onServer, shard farm.ShardName, n int) error {
	w := j.Changes[n]
	f := plan.Found{Shard: shard, Instance: on.instance, Change: n, Form: -1}
	raw := on.tables[string(shard)][w.Table]
	if raw == "" {
		j.d.Found = append(j.d.Found, f)
		return nil
	}
	is, err := schema.Read(raw)
	if err != nil {
		return &farm.Error{Op: "read table", Subject: fmt.Sprintf("%s.%s on %s", shard, w.Table, on.instance), Err: err}
	}
	size := on.sizes[string(shard)][w.Table]
	f.Text, f.Rows, f.Bytes = is.Text, size.Rows, size.Bytes
	around := on.around[string(shard)][w.Table]
	facts, err := json.Marshal(around)
	if err != nil {
		return err
	}
	k := key{n, f.Text, strings.ReplaceAll(string(facts), string(shard)+".", ""), settled(on.settings)}
	number, known := j.forms[k]
	if !known {
		t, err := j.try(ctx, on, shard, asking{n, f.Text, k.settings})
		if err != nil {
			return err
		}
		number = len(j.d.Forms)
		j.forms[k] = number
		form := plan.Form{Change: w.Change, Before: f.Text, After: t.After.Text}
		if t.err == nil {
			form.Judgement, form.Online = schema.JudgeChange(t.Tried, around), t.Online
		} else {
			form.Class, form.Refused = schema.Breaking, []string{said(t.err)}
		}
		j.d.Forms = append(j.d.Forms, form)
	}
	f.Form = number
	j.d.Found = append(j.d.Found, f)
	return nil
}

// settled is the same text for the same settings.
func settled(settings map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&b, "%s=%s\n", name, settings[name])
	}
	return b.String()
}

// try asks the throw-away server once for each definition, as each server of the farm would read the statement. A definition that the throw-away server writes in another way says nothing about the farm's.
func (j *judging) try(ctx context.Context, on *onServer, shard farm.ShardName, k asking) (trial, error) {
	if t, known := j.tried[k]; known {
		return t, nil
	}
	var t trial
	t.Tried, t.err = j.Scratch.Try(ctx, maps.Clone(on.tables[string(shard)]), j.Changes[k.change].Change, on.settings)
	switch {
	case t.err != nil && !errors.Is(t.err, farm.ErrInput):
		return t, t.err
	case t.err == nil && t.Before.Text != k.before:
		t.err = &farm.Error{Op: "try change", Subject: j.Changes[k.change].Place, Err: fmt.Errorf("%w: the throw-away server (%s) does not write the table as %s (%s) does: %s", farm.ErrInput, j.Scratch.Flavor, on.instance, on.flavor, firstDifference(k.before, t.Before))}
	}
	j.tried[k] = t
	return t, nil
}

// firstDifference says where another server's text of a table differs.
func firstDifference(text string, other schema.Table) string {
	is, err := schema.Read(text)
	if err != nil {
		return err.Error()
	}
	for _, d := range schema.Diff(other, is) {
		return d.String()
	}
	return "its text"
}

// settle tells tables that a change cannot be made to because they have it from tables that it does not fit. A change that fits none is an error in the script.
func (j *judging) settle() error {
	for n := range j.Changes {
		var first error
		fits := map[string]bool{}
		for k, t := range j.tried {
			switch {
			case k.change != n:
			case t.err != nil:
				first = t.err
			default:
				fits[t.After.Text] = true
			}
		}
		if len(fits) == 0 && first != nil {
			return madeAlready(first, j.Changes[n].Table)
		}
		for k, number := range j.forms {
			if f := &j.d.Forms[number]; k.change == n && fits[f.Before] && f.Class == schema.Breaking && f.After == "" {
				f.Judgement = schema.Judgement{Class: schema.Unchanged}
			}
		}
	}
	return nil
}

// madeAlready gives the hint that all shards may have what a change adds, or be without what it drops.
func madeAlready(err error, table string) error {
	var e *farm.Error
	if errors.As(err, &e) && mysql.IsMadeAlready(err) {
		e.Hint = "all shards may have this change already: compare the script with SHOW CREATE TABLE " + table
	}
	return err
}

// said is the cause alone.
func said(err error) string {
	var e *farm.Error
	if errors.As(err, &e) {
		return strings.TrimPrefix(e.Err.Error(), farm.ErrInput.Error()+": ")
	}
	return err.Error()
}
