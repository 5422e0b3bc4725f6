package check

import (
	"stowage/farm"
	"stowage/placement"
)

// everythingOnce: each side of each pair has exactly one assignment, under its
// own instance name; with the unit shard, each side of each shard has one.
func (j *judge) everythingOnce() {
	if j.byShard {
		j.everyShardOnce()
		return
	}
	seen := map[sideKey]int{}
	for _, a := range j.plan.Assignments {
		pair, ok := j.pairs[a.Pair]
		if !ok || a.Shard != "" {
			j.say("assignment-known", string(a.Instance), "the farm has no side %s of pair %s to be placed as a whole", a.Side, a.Pair)
			continue
		}
		if _, side := pair.Sides[a.Side]; !side {
			j.say("assignment-known", string(a.Instance), "the farm has no side %s of pair %s", a.Side, a.Pair)
			continue
		}
		if pair.Instance(a.Side) != a.Instance {
			j.say("assignment-name", string(a.Instance), "side %s of pair %s is instance %s", a.Side, a.Pair, pair.Instance(a.Side))
		}
		seen[sideKey{a.Pair, a.Side}]++
	}
	for _, pair := range j.farm.Pairs {
		for side := range pair.Sides {
			if n := seen[sideKey{pair.Name, side}]; n != 1 {
				j.say("assignment-once", string(pair.Instance(side)), "it has %s and needs 1", farm.Counted(n, "place"))
			}
		}
	}
}

// everyShardOnce: new pairs have new names, an instance has one place and no
// more shards than it may, and both sides of a shard are in one pair. Shards
// of frozen pairs stay in theirs.
func (j *judge) everyShardOnce() {
	seen := map[shardKey]int{}
	pairOf := map[farm.ShardName]farm.PairName{}
	at := map[farm.InstanceName]placement.Assignment{}
	held := map[farm.InstanceName]int{}
	names := map[farm.PairName]bool{}
	for _, p := range j.whole.Pairs {
		names[p.Name] = true
	}
	for _, a := range j.plan.Assignments {
		if _, known := j.shards[a.Shard]; !known || a.Side != farm.A && a.Side != farm.B {
			j.say("assignment-known", string(a.Shard), "the farm has no side %s of such a shard", a.Side)
			continue
		}
		home, frozen := j.shardOf[a.Shard], j.isFrozen(j.shardOf[a.Shard])
		switch old := names[a.Pair]; {
		case frozen && a.Pair != home:
			j.say("frozen", string(a.Shard), "it is frozen in pair %s and assigned to %s", home, a.Pair)
		case old && !frozen:
			j.say("assignment-name", string(a.Pair), "a new pair has the name of an old one")
		}
		if (farm.Pair{Name: a.Pair}).Instance(a.Side) != a.Instance {
			j.say("assignment-name", string(a.Instance), "side %s of pair %s has another name", a.Side, a.Pair)
		}
		if other, ok := pairOf[a.Shard]; ok && other != a.Pair {
			j.say("assignment-pair", string(a.Shard), "its sides are in pairs %s and %s", other, a.Pair)
		}
		if other, ok := at[a.Instance]; ok && (other.Host != a.Host || other.Port != a.Port) {
			j.say("assignment-place", string(a.Instance), "it is on %s:%d and on %s:%d", other.Host, other.Port, a.Host, a.Port)
		}
		pairOf[a.Shard], at[a.Instance] = a.Pair, a
		seen[shardKey{a.Shard, a.Side}]++
		if held[a.Instance]++; held[a.Instance] == j.plan.Goals.ShardsPerInstance+1 && j.plan.Goals.ShardsPerInstance > 0 && !frozen {
			j.say("shards-per-instance", string(a.Instance), "it holds more than %s", farm.Counted(j.plan.Goals.ShardsPerInstance, "shard"))
		}
	}
	for name := range j.shards {
		for _, side := range farm.SideNames {
			if n := seen[shardKey{name, side}]; n != 1 {
				j.say("assignment-once", string(name), "side %s has %s and needs 1", side, farm.Counted(n, "place"))
			}
		}
	}
}

// sidesApart: the sides of a pair are on two hosts, and on two values of each
// spread label. Frozen pairs are where they are.
func (j *judge) sidesApart() {
	hosts := map[sideKey]farm.HostName{}
	for _, a := range j.plan.Assignments {
		hosts[sideKey{a.Pair, a.Side}] = a.Host
	}
	for key, host := range hosts {
		if j.isFrozen(key.pair) {
			continue
		}
		for _, side := range j.otherSides(key.pair) {
			other, ok := hosts[sideKey{key.pair, side}]
			if !ok || side <= key.side {
				continue
			}
			if other == host {
				j.say("sides-apart", string(key.pair), "both sides are on host %s", host)
				continue
			}
			for _, label := range j.plan.Goals.SpreadLabels {
				if v, w := j.hosts[host].Labels[label], j.hosts[other].Labels[label]; v == "" || w == "" || v == w {
					j.say("labels-apart", string(key.pair), "%s and %s do not differ in %s", host, other, label)
				}
			}
		}
	}
}

// otherSides are all sides that a pair may have: a new one has A and B.
func (j *judge) otherSides(pair farm.PairName) []farm.SideName {
	if p := j.pairs[pair]; p != nil {
		return sidesOf(p)
	}
	return farm.SideNames[:]
}

// rightHosts: every place is on a known host of a type to pack onto that is
// not to be emptied, and where something is made there is a directory for it.
func (j *judge) rightHosts() {
	wanted, without := map[farm.HostTypeName]bool{}, map[farm.HostName]bool{}
	for _, t := range j.plan.Goals.Onto {
		wanted[t] = true
	}
	for _, h := range j.plan.Goals.Without {
		without[h] = true
	}
	for _, a := range j.plan.Assignments {
		h, ok := j.hosts[a.Host]
		switch pair := j.oldPair(a.Pair, a.Shard); {
		case !ok:
			j.say("host-known", string(a.Instance), "unknown host %s", a.Host)
		case j.isFrozen(pair):
		case len(wanted) > 0 && !wanted[h.Type]:
			j.say("host-type", string(a.Instance), "host %s is a %s, which the goals do not pack onto", a.Host, h.Type)
		case without[a.Host]:
			j.say("host-without", string(a.Instance), "host %s is to be emptied", a.Host)
		case h.Dir == "" && !j.bought[a.Host] && (j.byShard || j.pairs[pair] == nil || j.pairs[pair].Sides[a.Side].Host != a.Host):
			j.say("host-dir", string(a.Instance), "host %s has no dir to make it in", a.Host)
		}
	}
}

// stays: what is frozen has the place it had, and no move.
func (j *judge) stays() {
	for _, a := range j.plan.Assignments {
		name := j.oldPair(a.Pair, a.Shard)
		if !j.isFrozen(name) || j.pairs[name] == nil {
			continue
		}
		if at := j.pairs[name].Sides[a.Side]; at.Host != a.Host || at.Port != a.Port {
			j.say("frozen", string(a.Instance), "it is frozen on %s:%d and assigned to %s:%d", at.Host, at.Port, a.Host, a.Port)
		}
	}
	for _, m := range j.plan.Moves {
		name := m.Pair
		if j.byShard {
			name = j.shardOf[m.Shard]
		}
		if j.isFrozen(name) {
			j.say("frozen", m.Name, "it is frozen, and moves to %s", m.To.Host)
		}
	}
}
