package pack

import (
	"cmp"
	"slices"
)

// spread gives every homeless unit a place among the open bins, largest first,
// each where it adds least strain. Bins may end overfull; units that rules
// keep out of every bin stay homeless.
//
// Fixing the number of bins and spreading over them packs tighter than filling
// one after another, because no dimension runs out early.
func (s *search) spread() {
	units := s.homeless()
	s.bySize(units)
	slices.SortStableFunc(units, func(a, b int32) int { return cmp.Compare(min(s.fixed[b], 0), min(s.fixed[a], 0)) }) // pinned first
	line := newQueue(s)
	for _, u := range units {
		if b := s.lightest(u, line); b >= 0 {
			s.put(u, b)
			line.moved(b, s.strain(b))
		}
	}
}

// bySize sorts units by the largest share they take of a mean bin, scarce
// dimensions counting more.
func (s *search) bySize(units []int32) {
	key := make([]float64, s.n)
	for _, u := range units {
		key[u] = s.girth(u)
	}
	slices.SortStableFunc(units, func(a, b int32) int { return cmp.Compare(key[b], key[a]) })
}

func (s *search) girth(u int32) float64 {
	most := 0.0
	for k, v := range s.vec(u) {
		most = max(most, v*s.scale[k])
	}
	return most
}

const (
	headOfLine = 40 // bins of least strain that a unit is tried in
	atRandom   = 56 // and others
)

// lightest is the bin where unit u adds least strain: of all if they are few,
// else of those of least strain and some others, which may complement it
// better.
func (s *search) lightest(u int32, line *queue) int32 {
	if f := s.fixed[u]; f >= 0 {
		if s.isOpen[f] && s.may(u, f) {
			return f
		}
		return -1
	}
	best, least := int32(-1), 0.0
	v := s.vec(u)
	try := func(b int32) {
		if !s.may(u, b) {
			return
		}
		if more := s.strainWith(b, v, nil) - line.strain[b]; best < 0 || more < least {
			best, least = b, more
		}
	}
	m := len(line.bins)
	if m <= headOfLine+atRandom {
		s.work += int64(m)
		for _, b := range line.bins {
			try(b)
		}
		return best
	}
	s.work += headOfLine + atRandom
	for _, b := range line.bins[:headOfLine] {
		try(b)
	}
	for range atRandom {
		try(line.bins[headOfLine+s.dice.IntN(m-headOfLine)])
	}
	if best < 0 {
		s.work += int64(m)
		for _, b := range line.bins {
			try(b)
		}
	}
	return best
}

// queue keeps the open bins by strain, least first.
type queue struct {
	bins   []int32
	at     []int32   // by bin
	strain []float64 // by bin
}

func newQueue(s *search) *queue {
	q := &queue{bins: slices.Clone(s.open), at: make([]int32, s.nb), strain: make([]float64, s.nb)}
	for _, b := range q.bins {
		q.strain[b] = s.strain(b)
	}
	slices.SortStableFunc(q.bins, func(a, b int32) int { return cmp.Compare(q.strain[a], q.strain[b]) })
	for i, b := range q.bins {
		q.at[b] = int32(i)
	}
	return q
}

// moved puts bin b, which got heavier, in its place. Bins fill evenly, so the
// way is short compared with evaluating them all.
func (q *queue) moved(b int32, strain float64) {
	q.strain[b] = strain
	i := int(q.at[b])
	for ; i+1 < len(q.bins) && q.strain[q.bins[i+1]] < strain; i++ {
		q.bins[i] = q.bins[i+1]
		q.at[q.bins[i]] = int32(i)
	}
	q.bins[i] = b
	q.at[b] = int32(i)
}
