package pack

import "slices"

const (
	repairItems = 48  // units of an overfull bin that are tried elsewhere
	repairBins  = 64  // bins they are tried in, when there are more
	repairSwaps = 8   // bins of which every unit is tried in exchange
	repairTries = 100 // times without gain after which an overfull bin is left: with 80 the farm of 6,000 instances needs a couple of hosts more
)

// repair empties overfull bins by moves and swaps that lower the strain. It
// reports whether none is left.
func (s *search) repair() bool {
	var over []int32
	tries := make(map[int32]int)
	for _, b := range s.open {
		if s.isOverfull(b) {
			over = append(over, b)
		}
	}
	left := false
	for len(over) > 0 {
		if !s.spend(1) {
			return false
		}
		k := s.dice.IntN(len(over))
		b := over[k]
		if !s.isOverfull(b) {
			over[k] = over[len(over)-1]
			over = over[:len(over)-1]
			continue
		}
		if other := s.relieve(b); other >= 0 {
			tries[b] = 0
			if s.isOverfull(other) && !slices.Contains(over, other) {
				over = append(over, other)
			}
			continue
		}
		if tries[b]++; tries[b] >= repairTries {
			left = true
			over[k] = over[len(over)-1]
			over = over[:len(over)-1]
		}
	}
	return !left && len(s.homeless()) == 0
}

// relieve makes the best move out of bin b, or the best swap of one of its
// units with one of some other bins. It returns the other bin, or -1 when
// nothing found lowers the strain.
func (s *search) relieve(b int32) int32 {
	mine := slices.Clone(s.inside[b])
	mine = slices.DeleteFunc(mine, func(u int32) bool { return s.fixed[u] >= 0 })
	s.dice.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
	was := s.strain(b)
	gain, u, v, to := 1e-9, int32(-1), int32(-1), int32(-1)
	others := s.sample(repairBins, b)
	strains := make([]float64, len(others))
	for i, c := range others {
		strains[i] = s.strain(c)
	}
	for _, i := range mine[:min(len(mine), repairItems)] {
		vec := s.vec(i)
		left := was - s.strainWith(b, nil, vec)
		for k, c := range others {
			if g := left + strains[k] - s.strainWith(c, vec, nil); g > gain && s.may(i, c) {
				gain, u, to = g, i, c
			}
		}
	}
	s.work += int64(min(len(mine), repairItems) * len(others))
	for _, c := range s.sample(repairSwaps, b) {
		before := was + s.strain(c)
		theirs := slices.Clone(s.inside[c])
		for _, i := range mine {
			a := s.vec(i)
			for _, j := range theirs {
				if s.fixed[j] >= 0 {
					continue
				}
				o := s.vec(j)
				rest := gain - before + s.strainWith(c, a, o)
				if rest < 0 && -rest > s.strainWith(b, o, a) && s.maySwap(i, j) {
					gain, u, v, to = before-s.strainWith(c, a, o)-s.strainWith(b, o, a), i, j, c
				}
			}
		}
		s.work += int64(len(mine) * len(theirs))
	}
	if u < 0 {
		return -1
	}
	s.move(u, to)
	if v >= 0 {
		s.move(v, b)
	}
	return to
}

// sample is up to n open bins other than b, all different, in no order. The
// slice is good until the next call.
func (s *search) sample(n int, b int32) []int32 {
	some := s.scratch.some[:0]
	if n >= len(s.open)-1 {
		for _, c := range s.open {
			if c != b {
				some = append(some, c)
			}
		}
	} else {
		for range n {
			c := s.open[s.dice.IntN(len(s.open))]
			if c != b && !slices.Contains(some, c) {
				some = append(some, c)
			}
		}
	}
	s.scratch.some = some
	return some
}
