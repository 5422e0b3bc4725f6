package bound

import (
	"encoding/binary"
	"math"
)

// master is the linear program over the contents of bins that are known so
// far. Its rows say that all items are packed. To begin with there is a row
// for a few sums over items rather than one for each item (see traits): that
// restricts what an item can be worth to a formula, which is quick to settle
// and a good start for the rest.
type master struct {
	m        *model
	traits   traits
	lp       *simplex
	patterns []pattern
	seen     map[string]bool
	unit     float64 // the largest price: costs in the LP are at most 1
	capped   []int   // row of the availability of each type of bin, or -1
}

// traits is a set of formulas: what an item is worth is the sum of the duals
// of its rows, each times a factor.
type traits struct {
	rows   []sense
	of     [][]trait // of each item
	single bool      // one row for each item
}

type trait struct {
	row    int32
	factor float64
}

// eachItem gives every item its own row: the whole configuration LP.
func eachItem(m *model) traits {
	t := traits{single: true}
	for i := range m.n {
		t.rows = append(t.rows, atLeast)
		t.of = append(t.of, []trait{{int32(i), 1}})
	}
	return t
}

func newMaster(m *model, t traits) *master {
	ms := &master{m: m, traits: t, seen: map[string]bool{}, unit: 1}
	for _, c := range m.price {
		ms.unit = math.Max(ms.unit, float64(c))
	}
	right := make([]float64, len(t.rows))
	senses := append([]sense(nil), t.rows...)
	for i, list := range t.of {
		for _, f := range list {
			right[f.row] += f.factor * float64(m.count[i])
		}
	}
	for t := range m.price {
		ms.capped = append(ms.capped, -1)
		if m.avail[t] < m.copies {
			ms.capped[t] = len(right)
			right = append(right, float64(m.avail[t]))
			senses = append(senses, atMost)
		}
	}
	ms.lp = newSimplex(right, senses, 30)
	return ms
}

// add takes a content of a bin into the LP, unless it is there already.
func (ms *master) add(p pattern) bool {
	key := p.key()
	if ms.seen[key] {
		return false
	}
	ms.seen[key] = true
	ms.patterns = append(ms.patterns, p)
	ms.lp.add(ms.column(p))
	return true
}

func (ms *master) column(p pattern) column {
	c := column{cost: float64(ms.m.price[p.bin]) / ms.unit}
	at := map[int32]int{}
	for k, i := range p.items {
		for _, f := range ms.traits.of[i] {
			j, ok := at[f.row]
			if !ok {
				j = len(c.rows)
				at[f.row] = j
				c.rows = append(c.rows, f.row)
				c.vals = append(c.vals, 0)
			}
			c.vals[j] += f.factor * float64(p.times[k])
		}
	}
	if r := ms.capped[p.bin]; r >= 0 {
		c.rows = append(c.rows, int32(r))
		c.vals = append(c.vals, 1)
	}
	return c
}

func (p pattern) key() string {
	b := binary.AppendUvarint(nil, uint64(p.bin))
	type pair struct{ i, n int32 }
	list := make([]pair, len(p.items))
	for k := range p.items {
		list[k] = pair{p.items[k], p.times[k]}
	}
	for a := 1; a < len(list); a++ {
		for b := a; b > 0 && list[b].i < list[b-1].i; b-- {
			list[b], list[b-1] = list[b-1], list[b]
		}
	}
	for _, x := range list {
		b = binary.AppendUvarint(b, uint64(x.i))
		b = binary.AppendUvarint(b, uint64(x.n))
	}
	return string(b)
}

// worth is a point of the dual: what each item is worth, and what it would be
// worth to have one more bin of each type, both in units of master.unit.
type worth struct {
	item []float64
	more []float64
}

func (ms *master) worth() worth {
	w := worth{make([]float64, ms.m.n), make([]float64, len(ms.m.price))}
	for i, list := range ms.traits.of {
		for _, f := range list {
			w.item[i] += f.factor * ms.lp.dual[f.row]
		}
		w.item[i] = math.Max(0, w.item[i])
	}
	for t, r := range ms.capped {
		if r >= 0 {
			w.more[t] = math.Max(0, -ms.lp.dual[r])
		}
	}
	return w
}

// blend is alpha*a + (1-alpha)*b.
func blend(a, b worth, alpha float64) worth {
	w := worth{make([]float64, len(a.item)), make([]float64, len(a.more))}
	for i := range w.item {
		w.item[i] = alpha*a.item[i] + (1-alpha)*b.item[i]
	}
	for t := range w.more {
		w.more[t] = alpha*a.more[t] + (1-alpha)*b.more[t]
	}
	return w
}

// shrink forgets columns that are far from being of use.
func (ms *master) shrink(limit int) {
	if len(ms.patterns) <= limit {
		return
	}
	bar := 0.2
	for range 12 {
		kept := ms.lp.drop(bar)
		list := make([]pattern, len(kept))
		for k, j := range kept {
			list[k] = ms.patterns[j]
		}
		ms.patterns = list
		if len(list) <= limit*2/3 {
			break
		}
		bar /= 2
	}
	ms.seen = map[string]bool{}
	for _, p := range ms.patterns {
		ms.seen[p.key()] = true
	}
}
