package pack

import "slices"

// answer is a complete layout, or the best there is, in few bytes.
type answer struct {
	open    []int32
	where   []int32
	missing int      // units without a place
	value   [4]int64 // in the order of the objectives
}

// better compares by what is missing, then by the objectives in order.
func (a *answer) better(b *answer) bool {
	if b == nil || a.missing != b.missing {
		return b == nil || a.missing < b.missing
	}
	return slices.Compare(a.value[:], b.value[:]) < 0
}

// objectives are the caller's, and then those that break ties: nothing moves
// without a reason.
func (p *Problem) objectives() []Objective {
	out := slices.Clone(p.Objectives)
	if len(out) == 0 {
		out = append(out, Count)
	}
	for _, o := range []Objective{Moved, Count, Cost, Watts} {
		if !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	var first []Objective // each once
	for _, o := range out {
		if !slices.Contains(first, o) {
			first = append(first, o)
		}
	}
	return first
}

// totals of a layout.
func (m *model) totals(where []int32) (s Solution) {
	used := slices.Clone(m.held)
	for _, b := range where {
		if b >= 0 {
			used[b] = true
		}
	}
	for b, in := range used {
		if in {
			t := &m.p.Types[m.typ[b]]
			s.Count++
			s.Cost += t.Cost
			s.Watts += t.Watts
		}
	}
	for i := range m.p.Items {
		it := &m.p.Items[i]
		if home, settled := it.Home.Bin(); settled && int(where[m.unitOf[i]]) != home {
			s.Moved += it.MoveCost
			s.Moves++
		}
	}
	return s
}

// answer is the layout as it stands.
func (l *layout) answer() *answer {
	a := &answer{where: slices.Clone(l.where)}
	for _, b := range l.open {
		if len(l.inside[b]) > 0 || l.held[b] {
			a.open = append(a.open, b)
		}
	}
	for u, b := range a.where {
		if b < 0 && l.types[u] != 0 {
			a.missing++
		}
	}
	t := l.totals(a.where)
	for k, o := range l.p.objectives() {
		a.value[k] = t.Value(o)
	}
	return a
}
