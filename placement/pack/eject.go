package pack

import (
	"cmp"
	"math"
	"slices"
)

// The third stage. What does not fit is held in hand; a unit in hand is put
// into a bin by throwing out others that weigh less, and those that were often
// in the way weigh more every time. After Nagata and Bräysy, "A powerful route
// minimization heuristic for the vehicle routing problem with time windows"
// (2009), and Buljubašić and Vasquez, "Consistent neighborhood search for
// one-dimensional bin packing and two-dimensional vector packing" (2016); the
// exchange with exact repacking of two bins is our addition.

const (
	ejectEvals   = 4096 // sets of units that one step looks at, about
	ejectTriples = 10   // units in a bin up to which three may be thrown out
	ejectPairs   = 40   // and two
	banSteps     = 12   // for which a newcomer stays, up to twice that
	stepWork     = 8    // of picking, shaking and keeping count
	pickAny      = 64   // one step in so many takes any unit in hand, not the largest
	shakes       = 20   // random swaps tried after each ejection

	// grudgeWeight is small: the measured best on the public instances is
	// almost pure bulk, with just enough memory to break cycles.
	grudgeWeight = 0.003
)

// unload takes units out of overfull bins until none is left, smallest bulk
// that helps first.
func (s *search) unload() {
	for _, b := range s.open {
		for s.isOverfull(b) {
			u := s.bestOut(b)
			if u < 0 {
				break // frozen content alone is too much
			}
			s.take(u)
		}
	}
}

// bestOut is the smallest unit of bin b that alone ends its overload, else the
// one that most reduces it.
func (s *search) bestOut(b int32) int32 {
	best, least := int32(-1), math.Inf(1)
	room, load := s.room(b), s.loadOf(b)
	for _, u := range s.inside[b] {
		if s.frozen[u] {
			continue
		}
		v := s.vec(u)
		over := 0.0
		for k := range load {
			over += max(0, load[k]-v[k]-room[k]) * s.scale[k]
		}
		if key := over*1e6 + s.price(u, 0) + 100*float64(min(s.fixed[u], 0)+1); key < least {
			best, least = u, key
		}
	}
	return best
}

// ejection is a way to make place for a unit: what leaves which bin.
type ejection struct {
	bin  int32
	out  [4]int32
	n    int
	cost float64
}

// eject places everything in hand, or runs out of budget. Afterwards no bin is
// overfull, and the layout is that with least bulk in hand.
func (s *search) eject() bool {
	hand := s.homeless()
	s.work += int64(s.n/16) + 8
	if len(s.open) == 0 && len(hand) > 0 {
		s.work = max(s.work, s.budget)
		return false
	}
	best, bestBulk := slices.Clone(s.where), s.bulkOf(hand)
	for len(hand) > 0 {
		if !s.spend(1) {
			s.restore(best)
			return false
		}
		hand = s.placeOne(hand)
		if bulk := s.bulkOf(hand); bulk < bestBulk-1e-12 {
			bestBulk = bulk
			copy(best, s.where)
		}
	}
	return true
}

// placeOne puts one unit of the hand into a bin, at best without throwing out
// others, and returns what is in hand then.
func (s *search) placeOne(hand []int32) []int32 {
	s.step++
	s.work += stepWork
	k := s.pick(hand)
	u := hand[k]
	hand = slices.Delete(hand, k, k+1)
	if b := s.fitting(u); b >= 0 {
		s.put(u, b)
		return hand
	}
	if s.homing == 0 && s.makeRoom(u) {
		return hand
	}
	s.grudge[u]++
	hand = s.force(u, hand)
	s.shake()
	return hand
}

func (s *search) bulkOf(hand []int32) float64 {
	sum := 0.0
	for _, u := range hand {
		sum += s.bulk[u] + 1e-9
	}
	return sum
}

// restore goes back to an earlier assignment of the same open bins.
func (s *search) restore(where []int32) {
	for u, b := range where {
		if s.where[u] >= 0 && s.where[u] != b {
			s.take(int32(u))
		}
	}
	for u, b := range where {
		if b >= 0 && s.where[u] < 0 {
			s.put(int32(u), b)
		}
	}
}

// pick chooses which unit in hand is next: the largest, or any.
func (s *search) pick(hand []int32) int {
	if s.dice.IntN(pickAny) == 0 {
		return s.dice.IntN(len(hand))
	}
	k := 0
	for i, u := range hand {
		if s.bulk[u] > s.bulk[hand[k]] {
			k = i
		}
	}
	return k
}

// fitting is the open bin with room for u that will be fullest, or -1.
func (s *search) fitting(u int32) int32 {
	if h := s.home[u]; s.homing > 0 && h >= 0 && s.isOpen[h] && s.hasRoom(u, h) && s.may(u, h) {
		return h
	}
	best, least := int32(-1), math.Inf(1)
	v := s.vec(u)
	s.work += int64(len(s.open))/4 + 1
	for _, b := range s.open {
		if !s.hasRoom(u, b) || !s.may(u, b) {
			continue
		}
		left := 0.0
		room, load := s.room(b), s.loadOf(b)
		for k := range v {
			left += (room[k] - load[k] - v[k]) * s.scale[k]
		}
		if left < least {
			best, least = b, left
		}
	}
	return best
}

// force puts u into the bin where that costs least, and returns the hand with
// what was thrown out.
func (s *search) force(u int32, hand []int32) []int32 {
	e := s.cheapest(u, s.step)
	if e.bin < 0 {
		return append(hand, u)
	}
	for _, v := range e.out[:e.n] {
		s.take(v)
		hand = append(hand, v)
	}
	s.put(u, e.bin)
	s.banned[u] = s.step + int64(banSteps+s.dice.IntN(banSteps))
	return hand
}

// price of throwing out unit v.
func (s *search) price(v int32, step int64) float64 {
	p := (s.bulk[v] + 0.01) * (1 + grudgeWeight*s.grudge[v])
	if s.homing > 0 && s.where[v] == s.home[v] {
		p += s.homing * s.stay[v]
	}
	if s.banned[v] > step {
		p += 1000
	}
	return p
}

// cheapest looks for the ejection of least price that lets u in.
func (s *search) cheapest(u int32, step int64) ejection {
	best := ejection{bin: -1, cost: math.Inf(1)}
	from := s.dice.IntN(len(s.open))
	evals := 0
	for i := range s.open {
		b := s.open[(from+i)%len(s.open)]
		if !s.allowed(u, b) {
			continue
		}
		evals += s.cheapestIn(u, b, step, &best)
		if evals > ejectEvals && best.bin >= 0 {
			break
		}
	}
	s.work += int64(evals)
	return best
}

// cheapestIn improves best by ejections for bin b. It returns how many sets
// of units it looked at.
func (s *search) cheapestIn(u, b int32, step int64, best *ejection) int {
	e := ejection{bin: b}
	if !s.blockers(u, b, step, &e) || e.cost >= best.cost {
		return 1
	}
	lack, short := s.lackOf(u, b, &e)
	if !short {
		*best = e
		return 1
	}
	in := s.scratch.blocked[:0]
	for _, v := range s.inside[b] {
		if s.fixed[v] < 0 && !slices.Contains(e.out[:e.n], v) {
			in = append(in, v)
		}
	}
	s.scratch.blocked = in
	evals := len(in)
	for i, v := range in {
		cost := e.cost + s.price(v, step)
		if cost >= best.cost {
			continue
		}
		if s.covers(lack, v, -1, -1) {
			*best = e.with(cost, v)
			continue
		}
		if len(in) > ejectPairs || e.n > 2 {
			continue
		}
		evals += len(in) - i
		for j := i + 1; j < len(in); j++ {
			w := in[j]
			cost2 := cost + s.price(w, step)
			if cost2 >= best.cost {
				continue
			}
			if s.covers(lack, v, w, -1) {
				*best = e.with(cost2, v, w)
				continue
			}
			if len(in) > ejectTriples || e.n > 1 {
				continue
			}
			for _, x := range in[j+1:] {
				evals++
				if cost3 := cost2 + s.price(x, step); cost3 < best.cost && s.covers(lack, v, w, x) {
					*best = e.with(cost3, v, w, x)
				}
			}
		}
	}
	return evals
}

func (e ejection) with(cost float64, out ...int32) ejection {
	e.n += copy(e.out[e.n:], out)
	e.cost = cost
	return e
}

// lackOf is what bin b has too little of for unit u once e has left.
func (s *search) lackOf(u, b int32, e *ejection) (lack []float64, short bool) {
	if s.scratch.lack == nil {
		s.scratch.lack = make([]float64, s.d)
	}
	lack = s.scratch.lack
	room, load := s.room(b), s.loadOf(b)
	for k, v := range s.vec(u) {
		lack[k] = 0
		if v > 0 {
			lack[k] = load[k] + v - room[k]
		}
	}
	for _, o := range e.out[:e.n] {
		if s.where[o] == b {
			for k, v := range s.vec(o) {
				lack[k] -= v
			}
		}
	}
	for _, v := range lack {
		short = short || v > 0
	}
	return lack, short
}

func (s *search) covers(lack []float64, v, w, x int32) bool {
	a := s.vec(v)
	switch {
	case w < 0:
		for k, need := range lack {
			if need > 0 && a[k] < need {
				return false
			}
		}
	case x < 0:
		c := s.vec(w)
		for k, need := range lack {
			if need > 0 && a[k]+c[k] < need {
				return false
			}
		}
	default:
		c, e := s.vec(w), s.vec(x)
		for k, need := range lack {
			if need > 0 && a[k]+c[k]+e[k] < need {
				return false
			}
		}
	}
	return true
}

// blockers adds to e the units that rules want gone before u may enter bin b.
// It reports false when that would be too many, or fixed ones.
func (s *search) blockers(u, b int32, step int64, e *ejection) bool {
	for _, of := range s.rulesOf(u) {
		g := of.other
		v := s.valueOf(g, b)
		if v < 0 {
			continue
		}
		extra := s.sharing(g, v, u) + of.weight - s.groups[g].max
		if extra <= 0 {
			continue
		}
		for _, out := range e.out[:e.n] {
			extra -= s.weightIn(g, v, out)
		}
		for extra > 0 {
			out := s.cheapestMember(g, v, u, step, e)
			if out < 0 || e.n == len(e.out) {
				return false
			}
			extra -= s.weightIn(g, v, out)
			*e = e.with(e.cost+s.price(out, step), out)
		}
	}
	return true
}

// weightIn is how much unit u counts for rule g under one value.
func (s *search) weightIn(g, value, u int32) int32 {
	if b := s.where[u]; b >= 0 && s.valueOf(g, b) == value {
		for _, of := range s.rulesOf(u) {
			if of.other == g {
				return of.weight
			}
		}
	}
	return 0
}

func (s *search) cheapestMember(g, value, u int32, step int64, e *ejection) int32 {
	best, least := int32(-1), math.Inf(1)
	s.work += int64(len(s.groups[g].members))/16 + 1
	for _, of := range s.groups[g].members {
		v := of.other
		b := s.where[v]
		if v == u || b < 0 || s.fixed[v] >= 0 || s.valueOf(g, b) != value || slices.Contains(e.out[:e.n], v) {
			continue
		}
		if p := s.price(v, step); p < least {
			best, least = v, p
		}
	}
	return best
}

// shake makes a few random swaps between bins that both have room for them.
func (s *search) shake() {
	if len(s.open) < 2 {
		return
	}
	for range shakes {
		b := s.open[s.dice.IntN(len(s.open))]
		c := s.open[s.dice.IntN(len(s.open))]
		if b == c || len(s.inside[b]) == 0 || len(s.inside[c]) == 0 {
			continue
		}
		u := s.inside[b][s.dice.IntN(len(s.inside[b]))]
		v := s.inside[c][s.dice.IntN(len(s.inside[c]))]
		s.work++
		if s.homing > 0 && (s.home[u] == b || s.home[v] == c) {
			continue
		}
		if s.fixed[u] < 0 && s.fixed[v] < 0 && s.swapFits(u, v) && s.maySwap(u, v) {
			s.move(u, c)
			s.move(v, b)
		}
	}
}

// swapFits says that u and v, of different bins, fit in each other's place.
func (s *search) swapFits(u, v int32) bool {
	b, c := s.where[u], s.where[v]
	x, y := s.vec(u), s.vec(v)
	lb, lc, rb, rc := s.loadOf(b), s.loadOf(c), s.room(b), s.room(c)
	for k := range x {
		more := y[k] - x[k]
		if more > 0 && lb[k]+more > rb[k] || more < 0 && lc[k]-more > rc[k] {
			return false
		}
	}
	return true
}

// byBulk sorts units, largest first.
func (s *search) byBulk(units []int32) {
	slices.SortStableFunc(units, func(a, b int32) int { return cmp.Compare(s.bulk[b], s.bulk[a]) })
}

// closeBin takes bin b out of use and its units in hand.
func (s *search) closeBin(b int32) {
	for _, u := range slices.Clone(s.inside[b]) {
		s.take(u)
	}
	s.unuse(b)
}
