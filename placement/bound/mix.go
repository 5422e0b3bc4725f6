package bound

import "math"

// cover is a cut as numbers: bins with most[t] each must come to need.
type cover struct {
	need float64
	most []float64
}

// mix finds the cheapest numbers of bins of each type that satisfy all covers
// (an integer program with a handful of variables), by branch and bound.
type mix struct {
	m      *model
	covers []cover
	order  []int
	best   int64
	any    bool
	budget int
	step   int64 // the greatest common divisor of all prices
}

// blend solves the linear relaxation: the factors with which the covers, added
// up, alone give its value.
func (m *model) blend(covers []cover) []float64 {
	right := make([]float64, 0, len(covers)+len(m.price))
	var senses []sense
	for range covers {
		right = append(right, 1)
		senses = append(senses, atLeast)
	}
	capped := make([]int, len(m.price))
	top := 1.0
	for t, c := range m.price {
		top = math.Max(top, float64(c))
		if capped[t] = -1; m.avail[t] < m.copies {
			capped[t] = len(right)
			right = append(right, 1)
			senses = append(senses, atMost)
		}
	}
	lp := newSimplex(right, senses, 1e4*float64(len(m.price))*float64(m.copies))
	for t, c := range m.price {
		col := column{cost: float64(c) / top}
		// A bin is measured in units that make its largest entry 1.
		unit := 0.0
		for _, cv := range covers {
			unit = math.Max(unit, cv.most[t]/cv.need)
		}
		if unit == 0 {
			continue
		}
		col.cost /= unit
		for j, cv := range covers {
			if e := cv.most[t] / cv.need / unit; e > 0 {
				col.rows = append(col.rows, int32(j))
				col.vals = append(col.vals, e)
			}
		}
		if capped[t] >= 0 {
			col.rows = append(col.rows, int32(capped[t]))
			col.vals = append(col.vals, 1/unit/float64(m.avail[t]))
		}
		lp.add(col)
	}
	lp.solve(2000)
	factors := make([]float64, len(covers))
	for j, cv := range covers {
		factors[j] = math.Max(0, lp.dual[j]) / cv.need
	}
	return factors
}

// cheapest is the least cost that satisfies all cuts, or a bound of it when
// the search is too long; feasible is false when no numbers of bins do.
func (m *model) cheapest(cuts []Cut, budget int) (cost int64, feasible bool, factors []float64) {
	x := &mix{m: m, budget: budget, step: m.step()}
	var at []int
	for j, cut := range cuts {
		if c := m.cover(cut); c.need > 0 {
			x.covers = append(x.covers, c)
			at = append(at, j)
		}
	}
	factors = make([]float64, len(cuts))
	if len(x.covers) == 0 {
		return 0, true, factors
	}
	some := m.blend(x.covers)
	for j, f := range some {
		factors[at[j]] = f
	}
	x.covers = append(x.covers, x.sum(some))
	for t := range m.price {
		x.order = append(x.order, t)
	}
	x.best = math.MaxInt64
	rest := make([]float64, len(x.covers))
	for j, c := range x.covers {
		rest[j] = c.need
	}
	root := x.rounded(x.relaxed(0, rest))
	if math.IsInf(x.relaxed(0, rest), 1) {
		return 0, false, factors
	}
	x.try(0, rest, 0)
	if x.budget <= 0 {
		return root, true, factors
	}
	return x.best, x.any, factors
}

// step is the greatest common divisor of the prices: every cost is a multiple.
func (m *model) step() int64 {
	var g int64
	for _, c := range m.price {
		for c != 0 {
			g, c = c, g%c
		}
	}
	return max(g, 1)
}

// cover weighs all items. Weights are int64, so float64 may lose the last
// digits of a sum; relaxed leaves room for that.
func (m *model) cover(cut Cut) cover {
	c := cover{most: make([]float64, len(cut.Most))}
	for t, w := range cut.Most {
		c.most[t] = float64(w)
	}
	for _, i := range cut.Items {
		c.need += float64(m.count[i])
	}
	switch cut.Kind {
	case Sum, Shape:
		sizes, room := m.sizes(cut.Factors)
		for i, x := range sizes {
			if cut.Kind == Shape {
				x = cut.Function.apply(x, room, cut.Parameter)
			}
			c.need += float64(x) * float64(m.count[i])
		}
	case Content:
		for i, w := range cut.Weights {
			c.need += float64(w) * float64(m.count[i])
		}
	}
	return c
}

func (x *mix) sum(factors []float64) cover {
	c := cover{most: make([]float64, len(x.m.price))}
	for j, f := range factors {
		c.need += f * x.covers[j].need
		for t, w := range x.covers[j].most {
			c.most[t] += f * w
		}
	}
	return c
}

// slack is what sums of floating point numbers may be off by, relatively.
const slack = 1e-9

func (x *mix) rounded(v float64) int64 {
	return int64(math.Ceil(v/float64(x.step)*(1-slack)-slack)) * x.step
}

// relaxed is the largest bound that one cover gives for the types from order[from].
func (x *mix) relaxed(from int, rest []float64) float64 {
	worst := 0.0
	for j, c := range x.covers {
		if rest[j] <= c.need*slack {
			continue
		}
		worst = math.Max(worst, x.single(from, rest[j], c))
	}
	return worst
}

// single fills one cover with the types that cost least for it, in fractions.
func (x *mix) single(from int, rest float64, c cover) float64 {
	cost, last := 0.0, -1.0
	for rest > c.need*slack {
		// the next cheapest rate above last; types of one rate are taken together
		rate, room := math.Inf(1), 0.0
		for _, t := range x.order[from:] {
			if c.most[t] <= 0 {
				continue
			}
			switch r := float64(x.m.price[t]) / c.most[t]; {
			case r > last && r < rate:
				rate, room = r, c.most[t]*float64(x.m.avail[t])
			case r == rate:
				room += c.most[t] * float64(x.m.avail[t])
			}
		}
		if math.IsInf(rate, 1) {
			return rate
		}
		part := math.Min(rest, room)
		cost += part * rate
		rest -= part
		last = rate
	}
	return cost
}

func (x *mix) try(from int, rest []float64, cost int64) {
	x.budget--
	if x.budget <= 0 {
		return
	}
	open := 0.0
	for j, c := range x.covers {
		if rest[j] > c.need*slack {
			open = math.Max(open, rest[j])
		}
	}
	if open == 0 {
		if !x.any || cost < x.best {
			x.best, x.any = cost, true
		}
		return
	}
	if from == len(x.order) {
		return
	}
	r := x.relaxed(from, rest)
	if math.IsInf(r, 1) || x.any && cost+x.rounded(r) >= x.best {
		return
	}
	t := x.order[from]
	k := int64(0)
	for j, c := range x.covers {
		if rest[j] > c.need*slack && c.most[t] > 0 {
			k = max(k, int64(math.Ceil(rest[j]/c.most[t]*(1-slack)-slack)))
		}
	}
	k = min(k, x.m.copies) // every bin in use holds something
	least := int64(0)
	if from == len(x.order)-1 {
		if k > x.m.avail[t] {
			return
		}
		least = k // fewer of the last type leave something open
	}
	below := make([]float64, len(rest))
	for k = min(k, x.m.avail[t]); k >= least && x.budget > 0; k-- {
		for j, c := range x.covers {
			below[j] = rest[j] - float64(k)*c.most[t]
		}
		if from+1 < len(x.order) && math.IsInf(x.relaxed(from+1, below), 1) {
			return // fewer of this type leave even more open
		}
		x.try(from+1, below, cost+k*x.m.price[t])
	}
}
