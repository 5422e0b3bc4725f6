package placement

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"stowage/farm"
)

// dealing places shards one set after another, the largest first, each on the
// couple of hosts where it costs least. Couples are made as they are needed
// and may overlap, which the search over couples fixed beforehand cannot do:
// it is what is left where few hosts, pins or groups leave that no way.
type dealing struct {
	*problem
	units  [][]int // A items that go to one couple
	couple map[[2]int]int
	on     []load
	theirs []map[farm.CustomerName]int
	whose  map[farm.CustomerName]int
	owners []map[farm.PairName]int // of pairs that are to be apart, by host: items
	rivals map[farm.PairName]map[farm.PairName]bool
	layout *layout
	dice   *rand.Rand
	noise  float64 // 0: the cheapest couple; 1: any
}

const (
	mostDealt = 2000 // items
	deals     = 60   // in how many orders they are dealt
)

// deal is a layout of shards, or nil where none was found.
func (p *problem) deal() *layout {
	if p.goals.Unit != UnitShard || len(p.items) > mostDealt {
		return nil
	}
	units := p.dealt()
	dice := rand.New(rand.NewPCG(1, 2))
	var best *layout
	for n := range deals {
		if n > 0 { // nearly the largest first
			weight := map[int]float64{}
			for _, u := range units {
				weight[u[0]] = p.bulk(u) * (0.5 + dice.Float64()*float64(n)/deals*4)
			}
			slices.SortStableFunc(units, func(a, b []int) int { return cmp.Compare(weight[b[0]], weight[a[0]]) })
		}
		d := p.newDealing(units)
		d.dice, d.noise = dice, float64(n)/deals
		if d.run() && d.layout.broken() == "" && (best == nil || d.layout.better(best)) {
			best = d.layout
		}
	}
	return best
}

// dealt are the sets of A items that stay together, the largest first.
func (p *problem) dealt() [][]int {
	of := map[farm.PairName][]int{}
	numbers := map[int]int{}
	var free []int
	for i := 0; i < len(p.items); i += 2 {
		if !p.isFrozen(i) {
			numbers[i] = len(free)
			of[p.pair(i).Name] = append(of[p.pair(i).Name], len(free))
			free = append(free, i)
		}
	}
	s := newSets(len(free))
	for _, union := range p.unions() {
		var all []int
		for _, name := range union {
			all = append(all, of[name]...)
		}
		s.join(all)
	}
	index := map[int]int{}
	var out [][]int
	for n, i := range free {
		root := s.root(n)
		at, known := index[root]
		if !known {
			at = len(out)
			index[root] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], i)
	}
	slices.SortStableFunc(out, func(a, b []int) int { return cmp.Compare(p.bulk(b), p.bulk(a)) })
	return out
}

// bulk is how large a unit is in the resource it needs most of.
func (p *problem) bulk(unit []int) float64 {
	most := 0.0
	for d := range p.dims {
		sum := 0.0
		for _, i := range unit {
			sum += float64(p.items[i].needs[d])
		}
		most = max(most, sum)
	}
	return most
}

func (p *problem) newDealing(units [][]int) *dealing {
	d := &dealing{problem: p, units: units, couple: map[[2]int]int{}, whose: p.customerShards(), rivals: map[farm.PairName]map[farm.PairName]bool{}, layout: p.asFrozen()}
	d.on = d.layout.loads()
	d.theirs = make([]map[farm.CustomerName]int, len(p.hosts))
	d.owners = make([]map[farm.PairName]int, len(p.hosts))
	for r := range p.hosts {
		d.theirs[r], d.owners[r] = map[farm.CustomerName]int{}, map[farm.PairName]int{}
	}
	for i, r := range d.layout.where {
		if r >= 0 {
			d.note(i, r)
		}
	}
	for _, g := range p.goals.Apart {
		for _, name := range g.Pairs {
			if d.rivals[name] == nil {
				d.rivals[name] = map[farm.PairName]bool{}
			}
			for _, other := range g.Pairs {
				d.rivals[name][other] = other != name || d.rivals[name][other]
			}
		}
	}
	return d
}

// note counts customers and owners of item i on host r.
func (d *dealing) note(i, r int) {
	d.owners[r][d.pair(i).Name]++
	if d.goals.Surface.Customer > 0 {
		for c, n := range d.customersOf(i) {
			d.theirs[r][c] += n
		}
	}
}

func (d *dealing) run() bool {
	for _, unit := range d.units {
		best, at := 0.0, [2]int{-1, -1}
		for a := range d.hosts {
			for b := range d.hosts {
				if a == b || !d.allowed(unit, a, b) {
					continue
				}
				if cost := d.costOf(unit, a, b) * math.Pow(d.dice.Float64(), 4*d.noise*d.noise); at[0] < 0 || cost < best {
					best, at = cost, [2]int{a, b}
				}
			}
		}
		if at[0] < 0 {
			return false
		}
		d.put(unit, at)
	}
	return true
}

// allowed says whether a unit may go to a couple of hosts as things stand.
func (d *dealing) allowed(unit []int, a, b int) bool {
	if !d.takesNewInstances(a) || !d.takesNewInstances(b) || d.clash(a, b) != "" {
		return false
	}
	for _, i := range unit {
		if d.isBarred(i, a) || d.isBarred(i+1, b) || d.source(i) == b && d.source(i+1) == a {
			return false
		}
	}
	more := d.moreInstances(len(unit), a, b)
	return d.hasRoom(unit, a, more) && d.hasRoom(unit, b, more)
}

// moreInstances is how many instances a couple gets with n more shards.
func (d *dealing) moreInstances(n, a, b int) int {
	held, s := d.couple[[2]int{a, b}], d.goals.ShardsPerInstance
	if s > 0 {
		return (held+n+s-1)/s - (held+s-1)/s
	}
	if held > 0 {
		return 0
	}
	return 1
}

func (d *dealing) hasRoom(unit []int, r, more int) bool {
	host, on := d.hosts[r], d.on[r]
	if host.most > 0 && on.instances+more > host.most {
		return false
	}
	for k := range d.dims {
		sum := on.needs[k] + int64(more)*d.own[k]
		for _, i := range unit {
			sum += d.items[i].needs[k]
		}
		if sum > host.limit[k] {
			return false
		}
	}
	if d.goals.Surface.Shards > 0 && on.shards+len(unit) > d.goals.Surface.MostShards(d.all) {
		return false
	}
	theirs := map[farm.CustomerName]int{}
	for _, i := range unit {
		for other := range d.owners[r] {
			if d.rivals[d.pair(i).Name][other] {
				return false
			}
		}
		if d.goals.Surface.Customer > 0 {
			for c, n := range d.customersOf(i) {
				theirs[c] += n
			}
		}
	}
	for c, n := range theirs {
		if d.theirs[r][c]+n > d.goals.Surface.MostOfCustomer(d.whose[c]) {
			return false
		}
	}
	return true
}

// costOf is what a couple costs that is not in use yet, by the first objective,
// then instances, and then how full it gets.
func (d *dealing) costOf(unit []int, a, b int) float64 {
	cost := 0.0
	first := d.objectives()[0]
	for _, r := range []int{a, b} {
		if d.on[r].items == 0 {
			one := &layout{problem: d.problem, where: []int{r}}
			cost += 1e6 * (1 + one.value(first)/1e3)
		}
	}
	cost += 1e3 * float64(d.moreInstances(len(unit), a, b))
	for _, r := range []int{a, b} {
		for k, v := range d.on[r].needs {
			if limit := d.hosts[r].limit[k]; limit > 0 && limit != NoLimit {
				cost += float64(v) / float64(limit)
			}
		}
	}
	return cost
}

func (d *dealing) put(unit []int, at [2]int) {
	more := d.moreInstances(len(unit), at[0], at[1])
	d.couple[at] += len(unit)
	for n, r := range at {
		on := &d.on[r]
		on.instances += more
		for k := range d.dims {
			on.needs[k] += int64(more) * d.own[k]
		}
		for _, i := range unit {
			d.layout.where[i+n] = r
			on.items++
			on.shards++
			for k, v := range d.items[i].needs {
				on.needs[k] += v
			}
			d.note(i+n, r)
		}
	}
}
