package pack

import "slices"

const (
	exactUnits = 16      // problems with more units are left to the search
	exactNodes = 200_000 // places tried before the exact search gives up
)

// exact goes through all layouts of a small problem that could be better than
// the best answer. It proves nothing to the caller; it only makes sure that
// what a person can see at a glance is not missed.
func (s *solver) exact(order []int32) {
	if s.n > exactUnits {
		return
	}
	e := &exactSearch{solver: s, layout: newLayout(s.model, order)}
	f := s.newSearch(e.layout, 0)
	e.units = f.homeless()
	f.bySize(e.units)
	e.used = slices.Clone(s.held)
	for b, in := range e.used {
		if in {
			e.cost(int32(b), 1)
		}
	}
	for u := range s.fixed {
		if s.types[u] == 0 && !s.frozen[u] {
			e.leave(int32(u), -1, 1)
		}
	}
	e.place(0)
}

type exactSearch struct {
	*layout
	solver *solver
	units  []int32
	used   []bool
	totals Solution
	nodes  int
}

// cost counts bin b in or out.
func (e *exactSearch) cost(b int32, sign int64) {
	t := &e.p.Types[e.typ[b]]
	e.totals.Count += sign
	e.totals.Cost += sign * t.Cost
	e.totals.Watts += sign * t.Watts
}

// leave counts what moves when unit u goes to bin b, in or out.
func (e *exactSearch) leave(u, b int32, sign int64) {
	for _, i := range e.members[u] {
		it := &e.p.Items[i]
		if home, settled := it.Home.Bin(); settled && int32(home) != b {
			e.totals.Moved += sign * it.MoveCost
		}
	}
}

// hopeful says that what is placed so far may still end better than the best.
// Every objective only grows.
func (e *exactSearch) hopeful() bool {
	if e.solver.best.missing > 0 {
		return true
	}
	for k, o := range e.solver.objectives {
		if v, best := e.totals.Value(o), e.solver.best.value[k]; v != best {
			return v < best
		}
	}
	return false
}

func (e *exactSearch) place(k int) {
	if !e.hopeful() {
		return
	}
	if k == len(e.units) {
		e.solver.keep(e.answer())
		return
	}
	u := e.units[k]
	var tried uint64 // types of which an empty bin without a name was tried
	for _, b := range e.open {
		if e.nodes++; e.nodes > exactNodes {
			return
		}
		if fresh := int(b) >= len(e.p.Bins) && len(e.inside[b]) == 0; fresh {
			if tried>>e.typ[b]&1 == 1 {
				continue
			}
			tried |= 1 << e.typ[b]
		}
		if !e.hasRoom(u, b) || !e.may(u, b) {
			continue
		}
		e.put(u, b)
		e.leave(u, b, 1)
		first := !e.used[b]
		if first {
			e.used[b] = true
			e.cost(b, 1)
		}
		e.place(k + 1)
		if first {
			e.used[b] = false
			e.cost(b, -1)
		}
		e.leave(u, b, -1)
		e.take(u)
	}
}
