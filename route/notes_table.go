package route

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"stowage/farm"
)

// noteMargin is how far a table that is made from notes stands above their
// generation: of some changes (a pair that was added, a proxy that was mended)
// the notes know only that they were made.
const noteMargin = 1000

// First is a table for a farm at rest: first's pairs, each side serving its own
// clients, at a generation above all that the notes know.
func (o *Noted) First(first map[farm.PairName]*Pair) *Table {
	t := &Table{FormatVersion: FormatVersion, Pairs: first}
	if o != nil {
		t.Generation = o.Generation + noteMargin
	}
	return t
}

// Rebuilt is the table that was lost in the middle of a run: what was written
// last of each pair, and first's for pairs of which nothing was. Of a change
// that may have been made or not, the gates are closed and the shards unlisted:
// the step that was cut short knows which of the two it is, and opens them.
func (o *Noted) Rebuilt(first map[farm.PairName]*Pair) *Table {
	t := o.First(maps.Clone(first))
	for name, p := range o.Pairs {
		if p.Last == nil {
			p.Last, p.Next = p.Next, nil
			p.Last = p.Last.clone()
			p.Last.CloseGate(farm.A)
			p.Last.CloseGate(farm.B)
		}
		t.Pairs[name] = p.certain()
	}
	return t
}

// certain is what of a pair is beyond doubt.
func (p NotedPair) certain() *Pair {
	c := p.Last.clone()
	if p.Next == nil {
		return c
	}
	for _, home := range farm.SideNames {
		if !reflect.DeepEqual(c.of(home), p.Next.of(home)) {
			c.CloseGate(home)
		}
	}
	c.Shards = slices.DeleteFunc(c.Shards, func(s farm.ShardName) bool { return !slices.Contains(p.Next.Shards, s) })
	return c
}

// served is a range of a home's slots and where its clients are sent.
type served struct {
	Route
	Address string
}

func (p *Pair) of(home farm.SideName) (out []served) {
	for _, r := range p.Routes {
		if r.Home == home {
			out = append(out, served{r, p.Sides[r.Side].Address})
		}
	}
	return out
}

// Difference is a home whose clients a table sends elsewhere than was written.
type Difference struct {
	Pair    farm.PairName `json:"pair"`
	Side    farm.SideName `json:"side,omitempty"` // whose clients; none: the pair as a whole
	Shows   string        `json:"shows"`
	Written string        `json:"written"`
}

// Differ is where a table is not what was written last. A change that may have
// been made or not is no difference either way.
func (o *Noted) Differ(t *Table) []Difference {
	out := []Difference{}
	if o == nil {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(o.Pairs)) {
		p, now := o.Pairs[name], t.Pairs[name]
		if p.Last == nil {
			continue
		}
		if now == nil {
			out = append(out, Difference{Pair: name, Shows: "no such pair", Written: p.Last.inWords(farm.A)})
			continue
		}
		for _, home := range farm.SideNames {
			if p.Next != nil && reflect.DeepEqual(now.of(home), p.Next.of(home)) {
				continue
			}
			if !reflect.DeepEqual(now.of(home), p.Last.of(home)) {
				out = append(out, Difference{name, home, now.inWords(home), p.Last.inWords(home)})
			}
		}
		if !sameShards(now.Shards, p.Last.Shards) && (p.Next == nil || !sameShards(now.Shards, p.Next.Shards)) {
			out = append(out, Difference{Pair: name, Shows: fmt.Sprintf("shards %v", now.Shards), Written: fmt.Sprintf("shards %v", p.Last.Shards)})
		}
	}
	return out
}

func sameShards(a, b []farm.ShardName) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// inWords is where a home's clients are sent.
func (p *Pair) inWords(home farm.SideName) string {
	text := ""
	for _, r := range p.of(home) {
		if text != "" {
			text += ", "
		}
		share := float64(r.To-r.From+1) / float64(max(p.Slots, 1)) * 100
		text += fmt.Sprintf("%.4g %% to %s (gate %s)", share, r.Address, r.Gate)
	}
	if text == "" {
		return "nothing"
	}
	return text
}
