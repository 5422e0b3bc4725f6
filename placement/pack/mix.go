package pack

import (
	"math"
	"slices"
)

// mixNodes bounds the search for a mix of types; with up to ten types it ends
// long before.
const mixNodes = 100_000

// demandOf is what units that may go to the types of mask, and to no other,
// need together.
type demandOf struct {
	mask uint64
	need []float64
}

// demands lists the totals that any set of bins must carry: of all units, and
// of those that are confined to some types.
func (m *model) demands() []demandOf {
	all := demandOf{mask: math.MaxUint64, need: make([]float64, m.d)}
	out := []demandOf{all}
	for u, mask := range m.types {
		if mask == 0 || m.frozen[u] {
			continue
		}
		vec := m.vec(int32(u))
		for k, v := range vec {
			all.need[k] += v
		}
		at := slices.IndexFunc(out, func(d demandOf) bool { return d.mask == mask })
		if at < 0 && len(out) < 64 {
			at = len(out)
			out = append(out, demandOf{mask: mask, need: make([]float64, m.d)})
		}
		if at > 0 {
			for k, v := range vec {
				out[at].need[k] += v
			}
		}
	}
	for i := 1; i < len(out); i++ { // a subset of the types is confined as well
		own := slices.Clone(out[i].need)
		for j := 1; j < len(out); j++ {
			if i != j && out[j].mask != out[i].mask && out[i].mask&^out[j].mask == 0 {
				for k, v := range own {
					out[j].need[k] += v
				}
			}
		}
	}
	return out
}

// mixer looks for how many bins of each type carry all demands at least
// objective.
type mixer struct {
	m       *model
	price   []float64 // by type
	least   []int     // held by type
	most    []int     // by type, held included
	order   []int     // types, best value first
	demands []demandOf
	spare   []float64 // by type and dimension: mean capacity of a bin
	nodes   int
	count   []int
	best    []int
	cost    float64
	cheap   [][]float64 // by position in order and dimension: least price per unit from there on
}

// mix returns the number of bins by type whose capacity is at least inflate
// times every demand, of least price; nil when all bins together are too
// little.
func (m *model) mix(price []float64, demands []demandOf, inflate float64) []int {
	x := m.newMixer(price, demands, inflate, false)
	x.try(0, 0)
	return x.best
}

// floor is a price that no set of bins carrying all demands can be below; +Inf
// when all of them together are too little.
func (m *model) floor(price []float64, demands []demandOf) float64 {
	x := m.newMixer(price, demands, 1, true)
	x.try(0, 0)
	if x.nodes > mixNodes {
		return math.Ceil(x.atLeast(0) - 1e-6)
	}
	return x.cost
}

// newMixer takes a bin of a type to have the mean room of those there are, or,
// to be optimistic, the most.
func (m *model) newMixer(price []float64, demands []demandOf, inflate float64, optimistic bool) *mixer {
	x := &mixer{m: m, price: price, cost: math.Inf(1)}
	types := len(m.p.Types)
	x.least, x.most, x.count = make([]int, types), make([]int, types), make([]int, types)
	x.spare = make([]float64, types*m.d)
	for b, t := range m.typ {
		if m.held[b] {
			x.least[t]++
		}
		if m.held[b] || m.usable(int32(b)) {
			x.most[t]++
			for k := range m.d {
				sum := &x.spare[int(t)*m.d+k]
				room := max(0, m.cap[int(t)*m.d+k]-m.facts[b*m.d+k])
				if optimistic {
					*sum = max(*sum, room)
				} else {
					*sum += room
				}
			}
		}
	}
	for t, n := range x.most {
		for k := range m.d {
			if !optimistic {
				x.spare[t*m.d+k] /= float64(max(n, 1))
			}
		}
		if n > 0 {
			x.order = append(x.order, t)
		}
	}
	for _, d := range demands {
		need := slices.Clone(d.need)
		for k := range need {
			need[k] *= inflate
		}
		x.demands = append(x.demands, demandOf{d.mask, need})
	}
	x.sortTypes()
	return x
}

// sortTypes puts first what carries the most of the scarcest for its price.
func (x *mixer) sortTypes() {
	worth := make([]float64, len(x.price))
	for _, t := range x.order {
		worst := math.Inf(1)
		for k, need := range x.demands[0].need {
			if need > 0 {
				worst = min(worst, x.spare[t*x.m.d+k]/need)
			}
		}
		worth[t] = worst / max(x.price[t], 1e-9)
	}
	slices.SortStableFunc(x.order, func(a, b int) int {
		switch {
		case worth[a] > worth[b]:
			return -1
		case worth[a] < worth[b]:
			return 1
		}
		return 0
	})
	x.cheap = make([][]float64, len(x.order)+1)
	for i := len(x.order); i >= 0; i-- {
		x.cheap[i] = make([]float64, x.m.d)
		for k := range x.cheap[i] {
			x.cheap[i][k] = math.Inf(1)
			for _, t := range x.order[min(i, len(x.order)):] {
				if c := x.spare[t*x.m.d+k]; c > 0 {
					x.cheap[i][k] = min(x.cheap[i][k], x.price[t]/c)
				}
			}
		}
	}
}

// try chooses the number of bins of the types from position i on.
func (x *mixer) try(i int, cost float64) {
	x.nodes++
	if x.nodes > mixNodes || cost+x.atLeast(i) >= x.cost*(1-1e-12) {
		return
	}
	if i == len(x.order) {
		if x.lacking(0, math.MaxUint64) == 0 {
			x.cost, x.best = cost, slices.Clone(x.count)
		}
		return
	}
	t := x.order[i]
	enough := min(max(x.lacking(t, 1<<t), x.least[t]), x.most[t])
	lowest := x.least[t]
	if i == len(x.order)-1 {
		lowest = enough // the last type carries what is left
	}
	for n := enough; n >= lowest; n-- {
		x.count[t] = n
		x.try(i+1, cost+float64(n)*x.price[t])
	}
	x.count[t] = 0
}

// atLeast is a price below which the types from position i on cannot carry
// what the chosen ones leave.
func (x *mixer) atLeast(i int) float64 {
	most := 0.0
	for _, t := range x.order[i:] {
		most += float64(x.least[t]) * x.price[t]
	}
	for k, need := range x.demands[0].need {
		for _, t := range x.order[:i] {
			need -= float64(x.count[t]) * x.spare[t*x.m.d+k]
		}
		if need > 1e-6 {
			most = max(most, need*x.cheap[i][k])
		}
	}
	return most
}

// lacking is how many bins of type t carry what the chosen types leave of the
// demands that t may serve. With all types chosen it is 0 when nothing is
// left.
func (x *mixer) lacking(t int, serves uint64) int {
	bins := 0
	for _, d := range x.demands {
		if d.mask&serves == 0 {
			continue
		}
		for k, need := range d.need {
			for _, o := range x.order {
				if d.mask>>o&1 == 1 {
					need -= float64(x.count[o]) * x.spare[o*x.m.d+k]
				}
			}
			if need <= 1e-6 {
				continue
			}
			c := x.spare[t*x.m.d+k]
			if c <= 0 {
				return 1 << 30
			}
			bins = max(bins, 1, int(math.Ceil(need/c-1e-9)))
		}
	}
	return bins
}
