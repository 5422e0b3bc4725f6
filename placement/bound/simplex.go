package bound

import "math"

// simplex minimises cost·x over a growing set of columns with row·x >= or = or
// <= a right side, x >= 0. It is a revised primal simplex with an explicit
// inverse of the basis, kept column by column, so that the sparse columns of a
// configuration LP cost little. Artificial variables at a high cost make every
// basis feasible; a right side that is nudged by a fixed pseudo-random amount
// keeps it from cycling. Its answers are floating point: what Lower claims is
// re-proved in integers.
type simplex struct {
	m     int
	right []float64 // nudged
	sense []sense
	big   float64 // cost of an artificial variable

	pool  []column
	basis []int     // the variable in each row of the basis
	inv   []float64 // inv[j*m+i] is entry (i, j) of the inverse
	x     []float64 // value of each basic variable
	dual  []float64 // of each row
	place map[int]bool

	pivots, sinceFresh int
}

type sense int8

const (
	atLeast sense = iota
	exactly
	atMost
)

// column is one variable: its cost and its entries.
type column struct {
	cost float64
	rows []int32
	vals []float64
}

// A variable is slack r (0 <= r < m), artificial r (m <= r < 2m), negative
// artificial r (2m <= r < 3m) or column v-3m of the pool.
func newSimplex(right []float64, senses []sense, big float64) *simplex {
	m := len(right)
	s := &simplex{m: m, right: make([]float64, m), sense: senses, big: big, place: map[int]bool{}}
	rnd := random(7)
	for r, v := range right {
		s.right[r] = v + (1+math.Abs(v))*1e-7*(0.5+rnd.float())
	}
	s.basis = make([]int, m)
	s.inv = make([]float64, m*m)
	s.x = make([]float64, m)
	s.dual = make([]float64, m)
	for r := range m {
		s.basis[r] = m + r
		if senses[r] == atMost {
			s.basis[r] = r
		}
		s.place[s.basis[r]] = true
		s.inv[r*m+r] = 1
		s.x[r] = s.right[r]
	}
	s.refreshDuals()
	return s
}

func (s *simplex) add(c column) int {
	s.pool = append(s.pool, c)
	return len(s.pool) - 1
}

func (s *simplex) cost(v int) float64 {
	switch {
	case v < s.m:
		return 0
	case v < 3*s.m:
		return s.big
	default:
		return s.pool[v-3*s.m].cost
	}
}

// entries calls f for each entry of variable v.
func (s *simplex) entries(v int, f func(row int, val float64)) {
	switch {
	case v < s.m:
		if s.sense[v] == atLeast {
			f(v, -1)
		} else {
			f(v, 1)
		}
	case v < 2*s.m:
		f(v-s.m, 1)
	case v < 3*s.m:
		f(v-2*s.m, -1)
	default:
		c := &s.pool[v-3*s.m]
		for k, r := range c.rows {
			f(int(r), c.vals[k])
		}
	}
}

func (s *simplex) reduced(v int) float64 {
	if v >= 3*s.m {
		c := &s.pool[v-3*s.m]
		sum := c.cost
		for k, r := range c.rows {
			sum -= s.dual[r] * c.vals[k]
		}
		return sum
	}
	sum := s.cost(v)
	s.entries(v, func(r int, val float64) { sum -= s.dual[r] * val })
	return sum
}

const reducedZero = 1e-9

// solve pivots until no column of the pool improves, or until budget pivots
// are made. It reports whether it came to an end.
func (s *simplex) solve(budget int) bool {
	last := s.pivots + budget
	for s.pivots < last {
		candidates := s.candidates(40)
		if len(candidates) == 0 {
			return true
		}
		moved := false
		for s.pivots < last {
			best, bestRC := -1, -reducedZero
			for k, v := range candidates {
				if v < 0 {
					continue
				}
				if rc := s.reduced(v); rc < bestRC {
					best, bestRC = k, rc
				}
			}
			if best < 0 {
				break
			}
			v := candidates[best]
			candidates[best] = -1
			if s.enter(v, bestRC) {
				moved = true
			}
		}
		if !moved {
			return true
		}
	}
	return false
}

// candidates are the n variables outside of the basis that promise most.
func (s *simplex) candidates(n int) []int {
	type cand struct {
		v  int
		rc float64
	}
	var best []cand
	worst := -reducedZero
	offer := func(v int) {
		if s.place[v] {
			return
		}
		rc := s.reduced(v)
		if rc >= worst {
			return
		}
		k := len(best)
		if k < n {
			best = append(best, cand{})
		} else {
			k--
		}
		for k > 0 && best[k-1].rc > rc {
			best[k] = best[k-1]
			k--
		}
		best[k] = cand{v, rc}
		if len(best) == n {
			worst = best[n-1].rc
		}
	}
	for r := range s.m {
		if s.sense[r] != exactly {
			offer(r)
		}
		if s.sense[r] != atMost {
			offer(s.m + r)
		}
		if s.sense[r] == exactly {
			offer(2*s.m + r)
		}
	}
	for j := range s.pool {
		offer(3*s.m + j)
	}
	out := make([]int, len(best))
	for k, c := range best {
		out[k] = c.v
	}
	return out
}

// enter brings v into the basis. It reports whether it could.
func (s *simplex) enter(v int, rc float64) bool {
	m := s.m
	dir := make([]float64, m)
	s.entries(v, func(r int, val float64) {
		col := s.inv[r*m : r*m+m]
		for i, e := range col {
			dir[i] += e * val
		}
	})
	leave, step, pivot := -1, math.Inf(1), 0.0
	for i, e := range dir {
		if e <= 1e-9 {
			continue
		}
		ratio := math.Max(s.x[i], 0) / e
		if ratio < step-1e-12 || ratio < step+1e-12 && e > pivot {
			leave, step, pivot = i, ratio, e
		}
	}
	if leave < 0 || pivot < 1e-7 {
		return false
	}
	for i, e := range dir {
		s.x[i] -= step * e
	}
	s.x[leave] = step
	delete(s.place, s.basis[leave])
	s.basis[leave] = v
	s.place[v] = true
	for j := range m {
		col := s.inv[j*m : j*m+m]
		e := col[leave]
		if e == 0 {
			continue
		}
		e /= pivot
		for i, f := range dir {
			col[i] -= f * e
		}
		col[leave] = e
		s.dual[j] += rc * e
	}
	s.pivots++
	s.sinceFresh++
	if s.sinceFresh >= 50+2*m {
		s.invert()
	} else if s.sinceFresh%50 == 0 {
		s.refreshDuals()
	}
	return true
}

func (s *simplex) refreshDuals() {
	for j := range s.m {
		sum := 0.0
		for i, e := range s.inv[j*s.m : j*s.m+s.m] {
			if e != 0 {
				sum += s.cost(s.basis[i]) * e
			}
		}
		s.dual[j] = sum
	}
}

// invert computes the inverse afresh, by Gauss and Jordan with the largest
// pivot of each column, and forgets the rounding of many pivots.
func (s *simplex) invert() {
	m := s.m
	s.sinceFresh = 0
	a := make([]float64, m*m) // rows of the basis matrix
	for i, v := range s.basis {
		s.entries(v, func(r int, val float64) { a[r*m+i] = val })
	}
	b := make([]float64, m*m) // becomes the inverse, by rows
	for r := range m {
		b[r*m+r] = 1
	}
	for k := range m {
		p := k
		for r := k + 1; r < m; r++ {
			if math.Abs(a[r*m+k]) > math.Abs(a[p*m+k]) {
				p = r
			}
		}
		if math.Abs(a[p*m+k]) < 1e-12 {
			return // keep the old inverse: it is no worse
		}
		if p != k {
			for c := range m {
				a[p*m+c], a[k*m+c] = a[k*m+c], a[p*m+c]
				b[p*m+c], b[k*m+c] = b[k*m+c], b[p*m+c]
			}
		}
		f := 1 / a[k*m+k]
		ak, bk := a[k*m:k*m+m], b[k*m:k*m+m]
		for c := range m {
			ak[c] *= f
			bk[c] *= f
		}
		for r := range m {
			e := a[r*m+k]
			if r == k || e == 0 {
				continue
			}
			ar, br := a[r*m:r*m+m], b[r*m:r*m+m]
			for c := k; c < m; c++ {
				ar[c] -= e * ak[c]
			}
			for c := range m {
				br[c] -= e * bk[c]
			}
		}
	}
	for i := range m {
		sum := 0.0
		for j := range m {
			s.inv[j*m+i] = b[i*m+j]
			sum += b[i*m+j] * s.right[j]
		}
		s.x[i] = sum
	}
	s.refreshDuals()
}

// value is the cost of the present solution; artificial variables count.
func (s *simplex) value() float64 {
	sum := 0.0
	for i, v := range s.basis {
		sum += s.cost(v) * s.x[i]
	}
	return sum
}

// lacking is how much artificial variables stand in for.
func (s *simplex) lacking() float64 {
	sum := 0.0
	for i, v := range s.basis {
		if v >= s.m && v < 3*s.m {
			sum += s.x[i]
		}
	}
	return sum
}

// drop removes the columns outside of the basis whose reduced cost is above
// limit, so that the pool stays small. It returns the columns kept, by their
// old numbers.
func (s *simplex) drop(limit float64) []int {
	var kept []int
	renumbered := map[int]int{}
	for j := range s.pool {
		v := 3*s.m + j
		if s.place[v] || s.reduced(v) <= limit {
			renumbered[v] = 3*s.m + len(kept)
			kept = append(kept, j)
		}
	}
	pool := make([]column, len(kept))
	for k, j := range kept {
		pool[k] = s.pool[j]
	}
	s.pool = pool
	s.place = map[int]bool{}
	for i, v := range s.basis {
		if v >= 3*s.m {
			s.basis[i] = renumbered[v]
		}
		s.place[s.basis[i]] = true
	}
	return kept
}

// random is a small deterministic generator (xorshift64*), so that the same
// problem gives the same bound.
type random uint64

func (r *random) next() uint64 {
	x := uint64(*r)
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*r = random(x)
	return x * 2685821657736338717
}

func (r *random) float() float64 { return float64(r.next()>>11) / (1 << 53) }

func (r *random) below(n int) int { return int(r.next() % uint64(n)) }
