package pack

import (
	"cmp"
	"slices"
)

// addRules copies the groups that can decide anything.
func (m *model) addRules() {
	m.labels()
	byUnit := make([][]membership, m.n)
	for _, g := range m.p.Groups {
		r := rule{kind: int(g.Domain) - 1, max: int32(min(g.Max, 1<<30)), values: m.nb}
		if r.kind >= 0 {
			if r.kind >= len(m.values) {
				continue
			}
			r.values = int(slices.Max(m.values[r.kind])) + 1
		}
		if len(g.Items) <= g.Max || r.values == 0 {
			continue
		}
		for _, i := range g.Items {
			r.members = append(r.members, membership{m.unitOf[i], 1})
		}
		slices.SortFunc(r.members, func(a, b membership) int { return cmp.Compare(a.other, b.other) })
		kept := r.members[:0]
		for _, u := range r.members {
			if k := len(kept); k > 0 && kept[k-1].other == u.other {
				kept[k-1].weight++
			} else {
				kept = append(kept, u)
			}
		}
		r.members = kept
		for _, u := range kept {
			byUnit[u.other] = append(byUnit[u.other], membership{int32(len(m.groups)), u.weight})
		}
		m.groups = append(m.groups, r)
	}
	m.ruleFrom = make([]int32, m.n+1)
	for u, of := range byUnit {
		m.ruleOf = append(m.ruleOf, of...)
		m.ruleFrom[u+1] = int32(len(m.ruleOf))
	}
}

// labels numbers the values of every label kind.
func (m *model) labels() {
	kinds := 0
	for _, b := range m.p.Bins {
		kinds = max(kinds, len(b.Labels))
	}
	for k := range kinds {
		of := make([]int32, m.nb)
		number := map[int]int32{}
		for b := range of {
			of[b] = -1
			if b >= len(m.p.Bins) || k >= len(m.p.Bins[b].Labels) || m.p.Bins[b].Labels[k] < 0 {
				continue
			}
			v, ok := number[m.p.Bins[b].Labels[k]]
			if !ok {
				v = int32(len(number))
				number[m.p.Bins[b].Labels[k]] = v
			}
			of[b] = v
		}
		m.values = append(m.values, of)
	}
}
