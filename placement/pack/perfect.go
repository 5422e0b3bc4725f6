package pack

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

const (
	perfectUnits = 3000    // problems with more units are left to the search
	perfectSteps = 20_000  // bins filled before it starts again with other dice
	perfectTries = 8       // starts
	perfectSets  = 200_000 // sets of units that fill a bin; with more it gives up
)

// perfect answers problems where the volume bound leaves no room at all, so
// that every bin has to be full to the brim in every dimension, with at most
// three units. Such problems defeat a search that fills bins well but not
// perfectly, and yet few sets of units fill a bin: it is an exact cover, and
// Knuth's Algorithm X ("Dancing links", 2000) finds it.
func (s *solver) perfect(steps *ladder) {
	bins := steps.lowest
	if !steps.single || s.n > perfectUnits || s.n > 3*bins || s.n == 0 || s.d == 0 || !s.isPlain() || bins > len(steps.order) {
		return
	}
	full := s.room(steps.order[0])
	for k := range full {
		sum := 0.0
		for u := range s.n {
			sum += s.size[u*s.d+k]
		}
		if sum != full[k]*float64(bins) {
			return
		}
	}
	c := newCover(s.model, full)
	if c == nil || !c.solve(s.o.Seed) {
		return
	}
	l := newLayout(s.model, steps.order[:bins])
	for i, set := range c.chosen {
		for _, u := range c.sets[set] {
			l.put(u, l.open[i])
		}
	}
	s.keep(l.answer())
}

// isPlain says that there are no bins with names and no rules.
func (s *solver) isPlain() bool {
	return len(s.p.Bins) == 0 && len(s.groups) == 0 && !slices.Contains(s.types, 0)
}

// cover is an exact cover of units by sets that fill a bin.
type cover struct {
	sets   [][]int32
	of     [][]int32 // sets by unit
	dead   []int32   // by set: how many of its units are covered
	alive  []int32   // by unit: sets that are not dead
	done   []bool    // by unit
	chosen []int32
	steps  int
}

func newCover(m *model, full []float64) *cover {
	c := &cover{of: make([][]int32, m.n), alive: make([]int32, m.n), done: make([]bool, m.n)}
	bySize := map[string][]int32{}
	key := make([]byte, 8*m.d)
	rest := make([]float64, m.d)
	name := func() string {
		for k, v := range rest {
			binary.LittleEndian.PutUint64(key[8*k:], uint64(int64(v)))
		}
		return string(key)
	}
	for u := range int32(m.n) {
		copy(rest, m.vec(u))
		at := name()
		bySize[at] = append(bySize[at], u)
	}
	add := func(units ...int32) {
		for _, u := range units {
			c.of[u] = append(c.of[u], int32(len(c.sets)))
		}
		c.sets = append(c.sets, slices.Clone(units))
	}
	for u := range int32(m.n) {
		if slices.Equal(m.vec(u), full) {
			add(u)
		}
		for v := range u {
			fits, left := true, false
			for k := range rest {
				rest[k] = full[k] - m.vec(u)[k] - m.vec(v)[k]
				fits, left = fits && rest[k] >= 0, left || rest[k] > 0
			}
			switch {
			case !fits:
			case !left:
				add(u, v)
			default:
				for _, w := range bySize[name()] {
					if w < v {
						add(u, v, w)
					}
				}
			}
			if len(c.sets) > perfectSets {
				return nil
			}
		}
	}
	c.dead = make([]int32, len(c.sets))
	for u, sets := range c.of {
		c.alive[u] = int32(len(sets))
	}
	return c
}

// solve searches with sets in the order they came, then in random orders: an
// early mistake costs one start and not the whole search.
func (c *cover) solve(seed uint64) bool {
	dice := rand.New(rand.NewPCG(seed, 3))
	for range perfectTries {
		c.steps = 0
		if c.search() {
			return true
		}
		if c.steps < perfectSteps {
			return false // all ways were tried
		}
		for _, sets := range c.of {
			dice.Shuffle(len(sets), func(i, j int) { sets[i], sets[j] = sets[j], sets[i] })
		}
	}
	return false
}

// search covers the unit with fewest ways left, and continues with the others.
func (c *cover) search() bool {
	next := -1
	for u, n := range c.alive {
		if !c.done[u] && (next < 0 || n < c.alive[next]) {
			next = u
		}
	}
	if next < 0 {
		return true
	}
	for _, set := range c.of[next] {
		if c.dead[set] > 0 {
			continue
		}
		if c.steps++; c.steps >= perfectSteps {
			return false
		}
		c.choose(set)
		c.chosen = append(c.chosen, set)
		if c.search() {
			return true
		}
		c.chosen = c.chosen[:len(c.chosen)-1]
		c.undo(set)
	}
	return false
}

func (c *cover) choose(set int32) {
	for _, u := range c.sets[set] {
		c.done[u] = true
		for _, other := range c.of[u] {
			if c.dead[other]++; c.dead[other] == 1 {
				for _, v := range c.sets[other] {
					c.alive[v]--
				}
			}
		}
	}
}

func (c *cover) undo(set int32) {
	for _, u := range c.sets[set] {
		c.done[u] = false
		for _, other := range c.of[u] {
			if c.dead[other]--; c.dead[other] == 0 {
				for _, v := range c.sets[other] {
					c.alive[v]++
				}
			}
		}
	}
}
