package pack

import (
	"cmp"
	"slices"
)

const (
	homeRounds = 4   // the work to move less, in rounds of the search, times Effort
	chainWork  = 400 // of one chain of ejections that brings a unit home
	homePull   = 10  // what a bin's worth of bytes at home weighs against its bulk
)

func (s *solver) hasHomes() bool {
	return slices.ContainsFunc(s.home, func(h int32) bool { return h >= 0 })
}

// stayHome looks for answers as good by the first objectives that move less:
// from where everything is today, and from the best answer so far. If moving
// little is the first objective, it is where the answer comes from.
func (s *solver) stayHome(steps *ladder) {
	if s.objectives[0] == Moved {
		s.fewestMoves(steps)
		return
	}
	starts := [][]int32{s.best.open}
	if steps.single && len(s.best.open) <= len(steps.order) {
		starts = append(starts, steps.order[:len(s.best.open)])
	}
	s.keepHome(starts)
}

// fewestMoves opens every bin that something is at home in, and as many more
// as are needed; then it closes those that nothing has to move for.
func (s *solver) fewestMoves(steps *ladder) {
	homes := s.lived
	var open []int32
	var spare []int32
	for _, b := range steps.order {
		if homes[b] || s.held[b] {
			open = append(open, b)
		} else {
			spare = append(spare, b)
		}
	}
	for more := 0; ; more = max(1, 2*more) {
		more = min(more, len(spare))
		s.keepHome([][]int32{append(slices.Clone(open), spare[:more]...)})
		if s.best.missing == 0 || more == len(spare) || s.stop() {
			break
		}
	}
	s.descend()
	s.keepHome([][]int32{s.best.open})
}

// keepHome starts from homes in each set of open bins, and from the best
// answer, and brings home what it can.
func (s *solver) keepHome(starts [][]int32) {
	var all []*search
	if s.best.missing == 0 {
		all = append(all, s.homeSearch(layoutOf(s.model, s.best.open, s.best.where)))
	}
	for _, open := range starts {
		for range streams {
			l := s.homeSearch(newLayout(s.model, open))
			l.settleHome()
			all = append(all, l)
		}
	}
	sideBySide(len(all), func(i int) { all[i].bringHome() })
	for _, h := range all {
		s.keep(h.answer())
	}
}

func (s *solver) homeSearch(l *layout) *search {
	h := s.newSearch(l, int64(s.o.Effort*homeRounds*float64(s.roundOf())))
	sum := 0.0
	for u, home := range s.home {
		if home >= 0 {
			sum += s.stay[u]
		}
	}
	h.homing = homePull * float64(max(1, len(l.open))) / max(sum, 1)
	return h
}

// settleHome puts every unit that may stay where it is.
func (s *search) settleHome() {
	units := s.homeless()
	slices.SortStableFunc(units, func(a, b int32) int { return cmp.Compare(s.stay[b], s.stay[a]) })
	for _, u := range units {
		if h := s.home[u]; h >= 0 && s.isOpen[h] && s.may(u, h) {
			s.put(u, h)
		}
	}
}

// bringHome finds a place for everything and then moves units home as long as
// that saves something.
func (s *search) bringHome() {
	s.unload()
	if !s.eject() {
		return
	}
	s.relabel()
	for gained := true; gained; {
		gained = false
		away := s.away()
		for _, u := range away {
			if !s.spend(1) {
				return
			}
			if s.where[u] != s.home[u] && s.fetch(u) {
				gained = true
			}
		}
		gained = s.relabel() || gained
	}
}

// away are the units that are not at home and could be, dearest first.
func (s *search) away() []int32 {
	var out []int32
	for u, h := range s.home {
		if h >= 0 && s.where[u] != h && s.stay[u] > 0 && s.isOpen[h] && s.allowed(int32(u), h) && s.fixed[u] < 0 {
			out = append(out, int32(u))
		}
	}
	slices.SortStableFunc(out, func(a, b int32) int { return cmp.Compare(s.stay[b], s.stay[a]) })
	return out
}

// fetch takes unit u home, throwing out what is in the way and finding that
// other places, and takes it all back when it saves nothing.
func (s *search) fetch(u int32) bool {
	before := s.saved
	s.begin()
	s.take(u)
	var hand []int32
	if h := s.home[u]; s.hasRoom(u, h) && s.may(u, h) {
		s.put(u, h)
	} else {
		s.step++
		e := ejection{bin: -1, cost: s.homing * s.stay[u] * 4}
		e.cost += 4
		best := e
		s.cheapestIn(u, h, s.step, &best)
		if best.bin >= 0 {
			for _, v := range best.out[:best.n] {
				s.take(v)
				hand = append(hand, v)
			}
			s.put(u, h)
			s.banned[u] = s.step + 4*banSteps
		} else {
			hand = append(hand, u)
		}
	}
	for end := s.work + chainWork + int64(len(s.open)); len(hand) > 0 && s.work < end && s.saved > before-s.stay[u]; {
		s.spend(1)
		hand = s.placeOne(hand)
	}
	if len(hand) == 0 && s.saved > before {
		s.noting = false
		return true
	}
	s.rewind()
	return false
}

// relabel exchanges the whole content of two bins of one type where that
// brings units home. One of them may be out of use. It reports whether it
// gained anything.
func (s *search) relabel() bool {
	gain := map[[2]int32]float64{}
	for u, h := range s.home {
		if b := s.where[u]; h >= 0 && b >= 0 && b != h && s.stay[u] > 0 && s.typ[b] == s.typ[h] {
			gain[[2]int32{b, h}] += s.stay[u]
		}
	}
	pairs := make([][2]int32, 0, len(gain))
	for p := range gain {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b [2]int32) int {
		return cmp.Or(cmp.Compare(gain[b], gain[a]), cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	gained := false
	for _, p := range pairs {
		s.work += int64(len(s.inside[p[0]]))
		if s.exchange(p[0], p[1]) {
			gained = true
		}
	}
	return gained
}

// exchange puts what is in b into c and the other way round, if rules and room
// allow it and more is at home afterwards.
func (s *search) exchange(b, c int32) bool {
	if s.held[b] != s.held[c] && (len(s.inside[c]) == 0 || len(s.inside[b]) == 0) {
		return false // would change what is in use
	}
	before := s.saved
	s.begin()
	mine, theirs := slices.Clone(s.inside[b]), slices.Clone(s.inside[c])
	for _, u := range append(slices.Clone(mine), theirs...) {
		if s.fixed[u] >= 0 {
			s.rewind()
			return false
		}
		s.take(u)
	}
	ok := true
	put := func(units []int32, to int32) {
		for _, u := range units {
			if ok = ok && s.hasRoom(u, to) && s.may(u, to); ok {
				s.put(u, to)
			}
		}
	}
	put(mine, c)
	put(theirs, b)
	if !ok || s.saved <= before {
		s.rewind()
		return false
	}
	s.noting = false
	if !s.isOpen[c] {
		s.unuse(b)
		s.use(c)
	}
	return true
}
