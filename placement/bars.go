package placement

import (
	"slices"

	"stowage/farm"
)

// bar notes which hosts pins and forbids rule out, for the items they speak of.
func (p *problem) bar() {
	if len(p.goals.Pins)+len(p.goals.Forbids) == 0 {
		return
	}
	p.bars = map[int][]bool{}
	named := Copies(p.farm)
	items := map[Copy][]int{}
	for i, it := range p.items {
		which := Copy{p.pair(i).Name, it.side}
		items[which] = append(items[which], i)
	}
	apply := func(b Binding, rules func(listed bool) bool) {
		listed := make([]bool, len(p.hosts))
		for _, h := range b.Hosts {
			if r, ok := p.host[h]; ok {
				listed[r] = true
			}
		}
		for _, what := range b.What {
			for _, which := range named[what] {
				for _, i := range items[which] {
					if p.bars[i] == nil {
						p.bars[i] = make([]bool, len(p.hosts))
					}
					for r := range p.hosts {
						p.bars[i][r] = p.bars[i][r] || rules(listed[r])
					}
				}
			}
		}
	}
	for _, b := range p.goals.Pins {
		apply(b, func(listed bool) bool { return !listed })
	}
	for _, b := range p.goals.Forbids {
		apply(b, func(listed bool) bool { return listed })
	}
}

// isBarred says whether pins or forbids keep item i out of host r.
func (p *problem) isBarred(i, r int) bool {
	bars := p.bars[i]
	return bars != nil && bars[r]
}

// sideNames are all sides that things have, A and B first.
func (p *problem) sideNames() []farm.SideName {
	out := slices.Clone(farm.SideNames[:])
	if p.notTwo == 0 {
		return out
	}
	for _, it := range p.items {
		if !slices.Contains(out, it.side) {
			out = append(out, it.side)
		}
	}
	slices.Sort(out)
	return out
}

// unions are the groups of pairs that belong together: those that have a pair
// in common are one.
func (p *problem) unions() [][]farm.PairName {
	if len(p.goals.Together) == 0 {
		return nil
	}
	u := &unions{parent: map[farm.PairName]farm.PairName{}}
	for _, g := range p.goals.Together {
		for _, name := range g.Pairs {
			u.parent[u.root(name)] = u.root(g.Pairs[0])
		}
	}
	var out [][]farm.PairName
	index := map[farm.PairName]int{}
	seen := map[farm.PairName]bool{}
	for _, g := range p.goals.Together {
		for _, name := range g.Pairs {
			root := u.root(name)
			at, known := index[root]
			if !known {
				at = len(out)
				index[root] = at
				out = append(out, nil)
			}
			if !seen[name] {
				seen[name] = true
				out[at] = append(out[at], name)
			}
		}
	}
	return out
}
