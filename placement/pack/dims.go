package pack

import (
	"math/bits"
	"slices"
)

// addSizes copies the dimensions that can decide anything, and the number of
// items as one more where a type limits it.
func (m *model) addSizes() {
	p := m.p
	count := slices.ContainsFunc(p.Types, func(t Type) bool { return t.MaxItems > 0 })
	cols := m.columns(count)
	cols = slices.DeleteFunc(cols, func(c column) bool { return m.neverFull(c) })
	cols = m.undominated(cols)
	m.d = len(cols)
	m.size = make([]float64, m.n*m.d)
	m.cap = make([]float64, len(p.Types)*m.d)
	m.inv = make([]float64, len(p.Types)*m.d)
	m.base = make([]float64, m.nb*m.d)
	for k, c := range cols {
		for u, v := range c.size {
			m.size[u*m.d+k] = float64(v)
		}
		for t, v := range c.capacity {
			m.cap[t*m.d+k] = float64(min(v, 2*maxTotal))
			m.inv[t*m.d+k] = 1 / max(float64(v), 0.5)
		}
		for b, v := range c.used {
			m.base[b*m.d+k] = float64(v)
		}
	}
	m.facts = slices.Clone(m.base)
	m.types = make([]uint64, m.n)
	for u := range m.types {
		m.types[u] = m.fitting(u, cols)
		if m.frozen[u] {
			for k, v := range m.vec(int32(u)) {
				m.facts[int(m.fixed[u])*m.d+k] += v
			}
		}
	}
}

// column is one dimension, by unit, type and existing bin.
type column struct {
	size, capacity, used []int64
}

func (m *model) columns(count bool) []column {
	p := m.p
	dims := max(p.dims(), 0)
	cols := make([]column, dims, dims+1)
	for d := range cols {
		c := column{size: make([]int64, m.n), used: make([]int64, len(p.Bins))}
		for i := range p.Items {
			c.size[m.unitOf[i]] += p.Items[i].Demand[d]
		}
		for _, t := range p.Types {
			c.capacity = append(c.capacity, t.Capacity[d])
		}
		for b, bin := range p.Bins {
			if bin.Used != nil {
				c.used[b] = bin.Used[d]
			}
		}
		cols[d] = c
	}
	if !count {
		return cols
	}
	c := column{size: make([]int64, m.n), used: make([]int64, len(p.Bins))}
	for u := range c.size {
		c.size[u] = int64(len(m.members[u]))
	}
	for _, t := range p.Types {
		if t.MaxItems > 0 {
			c.capacity = append(c.capacity, int64(t.MaxItems))
		} else {
			c.capacity = append(c.capacity, maxTotal)
		}
	}
	return append(cols, c)
}

// neverFull says that all units and the fullest bin's content together fit
// every type.
func (m *model) neverFull(c column) bool {
	total := int64(0)
	for _, v := range c.size {
		total += v
	}
	if len(c.used) > 0 {
		total += slices.Max(c.used)
	}
	return len(c.capacity) == 0 || total <= slices.Min(c.capacity)
}

// undominated drops dimensions of which every unit takes a smaller share, of
// every type, than of one other dimension: the quiet hours of a day.
func (m *model) undominated(cols []column) []column {
	drop := make([]bool, len(cols))
	for a := range cols {
		if slices.ContainsFunc(cols[a].used, func(v int64) bool { return v > 0 }) {
			continue
		}
		for b := range cols {
			if a != b && !drop[b] && cols[a].dominatedBy(cols[b]) {
				drop[a] = true
				break
			}
		}
	}
	var kept []column
	for k, c := range cols {
		if !drop[k] {
			kept = append(kept, c)
		}
	}
	return kept
}

func (c column) dominatedBy(other column) bool {
	for t, mine := range c.capacity {
		theirs := other.capacity[t]
		for u, v := range c.size {
			// v/mine <= other.size/theirs, in whole numbers of 128 bits
			hi, lo := bits.Mul64(uint64(v), uint64(theirs))
			hi2, lo2 := bits.Mul64(uint64(other.size[u]), uint64(mine))
			if hi > hi2 || hi == hi2 && lo > lo2 {
				return false
			}
		}
	}
	return true
}
