package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"stowage/farm"
	"stowage/schema"
)

// Found is one table that the script changes, as one server has it.
type Found struct {
	Shard    farm.ShardName
	Instance farm.InstanceName
	Change   int    // of the changes
	Text     string // its definition, without the counter; "": the shard has no such table there
	Form     int    // of Drawn.Forms
	Rows     int64
	Bytes    int64
}

// Refusal is one table that is not changed, and why.
type Refusal struct {
	Shards    []farm.ShardName `json:"shards"`
	Table     string           `json:"table"`
	Place     string           `json:"place"`
	Why       []string         `json:"refused"`
	SafeSteps []string         `json:"safe_steps,omitempty"`
}

// Drawn is what Make makes a plan of.
type Drawn struct {
	Farm    *farm.Farm
	Changes []schema.Change
	Found   []Found
	Forms   []Form
	// Mixed: shards whose table begins with another definition than most are changed, too.
	Mixed bool
	// Waves are how many pairs have been changed when each ends: "1", "10%", "100%". None: one wave.
	Waves  []string
	AtOnce int
}

// Make makes a plan. What is refused comes back beside it; a plan with refusals must not be carried out. Tables that are as the change wants them are left out.
func Make(d Drawn) (Plan, []Refusal, error) {
	p := Plan{FormatVersion: FormatVersion, Kind: Kind, AtOnce: max(1, d.AtOnce), Pairs: []Pair{}, Forms: []Form{}}
	r := &refusals{}
	numbers := map[int]int{}
	common := d.common()
	tables, err := d.agreed(r)
	if err != nil {
		return p, nil, err
	}
	for _, pair := range d.Farm.Pairs {
		var forms []Form
		var of []Table
		refused := false
		for _, s := range pair.Shards {
			for n, c := range d.Changes {
				f, has := tables[place{s.Name, n}]
				if !has {
					continue
				}
				form := d.Forms[f.Form]
				switch {
				case form.Class == schema.Unchanged:
					continue
				case form.Class == schema.Breaking:
					r.add(s.Name, c, form.Refused, form.SafeSteps)
					refused = true
					continue
				case !d.Mixed && f.Text != common[n]:
					r.add(s.Name, c, []string{"its definition is another than that of most shards (--mixed changes it, too)"}, nil)
					refused = true
					continue
				}
				number, known := numbers[f.Form]
				if !known {
					number = len(p.Forms)
					numbers[f.Form] = number
					p.Forms = append(p.Forms, form)
				}
				forms = append(forms, form)
				of = append(of, Table{s.Name, number, f.Rows, f.Bytes})
			}
		}
		if len(of) == 0 || refused {
			continue
		}
		way, wrong := WayOf(pair.Topology, len(pair.Sides)-1, forms)
		if wrong != "" {
			for _, t := range of {
				r.add(t.Shard, p.Forms[t.Form].Change, []string{wrong}, nil)
			}
			continue
		}
		p.Pairs = append(p.Pairs, Pair{Pair: pair.Name, Topology: pair.Topology, Way: way, Sides: sidesOf(pair), Tables: of})
	}
	r.sort()
	if err := p.wave(d.Waves); err != nil {
		return p, nil, err
	}
	return p, r.all, nil
}

type place struct {
	shard  farm.ShardName
	change int
}

// agreed is each table as both sides of its pair have it. Sides that differ are refused.
func (d Drawn) agreed(r *refusals) (map[place]Found, error) {
	out, apart := map[place]Found{}, map[place]bool{}
	for _, f := range d.Found {
		at := place{f.Shard, f.Change}
		was, seen := out[at]
		switch {
		case seen && was.Text != f.Text && !apart[at]:
			apart[at] = true
			r.add(f.Shard, d.Changes[f.Change], []string{fmt.Sprintf("%s and %s have different definitions of it", was.Instance, f.Instance)}, nil)
		case !seen:
			out[at] = f
		case f.Text != "" && was.Form != f.Form && !apart[at] && !d.agree(was.Form, f.Form):
			apart[at] = true
			r.add(f.Shard, d.Changes[f.Change], []string{fmt.Sprintf("%s and %s would make different tables of it: settings that new sessions begin with differ there (sql_mode, explicit_defaults_for_timestamp, old_mode and others)", was.Instance, f.Instance)}, nil)
		case f.Text != "":
			f.Rows, f.Bytes = max(f.Rows, was.Rows), max(f.Bytes, was.Bytes)
			f.Form = d.worse(was.Form, f.Form)
			out[at] = f
		}
	}
	missing := map[int]int{}
	for at, f := range out {
		if f.Text == "" {
			missing[at.change]++
		}
	}
	for at, f := range out {
		if f.Text != "" && !apart[at] {
			continue
		}
		delete(out, at)
		if f.Text == "" && !d.Mixed {
			r.add(f.Shard, d.Changes[at.change], []string{"the shard has no such table"}, nil)
		}
	}
	for n, c := range d.Changes {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(out)), func(at place) bool { return at.change == n }) && missing[n] > 0 {
			return nil, &farm.Error{Op: "plan", Subject: c.Place, Err: fmt.Errorf("%w: no shard has a table %s", farm.ErrInput, c.Table), Hint: "stowage schema drift shows what shards have"}
		}
	}
	return out, nil
}

// agree reports whether two servers make the same table of a change.
func (d Drawn) agree(a, b int) bool {
	x, y := d.Forms[a], d.Forms[b]
	return x.After == y.After || x.Class == schema.Breaking || y.Class == schema.Breaking
}

// worse is the form of the side that has more against the change: one may have a trigger, or a setting, that the other has not, or has to write the table anew.
func (d Drawn) worse(a, b int) int {
	x, y := d.Forms[a], d.Forms[b]
	if by := slices.Index(classes, y.Class) - slices.Index(classes, x.Class); by > 0 || by == 0 && x.Instant && !y.Instant {
		return b
	}
	return a
}

// common is, by change, the definition that most tables have.
func (d Drawn) common() []string {
	out := make([]string, len(d.Changes))
	for n := range d.Changes {
		votes := map[string]int{}
		for _, f := range d.Found {
			if f.Change == n && f.Text != "" && d.Forms[f.Form].Class != schema.Unchanged {
				votes[f.Text]++
			}
		}
		for _, text := range slices.Sorted(maps.Keys(votes)) {
			if votes[text] > votes[out[n]] {
				out[n] = text
			}
		}
	}
	return out
}

// wave gives each pair its wave.
func (p *Plan) wave(waves []string) error {
	wrong := func(w, why string) error {
		return &farm.Error{Op: "plan", Subject: "--waves " + strings.Join(waves, ","), Err: fmt.Errorf("%w: %q %s", farm.ErrInput, w, why), Hint: "write numbers of pairs or percentages that grow: 1,10%,100%"}
	}
	done := 0
	for n, w := range waves {
		number, isShare := strings.CutSuffix(w, "%")
		v, err := strconv.Atoi(number)
		if err != nil || v <= 0 || isShare && v > 100 {
			return wrong(w, "is neither a number of pairs nor a percentage")
		}
		if isShare {
			v = (len(p.Pairs)*v + 99) / 100
		}
		for ; done < min(v, len(p.Pairs)); done++ {
			p.Pairs[done].Wave = n + 1
		}
	}
	last := max(1, len(waves))
	for ; done < len(p.Pairs); done++ {
		p.Pairs[done].Wave = last
	}
	// A wave without pairs is none.
	number, was := 0, 0
	for n := range p.Pairs {
		if p.Pairs[n].Wave != was {
			was = p.Pairs[n].Wave
			number++
		}
		p.Pairs[n].Wave = number
	}
	return nil
}

// refusals gathers shards that are refused for the same reason.
type refusals struct{ all []Refusal }

func (r *refusals) add(shard farm.ShardName, c schema.Change, why, steps []string) {
	for n := range r.all {
		if o := &r.all[n]; o.Table == c.Table && slices.Equal(o.Why, why) {
			if !slices.Contains(o.Shards, shard) {
				o.Shards = append(o.Shards, shard)
			}
			return
		}
	}
	r.all = append(r.all, Refusal{Shards: []farm.ShardName{shard}, Table: c.Table, Place: c.Place, Why: why, SafeSteps: steps})
}

func (r *refusals) sort() {
	slices.SortFunc(r.all, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), slices.Compare(a.Why, b.Why))
	})
	for n := range r.all {
		slices.Sort(r.all[n].Shards)
	}
}
