package placement

import (
	"cmp"
	"slices"
	"sort"

	"stowage/farm"
)

// couples pairs hosts that may hold the two sides of a pair. Hosts that are
// alike come first; those with the commonest labels are coupled first, each
// with one of the commonest labels that differ: with one label that leaves the
// fewest over. Shards are then dealt to hosts that are not alike as well, and
// the smaller of the two counts.
func (p *problem) couples() [][]int {
	byShape := map[string][]int{}
	var shapes []string
	out := p.couplesOfFrozen()
	taken := map[int]bool{}
	for _, c := range out {
		taken[c[0]], taken[c[1]] = true, true
	}
	for r, host := range p.hosts {
		if taken[r] || !p.takesNewInstances(r) {
			continue
		}
		key := host.shape()
		if byShape[key] == nil {
			shapes = append(shapes, key)
		}
		byShape[key] = append(byShape[key], r)
	}
	var left []int
	for _, key := range shapes {
		found, rest := p.couple(byShape[key])
		out = append(out, found...)
		left = append(left, rest...)
	}
	if p.goals.Unit == UnitShard {
		slices.Sort(left)
		found, _ := p.couple(left)
		out = append(out, found...)
		p.orient(out)
	}
	return out
}

// takesNewInstances says whether anything new may be made on a host.
func (p *problem) takesNewInstances(r int) bool {
	host := p.hosts[r]
	return host.shut == "" && !host.full && !p.emptied[r] && (host.most == 0 || p.goals.Unit != UnitShard || host.frozen.instances < host.most)
}

// couplesOfFrozen are the couples on which shards have to join frozen pairs.
func (p *problem) couplesOfFrozen() [][]int {
	var out [][]int
	taken := map[int]bool{}
	if p.goals.Unit != UnitShard || len(p.frozen) == 0 {
		return nil
	}
	for _, union := range p.unions() {
		for _, name := range union {
			a, b, ok := p.frozenOn(name)
			if ok && !taken[a] && !taken[b] && p.takesNewInstances(a) && p.takesNewInstances(b) {
				taken[a], taken[b] = true, true
				out = append(out, []int{a, b})
			}
		}
	}
	return out
}

// frozenAt is the host of one side of a frozen pair.
func (p *problem) frozenAt(name farm.PairName, side farm.SideName) (r int, ok bool) {
	pair, known := p.farm.Pair(name)
	if !known || !p.frozen[name] {
		return 0, false
	}
	at, ok := pair.Sides[side]
	return p.host[at.Host], ok
}

// frozenOn are the hosts of a frozen pair.
func (p *problem) frozenOn(name farm.PairName) (a, b int, ok bool) {
	if !p.frozen[name] {
		return 0, 0, false
	}
	pair, ok := p.farm.Pair(name)
	if !ok {
		return 0, 0, false
	}
	return p.host[pair.Sides[farm.A].Host], p.host[pair.Sides[farm.B].Host], true
}

// couple couples hosts, and returns those that are left over.
func (p *problem) couple(hosts []int) (out [][]int, left []int) {
	classes := map[string][]int{}
	for _, r := range hosts {
		key := ""
		for _, l := range p.goals.SpreadLabels {
			key += p.hosts[r].spec.Labels[l] + "\x00"
		}
		classes[key] = append(classes[key], r)
	}
	var keys []string
	for key := range classes {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for {
		slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(len(classes[b]), len(classes[a])) })
		i, j := p.differing(keys, classes)
		if i < 0 {
			break
		}
		a := classes[keys[i]][0]
		classes[keys[i]] = classes[keys[i]][1:]
		b := classes[keys[j]][0]
		classes[keys[j]] = classes[keys[j]][1:]
		out = append(out, []int{a, b})
	}
	for _, key := range keys {
		left = append(left, classes[key]...)
	}
	return out, left
}

// differing are the first two classes of which a host each may be coupled.
func (p *problem) differing(keys []string, classes map[string][]int) (i, j int) {
	for i := range keys {
		for j := i; j < len(keys); j++ {
			x, y := classes[keys[i]], classes[keys[j]]
			switch {
			case len(x) == 0 || len(y) == 0:
			case i == j && (len(x) < 2 || len(p.goals.SpreadLabels) > 0):
			case i == j || p.clash(x[0], y[0]) == "":
				return i, j
			}
		}
	}
	return -1, -1
}

// orient turns each couple so that the data that is there already is on the
// sides it is on: two copies cannot change places.
func (p *problem) orient(couples [][]int) {
	at := map[[2]int]int{}
	for i := 0; i < len(p.items); i += 2 {
		if a, b := p.source(i), p.source(i+1); a >= 0 && b >= 0 {
			at[[2]int{a, b}]++
		}
	}
	for _, c := range couples {
		if at[[2]int{c[1], c[0]}] > at[[2]int{c[0], c[1]}] {
			c[0], c[1] = c[1], c[0]
		}
	}
}
