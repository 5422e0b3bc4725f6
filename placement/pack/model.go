package pack

import "slices"

// model is a problem in the shape the search works on: flat arrays, units
// instead of items, every bin that may be opened. It is not changed after
// newModel and may be read by several searches at once.
//
// Demands and capacities are whole numbers in float64: sums below maxTotal are
// exact, so a bin never overflows by rounding.
type model struct {
	p *Problem

	// Units: an item, or the items of one set of Together.
	n       int
	unitOf  []int32 // by item
	members [][]int32
	size    []float64 // n*d
	fixed   []int32   // the only bin it may be in, or -1
	frozen  []bool    // it is in that bin, and no rule counts
	torn    []bool    // its items must be in different bins: it has no place
	home    []int32   // the bin where most of its bytes are, or -1
	stay    []float64 // what it saves to be at home
	native  []bool    // all of it is at home there
	types   []uint64  // bit t: may go to type t, and fits one that is empty
	notBins [][]int32 // sorted

	// Bins: Problem.Bins, then those that may be opened.
	d      int
	nb     int
	typ    []int32
	cap    []float64 // by type, types*d
	inv    []float64 // 1/cap
	base   []float64 // nb*d: content that is not among the units
	facts  []float64 // nb*d: base and the frozen units
	closed []bool    // newcomers stay out
	lived  []bool    // some unit is at home there and may stay
	held   []bool    // in use whatever the plan says

	groups   []rule
	ruleFrom []int32 // rules of unit u are ruleOf[ruleFrom[u]:ruleFrom[u+1]]
	ruleOf   []membership
	values   [][]int32 // by label kind and bin: a number from 0, or -1
}

// rule is a Group over units.
type rule struct {
	kind    int // label kind, or -1 for the bin itself
	max     int32
	values  int // how many values its domain has
	members []membership
}

// membership says that one unit is so many items of one rule. In model.ruleOf
// other is the rule, in rule.members the unit.
type membership struct {
	other  int32
	weight int32
}

func newModel(p *Problem) *model {
	m := &model{p: p}
	m.joinItems()
	m.addBins()
	m.addSizes()
	m.addRules()
	m.dropHopeless()
	return m
}

// joinItems makes units, in the order of their first items.
func (m *model) joinItems() {
	p := m.p
	m.unitOf = make([]int32, len(p.Items))
	set := make([]int32, len(p.Items)) // 1 + index of Together
	for k, items := range p.Together {
		for _, i := range items {
			set[i] = int32(k + 1)
		}
	}
	unit := make([]int32, len(p.Together)+1)
	for i := range p.Items {
		if s := set[i]; s > 0 && unit[s] > 0 {
			u := unit[s] - 1
			m.unitOf[i] = u
			m.members[u] = append(m.members[u], int32(i))
			continue
		}
		m.unitOf[i] = int32(len(m.members))
		m.members = append(m.members, []int32{int32(i)})
		unit[set[i]] = int32(len(m.members))
		unit[0] = 0
	}
	m.n = len(m.members)
	m.fixed = make([]int32, m.n)
	m.frozen = make([]bool, m.n)
	m.torn = make([]bool, m.n)
	m.native = make([]bool, m.n)
	m.home = make([]int32, m.n)
	m.stay = make([]float64, m.n)
	m.notBins = make([][]int32, m.n)
	for u, items := range m.members {
		m.fixed[u], m.home[u] = -1, -1
		m.settle(u, items)
	}
}

// settle finds where a unit is and must be.
func (m *model) settle(u int, items []int32) {
	saved := map[int]int64{}
	for _, i := range items {
		it := &m.p.Items[i]
		home, settled := it.Home.Bin()
		if settled {
			saved[home] += it.MoveCost
			if m.home[u] < 0 || saved[home] > saved[int(m.home[u])] {
				m.home[u] = int32(home)
			}
		}
		pin, pinned := it.Pin.Bin()
		if it.Frozen {
			pin, pinned, m.frozen[u] = home, true, true
		}
		if pinned {
			m.torn[u] = m.torn[u] || m.fixed[u] >= 0 && m.fixed[u] != int32(pin)
			m.fixed[u] = int32(pin)
		}
		for _, b := range it.NotBins {
			m.notBins[u] = append(m.notBins[u], int32(b))
		}
	}
	m.frozen[u] = m.frozen[u] && !m.torn[u]
	m.native[u] = !slices.ContainsFunc(items, func(i int32) bool { return int32(m.p.Items[i].Home)-1 != m.home[u] })
	if m.home[u] >= 0 {
		m.stay[u] = float64(saved[int(m.home[u])])
	}
	slices.Sort(m.notBins[u])
}

// addBins lists the bins that exist and as many more of each type as could
// be of use.
func (m *model) addBins() {
	p := m.p
	for _, b := range p.Bins {
		m.typ = append(m.typ, int32(b.Type))
		m.closed = append(m.closed, b.Closed || b.Drained)
		m.held = append(m.held, b.Held || slices.ContainsFunc(b.Used, func(v int64) bool { return v > 0 }))
	}
	for i := range p.Items {
		if b, pinned := p.Items[i].Pin.Bin(); pinned {
			m.held[b] = true
		}
		if b, _ := p.Items[i].Home.Bin(); p.Items[i].Frozen {
			m.held[b] = true
		}
	}
	for t, typ := range p.Types {
		for range m.mostOf(typ) {
			m.typ = append(m.typ, int32(t))
			m.closed = append(m.closed, false)
			m.held = append(m.held, false)
		}
	}
	m.nb = len(m.typ)
	m.lived = make([]bool, m.nb)
	for u, h := range m.home {
		if h >= 0 && (m.frozen[u] || !p.Bins[h].Drained) {
			m.lived[h] = true
		}
	}
}

// mostOf is how many more bins of a type a plan could use. In any packing that
// never opens a bin while another has room, two bins together hold more than
// one bin's worth by the largest dimension; rules may need more, so many as
// their largest group.
func (m *model) mostOf(typ Type) int {
	limit := typ.Limit
	if limit < 0 || limit > m.n {
		limit = m.n
	}
	if limit <= 4096 {
		return limit
	}
	sum := 0.0
	for i := range m.p.Items {
		part := 0.0
		for d, v := range m.p.Items[i].Demand {
			if v <= typ.Capacity[d] && v > 0 {
				part = max(part, float64(v)/float64(typ.Capacity[d]))
			}
		}
		if typ.MaxItems > 0 {
			part = max(part, 1/float64(typ.MaxItems))
		}
		sum += part
	}
	apart := 0
	for _, g := range m.p.Groups {
		apart = max(apart, len(g.Items)/max(g.Max, 1))
	}
	return min(limit, int(2*sum)+2*apart+64)
}

// fitting is the set of types a unit may go to.
func (m *model) fitting(u int, cols []column) uint64 {
	var set uint64
	if m.torn[u] {
		return 0
	}
	for t := range m.p.Types {
		fits := true
		for _, c := range cols {
			fits = fits && c.size[u] <= c.capacity[t]
		}
		for _, i := range m.members[u] {
			fits = fits && !slices.Contains(m.p.Items[i].NotTypes, t)
		}
		if fits {
			set |= 1 << t
		}
	}
	return set
}

// vec is the demand of unit u.
func (m *model) vec(u int32) []float64 { return m.size[int(u)*m.d : int(u+1)*m.d] }

// room is the capacity of bin b, and inverse its inverse.
func (m *model) room(b int32) []float64 {
	t := int(m.typ[b])
	return m.cap[t*m.d : (t+1)*m.d]
}

func (m *model) inverse(b int32) []float64 {
	t := int(m.typ[b])
	return m.inv[t*m.d : (t+1)*m.d]
}

// allowed says that unit u may be in bin b as far as b alone is concerned.
func (m *model) allowed(u, b int32) bool {
	if f := m.fixed[u]; f >= 0 && (f != b || m.frozen[u]) {
		return f == b
	}
	if m.types[u]>>m.typ[b]&1 == 0 {
		return false
	}
	if m.closed[b] && (m.home[u] != b || !m.native[u] || m.p.Bins[b].Drained) {
		return false
	}
	if not := m.notBins[u]; len(not) > 0 {
		_, found := slices.BinarySearch(not, b)
		return !found
	}
	return true
}

// usable says that some unit may be in bin b, for all that b says about it.
func (m *model) usable(b int32) bool { return !m.closed[b] || m.lived[b] }

// dropHopeless finds the units that no bin would take even if it were empty,
// so that nobody looks for a place for them.
func (m *model) dropHopeless() {
	var open uint64 // types with a bin that takes newcomers
	for b, t := range m.typ {
		if !m.closed[b] {
			open |= 1 << t
		}
	}
	small := m.n*m.nb <= 1<<20
	for u := range m.types {
		plain := m.fixed[u] < 0 && m.home[u] < 0 && len(m.notBins[u]) == 0
		switch {
		case m.frozen[u]:
		case plain && !small:
			m.types[u] &= open
		case !m.hasHope(int32(u)):
			m.types[u] = 0
		}
	}
}

func (m *model) hasHope(u int32) bool {
	for b := range int32(m.nb) {
		if !m.allowed(u, b) {
			continue
		}
		room, facts := m.room(b), m.facts[int(b)*m.d:int(b+1)*m.d]
		fits := true
		for k, v := range m.vec(u) {
			fits = fits && (v == 0 || facts[k]+v <= room[k])
		}
		if fits {
			return true
		}
	}
	return false
}
