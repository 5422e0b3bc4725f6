package check_test

import (
	"math"
	"slices"

	"stowage/farm"
	"stowage/placement"
)

// brute is a search through all plans of a small task, by the rules as
// farm.yaml.md tells them and no others. It shares nothing with the planner
// and nothing with package check.
type brute struct {
	task
	names  []farm.ResourceName
	hosts  []farm.Host // those of the farm, then those that may be bought
	types  map[farm.HostTypeName]farm.HostType
	index  map[farm.HostName]int
	things []thing
	loads  [][]float64 // by host: what things need, by resource and hour
	where  [][3]int    // by thing: hosts of its A and its B copy
	best   optimum
	left   int // layouts that may still be looked at

	all        int // shards
	byCustomer map[farm.CustomerName]int
}

// thing is a pair, or with the unit shard a shard of one; both its copies are
// placed together. A single instance has no B copy: that is nowhere. A primary
// may have a second replica.
type thing struct {
	single bool
	second bool
	pair   int
	shards []farm.Shard
	frozen bool
	whole  bool // an instance as it is
	needs  []float64
	bytes  float64
}

// optimum is the best of all plans, objective by objective.
type optimum struct {
	feasible           bool
	hosts              int
	cost, watts, bytes float64
	layouts            [][][3]int // the first few
	finished           bool
}

// nowhere is the host of a copy that does not exist.
const nowhere = -1

// threeSides are all that a thing of these tasks may have.
var threeSides = []farm.SideName{farm.A, farm.B, "C"}

// mostLayouts bounds one search.
const mostLayouts = 200_000

func search(t task) optimum {
	b := newBrute(t)
	b.place(0)
	b.best.finished = b.left > 0
	return b.best
}

func newBrute(t task) *brute {
	b := &brute{task: t, types: map[farm.HostTypeName]farm.HostType{}, index: map[farm.HostName]int{}, left: mostLayouts, byCustomer: map[farm.CustomerName]int{}}
	b.best.hosts, b.best.cost, b.best.watts, b.best.bytes = math.MaxInt, math.Inf(1), math.Inf(1), math.Inf(1)
	for _, ty := range t.farm.HostTypes {
		b.types[ty.Name] = ty
		for n := range ty.Capacity {
			if !slices.Contains(b.names, n) {
				b.names = append(b.names, n)
			}
		}
	}
	b.hosts = slices.Clone(t.farm.Hosts)
	for _, p := range t.goals.Buy {
		for _, h := range p.Hosts(t.farm) {
			h.Dir = "somewhere"
			b.hosts = append(b.hosts, h)
		}
	}
	for i, h := range b.hosts {
		b.index[h.Name] = i
		b.loads = append(b.loads, make([]float64, 24*len(b.names)))
	}
	for i, p := range t.farm.Pairs {
		for _, s := range p.Shards {
			b.all++
			b.byCustomer[s.Customer]++
		}
		frozen := slices.Contains(t.goals.Frozen, p.Name)
		if t.goals.Unit == placement.UnitShard && len(p.Shards) == 0 {
			continue // there is nothing to place
		}
		if t.goals.Unit != placement.UnitShard || frozen {
			b.things = append(b.things, b.thing(i, p.Shards, frozen, true))
			continue
		}
		for j := range p.Shards {
			b.things = append(b.things, b.thing(i, p.Shards[j:j+1], false, false))
		}
	}
	slices.SortStableFunc(b.things, func(x, y thing) int {
		switch {
		case x.frozen == y.frozen:
			return 0
		case x.frozen:
			return -1
		}
		return 1
	})
	b.where = make([][3]int, len(b.things))
	return b
}

func (b *brute) thing(pair int, shards []farm.Shard, frozen, whole bool) thing {
	_, second := b.farm.Pairs[pair].Sides["C"]
	out := thing{single: b.farm.Pairs[pair].Topology == farm.Single, second: second, pair: pair, shards: shards, frozen: frozen, whole: whole, needs: make([]float64, 24*len(b.names))}
	growth := b.goals.Growth
	if growth == 0 {
		growth = 1
	}
	for _, s := range shards {
		out.bytes += s.Needs[farm.Disk]
		for r, n := range b.names {
			need := s.Needs[n]
			if n == farm.Disk {
				need += s.Growth * b.goals.RunwayDays
			}
			for h := range 24 {
				v := need * growth
				if n == farm.CPU || n == farm.IOPS || n == farm.Network {
					for _, p := range b.farm.Profiles {
						if p.Name == s.Profile {
							v *= p.Hours[h]
						}
					}
				}
				out.needs[24*r+h] += v
			}
		}
	}
	if whole {
		b.overhead(out.needs, 1)
	}
	return out
}

func (b *brute) overhead(load []float64, instances float64) {
	for r, n := range b.names {
		for h := range 24 {
			load[24*r+h] += instances * b.goals.Overhead[n]
		}
	}
}

// fits says whether host h carries its load within capacity and headroom.
func (b *brute) fits(h int, load []float64) bool {
	t := b.types[b.hosts[h].Type]
	for r, n := range b.names {
		c, limited := t.Capacity[n]
		if !limited {
			continue
		}
		most := math.Max(0, c*(1-b.goals.Headroom[n])-b.hosts[h].Reserved[n])
		if len(b.farm.Profiles) == 0 {
			if load[24*r] > most+1e-9*c {
				return false
			}
			continue
		}
		for hour := range 24 {
			if load[24*r+hour] > most+1e-9*c {
				return false
			}
		}
	}
	return true
}

// place tries everything for thing k and those after it.
func (b *brute) place(k int) {
	if b.left <= 0 {
		return
	}
	if k == len(b.things) {
		b.left--
		b.judge()
		return
	}
	th := &b.things[k]
	if th.frozen {
		at := b.now(k)
		b.try(k, at)
		return
	}
	for x := range b.hosts {
		if !b.allowed(th, farm.A, x) {
			continue
		}
		if th.single {
			b.try(k, [3]int{x, nowhere, nowhere})
			continue
		}
		for y := range b.hosts {
			if x == y || !b.allowed(th, farm.B, y) || !b.labelsDiffer(x, y) {
				continue
			}
			if !th.second {
				b.try(k, [3]int{x, y, nowhere})
				continue
			}
			for z := range b.hosts {
				if z != x && z != y && b.allowed(th, "C", z) && b.labelsDiffer(x, z) && b.labelsDiffer(y, z) {
					b.try(k, [3]int{x, y, z})
				}
			}
		}
	}
}

func (b *brute) try(k int, at [3]int) {
	th := &b.things[k]
	add := func(h int, sign float64) {
		if h == nowhere {
			return
		}
		for i, v := range th.needs {
			b.loads[h][i] += sign * v
		}
	}
	for _, h := range at {
		add(h, 1)
	}
	b.where[k] = at
	if th.frozen || !slices.ContainsFunc(at[:], func(h int) bool { return h != nowhere && !b.fits(h, b.loads[h]) }) {
		b.place(k + 1)
	}
	for _, h := range at {
		add(h, -1)
	}
}

func (b *brute) allowed(th *thing, side farm.SideName, h int) bool {
	pair, host := b.farm.Pairs[th.pair], b.hosts[h]
	stays := th.whole && pair.Sides[side].Host == host.Name
	switch {
	case len(b.goals.Onto) > 0 && !slices.Contains(b.goals.Onto, host.Type), slices.Contains(b.goals.Without, host.Name), host.Dir == "" && !stays:
		return false
	}
	speaks := func(w placement.Binding) bool {
		return slices.Contains(w.What, string(pair.Name)) || slices.Contains(w.What, string(pair.Instance(side)))
	}
	for _, w := range b.goals.Pins {
		if speaks(w) && !slices.Contains(w.Hosts, host.Name) {
			return false
		}
	}
	for _, w := range b.goals.Forbids {
		if speaks(w) && slices.Contains(w.Hosts, host.Name) {
			return false
		}
	}
	return true
}

func (b *brute) labelsDiffer(x, y int) bool {
	for _, l := range b.goals.SpreadLabels {
		if b.hosts[x].Labels[l] == b.hosts[y].Labels[l] {
			return false
		}
	}
	return true
}

// judge looks at a whole layout.
func (b *brute) judge() {
	if !b.together() || !b.apart() || !b.hostsHold() {
		return
	}
	used := map[int]bool{}
	bytes := 0.0
	for k, at := range b.where {
		for n, side := range threeSides {
			if at[n] == nowhere {
				continue
			}
			used[at[n]] = true
			if was := b.farm.Pairs[b.things[k].pair].Sides[side].Host; !b.things[k].whole || b.hosts[at[n]].Name != was {
				bytes += b.things[k].bytes
			}
		}
	}
	if most := b.goals.MovedMost; most > 0 && bytes > most {
		return
	}
	cost, watts := 0.0, 0.0
	for h := range used {
		cost += b.types[b.hosts[h].Type].Price
		watts += b.types[b.hosts[h].Type].Watts
	}
	o := &b.best
	o.feasible = true
	o.hosts, o.cost, o.watts, o.bytes = min(o.hosts, len(used)), min(o.cost, cost), min(o.watts, watts), min(o.bytes, bytes)
	if len(o.layouts) < 2000 {
		o.layouts = append(o.layouts, slices.Clone(b.where))
	}
}

// together: of pairs that belong together, all A sides are on one host and all
// B sides on one, unless all of them are frozen.
func (b *brute) together() bool {
	for _, g := range b.unions() {
		for n := range threeSides {
			at, moving := map[int]bool{}, false
			for k, th := range b.things {
				if slices.Contains(g, b.farm.Pairs[th.pair].Name) && b.where[k][n] != nowhere {
					at[b.where[k][n]] = true
					moving = moving || !th.frozen
				}
			}
			if moving && len(at) > 1 {
				return false
			}
		}
	}
	return true
}

// unions are the groups of Together, with those that have a pair in common
// made one.
func (b *brute) unions() [][]farm.PairName {
	var out [][]farm.PairName
	for _, g := range b.goals.Together {
		set := slices.Clone(g.Pairs)
		var rest [][]farm.PairName
		for _, o := range out {
			if slices.ContainsFunc(o, func(p farm.PairName) bool { return slices.Contains(set, p) }) {
				set = append(set, o...)
			} else {
				rest = append(rest, o)
			}
		}
		out = append(rest, set)
	}
	return out
}

func (b *brute) apart() bool {
	for _, g := range b.goals.Apart {
		type owner struct {
			pair   int
			frozen bool
		}
		on := map[int][]owner{}
		for k, th := range b.things {
			if slices.Contains(g.Pairs, b.farm.Pairs[th.pair].Name) {
				for _, h := range b.where[k] {
					if h == nowhere {
						continue
					}
					for _, o := range on[h] {
						if o.pair != th.pair && !(o.frozen && th.frozen) {
							return false
						}
					}
					on[h] = append(on[h], owner{th.pair, th.frozen})
				}
			}
		}
	}
	return true
}

// hostsHold: capacity with what new instances need for themselves, the number
// of instances, and the surface of one failure.
func (b *brute) hostsHold() bool {
	for h := range b.hosts {
		instances, shards, moving, used := 0, 0, false, false
		var customers map[farm.CustomerName]int
		var fresh map[[3]int]int // shards by hosts of both copies
		for k, th := range b.things {
			for _, at := range b.where[k] {
				if at != h {
					continue
				}
				used = true
				moving = moving || !th.frozen
				shards += len(th.shards)
				for _, s := range th.shards {
					if customers == nil {
						customers = map[farm.CustomerName]int{}
					}
					customers[s.Customer]++
				}
				if th.whole {
					instances++
					continue
				}
				if fresh == nil {
					fresh = map[[3]int]int{}
				}
				fresh[b.where[k]]++
			}
		}
		if !used || !moving {
			continue
		}
		dealt := 0
		for _, n := range fresh {
			if most := b.goals.ShardsPerInstance; most > 0 {
				dealt += (n + most - 1) / most
			} else {
				dealt++
			}
		}
		load := b.loads[h]
		if dealt > 0 && len(b.goals.Overhead) > 0 {
			load = slices.Clone(load)
			b.overhead(load, float64(dealt))
		}
		if !b.fits(h, load) {
			return false
		}
		instances += dealt
		for _, most := range []int{b.goals.MaxInstances, b.types[b.hosts[h].Type].MaxInstances} {
			if most > 0 && instances > most {
				return false
			}
		}
		if s := b.goals.Surface.Shards; s > 0 && float64(shards) > s*float64(b.all)+1e-9 {
			return false
		}
		if s := b.goals.Surface.Customer; s > 0 {
			for c, n := range customers {
				if c != "" && n > 1 && float64(n) > s*float64(b.byCustomer[c])+1e-9 {
					return false
				}
			}
		}
	}
	return true
}

// hasOrder says whether some layout can be reached by moves one after another
// that overload no host on the way and never put both sides of a pair on one.
func (b *brute) hasOrder(layouts [][][3]int) bool {
	for _, l := range layouts {
		if b.reachable(l) {
			return true
		}
	}
	return false
}

func (b *brute) reachable(target [][3]int) bool {
	n := len(b.things)
	seen := map[string]bool{}
	var walk func(moved []bool) bool
	walk = func(moved []bool) bool {
		key := ""
		for _, m := range moved {
			if m {
				key += "x"
			} else {
				key += "."
			}
		}
		if seen[key] {
			return false
		}
		seen[key] = true
		at := func(k, side int) int {
			if target[k][side] == nowhere {
				return nowhere
			}
			if moved[3*k+side] {
				return target[k][side]
			}
			return b.index[b.farm.Pairs[b.things[k].pair].Sides[farm.SideNames[side]].Host]
		}
		whole := true
		for k := range n {
			for side := range 3 {
				if target[k][side] == nowhere {
					continue
				}
				if moved[3*k+side] || b.things[k].whole && at(k, side) == target[k][side] {
					continue // single shards go to new instances, on the same host too
				}
				whole = false
				to := target[k][side]
				if at(k, (side+1)%3) == to || at(k, (side+2)%3) == to || !b.roomNow(to, k, at) {
					continue
				}
				next := slices.Clone(moved)
				next[3*k+side] = true
				if walk(next) {
					return true
				}
			}
		}
		return whole
	}
	return walk(make([]bool, 3*n))
}

// roomNow says whether host h has room today for one more copy of thing k.
func (b *brute) roomNow(h, k int, at func(k, side int) int) bool {
	t := b.types[b.hosts[h].Type]
	instances := 1
	load := slices.Clone(b.today(k))
	for o := range b.things {
		for side := range 3 {
			if at(o, side) == h {
				instances++
				for i, v := range b.today(o) {
					load[i] += v
				}
			}
		}
	}
	for _, most := range []int{b.goals.MaxInstances, t.MaxInstances} {
		if most > 0 && instances > most {
			return false
		}
	}
	for r, n := range b.names {
		c, limited := t.Capacity[n]
		for hour := range 24 {
			if limited && load[24*r+hour] > c-b.hosts[h].Reserved[n]+1e-9*c {
				return false
			}
		}
	}
	return true
}

func (b *brute) today(k int) []float64 {
	now := *b
	now.goals.RunwayDays, now.goals.Growth = 0, 1
	th := b.things[k]
	return now.thing(th.pair, th.shards, th.frozen, th.whole).needs
}
