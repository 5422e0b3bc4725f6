package placement

import (
	"math"
	"slices"
	"sort"
)

// search looks for the fewest rooms, and among those attempts for the one
// that leaves most instances where they are. It returns nil and the attempt
// that got furthest when not even all rooms together are enough.
//
// The method, after measurements on farms of 60 to 6,000 instances: fixing the
// number of hosts and spreading the load over them packs tighter than filling
// one host after another, because no single resource runs out early. So the
// number is fixed at the bound first and raised until an attempt succeeds.
//
// Then it starts again from what it found, keeping all of that in place, until
// nothing is gained. That makes Solve stable: the plan for a farm that has
// just been packed has no moves.
func (p *problem) search(lowest int) (best, furthest *layout) {
	best = p.attempt(p.roomOrder())
	if best.missing() >= 0 {
		return nil, best
	}
	for from := p; ; from = p.movedTo(best) {
		better := from.fewest(lowest, best.inUse()-1)
		if better == nil && from != p {
			return best, nil
		}
		if better != nil {
			best = better
		}
	}
}

// maxTries bounds the number of host counts that are tried one by one; wider
// ranges are halved instead.
const maxTries = 48

// fewest is an attempt with as few rooms as possible, from lo to hi, or nil.
func (p *problem) fewest(lo, hi int) *layout {
	order := p.roomOrder()
	try := func(m int) *layout {
		l := p.attempt(order[:m])
		if l.missing() >= 0 {
			return nil
		}
		return l
	}
	var found *layout
	for hi-lo > maxTries {
		mid := lo + (hi-lo)/2
		if l := try(mid); l != nil {
			found, hi = l, mid-1
		} else {
			lo = mid + 1
		}
	}
	for m := lo; m <= hi; m++ {
		if l := try(m); l != nil {
			return l
		}
	}
	return found
}

// movedTo is the problem as it would be with every instance where l has it.
// Rooms that had to give something away stay shut.
func (p *problem) movedTo(l *layout) *problem {
	next := *p
	next.items = slices.Clone(p.items)
	next.rooms = slices.Clone(p.rooms)
	for i := range next.items {
		next.items[i].from = l.where[i]
	}
	for r := range next.rooms {
		next.rooms[r].closed = l.shut[r]
	}
	return &next
}

// roomOrder is the order in which rooms are worth keeping: those that hold
// most today first, then the largest, taking the values of the first spread
// label in turn so that any few of them have both sides' place.
func (p *problem) roomOrder() []int {
	load := make([]float64, len(p.rooms))
	for _, it := range p.items {
		if it.from >= 0 {
			load[it.from] += it.size
		}
	}
	turn := make([]int, len(p.rooms)) // the how-manieth empty room of its label value
	seen := map[string]int{}
	order := make([]int, 0, len(p.rooms))
	for r, room := range p.rooms {
		if load[r] == 0 && len(room.labels) > 0 {
			turn[r] = seen[room.labels[0]]
			seen[room.labels[0]]++
		}
		if load[r] > 0 || !room.closed {
			order = append(order, r)
		}
	}
	sort.SliceStable(order, func(a, b int) bool {
		x, y := order[a], order[b]
		if load[x] != load[y] {
			return load[x] > load[y]
		}
		if sx, sy := p.strength(x), p.strength(y); sx != sy {
			return sx > sy
		}
		return turn[x] < turn[y]
	})
	return order
}

// strength is the share of the whole demand that a room could carry.
func (p *problem) strength(r int) float64 {
	least := math.Inf(1)
	for d, limit := range p.rooms[r].limits {
		if p.demand[d] > 0 {
			least = min(least, limit/p.demand[d])
		}
	}
	return least
}

// attempt places everything into the given rooms, first by spreading, then, if
// that fails, by filling. missing tells whether it worked.
func (p *problem) attempt(open []int) *layout {
	spread := p.place(open, spreadScore)
	if spread.missing() < 0 {
		return spread
	}
	if filled := p.place(open, fillScore); filled.missing() < 0 {
		return filled
	}
	return spread
}

// missing is the first item without a place, or -1.
func (l *layout) missing() int { return slices.Index(l.where, -1) }

// place keeps what is where it is and fits, and gives the others a place,
// largest first, each in the room with the lowest score.
func (p *problem) place(open []int, score func(l *layout, i, r int) float64) *layout {
	l := newLayout(p, open)
	isOpen := make([]bool, len(p.rooms))
	for _, r := range open {
		isOpen[r] = true
	}
	var movers []int
	for _, i := range p.bySize() {
		from := p.items[i].from
		switch {
		case from < 0 || !isOpen[from]:
			movers = append(movers, i)
		case l.fits(i, from):
			l.put(i, from)
		default:
			l.shut[from] = true
			movers = append(movers, i)
		}
	}
	for _, i := range movers {
		if r := l.lowest(i, score); r >= 0 {
			l.put(i, r)
		} else if !l.swapIn(i) {
			return l
		}
	}
	return l
}

// bySize are all items, largest first; the sides of a pair stay neighbours.
func (p *problem) bySize() []int {
	order := make([]int, len(p.items))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return p.items[order[a]].size > p.items[order[b]].size })
	return order
}

func (l *layout) lowest(i int, score func(l *layout, i, r int) float64) int {
	best, bestScore := -1, math.Inf(1)
	for _, r := range l.open {
		if l.shut[r] || !l.fits(i, r) {
			continue
		}
		if s := score(l, i, r); s < bestScore {
			best, bestScore = r, s
		}
	}
	return best
}

// spreadScore is how much item i would add to the sum over all dimensions of
// load^6 in room r. The sixth power comes from measurement: it looks at the
// fullest resource first and at the others when that one ties.
func spreadScore(l *layout, i, r int) float64 {
	sum := 0.0
	for d, v := range l.items[i].needs {
		if limit := l.rooms[r].limits[d]; v > 0 && limit > 0 {
			sum += sixth((l.used[r][d]+v)/limit) - sixth(l.used[r][d]/limit)
		}
	}
	return sum
}

func sixth(x float64) float64 { return x * x * x * x * x * x }

// fillScore is lowest for the room that would be fullest: best fit.
func fillScore(l *layout, i, r int) float64 {
	sum := 0.0
	for d, v := range l.items[i].needs {
		if limit := l.rooms[r].limits[d]; limit > 0 {
			load := (l.used[r][d] + v) / limit
			sum += load * load
		}
	}
	return -sum
}

// swapIn makes room for item i by sending one newcomer of some room elsewhere.
// It reports whether it did.
func (l *layout) swapIn(i int) bool {
	for _, r := range l.open {
		if l.shut[r] || l.clashes(i, r) != "" && l.where[l.items[i].twin] != r {
			continue
		}
		for _, k := range slices.Clone(l.inside[r]) {
			if l.items[k].from == r {
				continue // it is at home here
			}
			l.take(k)
			if l.fits(i, r) {
				l.put(i, r)
				if other := l.lowest(k, fillScore); other >= 0 {
					l.put(k, other)
					return true
				}
				l.take(i)
			}
			l.put(k, r)
		}
	}
	return false
}
