package capacity

import (
	"math"

	"stowage/farm"
)

// index finds the parts of a farm by name: a farm has thousands of hosts, and series of each.
type index struct {
	hosts  map[farm.HostName]farm.Host
	types  map[farm.HostTypeName]farm.HostType
	pairs  map[string]*farm.Pair
	shards map[string]*farm.Pair // the pair that a shard is in
	on     map[farm.HostName]hostLoad
}

func indexed(f *farm.Farm) index {
	x := index{hosts: map[farm.HostName]farm.Host{}, types: map[farm.HostTypeName]farm.HostType{}, pairs: map[string]*farm.Pair{}, shards: map[string]*farm.Pair{}, on: load(f)}
	for _, h := range f.Hosts {
		x.hosts[h.Name] = h
	}
	for _, t := range f.HostTypes {
		x.types[t.Name] = t
	}
	for i := range f.Pairs {
		p := &f.Pairs[i]
		x.pairs[string(p.Name)] = p
		for _, s := range p.Shards {
			x.shards[string(s.Name)] = p
		}
	}
	return x
}

// limit is what a host has of a resource besides what is reserved; infinite where nothing limits it.
func (x index) limit(name farm.HostName, r farm.ResourceName) float64 {
	h := x.hosts[name]
	has, limited := x.types[h.Type].Capacity[r]
	if !limited {
		return math.Inf(1)
	}
	return has - h.Reserved[r]
}

// of is the pair of a series that belongs to a pair or to a shard.
func (x index) of(s Series) *farm.Pair {
	if s.Kind == OfPair {
		return x.pairs[s.Name]
	}
	return x.shards[s.Name]
}

// limitOf is what a series may grow to. A pair or a shard has the room that its fullest host leaves it, so long as the others there
// stay as they are: their hosts' own rows say when that room is gone.
func (x index) limitOf(s Series) float64 {
	if s.Kind == OfHost {
		return x.limit(farm.HostName(s.Name), s.Resource)
	}
	to := math.Inf(1)
	p := x.of(s)
	if p == nil || len(s.Samples) == 0 {
		return to
	}
	last := s.Samples[0]
	for _, v := range s.Samples {
		if v.At.After(last.At) {
			last = v
		}
	}
	for _, side := range p.Sides {
		to = min(to, last.Value+max(0, x.limit(side.Host, s.Resource)-x.on[side.Host].used[s.Resource]))
	}
	return to
}
