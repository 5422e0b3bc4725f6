package route

import (
	"slices"

	"stowage/farm"
)

// A shard is served by the pair that lists it. While no pair does, its clients
// wait: that is the gate of a single shard, and the shards beside it take no
// notice. (docs/decisions/0009 says why there is no field for it.)

// Lists reports whether the pair serves the shard.
func (p *Pair) Lists(shard farm.ShardName) bool { return slices.Contains(p.Shards, shard) }

// List makes the pair serve the shard; twice is once.
func (p *Pair) List(shard farm.ShardName) {
	if !p.Lists(shard) {
		p.Shards = append(p.Shards, shard)
	}
}

// Drop ends that the pair serves the shard. Until another lists it, or this one
// does again, its clients wait.
func (p *Pair) Drop(shard farm.ShardName) {
	p.Shards = slices.DeleteFunc(p.Shards, func(s farm.ShardName) bool { return s == shard })
}

// Serves are the pairs that list the shard, by name: one at rest, none while
// it is held. Two are a table that somebody has spoilt; clients wait then too.
func (t *Table) Serves(shard farm.ShardName) []farm.PairName {
	var out []farm.PairName
	for name, p := range t.Pairs {
		if p.Lists(shard) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// places is which pair serves each shard. Shards that two pairs list are in
// none: who would be right?
func (t *Table) places() map[farm.ShardName]farm.PairName {
	out, twice := map[farm.ShardName]farm.PairName{}, []farm.ShardName(nil)
	for name, p := range t.Pairs {
		for _, s := range p.Shards {
			if first, there := out[s]; there && first != name {
				twice = append(twice, s)
			}
			out[s] = name
		}
	}
	for _, s := range twice {
		delete(out, s)
	}
	return out
}

// LookupShard is Lookup for a client that knows its shard and not the pair: it
// finds the pair that lists the shard now. ok is false while none does, or two
// do, or the file cannot be read: the client waits, as at a closed gate.
func (f *Follower) LookupShard(shard farm.ShardName, key string) (pair farm.PairName, r Route, address string, ok bool) {
	if f.look() != nil {
		return "", Route{}, "", false
	}
	s := f.state.Load()
	pair, ok = s.places[shard]
	if !ok {
		return "", Route{}, "", false
	}
	r, address = s.table.Pairs[pair].Locate(key)
	return pair, r, address, true
}
