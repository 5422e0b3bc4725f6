package claims

import (
	"fmt"
	"slices"

	"stowage/farm"
)

// inference is the pair of an instance as its shards tell: some sources say
// which shards are on the instance, some in which pair those shards are.
type inference struct {
	instance, pair string
	shards, of     int
	who            mask // of both kinds of sources
}

// fewShards is how many shards it takes to tell the pair of an instance.
const fewShards = 2

// inferPairs learns the pairs of instances from their shards. Of an instance
// whose pair is claimed by fewer sources than stand behind its shards, the
// shards decide what is compared: one wrong line about an instance would be a
// conflict about each of its shards otherwise.
func (r *resolver) inferPairs(direct vote[string]) {
	address, instance, pair := r.attribute("address"), r.attribute("instance"), r.attribute("pair")
	says, on := map[uint32][]side{}, map[uint32][]side{} // few each, and many shards: no maps
	keep := func(in map[uint32][]side, sub uint32, value string, source uint8) {
		for i := range in[sub] {
			if in[sub][i].value == value {
				in[sub][i].who |= bit(int(source))
				return
			}
		}
		in[sub] = append(in[sub], side{value: value, who: bit(int(source))})
	}
	for i := range r.set.rows {
		w := &r.set.rows[i]
		if w.unknown || r.set.subjects.things[w.subject].Kind != Shard {
			continue
		}
		switch w.attribute {
		case pair:
			keep(says, w.subject, plainName(r.set.words.things[w.value]), w.source)
		case address, instance:
			if name, ok := r.instance(r.set.words.things[w.value]); ok {
				keep(on, w.subject, name, w.source)
			}
		}
	}
	counts, total := map[string]map[string]*inference{}, map[string]int{}
	for shard, instances := range on {
		for _, at := range instances {
			name, by := at.value, at.who
			if len(says[shard]) == 0 {
				continue
			}
			total[name]++
			for _, in := range says[shard] {
				p, who := in.value, in.who
				if counts[name] == nil {
					counts[name] = map[string]*inference{}
				}
				if counts[name][p] == nil {
					counts[name][p] = &inference{instance: name, pair: p}
				}
				counts[name][p].shards++
				counts[name][p].who |= who | by
			}
		}
	}
	for _, name := range sortedKeys(counts) {
		var best *inference
		for _, p := range sortedKeys(counts[name]) {
			if c := counts[name][p]; best == nil || c.shards > best.shards {
				best = c
			}
		}
		if best.of = total[name]; best.shards < fewShards || best.shards*10 < best.of*8 {
			continue
		}
		said, known := r.pairs[name]
		others := best.who &^ direct[name][said]
		switch {
		case !known:
			r.pairs[name] = best.pair
		case said != best.pair && r.roots(others&r.fresh).count() > r.roots(direct[name][said]&r.fresh).count():
			best.who = others
			r.pairs[name] = best.pair
			r.inferred = append(r.inferred, *best)
		}
	}
}

// inferredPairs makes disputes of instances whose shards say another pair.
func (r *reconciler) inferredPairs() {
	for _, inf := range r.inferred {
		n, ok := r.set.subjects.numbers[Subject{Instance, inf.instance}]
		if !ok {
			continue
		}
		facts := r.factsOf(n, "pair")
		d := dispute{subject: Subject{Instance, inf.instance}, attribute: "pair", facts: facts}
		d.groups = r.group(Instance, "pair", facts)
		if at := slices.IndexFunc(d.groups, func(g side) bool { return g.value == inf.pair }); at >= 0 {
			d.groups[at].who |= inf.who
		} else {
			d.groups = append(d.groups, side{value: inf.pair, who: inf.who})
		}
		for _, i := range r.nameable(inf.who) {
			d.besides = append(d.besides, Shown{Value: fmt.Sprintf("%s (so are %d of its %s)", inf.pair, inf.shards, farm.Counted(inf.of, "shard")), Source: r.sources[i].Name, Place: r.sources[i].Where, At: r.sources[i].At})
		}
		d.verdict = r.judge(d)
		r.open = slices.DeleteFunc(r.open, func(o dispute) bool { return o.subject == d.subject && o.attribute == "pair" })
		r.open = append(r.open, d)
	}
}
