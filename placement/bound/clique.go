package bound

import "slices"

// cliques are cuts over items of which no two go into one bin. To start from,
// there are the groups that must be apart, and the items of more than half of
// the largest room in a dimension; each is then extended by whatever goes with
// none of it.
func (m *model) cliques(p Problem) []Cut {
	var cuts []Cut
	seeds := append([][]int(nil), p.Apart...)
	for k := range m.dims {
		var large []int
		for i := range m.n {
			if 2*m.need[i][k] > m.roomiest(k) {
				large = append(large, i)
			}
		}
		seeds = append(seeds, large)
	}
	for _, seed := range seeds {
		var items []int
		for _, i := range seed {
			if m.clashes(p, i, i) || m.count[i] == 1 {
				items = append(items, i)
			}
		}
		if m.n <= 3000 {
			items = m.extended(p, items)
		}
		if len(items) > 0 {
			slices.Sort(items)
			cuts = append(cuts, Cut{Kind: Clique, Items: items, Most: slices.Repeat([]int64{1}, len(m.price))})
		}
	}
	return cuts
}

func (m *model) roomiest(k int) int64 {
	var r int64
	for _, room := range m.room {
		r = max(r, room[k])
	}
	return r
}

// extended adds items that clash with all of a clique, those with the largest
// need first.
func (m *model) extended(p Problem, items []int) []int {
	in := make([]bool, m.n)
	for _, i := range items {
		in[i] = true
	}
	rank := make([]float64, m.n)
	for i, need := range m.need {
		for k, w := range need {
			if r := m.roomiest(k); r > 0 {
				rank[i] = max(rank[i], float64(w)/float64(r))
			}
		}
	}
	for _, i := range slices.Backward(bySize(m.n, func(i int) float64 { return rank[i] })) {
		if in[i] || m.count[i] > 1 && !m.clashes(p, int(i), int(i)) {
			continue
		}
		if !slices.ContainsFunc(items, func(j int) bool { return !m.clashes(p, int(i), j) }) {
			items = append(items, int(i))
		}
	}
	return items
}

// clashes reports whether no bin holds a copy of a and a copy of b.
func (m *model) clashes(p Problem, a, b int) bool {
	if a == b {
		for t := range m.limit {
			if m.limit[t][a] > 1 {
				return false
			}
		}
		return true
	}
	for _, group := range p.Apart {
		if slices.Contains(group, a) && slices.Contains(group, b) {
			return true
		}
	}
	for _, room := range m.room {
		fits := true
		for k, r := range room {
			if m.need[a][k]+m.need[b][k] > r {
				fits = false
				break
			}
		}
		if fits {
			return false
		}
	}
	return true
}
