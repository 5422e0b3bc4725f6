package bound

// model is a problem as the algorithms of this package see it: the number of
// items in a bin is one more dimension, in which everything needs 1.
type model struct {
	n, dims int
	need    [][]int64 // of each item, dims long
	count   []int64
	room    [][]int64 // of each type of bin
	limit   [][]int32 // [type][item]: most copies a bin of that type can hold
	price   []int64   // of each type
	avail   []int64   // of each type; unlimited where the problem says 0
	copies  int64
}

const unlimited = int64(1) << 40

func newModel(p Problem, o Objective) *model {
	m := &model{n: len(p.Items), dims: len(p.Bins[0].Room) + 1, copies: p.copies()}
	for _, it := range p.Items {
		m.need = append(m.need, append(append(make([]int64, 0, m.dims), it.Needs...), 1))
		m.count = append(m.count, int64(it.Count))
	}
	for t, b := range p.Bins {
		slots := m.copies
		if b.MaxItems > 0 {
			slots = min(slots, int64(b.MaxItems))
		}
		m.room = append(m.room, append(append(make([]int64, 0, m.dims), b.Room...), slots))
		m.price = append(m.price, p.price(o, t))
		avail := unlimited
		if b.Available > 0 {
			avail = int64(b.Available)
		}
		m.avail = append(m.avail, avail)
		m.limit = append(m.limit, m.limits(p, t))
	}
	return m
}

func (m *model) limits(p Problem, t int) []int32 {
	limits := make([]int32, m.n)
	apart := make([]bool, m.n)
	for _, group := range p.Apart {
		for _, i := range group {
			apart[i] = true
		}
	}
	for i, it := range p.Items {
		most := int64(it.Count)
		if it.PerBin > 0 {
			most = min(most, int64(it.PerBin))
		}
		if it.PerDomain > 0 && p.Bins[t].Domain != "" {
			most = min(most, int64(it.PerDomain))
		}
		if apart[i] {
			most = 1
		}
		for k, w := range m.need[i] {
			if w > 0 {
				most = min(most, m.room[t][k]/w)
			}
		}
		limits[i] = int32(most)
	}
	return limits
}
