package pack

import "slices"

// layout is where units are: the state of one search. Capacity is not its
// business: a search may overfill a bin and repair it later.
type layout struct {
	*model
	where  []int32   // bin by unit, or -1
	slot   []int32   // position of the unit in inside
	inside [][]int32 // units by bin
	load   []float64 // nb*d
	counts [][]int32 // by rule and value of its domain; nil for rules of few members
	open   []int32   // the bins to use, in order of preference
	isOpen []bool
	saved  float64 // stay of all units at home

	noting bool // notes every put and take, for rewind
	notes  []note
}

// note is one put or take.
type note struct {
	unit, bin int32
	isPut     bool
}

// fewMembers is up to how many members a rule counts by looking at each. Most
// rules are about the two sides of a pair.
const fewMembers = 6

// newLayout is empty but for frozen units.
func newLayout(m *model, open []int32) *layout {
	l := &layout{
		model: m, open: slices.Clone(open), isOpen: make([]bool, m.nb),
		where: make([]int32, m.n), slot: make([]int32, m.n),
		inside: make([][]int32, m.nb), counts: make([][]int32, len(m.groups)),
		load: append([]float64(nil), m.base...),
	}
	for _, b := range open {
		l.isOpen[b] = true
	}
	for g, r := range m.groups {
		if len(r.members) > fewMembers {
			l.counts[g] = make([]int32, r.values)
		}
	}
	for u := range l.where {
		l.where[u] = -1
	}
	for u := range l.where {
		if m.frozen[u] {
			l.put(int32(u), m.fixed[u])
		}
	}
	return l
}

// layoutOf puts every unit where it is told to be.
func layoutOf(m *model, open, where []int32) *layout {
	l := newLayout(m, open)
	for u, b := range where {
		if b >= 0 && l.where[u] < 0 {
			l.put(int32(u), b)
		}
	}
	return l
}

func (l *layout) loadOf(b int32) []float64 { return l.load[int(b)*l.d : int(b+1)*l.d] }

func (l *layout) put(u, b int32) {
	l.where[u] = b
	l.slot[u] = int32(len(l.inside[b]))
	l.inside[b] = append(l.inside[b], u)
	load := l.loadOf(b)
	for k, v := range l.vec(u) {
		load[k] += v
	}
	l.count(u, b, 1)
	if l.home[u] == b {
		l.saved += l.stay[u]
	}
	if l.noting {
		l.notes = append(l.notes, note{u, b, true})
	}
}

func (l *layout) take(u int32) {
	b := l.where[u]
	in := l.inside[b]
	last := in[len(in)-1]
	in[l.slot[u]] = last
	l.slot[last] = l.slot[u]
	l.inside[b] = in[:len(in)-1]
	l.where[u] = -1
	load := l.loadOf(b)
	for k, v := range l.vec(u) {
		load[k] -= v
	}
	l.count(u, b, -1)
	if l.home[u] == b {
		l.saved -= l.stay[u]
	}
	if l.noting {
		l.notes = append(l.notes, note{u, b, false})
	}
}

// begin starts noting, and rewind goes back to where it started.
func (l *layout) begin() { l.noting, l.notes = true, l.notes[:0] }

func (l *layout) rewind() {
	l.noting = false
	for k := len(l.notes) - 1; k >= 0; k-- {
		if n := l.notes[k]; n.isPut {
			l.take(n.unit)
		} else {
			l.put(n.unit, n.bin)
		}
	}
	l.notes = l.notes[:0]
}

// use opens bin b, and unuse closes it, empty.
func (l *layout) use(b int32) {
	l.open = append(l.open, b)
	l.isOpen[b] = true
}

func (l *layout) unuse(b int32) {
	l.open = slices.DeleteFunc(l.open, func(c int32) bool { return c == b })
	l.isOpen[b] = false
}

func (l *layout) count(u, b, sign int32) {
	for _, of := range l.rulesOf(u) {
		if n := l.counts[of.other]; n != nil {
			if v := l.valueOf(of.other, b); v >= 0 {
				n[v] += sign * of.weight
			}
		}
	}
}

func (l *layout) rulesOf(u int32) []membership { return l.ruleOf[l.ruleFrom[u]:l.ruleFrom[u+1]] }

// valueOf is the value that rule g counts bin b under, or -1.
func (l *layout) valueOf(g, b int32) int32 {
	if k := l.groups[g].kind; k >= 0 {
		return l.values[k][b]
	}
	return b
}

// members of rule g that count under one value, all but unit u.
func (l *layout) sharing(g, value, u int32) int32 {
	if n := l.counts[g]; n != nil {
		sum := n[value]
		if b := l.where[u]; b >= 0 && l.valueOf(g, b) == value {
			for _, of := range l.rulesOf(u) {
				if of.other == g {
					sum -= of.weight
				}
			}
		}
		return sum
	}
	sum := int32(0)
	for _, of := range l.groups[g].members {
		if b := l.where[of.other]; of.other != u && b >= 0 && l.valueOf(g, b) == value {
			sum += of.weight
		}
	}
	return sum
}

// agrees says that no rule keeps unit u out of bin b, where everything else
// is as it is.
func (l *layout) agrees(u, b int32) bool {
	for _, of := range l.rulesOf(u) {
		v := l.valueOf(of.other, b)
		if v >= 0 && l.sharing(of.other, v, u)+of.weight > l.groups[of.other].max {
			return false
		}
	}
	return true
}

// may says that unit u may be in bin b, room apart.
func (l *layout) may(u, b int32) bool { return l.allowed(u, b) && l.agrees(u, b) }

// hasRoom says that bin b has room for unit u, which is not in it.
func (l *layout) hasRoom(u, b int32) bool {
	load, room := l.loadOf(b), l.room(b)
	for k, v := range l.vec(u) {
		if v > 0 && load[k]+v > room[k] {
			return false
		}
	}
	return true
}

// maySwap says that units u and v of two bins may change places, room apart.
func (l *layout) maySwap(u, v int32) bool {
	b, c := l.where[u], l.where[v]
	if !l.allowed(u, c) || !l.allowed(v, b) {
		return false
	}
	if l.ruleFrom[u] == l.ruleFrom[u+1] && l.ruleFrom[v] == l.ruleFrom[v+1] {
		return true
	}
	l.take(u)
	l.take(v)
	ok := l.agrees(u, c)
	if ok {
		l.put(u, c)
		ok = l.agrees(v, b)
		l.take(u)
	}
	l.put(u, b)
	l.put(v, c)
	return ok
}

// move takes unit u to bin b.
func (l *layout) move(u, b int32) {
	if l.where[u] >= 0 {
		l.take(u)
	}
	l.put(u, b)
}

// homeless are the units without a bin that could have one, in order.
func (l *layout) homeless() []int32 {
	var out []int32
	for u, b := range l.where {
		if b < 0 && l.types[u] != 0 {
			out = append(out, int32(u))
		}
	}
	return out
}
