package pack

import (
	"math/rand/v2"
)

// search is one attempt: a layout, dice and a budget. Work is counted in
// vector operations, which take about 10 ns each, so that a budget means the
// same on every machine.
type search struct {
	*layout
	dice   *rand.Rand
	budget int64
	work   int64
	stop   func() bool
	asked  int64 // work at which stop was last asked
	ended  bool  // stop said yes

	weight []float64 // by dimension: the share of the open bins that is needed
	scale  []float64 // by dimension: weight over mean capacity, for bulk
	bulk   []float64 // by unit: its size in one number, about 1 for a full bin
	grudge []float64 // by unit: how often it could not be placed
	step   int64     // ejections so far
	banned []int64   // by unit: not ejected before this step
	homing float64   // what one byte at home weighs against bulk; 0: nothing

	scratch searchScratch
}

type searchScratch struct {
	some    []int32
	both    []int32
	lack    []float64
	spare   []float64
	blocked []int32
}

func newSearch(l *layout, seed, stream uint64, budget int64, stop func() bool) *search {
	s := &search{layout: l, dice: rand.New(rand.NewPCG(seed, stream)), budget: budget, stop: stop}
	s.grudge = make([]float64, l.n)
	s.banned = make([]int64, l.n)
	s.weigh()
	return s
}

// weigh sets the weight of each dimension and the bulk of each unit after the
// bins that are open.
func (s *search) weigh() {
	s.weight = make([]float64, s.d)
	s.scale = make([]float64, s.d)
	s.bulk = make([]float64, s.n)
	need, room := make([]float64, s.d), make([]float64, s.d)
	for u := range s.where {
		for k, v := range s.vec(int32(u)) {
			need[k] += v
		}
	}
	for _, b := range s.open {
		for k, v := range s.room(b) {
			need[k] += s.base[int(b)*s.d+k]
			room[k] += v
		}
	}
	sum := 0.0
	for k := range s.weight {
		s.weight[k] = need[k] / max(room[k], 0.5)
		sum += s.weight[k] * s.weight[k]
	}
	for k := range s.scale {
		if sum > 0 && room[k] > 0 {
			s.scale[k] = s.weight[k] * s.weight[k] / sum * float64(len(s.open)) / room[k]
		}
	}
	for u := range s.bulk {
		for k, v := range s.vec(int32(u)) {
			s.bulk[u] += v * s.scale[k]
		}
	}
}

// spend counts work and says whether the search may go on.
func (s *search) spend(n int) bool {
	s.work += int64(n)
	if s.stop != nil && s.work-s.asked > 1<<20 {
		s.asked = s.work
		s.ended = s.ended || s.stop()
	}
	return !s.ended && s.work < s.budget
}

// sixth is the norm of spreading: the sixth power looks at the fullest
// dimension first and at the others when that one ties. Measured against
// powers 2 to 10 on farms of 600 to 96,000 items.
func sixth(x float64) float64 { x *= x; return x * x * x }

// overfull is what a bin's load beyond its capacity weighs against sixth.
const overfull = 50

// strain of a bin is the sum over dimensions of load^6, and a lot for what is
// too much.
func (s *search) strain(b int32) float64 {
	sum := 0.0
	inv := s.inverse(b)
	for k, v := range s.loadOf(b) {
		x := v * inv[k]
		sum += sixth(x)
		if x > 1 {
			sum += overfull * (x - 1)
		}
	}
	return sum
}

// strainWith is the strain of bin b with the vector add more, and sub less.
func (s *search) strainWith(b int32, add, sub []float64) float64 {
	sum := 0.0
	inv, load := s.inverse(b), s.loadOf(b)
	switch {
	case sub == nil:
		for k, v := range add {
			x := (load[k] + v) * inv[k]
			sum += sixth(x)
			if x > 1 {
				sum += overfull * (x - 1)
			}
		}
	case add == nil:
		for k, v := range sub {
			x := (load[k] - v) * inv[k]
			sum += sixth(x)
			if x > 1 {
				sum += overfull * (x - 1)
			}
		}
	default:
		for k, v := range add {
			x := (load[k] + v - sub[k]) * inv[k]
			sum += sixth(x)
			if x > 1 {
				sum += overfull * (x - 1)
			}
		}
	}
	return sum
}

func (s *search) isOverfull(b int32) bool {
	room := s.room(b)
	for k, v := range s.loadOf(b) {
		if v > room[k] {
			return true
		}
	}
	return false
}
