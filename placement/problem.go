package placement

import "stowage/farm"

// item is one thing that is placed as a whole: one side of a pair, or one
// side's copy of a shard.
type item struct {
	pair  int           // index into Farm.Pairs
	shard int           // index into Pair.Shards, or -1: all of them
	thing int           // index into problem.first
	side  farm.SideName // sides of the same thing are neighbours in problem.items: A, B and further replicas; a single instance has A only
	needs []int64       // at the end of the runway, by dimension
	today []int64       // now
	bytes int64         // to copy
	from  int           // the host it is in now, or -1 when that is not a host to pack onto
}

// problem is a farm and goals in the shape the search works on. It is not
// changed after newProblem.
type problem struct {
	farm   *farm.Farm // what is placed, and what is left for it at the end of the runway
	whole  *farm.Farm // with what the unit shard leaves where it is: its names and ports are taken
	goals  Goals
	dims   []dimension
	hosts  []host
	items  []item
	first  []int // by thing (a pair, a single instance, or a shard), its item of side A
	notTwo int   // things that are not of two sides: single instances, and sets with further replicas
	host   map[farm.HostName]int
	frozen map[farm.PairName]bool
	own    []int64        // what an instance needs for itself, by dimension
	bars   map[int][]bool // by item, the hosts that pins and forbids rule out
	all    int            // shards
	haste  float64        // a factor on the effort of the search; 0: 1
	price  grain          // of what host types cost
	watts  grain
	// emptied hosts receive nothing and keep only what is frozen.
	emptied map[int]bool
}

func newProblem(whole *farm.Farm, g Goals) *problem {
	f := plannedAtEnd(whole, g)
	p := &problem{farm: f, whole: whole, goals: g, hosts: hosts(f, g), host: map[farm.HostName]int{}, frozen: map[farm.PairName]bool{}}
	for _, name := range g.Frozen {
		p.frozen[name] = true
	}
	p.price, p.watts = grains(f)
	p.dims = dimensions(f, p.hosts, g)
	reserved := map[farm.HostName]farm.Resources{}
	for _, h := range planned(whole, g).Hosts {
		reserved[h.Name] = h.Reserved
	}
	for r := range p.hosts {
		p.hosts[r].measure(p.dims, g, reserved[p.hosts[r].spec.Name])
		p.host[p.hosts[r].spec.Name] = r
	}
	end, now := later(f, p.dims, g), today(f, p.dims)
	own := make([]float64, len(p.dims))
	end.plain(own, g.Overhead)
	p.own = end.rounded(own)
	for i, pair := range f.Pairs {
		p.all += len(pair.Shards)
		if g.Unit == UnitShard && len(pair.Shards) == 0 {
			continue // nothing of it is left
		}
		if g.Unit == UnitShard && !p.frozen[pair.Name] {
			for s := range pair.Shards {
				p.addItems(i, s, pair.Shards[s:s+1], nil, end, now)
			}
			continue
		}
		p.addItems(i, -1, pair.Shards, g.Overhead, end, now)
	}
	p.freeze()
	p.bar()
	return p
}

// planned is the farm as goals look at it. What regroups shards makes pairs of
// them: what is not of two sides is left where it is, and what it needs today is
// taken off its hosts.
func planned(f *farm.Farm, g Goals) *farm.Farm {
	if g.Unit == UnitShard {
		return f.TwosOnly()
	}
	return f
}

// plannedAtEnd is planned at the end of the runway: what is left where it is has
// grown by then.
func plannedAtEnd(f *farm.Farm, g Goals) *farm.Farm {
	if g.Unit == UnitShard {
		return f.TwosOnlyWhen(g.Needs)
	}
	return f
}

// addItems adds the sides of something.
func (p *problem) addItems(pair, shard int, shards []farm.Shard, overhead farm.Resources, end, now demand) {
	needs, present := make([]float64, len(p.dims)), make([]float64, len(p.dims))
	end.plain(needs, overhead)
	now.plain(present, overhead)
	bytes := 0.0
	for _, s := range shards {
		end.add(needs, s)
		now.add(present, s)
		bytes += s.Needs[farm.Disk]
	}
	later, today := end.rounded(needs), now.rounded(present)
	sides := p.farm.Pairs[pair].SideNames()
	if p.first = append(p.first, len(p.items)); len(sides) != 2 {
		p.notTwo++
	}
	for _, side := range sides {
		it := item{pair: pair, shard: shard, thing: len(p.first) - 1, side: side, needs: later, today: today, bytes: int64(bytes), from: -1}
		if r, ok := p.host[p.farm.Pairs[pair].Sides[side].Host]; ok && shard < 0 && (!p.hosts[r].outside || p.frozen[p.farm.Pairs[pair].Name]) {
			it.from = r // single shards go to new instances wherever they are
		}
		p.items = append(p.items, it)
	}
}

// sides are the items of a thing, A first: from, and up to before to.
func (p *problem) sides(thing int) (from, to int) {
	if thing+1 < len(p.first) {
		return p.first[thing], p.first[thing+1]
	}
	return p.first[thing], len(p.items)
}

// fewest is on how many hosts something that is placed is at least: the two
// sides of a pair are on two.
func (p *problem) fewest() int {
	most := 0
	for thing := range p.first {
		a, end := p.sides(thing)
		most = max(most, end-a)
	}
	return most
}

// source is the host an item's data is on now, or -1.
func (p *problem) source(i int) int {
	if r, ok := p.host[p.pair(i).Sides[p.items[i].side].Host]; ok && !p.hosts[r].outside {
		return r
	}
	return -1
}

// freeze adds up what is frozen on each host.
func (p *problem) freeze() {
	if len(p.frozen) == 0 {
		return
	}
	for r := range p.hosts {
		p.hosts[r].frozen.needs = make([]int64, len(p.dims))
	}
	for i, it := range p.items {
		if !p.isFrozen(i) {
			continue
		}
		on := &p.hosts[it.from].frozen
		for d, v := range it.needs {
			on.needs[d] += v
		}
		on.instances++
		on.shards += p.shards(i)
	}
	for r := range p.hosts {
		host := &p.hosts[r]
		host.full = host.most > 0 && host.frozen.instances > host.most
		for d, v := range host.frozen.needs {
			host.full = host.full || v > host.limit[d]
		}
		if most := p.goals.Surface.Shards; most > 0 {
			host.full = host.full || host.frozen.shards > p.goals.Surface.MostShards(p.all)
		}
		for c, all := range p.customerShards() {
			host.full = host.full || host.frozen.instances > 0 && p.frozenOf(c, r) > p.goals.Surface.MostOfCustomer(all)
		}
	}
}

// name is what an item is called.
func (p *problem) name(i int) string {
	it := p.items[i]
	pair := p.farm.Pairs[it.pair]
	if it.shard >= 0 {
		return string(pair.Shards[it.shard].Name) + " (" + string(it.side) + ")"
	}
	return string(pair.Instance(it.side))
}

// pair is the farm's pair of an item.
func (p *problem) pair(i int) *farm.Pair { return &p.farm.Pairs[p.items[i].pair] }

// shards is how many shards an item holds.
func (p *problem) shards(i int) int {
	if p.items[i].shard >= 0 {
		return 1
	}
	return len(p.pair(i).Shards)
}

// labels numbers the values of the spread labels: [host][label], -1 where a
// host has none.
func (p *problem) labels() [][]int {
	numbers := make([]map[string]int, len(p.goals.SpreadLabels))
	out := make([][]int, len(p.hosts))
	for r, host := range p.hosts {
		for n, label := range p.goals.SpreadLabels {
			if numbers[n] == nil {
				numbers[n] = map[string]int{}
			}
			v, has := host.spec.Labels[label]
			if !has {
				out[r] = append(out[r], -1)
				continue
			}
			if _, known := numbers[n][v]; !known {
				numbers[n][v] = len(numbers[n])
			}
			out[r] = append(out[r], numbers[n][v])
		}
	}
	return out
}

// clash is why the two hosts may not hold the two sides of a pair: "twin", the
// name of a spread label, or "".
func (p *problem) clash(a, b int) string {
	if a == b {
		return "twin"
	}
	for _, label := range p.goals.SpreadLabels {
		if v := p.hosts[a].spec.Labels[label]; v == p.hosts[b].spec.Labels[label] {
			return label
		}
	}
	return ""
}

// isFrozen says whether an item stays where it is.
func (p *problem) isFrozen(i int) bool { return p.frozen[p.pair(i).Name] }
