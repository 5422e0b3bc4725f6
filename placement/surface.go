package placement

import (
	"slices"

	"stowage/farm"
	"stowage/placement/pack"
)

// surface limits how much of something one host may hold: the surface of one
// failure. It is one more dimension of the packing.
type surface struct {
	weight func(item int) int64
	frozen func(host int) int64 // what is frozen there
	most   int64
}

// surfaces are the limits that are dimensions: the share of all shards, and of
// the shards of customers who have several in one instance.
func (v *view) surfaces() []surface {
	var out []surface
	if v.goals.Surface.Shards > 0 {
		out = append(out, surface{
			weight: func(i int) int64 { return int64(v.shards(i)) },
			frozen: func(r int) int64 { return int64(v.hosts[r].frozen.shards) },
			most:   int64(v.goals.Surface.MostShards(v.all)),
		})
	}
	all := v.customerShards()
	for _, c := range v.uneven() {
		out = append(out, surface{
			weight: func(i int) int64 { return int64(v.customersOf(i)[c]) },
			frozen: func(r int) int64 { return int64(v.frozenOf(c, r)) },
			most:   int64(v.goals.Surface.MostOfCustomer(all[c])),
		})
	}
	return out
}

// mostUneven is how many customers get a dimension of their own.
const mostUneven = 24

// uneven are the customers whose limit is a dimension because not all items
// that hold any of their shards hold as many, or because some are frozen.
func (v *view) uneven() []farm.CustomerName {
	if v.goals.Surface.Customer <= 0 {
		return nil
	}
	held := map[farm.CustomerName]int{}
	uneven := map[farm.CustomerName]bool{}
	for i, it := range v.problem.items {
		for c, n := range v.customersOf(i) {
			if held[c] == 0 {
				held[c] = n
			}
			uneven[c] = uneven[c] || held[c] != n || v.mirrored && it.shard < 0 && v.isFrozen(i)
		}
	}
	var out []farm.CustomerName
	for c, is := range uneven {
		if is {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), mostUneven)]
}

// frozenOf is how many shards of a customer are frozen on a host.
func (p *problem) frozenOf(c farm.CustomerName, r int) int {
	n := 0
	for i, it := range p.items {
		if it.from == r && p.isFrozen(i) {
			n += p.customersOf(i)[c]
		}
	}
	return n
}

// customerShards is how many shards each customer has.
func (p *problem) customerShards() map[farm.CustomerName]int {
	out := map[farm.CustomerName]int{}
	if p.goals.Surface.Customer <= 0 {
		return out
	}
	for _, pair := range p.farm.Pairs {
		for _, s := range pair.Shards {
			if s.Customer != "" {
				out[s.Customer]++
			}
		}
	}
	return out
}

// customers adds the rules that no host holds more than a share of one
// customer's shards, as far as they are no dimensions: all items count alike,
// or, where there are too many such customers, as the one that holds most.
func (v *view) customers(out *pack.Problem, numbers map[int]int) {
	if v.goals.Surface.Customer <= 0 {
		return
	}
	all := v.customerShards()
	items := map[farm.CustomerName][]int{}
	largest := map[farm.CustomerName]int{}
	for i := range v.problem.items {
		if n, in := numbers[i]; in {
			for c, held := range v.customersOf(i) {
				items[c] = append(items[c], n)
				largest[c] = max(largest[c], held)
			}
		}
	}
	uneven := v.uneven()
	var names []farm.CustomerName
	for c := range items {
		if !slices.Contains(uneven, c) {
			names = append(names, c)
		}
	}
	slices.Sort(names)
	for _, c := range names {
		if most := v.goals.Surface.MostOfCustomer(all[c]) / largest[c]; most < len(items[c]) {
			out.Groups = append(out.Groups, pack.Group{Items: items[c], Domain: pack.Each, Max: max(1, most)})
		}
	}
}

// customersOf is how many shards of each customer an item holds.
func (p *problem) customersOf(i int) map[farm.CustomerName]int {
	out := map[farm.CustomerName]int{}
	it := p.items[i]
	for s, shard := range p.pair(i).Shards {
		if shard.Customer != "" && (it.shard < 0 || it.shard == s) {
			out[shard.Customer]++
		}
	}
	return out
}
