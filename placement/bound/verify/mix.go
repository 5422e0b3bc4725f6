package verify

import (
	"math"
	"math/big"
	"sort"
)

// mix proves that numbers of bins which satisfy all covers cost at least a
// bound, or that no available numbers of bins satisfy them.
type mix struct {
	judge      *judge
	covers     []cover
	price      []*big.Int
	avail      []*big.Int // 0: any number
	infeasible bool       // the claim is that there are none
	bound      *big.Int
	step       *big.Int // all prices are multiples of it
	order      [][]int  // of each cover: types by price for what they cover
	ok         bool
}

// blend adds the sum of all covers, each times a factor. It follows from them.
func (m *mix) blend(factors []float64) {
	if len(factors) != len(m.covers) || len(factors) == 0 {
		return
	}
	lowest := math.MaxInt
	for _, f := range factors {
		if !(f >= 0) || math.IsInf(f, 0) {
			return
		}
		if f > 0 {
			_, e := math.Frexp(f)
			lowest = min(lowest, e-53)
		}
	}
	sum := cover{need: new(big.Int)}
	for range m.price {
		sum.most = append(sum.most, new(big.Int))
	}
	for j, f := range factors {
		if f == 0 {
			continue
		}
		fraction, e := math.Frexp(f)
		whole := new(big.Int).Lsh(big.NewInt(int64(fraction*(1<<53))), uint(e-53-lowest))
		sum.need.Add(sum.need, new(big.Int).Mul(whole, m.covers[j].need))
		for t, w := range m.covers[j].most {
			sum.most[t].Add(sum.most[t], new(big.Int).Mul(whole, w))
		}
	}
	m.covers = append([]cover{sum}, m.covers...)
}

func (m *mix) prove(claim int64) error {
	m.bound = big.NewInt(claim)
	m.step = new(big.Int)
	for _, c := range m.price {
		m.step.GCD(nil, nil, m.step, c)
	}
	if m.step.Sign() == 0 {
		m.step.SetInt64(1)
	}
	for _, c := range m.covers {
		types := make([]int, 0, len(c.most))
		for t, w := range c.most {
			if w.Sign() > 0 {
				types = append(types, t)
			}
		}
		sort.SliceStable(types, func(a, b int) bool {
			x := new(big.Int).Mul(m.price[types[a]], c.most[types[b]])
			return x.Cmp(new(big.Int).Mul(m.price[types[b]], c.most[types[a]])) < 0
		})
		m.order = append(m.order, types)
	}
	rest := make([]*big.Int, len(m.covers))
	for j, c := range m.covers {
		rest[j] = c.need
	}
	m.ok = true
	m.try(0, rest, new(big.Int))
	switch {
	case m.judge.steps < 0:
		return tooLarge("mixes of bins")
	case !m.ok && m.infeasible:
		return wrong("the cuts do not rule out a packing")
	case !m.ok:
		return wrong("the cuts do not give %d", claim)
	}
	return nil
}

// try looks for a mix that contradicts the claim, with the numbers of the
// types before t decided.
func (m *mix) try(t int, rest []*big.Int, cost *big.Int) {
	if !m.ok || m.judge.steps < 0 {
		return
	}
	m.judge.steps -= 100
	least, possible := m.least(t, rest)
	if !possible {
		return
	}
	total := new(big.Int).Add(cost, least)
	if !m.infeasible && total.Cmp(m.bound) >= 0 {
		return
	}
	if t == len(m.price) {
		m.ok = false // everything is covered, for less
		return
	}
	most := new(big.Int)
	for j, c := range m.covers {
		if rest[j].Sign() > 0 && c.most[t].Sign() > 0 {
			if k := ceilQuo(rest[j], c.most[t]); k.Cmp(most) > 0 {
				most = k
			}
		}
	}
	if m.avail[t].Sign() > 0 && most.Cmp(m.avail[t]) > 0 {
		most = m.avail[t]
	}
	if all := big.NewInt(m.judge.total); most.Cmp(all) > 0 {
		most = all // every bin in use holds something
	}
	if !most.IsInt64() {
		m.judge.steps = -1
		return
	}
	for k := most.Int64(); k >= 0 && m.ok && m.judge.steps >= 0; k-- {
		number := big.NewInt(k)
		below := make([]*big.Int, len(rest))
		for j, c := range m.covers {
			below[j] = new(big.Int).Sub(rest[j], new(big.Int).Mul(number, c.most[t]))
		}
		if _, possible := m.least(t+1, below); !possible {
			return // fewer bins of this type leave even more to cover
		}
		m.try(t+1, below, new(big.Int).Add(cost, new(big.Int).Mul(number, m.price[t])))
	}
}

// least is what covering the rest with types from t on costs at least: for
// each cover alone, in fractions of bins, cheapest first.
func (m *mix) least(t int, rest []*big.Int) (*big.Int, bool) {
	best := new(big.Int)
	for j, c := range m.covers {
		if rest[j].Sign() <= 0 {
			continue
		}
		open := new(big.Int).Set(rest[j])
		cost := new(big.Int)
		for _, s := range m.order[j] {
			if s < t || open.Sign() <= 0 {
				continue
			}
			all := new(big.Int).Mul(m.avail[s], c.most[s])
			if m.avail[s].Sign() > 0 && all.Cmp(open) < 0 {
				open.Sub(open, all)
				cost.Add(cost, new(big.Int).Mul(m.avail[s], m.price[s]))
				continue
			}
			cost.Add(cost, ceilQuo(new(big.Int).Mul(open, m.price[s]), c.most[s]))
			open.SetInt64(0)
		}
		if open.Sign() > 0 {
			return nil, false
		}
		if cost.Cmp(best) > 0 {
			best = cost
		}
	}
	return best.Mul(ceilQuo(best, m.step), m.step), true
}

func ceilQuo(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}
