package check

import (
	"maps"
	"math"
	"slices"

	"stowage/farm"
	"stowage/placement"
)

// oldPair is the pair whose rules an assignment falls under: with the unit
// shard, that which the shard is in now.
func (j *judge) oldPair(pair farm.PairName, shard farm.ShardName) farm.PairName {
	if j.byShard {
		return j.shardOf[shard]
	}
	return pair
}

// bindings: what is pinned is on one of its hosts, what is forbidden is not. A
// name that is a pair and an instance is the pair.
func (j *judge) bindings() {
	if len(j.plan.Goals.Pins)+len(j.plan.Goals.Forbids) == 0 {
		return
	}
	named := map[string][]*farm.Pair{}
	for _, pair := range j.pairs {
		named[string(pair.Name)] = append(named[string(pair.Name)], pair)
	}
	type bound struct {
		hosts map[farm.HostName]bool
		pin   bool
	}
	rules := map[string][]bound{}
	list := func(bs []placement.Binding, pin bool) {
		for _, b := range bs {
			hosts := map[farm.HostName]bool{}
			for _, h := range b.Hosts {
				hosts[h] = true
			}
			for _, w := range b.What {
				rules[w] = append(rules[w], bound{hosts, pin})
			}
		}
	}
	list(j.plan.Goals.Pins, true)
	list(j.plan.Goals.Forbids, false)
	for _, a := range j.plan.Assignments {
		name := j.oldPair(a.Pair, a.Shard)
		pair := j.pairs[name]
		if j.isFrozen(name) || pair == nil {
			continue
		}
		held := rules[string(name)]
		if instance := string(pair.Instance(a.Side)); j.pairs[farm.PairName(instance)] == nil {
			held = append(append([]bound{}, held...), rules[instance]...)
		}
		for _, b := range held {
			switch {
			case b.pin && !b.hosts[a.Host]:
				j.say("pinned", string(a.Instance), "it is pinned to other hosts than %s", a.Host)
			case !b.pin && b.hosts[a.Host]:
				j.say("forbidden", string(a.Instance), "host %s is forbidden to it", a.Host)
			}
		}
	}
}

// hostsOf is on which hosts each side of each old pair is.
func (j *judge) hostsOf() map[sideKey]map[farm.HostName]bool {
	on := map[sideKey]map[farm.HostName]bool{}
	for _, a := range j.plan.Assignments {
		key := sideKey{j.oldPair(a.Pair, a.Shard), a.Side}
		if on[key] == nil {
			on[key] = map[farm.HostName]bool{}
		}
		on[key][a.Host] = true
	}
	return on
}

// groups: pairs that belong together share both hosts. Frozen ones are where
// they are, and the others join them.
func (j *judge) groups() {
	if len(j.plan.Goals.Together) == 0 {
		return
	}
	on := j.hostsOf()
	for _, g := range j.plan.Goals.Together {
		for _, side := range j.sidesIn(g) {
			all, moving := map[farm.HostName]bool{}, false
			for _, p := range g.Pairs {
				moving = moving || !j.isFrozen(p) && len(on[sideKey{p, side}]) > 0
				for h := range on[sideKey{p, side}] {
					all[h] = true
				}
			}
			if len(all) > 1 && moving {
				j.say("together", g.Name, "the %s sides of this group are on %s", side, farm.Counted(len(all), "host"))
			}
		}
	}
}

// sidesIn are all sides that pairs of a group have.
func (j *judge) sidesIn(g placement.Group) []farm.SideName {
	all := map[farm.SideName]bool{farm.A: true, farm.B: true}
	for _, p := range g.Pairs {
		for _, side := range j.otherSides(p) {
			all[side] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// isolation: pairs that are to be apart share no host.
func (j *judge) isolation() {
	if len(j.plan.Goals.Apart) == 0 {
		return
	}
	on := j.hostsOf()
	for _, g := range j.plan.Goals.Apart {
		owners := map[farm.HostName]map[farm.PairName]bool{}
		for _, p := range g.Pairs {
			for _, side := range j.sidesIn(g) {
				for h := range on[sideKey{p, side}] {
					if owners[h] == nil {
						owners[h] = map[farm.PairName]bool{}
					}
					owners[h][p] = true
				}
			}
		}
		for h, pairs := range owners {
			moving := false
			for p := range pairs {
				moving = moving || !j.isFrozen(p)
			}
			if len(pairs) > 1 && moving {
				j.say("apart", g.Name, "%s of this group have an instance on %s", farm.Counted(len(pairs), "pair"), h)
			}
		}
	}
}

// surface: behind no host stands more than the allowed share of all shards,
// nor of one customer's, of which one shard is always allowed.
func (j *judge) surface() {
	limit := j.plan.Goals.Surface
	if limit.Customer <= 0 && limit.Shards <= 0 {
		return
	}
	all := map[farm.CustomerName]int{}
	for _, s := range j.shards {
		all[s.Customer]++
	}
	above := func(n int, share float64, of int) bool {
		return share > 0 && float64(n) > math.Floor(share*float64(of)*(1+slack))
	}
	for name, l := range j.after {
		if !l.moving {
			continue
		}
		if above(len(l.shards), limit.Shards, len(j.shards)) {
			j.say("surface", string(name), "%d of %d shards are behind it, more than %.3g%%", len(l.shards), len(j.shards), 100*limit.Shards)
		}
		if limit.Customer <= 0 {
			continue
		}
		held := map[farm.CustomerName]int{}
		for s := range l.shards {
			held[j.shards[s].Customer]++
		}
		for c, n := range held {
			if c != "" && n > 1 && above(n, limit.Customer, all[c]) {
				j.say("surface", string(name), "%d of %d shards of customer %s depend on it, more than %.3g%%", n, all[c], c, 100*limit.Customer)
			}
		}
	}
}
