package placement

import (
	"fmt"
	"maps"
	"slices"

	"stowage/farm"
)

// unions are the sets that groups of Goals.Together grow into: two groups with
// a pair in common are one.
type unions struct {
	parent map[farm.PairName]farm.PairName
}

func (u *unions) root(p farm.PairName) farm.PairName {
	for u.parent[p] != p {
		if _, ok := u.parent[p]; !ok {
			u.parent[p] = p
			return p
		}
		u.parent[p] = u.parent[u.parent[p]]
		p = u.parent[p]
	}
	return p
}

func (c *goalCheck) unions() *unions {
	u := &unions{parent: map[farm.PairName]farm.PairName{}}
	for _, g := range c.goals.Together {
		for _, p := range g.Pairs[min(1, len(g.Pairs)):] {
			u.parent[u.root(p)] = u.root(g.Pairs[0])
		}
	}
	return u
}

// sets are the pairs of each union that group i of Together is the last of, in
// the order of the groups.
func (c *goalCheck) sets() (members map[int][]farm.PairName) {
	u := c.unions()
	last := map[farm.PairName]int{}
	for i, g := range c.goals.Together {
		if len(g.Pairs) > 0 {
			last[u.root(g.Pairs[0])] = i
		}
	}
	members = map[int][]farm.PairName{}
	seen := map[farm.PairName]bool{}
	for _, g := range c.goals.Together {
		for _, p := range g.Pairs {
			if _, known := c.pairs[p]; known && !seen[p] {
				seen[p] = true
				members[last[u.root(p)]] = append(members[last[u.root(p)]], p)
			}
		}
	}
	return members
}

// together: what belongs together may share a host by its count, is not
// apart, and is not frozen on several hosts.
func (c *goalCheck) together() {
	sets := c.sets()
	most := c.mostInstances()
	for i := range c.goals.Together {
		pairs := sets[i]
		at := fmt.Sprintf("together[%d]", i)
		if c.goals.Unit != UnitShard && most > 0 && len(pairs) > most && slices.ContainsFunc(pairs, func(p farm.PairName) bool { return !c.frozen[p] }) {
			c.say(at, "%s belong together (%s and others), and no host to pack onto may hold more than %s", farm.Counted(len(pairs), "pair"), pairs[0], farm.Counted(most, "instance"))
		}
		c.frozenTogether(at, pairs)
	}
}

// mostInstances is how many instances the roomiest host to pack onto allows;
// 0: no limit.
func (c *goalCheck) mostInstances() int {
	most := 0
	for _, h := range c.hosts {
		if !c.goals.packsOnto(h.Type) || c.types[h.Type].HoldsNone(h.Reserved) {
			continue
		}
		limit := c.types[h.Type].Most(h.Reserved)
		if g := c.goals.MaxInstances; g > 0 && (limit == 0 || g < limit) {
			limit = g
		}
		if limit == 0 {
			return 0
		}
		most = max(most, limit)
	}
	return most
}

// frozenTogether: a pair that shall join frozen ones finds them on one host,
// as far as it has sides. Frozen pairs among themselves stay as they are.
func (c *goalCheck) frozenTogether(at string, pairs []farm.PairName) {
	all := map[farm.SideName]bool{}
	for _, p := range pairs {
		for side := range c.sides(p) {
			all[side] = true
		}
	}
	for _, side := range slices.Sorted(maps.Keys(all)) {
		var first, joining, other farm.PairName
		for _, p := range pairs {
			switch at, has := c.sides(p)[side]; {
			case !has:
			case !c.frozen[p]:
				joining = p
			case first == "":
				first = p
			case at.Host != c.sides(first)[side].Host:
				other = p
			}
		}
		if joining != "" && other != "" {
			c.say(at, "%s must be together with %s and %s, which are frozen on different hosts", joining, first, other)
			return
		}
	}
}

func (c *goalCheck) sides(p farm.PairName) map[farm.SideName]farm.Side {
	return c.farm.Pairs[c.pairs[p]].Sides
}

// apart: no two of a group belong together, and there are hosts for all.
func (c *goalCheck) apart() {
	u, packed := c.unions(), c.packedHosts()
	for i, g := range c.goals.Apart {
		at := fmt.Sprintf("apart[%d]", i)
		first := map[farm.PairName]farm.PairName{} // by root
		for _, p := range g.Pairs {
			if other, ok := first[u.root(p)]; ok && other != p && !(c.frozen[p] && c.frozen[other]) {
				c.say(at, "%s and %s of group %s must be apart, and belong together", other, p, g.Name)
				break
			}
			first[u.root(p)] = p
		}
		switch free, instances, have := c.toSpread(g, packed); {
		case instances <= have:
		case instances == 2*free:
			c.say(at, "group %s has %s to keep apart, with 2 instances each, and there are %s for them", g.Name, farm.Counted(free, "pair"), farm.Counted(have, "host"))
		default:
			c.say(at, "group %s has %s to keep apart, with %s, and there are %s for them", g.Name, farm.Counted(free, "pair"), farm.Counted(instances, "instance"), farm.Counted(have, "host"))
		}
	}
}

// toSpread is how many pairs of a group are to be placed, with how many
// instances, and on how many hosts: the frozen ones are where they are, and
// keep the others out there.
func (c *goalCheck) toSpread(g Group, packed int) (free, instances, have int) {
	taken := map[farm.HostName]bool{}
	for _, p := range g.Pairs {
		at, known := c.pairs[p]
		switch {
		case !known:
		case !c.frozen[p]:
			if c.goals.Unit != UnitShard || len(c.farm.Pairs[at].Shards) > 0 {
				free++
				instances += len(c.farm.Pairs[at].SideNames())
			}
		default:
			for _, s := range c.sides(p) {
				if i, ok := c.hostAt[s.Host]; ok && c.goals.packsOnto(c.hosts[i].Type) {
					taken[s.Host] = true
				}
			}
		}
	}
	return free, instances, packed - len(taken)
}

// packedHosts counts the hosts to pack onto.
func (c *goalCheck) packedHosts() int {
	n := 0
	for _, h := range c.hosts {
		if c.goals.packsOnto(h.Type) {
			n++
		}
	}
	return n
}

// togetherBound: pairs that belong together have a host in common that all
// their pins and forbids allow.
func (b *bindings) togetherBound() {
	sets := b.sets()
	for i := range b.goals.Together {
		for _, side := range farm.SideNames { // of further replicas whether there is room says
			left, narrowed := append(hostSet(nil), b.packed...), false
			for _, p := range sets[i] {
				if allowed := b.allowed[Copy{p, side}]; allowed != nil {
					left.and(allowed)
					narrowed = true
				}
			}
			if narrowed && left.size() == 0 {
				b.say(fmt.Sprintf("together[%d]", i), "the pairs of group %s belong together, and no host is allowed to the %s sides of all of them", b.goals.Together[i].Name, side)
				break
			}
		}
	}
}
