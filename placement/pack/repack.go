package pack

const (
	repackUnits = 14     // in two bins and the newcomer: 2^13 ways at most
	repackPairs = 24     // pairs of bins that are repacked for one unit
	repackLooks = 20_000 // pairs that are looked at for it
)

// makeRoom looks for two bins that, repacked together, take u as well. The
// room they have left in sum tells for most pairs that they do not.
func (s *search) makeRoom(u int32) bool {
	bins, spare := s.roomiest(s.bulk[u])
	n := len(bins)
	if n < 2 {
		return false
	}
	v := s.vec(u)
	looks, tried := 0, 0
	defer func() { s.work += int64(looks/8 + n/8) }()
	from := s.dice.IntN(n)
	for i := range n {
		b := bins[(from+i)%n]
		for j := range i {
			c := bins[(from+j)%n]
			if looks++; looks > repackLooks {
				return false
			}
			if spare[b]+spare[c] < s.bulk[u]-1e-9 || len(s.inside[b])+len(s.inside[c])+1 > repackUnits || !s.spareFor(v, b, c) {
				continue
			}
			if s.repackTwo(b, c, u) {
				return true
			}
			if tried++; tried >= repackPairs {
				return false
			}
		}
	}
	return false
}

// roomiest are the open bins whose spare bulk, with that of the roomiest bin,
// is at least bulk. Both slices are good until the next call.
func (s *search) roomiest(bulk float64) (bins []int32, spare []float64) {
	if s.scratch.spare == nil {
		s.scratch.spare = make([]float64, s.nb)
	}
	spare = s.scratch.spare
	most := 0.0
	for _, b := range s.open {
		room, load := s.room(b), s.loadOf(b)
		sum := 0.0
		for k, scale := range s.scale {
			sum += (room[k] - load[k]) * scale
		}
		spare[b] = sum
		most = max(most, sum)
	}
	s.work += int64(len(s.open) * s.d / 16)
	bins = s.scratch.some[:0]
	for _, b := range s.open {
		if spare[b]+most >= bulk-1e-9 {
			bins = append(bins, b)
		}
	}
	s.scratch.some = bins
	return bins, spare
}

// spareFor says that bins b and c together have room for v.
func (s *search) spareFor(v []float64, b, c int32) bool {
	lb, lc, rb, rc := s.loadOf(b), s.loadOf(c), s.room(b), s.room(c)
	for k, x := range v {
		if lb[k]+lc[k]+x > rb[k]+rc[k] {
			return false
		}
	}
	return true
}

// repackTwo tries every way to divide the content of two bins and u over
// them, largest units first.
func (s *search) repackTwo(b, c, u int32) bool {
	units := append(s.scratch.both[:0], s.inside[b]...)
	units = append(units, s.inside[c]...)
	units = append(units, u)
	s.scratch.both = units
	for _, v := range units {
		if s.fixed[v] >= 0 {
			return false
		}
	}
	s.byBulk(units)
	old := [repackUnits]int32{}
	for i, v := range units {
		old[i] = s.where[v]
		if old[i] >= 0 {
			s.take(v)
		}
	}
	steps := 0
	if s.divide(units, b, c, &steps) {
		s.work += int64(steps)
		return true
	}
	s.work += int64(steps)
	for i, v := range units {
		if old[i] >= 0 {
			s.put(v, old[i])
		}
	}
	return false
}

// divide places units[0] in b or c and continues with the rest.
func (s *search) divide(units []int32, b, c int32, steps *int) bool {
	if len(units) == 0 {
		return true
	}
	u := units[0]
	for _, to := range [2]int32{b, c} {
		*steps++
		if !s.hasRoom(u, to) || !s.may(u, to) {
			continue
		}
		s.put(u, to)
		if s.divide(units[1:], b, c, steps) {
			return true
		}
		s.take(u)
		if named := int32(len(s.p.Bins)); len(s.inside[b]) == 0 && len(s.inside[c]) == 0 && b >= named && c >= named && s.typ[b] == s.typ[c] {
			return false // the other way is this one mirrored
		}
	}
	return false
}
