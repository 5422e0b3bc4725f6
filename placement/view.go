package placement

import (
	"encoding/binary"
	"slices"

	"stowage/farm"
	"stowage/placement/pack"
)

// view is a problem as package pack is asked: which items, into which bins.
//
// Directly, every item is placed and every host is a bin. Mirrored, hosts are
// coupled, one for A sides and one for B sides, alike and on different values
// of every spread label; only A sides are placed, and the B sides follow into
// the other host of the couple. That halves the problem and makes its rules
// about twins go away; whole instances can only be asked so where nothing has
// a home yet and all of it is of two sides, and shards are always,
// because what regroups them are pairs.
type view struct {
	*problem
	bins     [][]int // hosts by bin: one, or a couple
	items    []int
	mirrored bool
	hopeful  bool // shards need as few instances as can be: to be checked afterwards
	halves   int  // so many bins at the end have half of their hosts; see odd
}

func (p *problem) direct() *view {
	v := &view{problem: p}
	for r := range p.hosts {
		v.bins = append(v.bins, []int{r})
	}
	for i := range p.items {
		v.items = append(v.items, i)
	}
	return v
}

// mirror is nil where it cannot be asked.
func (p *problem) mirror() *view {
	if len(p.bars) > 0 && p.goals.Unit != UnitShard || p.notTwo > 0 {
		return nil
	}
	v := &view{problem: p, mirrored: true}
	for i, it := range p.items {
		switch {
		case it.from >= 0 && p.goals.Unit != UnitShard:
			return nil
		case i%2 == 0 && !p.isFrozen(i):
			v.items = append(v.items, i)
		}
	}
	v.bins = p.couples()
	if len(v.bins) == 0 {
		return nil
	}
	return v
}

// packing is the view as a problem for package pack.
func (v *view) packing() pack.Problem {
	out := pack.Problem{Objectives: v.objectives()}
	extra, numbers := v.surfaces(), map[int]int{} // of an item, in the view
	v.types(&out, extra)
	labels := v.labels()
	for n, hosts := range v.bins {
		r := hosts[0]
		if !v.mirrored {
			out.Bins[n].Closed, out.Bins[n].Drained = v.hosts[r].shut != "", v.emptied[r] || v.hosts[r].full
			out.Bins[n].Labels = labels[r]
		}
	}
	for n, i := range v.items {
		numbers[i] = n
		out.Items = append(out.Items, v.packItem(i, extra))
	}
	v.bar(&out)
	if !v.mirrored {
		for thing := range v.first {
			if a, end := v.sides(thing); end-a > 1 {
				all := make([]int, end-a)
				for n := range all {
					all[n] = a + n
				}
				v.keepApart(&out, all, true)
			}
		}
	}
	v.groups(&out, numbers)
	v.customers(&out, numbers)
	return out
}

func (v *view) packItem(i int, extra []surface) pack.Item {
	it := v.problem.items[i]
	item := pack.Item{Demand: it.needs}
	if own := v.ownShare(); own != nil {
		item.Demand = slices.Clone(item.Demand)
		for d, share := range own {
			item.Demand[d] += share
		}
	}
	if len(extra) > 0 {
		item.Demand = slices.Clone(item.Demand)
		for _, s := range extra {
			item.Demand = append(item.Demand, s.weight(i))
		}
	}
	if !v.mirrored && it.from >= 0 {
		item.Home, item.MoveCost = pack.At(it.from), max(1, it.bytes)
		item.Frozen = v.isFrozen(i)
	}
	return item
}

// bar adds the bins that items may not go to.
func (v *view) bar(out *pack.Problem) {
	number := map[[2]int]int{} // of a couple
	if v.mirrored {
		for n, hosts := range v.bins {
			number[[2]int{hosts[0], hosts[1]}] = n
		}
	}
	for n, i := range v.items {
		item := &out.Items[n]
		if v.bars[i] != nil || v.mirrored && v.bars[i+1] != nil {
			for bin := range v.bins {
				if !v.allows(i, bin) {
					item.NotBins = append(item.NotBins, bin)
				}
			}
			continue
		}
		if !v.mirrored {
			continue
		}
		if a, b := v.source(i), v.source(i+1); a >= 0 && b >= 0 {
			if bin, ok := number[[2]int{b, a}]; ok {
				item.NotBins = append(item.NotBins, bin)
			}
		}
	}
}

// allows says whether rules about places let an item into a bin: what is
// pinned and forbidden, and that two copies cannot change places.
func (v *view) allows(i, bin int) bool {
	hosts := v.bins[bin]
	if v.isBarred(i, hosts[0]) {
		return false
	}
	return !v.mirrored || !v.isBarred(i+1, hosts[1]) && (v.source(i) != hosts[1] || v.source(i+1) != hosts[0])
}

// types adds the bins, and as many types of them as differ. Package pack knows
// up to 64; beyond that hosts that are nearly alike are taken to be, at what
// the smallest offers.
func (v *view) types(out *pack.Problem, extra []surface) {
	for quantum := int64(1); ; quantum *= 4 {
		out.Types, out.Bins = nil, nil
		types := map[string]int{}
		for n := range v.bins {
			t := v.binType(n, extra, quantum)
			key := vectorKey(append(slices.Clone(t.Capacity), t.Cost, t.Watts, int64(t.MaxItems)))
			at, known := types[key]
			if !known {
				at = len(out.Types)
				types[key] = at
				out.Types = append(out.Types, t)
			}
			out.Bins = append(out.Bins, pack.Bin{Type: at})
		}
		if len(out.Types) <= mostTypes || quantum > NoLimit {
			return
		}
	}
}

// mostTypes is how many types of bins package pack tells apart.
const mostTypes = 64

// vectorKey is a string that is equal for equal vectors.
func vectorKey(v []int64) string {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return string(b)
}

func (v *view) binType(n int, extra []surface, quantum int64) pack.Type {
	t := pack.Type{Capacity: v.limit(n, extra), MaxItems: v.most(n)}
	for d, c := range t.Capacity {
		t.Capacity[d] = c / quantum * quantum
	}
	for _, r := range v.bins[n] {
		t.Cost += v.price.units(v.hosts[r].typ.Price)
		t.Watts += v.watts.units(v.hosts[r].typ.Watts)
	}
	return t
}

// limit is what a bin offers to items of the view: of a couple, what both of
// its hosts do.
func (v *view) limit(n int, extra []surface) []int64 {
	var out []int64
	for _, r := range v.bins[n] {
		limit := v.capacity(r, v.hopeful)
		for _, s := range extra {
			most := s.most
			if v.mirrored && v.hosts[r].frozen.instances > 0 {
				most = max(0, most-s.frozen(r))
			}
			limit = append(limit, most)
		}
		if out == nil {
			out = limit
			continue
		}
		for d := range out {
			out[d] = min(out[d], limit[d])
		}
	}
	if n >= len(v.bins)-v.halves {
		for d, limit := range out {
			switch {
			case limit == NoLimit:
			case d < len(v.dims):
				out[d] = max(0, limit-v.own[d]) / 2 // one instance is taken off, and there are two
			default:
				out[d] = limit / 2
			}
		}
	}
	return out
}

// most is how many items of the view a bin may hold; 0: any number.
func (v *view) most(n int) int {
	least := 0
	for _, r := range v.bins[n] {
		if most := v.mostItems(v.hosts[r]); most > 0 && (least == 0 || most < least) {
			least = most
		}
	}
	return least
}

// objectives are the goals' order, with the data to move last if it is not
// named: of two plans alike in all that was asked for, the one that moves less.
func (p *problem) objectives() []pack.Objective {
	words := map[string]pack.Objective{"hosts": pack.Count, "cost": pack.Cost, "watts": pack.Watts, "moves": pack.Moved}
	var out []pack.Objective
	moved := false
	for _, m := range p.goals.Minimise {
		if o, ok := words[m]; ok {
			out = append(out, o)
			moved = moved || o == pack.Moved
		}
	}
	if len(out) == 0 {
		out = append(out, pack.Count)
	}
	if !moved {
		out = append(out, pack.Moved)
	}
	return out
}

// keepApart puts items on different bins and, for the sides of a pair, on
// different values of all spread labels.
func (p *problem) keepApart(out *pack.Problem, items []int, labels bool) {
	out.Groups = append(out.Groups, pack.Group{Items: items, Domain: pack.Each, Max: 1})
	if labels {
		for n := range p.goals.SpreadLabels {
			out.Groups = append(out.Groups, pack.Group{Items: items, Domain: pack.Label(n), Max: 1})
		}
	}
}

// groups adds the rules about several pairs. numbers are the items' numbers in
// out.
func (v *view) groups(out *pack.Problem, numbers map[int]int) {
	if len(v.goals.Together)+len(v.goals.Apart) == 0 {
		return
	}
	of := map[Copy][]int{} // the numbers of what is not frozen
	for i, it := range v.problem.items {
		if n, in := numbers[i]; in && !v.isFrozen(i) {
			which := Copy{v.pair(i).Name, it.side}
			of[which] = append(of[which], n)
		}
	}
	sets := newSets(len(v.items))
	for _, union := range v.unions() {
		for _, side := range v.sideNames() {
			var all []int
			for _, name := range union {
				all = append(all, of[Copy{name, side}]...)
			}
			sets.join(all)
			v.joinFrozen(out, union, side, of)
		}
	}
	for _, g := range v.goals.Apart {
		v.apart(out, g, of, numbers, sets)
	}
	out.Together = sets.list()
}

// joinFrozen binds what belongs together with a frozen pair to its host.
func (v *view) joinFrozen(out *pack.Problem, union []farm.PairName, side farm.SideName, of map[Copy][]int) {
	for _, frozen := range union {
		r, ok := v.frozenAt(frozen, side)
		if !ok {
			continue
		}
		a, b, _ := v.frozenOn(frozen)
		for _, name := range union {
			for _, n := range of[Copy{name, side}] {
				if !v.mirrored {
					out.Items[n].Pin = pack.At(r)
					continue
				}
				for bin, hosts := range v.bins {
					if hosts[0] != a || hosts[1] != b {
						out.Items[n].NotBins = append(out.Items[n].NotBins, bin)
					}
				}
			}
		}
		return // others are frozen with it, or nobody joins
	}
}

// apart keeps the pairs of a group on different hosts. Shards of one pair are
// kept together for that: package pack knows no rule that lets some of a group
// share a host and others not.
func (v *view) apart(out *pack.Problem, g Group, of map[Copy][]int, numbers map[int]int, sets *sets) {
	var one []int // of each pair and side
	for _, name := range g.Pairs {
		for _, side := range v.sideNames() {
			if items := of[Copy{name, side}]; len(items) > 0 {
				sets.join(items)
				one = append(one, items[0])
			}
		}
		a, b, frozen := v.frozenOn(name) // mirrored: a pair
		for _, other := range g.Pairs {
			if !frozen || !v.mirrored || v.frozen[other] {
				continue
			}
			for _, n := range of[Copy{other, farm.A}] {
				for bin, hosts := range v.bins {
					if slices.Contains(hosts, a) || slices.Contains(hosts, b) {
						out.Items[n].NotBins = append(out.Items[n].NotBins, bin)
					}
				}
			}
		}
	}
	if !v.mirrored {
		for i := range v.problem.items {
			if v.isFrozen(i) && slices.Contains(g.Pairs, v.pair(i).Name) {
				one = append(one, numbers[i])
			}
		}
	}
	if len(one) > 1 {
		v.keepApart(out, one, false)
	}
}

// sets are items that are joined, step by step, to sets.
type sets struct{ parent []int }

func newSets(n int) *sets {
	s := &sets{parent: make([]int, n)}
	for i := range s.parent {
		s.parent[i] = i
	}
	return s
}

func (s *sets) root(i int) int {
	for s.parent[i] != i {
		s.parent[i] = s.parent[s.parent[i]]
		i = s.parent[i]
	}
	return i
}

func (s *sets) join(all []int) {
	for _, i := range all {
		s.parent[s.root(i)] = s.root(all[0])
	}
}

// list is the sets of two and more, in order.
func (s *sets) list() [][]int {
	var out [][]int
	index := map[int]int{}
	members := map[int][]int{}
	for i := range s.parent {
		members[s.root(i)] = append(members[s.root(i)], i)
	}
	for i := range s.parent {
		root := s.root(i)
		if _, done := index[root]; !done && len(members[root]) > 1 {
			index[root] = len(out)
			out = append(out, members[root])
		}
	}
	return out
}
