package bound

import (
	"math"
	"slices"
)

// colgen raises a bound by column generation (Gilmore and Gomory): a master LP
// over known contents of bins, and for its dual the content that violates it
// most. Each dual that was priced to the end gives a valid bound (Farley), so
// the best one stays the centre of the search, towards which every dual of the
// LP is pulled before it is priced (Wentges). The centre begins as the dual of
// the bound by volume; so the result is never below that.
type colgen struct {
	m       *model
	ms      *master
	pricers []*pricer
	fillers []*filler

	centre worth
	best   proof // what the centre proves
	target int64 // a bound that is good enough, or 0

	work  *meter
	lpVal float64
}

// proof is a dual in integers: no content of a bin of type t weighs more than
// most[t].
type proof struct {
	weights []int64
	most    []int64
	value   float64 // the bound, before rounding
	hints   [][]int64
}

// meter counts work, in units of roughly a nanosecond, against a limit.
type meter struct {
	spent, limit int64
	stop         func() bool
}

func (w *meter) over() bool {
	return w.spent >= w.limit || w.stop != nil && w.stop()
}

// integers scales a dual to integers, rounded down; floors are what a content
// of each type of bin is allowed to weigh.
func (c *colgen) integers(w worth) (values, floors []int64) {
	top := 1.0
	for t := range w.more {
		top = math.Max(top, float64(c.m.price[t])/c.ms.unit+w.more[t])
	}
	for _, v := range w.item {
		top = math.Max(top, v)
	}
	scale := float64(1<<26) / top
	values = make([]int64, len(w.item))
	for i, v := range w.item {
		values[i] = int64(v * scale)
	}
	floors = make([]int64, len(w.more))
	for t := range floors {
		floors[t] = int64(scale * (float64(c.m.price[t])/c.ms.unit + w.more[t]))
	}
	return values, floors
}

// fraction is the least cost, in fractions of bins, that covers the weights of
// all items when a bin of type t covers most[t].
func (m *model) fraction(weights, most []int64) float64 {
	return m.strength(Cut{Kind: Content, Weights: weights, Most: most})
}

// round is a bound as a value of the objective.
func (c *colgen) round(v float64) int64 {
	x := mix{step: c.m.step()}
	return x.rounded(v)
}

// evaluate prices a dual to the end, if that takes at most budget nodes for
// each type of bin. It adds what it finds to the master.
func (c *colgen) evaluate(w, lpDual worth, budget, keep int) (pr proof, done bool, added int) {
	values, floors := c.integers(w)
	c.relax(values, floors)
	done = true
	for t, p := range c.pricers {
		before := p.nodes
		z, ok := p.search(values, floors[t], budget, keep)
		c.work.spent += int64(p.nodes-before)*60 + p.filled + int64(c.m.n*c.m.dims)*150 + int64(c.m.n)*200
		done = done && ok && z < math.MaxInt32
		floors[t] = z
		for _, pat := range p.found {
			if c.reduced(pat, lpDual) < -1e-7 && c.ms.add(pat) {
				added++
			}
		}
	}
	if done {
		pr = proof{weights: values, most: floors, value: c.m.fraction(values, floors)}
		for _, p := range c.pricers {
			pr.hints = append(pr.hints, p.hint())
		}
	}
	return pr, done, added
}

// relax raises floors by half of what the next value of the objective leaves:
// a content that is only slightly too heavy does not keep the bound from
// getting there, and to prove that none is heavier is much quicker.
func (c *colgen) relax(values, floors []int64) {
	reached := float64(c.round(c.best.value))
	now := c.m.fraction(values, floors)
	if math.IsInf(now, 1) || reached <= 0 || now <= reached*(1+1e-7) {
		return
	}
	more := min(0.5*(now/reached-1), 0.02)
	for t, f := range floors {
		floors[t] = f + int64(float64(f)*more)
	}
}

// reduced is the reduced cost of a content.
func (c *colgen) reduced(p pattern, w worth) float64 {
	sum := float64(c.m.price[p.bin])/c.ms.unit + w.more[p.bin]
	for k, i := range p.items {
		sum -= w.item[i] * float64(p.times[k])
	}
	return sum
}

// greedy adds contents found quickly, each around another first item.
func (c *colgen) greedy(w, lpDual worth, most int) int {
	added := 0
	for t, f := range c.fillers {
		f.weigh(w.item, c.pricers[t].lambda, 0.5)
		c.work.spent += int64(len(f.order)) * 250
		if len(f.order) == 0 {
			continue
		}
		stride := max(1, len(f.order)/most)
		covered := make([]bool, c.m.n)
		for s := f.rnd.below(stride); s < len(f.order); s += stride {
			first := f.order[s]
			if covered[first] {
				continue
			}
			f.order[0], f.order[f.rnd.below(min(8, len(f.order)))] = f.order[f.rnd.below(min(8, len(f.order)))], f.order[0]
			pat := f.fill(first, nil)
			c.work.spent += int64(len(f.order)) * 4
			if c.reduced(pat, lpDual) < -1e-6 && c.ms.add(pat) {
				added++
				for _, i := range pat.items {
					covered[i] = true
				}
			}
		}
	}
	return added
}

// run generates columns until the bound can rise no more (true), or the work
// is spent, or the goal is reached.
func (c *colgen) run() bool {
	alpha := 0.6
	budget := 20_000
	quiet := 0
	for {
		before := c.ms.lp.pivots
		c.ms.lp.solve(4000)
		m := int64(len(c.ms.lp.right))
		c.work.spent += int64(c.ms.lp.pivots-before) * (m*m/2 + m*20 + int64(len(c.ms.patterns))*3)
		if c.ms.lp.lacking() < 1e-5 {
			c.lpVal = c.ms.lp.value() * c.ms.unit
		} else {
			c.lpVal = math.Inf(1)
		}
		if !math.IsInf(c.lpVal, 1) && c.round(c.best.value) >= c.round(c.lpVal-1e-5*c.lpVal) {
			return true
		}
		if c.target > 0 && c.round(c.best.value) >= c.target {
			return true
		}
		if c.work.over() {
			return false
		}
		dual := c.ms.worth()
		sep := blend(c.centre, dual, alpha)
		added := c.greedy(sep, dual, 60)
		if added >= 8 && quiet < 4 {
			quiet++
			continue
		}
		quiet = 0
		pr, done, more := c.evaluate(sep, dual, int(min(int64(budget), 1000+(c.work.limit-c.work.spent)/50)), 60)
		improved := done && pr.value > c.best.value
		if improved {
			c.best = pr
			c.centre = c.scaled(sep, pr)
		}
		switch {
		case added+more == 0 && !improved && alpha == 0 && done:
			return true
		case added+more == 0 && !improved && done:
			alpha = math.Max(0, alpha*0.7-0.05)
		case added+more == 0 && !done:
			if alpha *= 0.6; alpha < 0.1 {
				alpha = 0
				budget *= 3
			}
		case improved && alpha < 0.9:
			alpha += 0.05
		}
		c.ms.shrink(4*len(c.ms.lp.right) + 4000)
	}
}

// scaled is w made feasible: no content is worth more than its price.
func (c *colgen) scaled(w worth, pr proof) worth {
	_, floors := c.integers(w)
	f := 1.0
	for t := range floors {
		if pr.most[t] > floors[t] && floors[t] > 0 {
			f = math.Min(f, float64(floors[t])/float64(pr.most[t]))
		}
	}
	out := blend(w, w, 1)
	for i := range out.item {
		out.item[i] *= f
	}
	return out
}

// maxItems is the largest number of kinds of items that columns are generated
// for, and maxRows the most that have a row each.
const (
	maxItems = 12_000
	maxRows  = 1_000
)

func newColgen(m *model, w *meter) *colgen {
	c := &colgen{m: m, work: w}
	for t := range m.room {
		p := newPricer(m, t)
		c.pricers = append(c.pricers, p)
		c.fillers = append(c.fillers, newFiller(p, 12345+uint64(t)))
	}
	return c
}

// start puts the centre where cuts, added up with factors, already are.
func (c *colgen) start(cuts []Cut, factors []float64) {
	c.ms = newMaster(c.m, traits{})
	c.centre = worth{make([]float64, c.m.n), make([]float64, len(c.m.price))}
	for t, price := range c.m.price {
		c.centre.more[t] = -float64(price) / c.ms.unit
	}
	for j, f := range factors {
		if f <= 0 {
			continue
		}
		for i, w := range c.m.weights(cuts[j]) {
			c.centre.item[i] += f * float64(w)
		}
		for t, w := range cuts[j].Most {
			c.centre.more[t] += f * float64(w)
		}
	}
	for t, v := range c.centre.more {
		c.centre.more[t] = math.Max(0, v)
	}
	x := mix{m: c.m}
	for j, cut := range cuts {
		if factors[j] > 0 {
			x.covers = append(x.covers, c.m.cover(cut))
		}
	}
	positive := slices.DeleteFunc(slices.Clone(factors), func(f float64) bool { return f <= 0 })
	sum := x.sum(positive)
	for t := range c.m.price {
		x.order = append(x.order, t)
	}
	x.covers = []cover{sum}
	c.best.value = x.relaxed(0, []float64{sum.need})
}

// climb runs column generation. Where there are many items it begins with
// formulas for groups of them: on a farm of 600 instances that raised the bound
// in half a second, and the LP with a row for each item had not got there after
// minutes. Whatever contents were found are kept for the next, finer LP. It
// reports whether the whole LP was settled.
func (c *colgen) climb() bool {
	if c.m.n > 300 {
		all := c.work.limit
		for _, groups := range []int{12, 16} {
			c.work.limit = min(all, c.work.spent+all/4)
			c.master(c.coarse(groups))
			c.run()
		}
		c.work.limit = all
	}
	if c.m.n > maxRows {
		return false
	}
	c.master(eachItem(c.m))
	return c.run()
}

// master begins a new LP with the contents of the last one.
func (c *colgen) master(t traits) {
	old := c.ms.patterns
	c.ms = newMaster(c.m, t)
	for _, p := range old {
		c.ms.add(p)
	}
}

// coarse groups items by size in the dimension that volume is shortest of.
func (c *colgen) coarse(groups int) traits {
	p := c.pricers[0]
	load := make([]float64, c.m.dims)
	for i := range c.m.n {
		for k := range load {
			load[k] += p.size[i*c.m.dims+k] * float64(c.m.count[i])
		}
	}
	main := 0
	for k, v := range load {
		if v > load[main] {
			main = k
		}
	}
	var dims []int
	for k, v := range load[:c.m.dims-1] {
		if v > 0.8*load[main] {
			dims = append(dims, k)
		}
	}
	size := func(i, k int) float64 { return p.size[i*c.m.dims+k] }
	return grouped(c.m, size, bySize(c.m.n, func(i int) float64 { return size(i, main) }), groups, dims)
}

// weights of a cut, item by item.
func (m *model) weights(cut Cut) []int64 {
	if cut.Kind == Content {
		return cut.Weights
	}
	if cut.Kind == Sum || cut.Kind == Shape {
		sizes, room := m.sizes(cut.Factors)
		if cut.Kind == Shape {
			for i, x := range sizes {
				sizes[i] = cut.Function.apply(x, room, cut.Parameter)
			}
		}
		return sizes
	}
	w := make([]int64, m.n)
	for _, i := range cut.Items {
		w[i] = 1
	}
	return w
}

// cut is the best dual as a cut. Its limits are raised as far as the bound
// allows, which spares the checker work.
func (c *colgen) cut() Cut {
	cut := Cut{Kind: Content, Weights: c.best.weights, Hints: c.best.hints}
	value := c.round(c.best.value)
	lo, hi := 0, 1000
	raised := func(k int) []int64 {
		most := make([]int64, len(c.best.most))
		for t, w := range c.best.most {
			most[t] = w + int64(float64(w)*float64(k)/2e4)
		}
		return most
	}
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if c.round(c.m.fraction(cut.Weights, raised(mid))) >= value {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	cut.Most = raised(lo)
	return cut
}
