package pack

import (
	"cmp"
	"math"
	"slices"
)

// ladder is a row of sets of bins to try, each dearer than the one before:
// level 0 is what the volume bound allows, the last level is every bin.
type ladder struct {
	m       *model
	price   []float64 // by type, of the objective that is climbed
	demands []demandOf
	order   []int32 // usable bins, those worth keeping first
	grain   float64 // how much more capacity each level has than the last
	single  bool    // one type only: each level has one bin more
	lowest  int     // single: bins of level 0
	held    int     // single: bins in use anyhow
	top     int     // the level at which everything is open
}

func newLadder(m *model, price []float64) *ladder {
	l := &ladder{m: m, price: price, demands: m.demands(), order: m.preference()}
	types := map[int32]bool{}
	for _, b := range l.order {
		types[m.typ[b]] = true
		if m.held[b] {
			l.held++
		}
	}
	l.single = len(types) == 1
	counts := m.mix(price, l.demands, 1)
	for _, n := range counts {
		l.lowest += n
	}
	if counts == nil {
		l.lowest = len(l.order)
	}
	if l.single {
		l.top = max(0, len(l.order)-l.lowest)
		return l
	}
	l.grain = max(0.0005, 0.5/float64(max(l.lowest, 1)))
	l.top = int(3/l.grain) + 1
	return l
}

// level returns the open bins of level k.
func (l *ladder) level(k int) []int32 {
	if k >= l.top {
		return slices.Clone(l.order)
	}
	if l.single {
		return slices.Clone(l.order[:min(len(l.order), max(l.held, l.lowest+k))])
	}
	counts := l.m.mix(l.price, l.demands, 1+float64(k)*l.grain)
	if counts == nil {
		return slices.Clone(l.order)
	}
	var open []int32
	for _, b := range l.order {
		if t := l.m.typ[b]; counts[t] > 0 || l.m.held[b] {
			counts[t]--
			open = append(open, b)
		}
	}
	return open
}

// preference sorts the usable bins: held ones first, then those with most at
// home, then the labels that rules speak of in turn, so that any few bins
// offer every label about equally.
func (m *model) preference() []int32 {
	bytes := make([]float64, m.nb)
	for u, h := range m.home {
		if h >= 0 && m.allowed(int32(u), h) {
			bytes[h] += m.stay[u] + 1e-6
		}
	}
	kind := -1
	for _, r := range m.groups {
		if r.kind >= 0 {
			kind = r.kind
			break
		}
	}
	turn := make([]int, m.nb)
	seen := map[[2]int32]int{}
	var order []int32
	for b := range m.nb {
		if !m.usable(int32(b)) && !m.held[b] {
			continue
		}
		order = append(order, int32(b))
		if kind >= 0 && bytes[b] == 0 {
			key := [2]int32{m.typ[b], m.values[kind][b]}
			turn[b] = seen[key]
			seen[key]++
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		if m.held[a] != m.held[b] {
			if m.held[a] {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(bytes[b], bytes[a]), cmp.Compare(turn[a], turn[b]))
	})
	return order
}

// prices by type of an objective, the next ones breaking ties.
func (m *model) prices(objectives []Objective) []float64 {
	price := make([]float64, len(m.p.Types))
	scale := 1.0
	for _, o := range objectives {
		if o == Moved {
			continue
		}
		most := 0.0
		for t, typ := range m.p.Types {
			v := typ.price(o)
			price[t] += v * scale
			most = max(most, v)
		}
		if most > 0 {
			scale *= 1e-6 / math.Max(most, 1)
		}
	}
	return price
}

func (t *Type) price(o Objective) float64 {
	switch o {
	case Count:
		return 1
	case Cost:
		return float64(t.Cost)
	case Watts:
		return float64(t.Watts)
	}
	return 0
}
