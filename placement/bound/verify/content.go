package verify

import (
	"math"
	"math/big"
	"math/bits"
	"sort"

	"stowage/placement/bound"
)

// content proves by exhaustive search that nothing that fits into a bin weighs
// more than the cut says.
func (j *judge) content(c bound.Cut, cv *cover) error {
	if len(c.Weights) != len(j.p.Items) {
		return wrong("it has %d weights for %d items", len(c.Weights), len(j.p.Items))
	}
	for i, w := range c.Weights {
		if w < 0 || w > math.MaxInt64>>20 {
			return wrong("item %d weighs %d", i, w)
		}
		j.weigh(cv, i, big.NewInt(w))
	}
	for t := range j.p.Bins {
		var hint []int64
		if t < len(c.Hints) {
			hint = c.Hints[t]
		}
		s, err := j.knapsack(c.Weights, c.Most[t], t, hint)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		s.walk(0, 0, 0, s.span)
		switch {
		case s.heavier:
			return wrong("a content of bin %d weighs more than %d", t, c.Most[t])
		case j.steps < 0:
			return tooLarge("contents of a bin")
		}
	}
	return nil
}

// good is an item of the knapsack.
type good struct {
	id     int
	need   []int64
	left   int64
	value  int64 // weight in the cut, scaled
	size   int64 // a weighted sum of its shares of the room, rounded down
	shares []int // cells it takes in each grid at least
}

// knapsack searches a content worth more than limit, or finds none.
type knapsack struct {
	j       *judge
	goods   []good
	slots   int64
	limit   int64
	span    int64 // the room of a bin as a size
	excess  []int64
	grids   []grid
	rest    [][]int64 // room left, by depth
	cells   [][]int   // cells left in each grid, by depth
	heavier bool
	scans   int
}

// grid bounds the value of the goods from some index on, in so many cells of a
// dimension (or of size, for the first grid).
type grid struct {
	cells, stride int
	top           []int64
}

// knapsack prepares the search; nil means that the claim is proved already.
// The hint says what a full bin weighs in each dimension: whatever it is, the
// sizes made from it satisfy sum(size) <= span for all that fits.
func (j *judge) knapsack(weights []int64, limit int64, t int, hint []int64) (*knapsack, error) {
	room := append(append([]int64(nil), j.p.Bins[t].Room...), j.slots(t))
	if limit > math.MaxInt64>>20 {
		return nil, wrong("a limit of %d", limit)
	}
	usable := len(hint) == len(room)
	for _, h := range hint {
		usable = usable && h >= 0 && h <= math.MaxInt64>>24
	}
	if !usable {
		hint = make([]int64, len(room))
		for k := range hint {
			hint[k] = limit/int64(len(hint)) + 1
		}
	}
	largest := limit
	for _, h := range hint {
		largest = max(largest, h)
	}
	shift := max(0, 44-bits.Len64(uint64(largest)))
	s := &knapsack{j: j, limit: limit << shift, slots: j.slots(t)}
	for _, h := range hint {
		s.span += h << shift
	}
	over := new(big.Int)
	for i, it := range j.p.Items {
		g := good{id: i, need: append(append([]int64(nil), it.Needs...), 1), left: j.atMost(i, t)}
		if weights[i] == 0 || g.left < 1 {
			continue
		}
		if bits.Len64(uint64(weights[i]))+shift > 50 {
			if weights[i] > limit {
				return nil, wrong("item %d alone weighs more than %d", i, limit)
			}
			return nil, tooLarge("weights")
		}
		g.value = weights[i] << shift
		for k, w := range g.need {
			if w > 0 {
				hi, lo := bits.Mul64(uint64(hint[k]<<shift), uint64(w))
				q, _ := bits.Div64(hi, lo, uint64(room[k])) // w <= room: hi < room
				g.size += int64(q)
			}
		}
		if g.value > g.size {
			over.Add(over, new(big.Int).Mul(big.NewInt(g.value-g.size), big.NewInt(g.left)))
		}
		s.goods = append(s.goods, g)
	}
	most := new(big.Int).Add(over, big.NewInt(s.span))
	if most.Cmp(big.NewInt(s.limit)) <= 0 {
		return nil, nil
	}
	if most.BitLen()+bits.Len(uint(len(s.goods))) > 62 {
		return nil, tooLarge("weights")
	}
	s.prune(most.Int64())
	s.prepare(room, hint)
	return s, nil
}

// prune leaves out goods that cost too much size for what they are worth: with
// one of them, the relaxation is at most the limit.
func (s *knapsack) prune(most int64) {
	kept := s.goods[:0]
	for _, g := range s.goods {
		if g.size-g.value < most-s.limit {
			kept = append(kept, g)
		}
	}
	s.goods = kept
	sort.SliceStable(kept, func(a, b int) bool { return kept[a].size > kept[b].size })
}

func (s *knapsack) prepare(room, hint []int64) {
	n := len(s.goods)
	s.excess = make([]int64, n+1)
	for k := n - 1; k >= 0; k-- {
		g := s.goods[k]
		s.excess[k] = s.excess[k+1] + g.left*max(0, g.value-g.size)
	}
	cells := min(20_000, max(1_000, 20_000_000/(n+1)))
	s.grid(cells, func(g good) int { return scale(g.size, cells, s.span) })
	total := int64(0)
	for _, h := range hint {
		total += h
	}
	start := []int{cells}
	for k, h := range hint {
		if h < total/20 || room[k] == 0 {
			continue
		}
		c := int(min(int64(cells), room[k]))
		s.grid(c, func(g good) int { return scale(g.need[k], c, room[k]) })
		start = append(start, c)
	}
	s.rest = [][]int64{room}
	s.cells = [][]int{start}
}

// scale is the number of whole cells in x of room.
func scale(x int64, cells int, room int64) int {
	if room == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(x), uint64(cells))
	if hi >= uint64(room) {
		return cells + 1
	}
	q, _ := bits.Div64(hi, lo, uint64(room))
	return int(min(q, uint64(cells+1)))
}

// grid solves a knapsack of one dimension for every tail of the goods and
// every number of cells, keeping every stride-th tail.
func (s *knapsack) grid(cells int, share func(good) int) {
	n := len(s.goods)
	g := grid{cells: cells, stride: max(1, n*(cells+1)/1_500_000)}
	g.top = make([]int64, (n/g.stride+1)*(cells+1))
	line := make([]int64, cells+1)
	for k := n - 1; k >= 0; k-- {
		it := &s.goods[k]
		c := share(*it)
		it.shares = append(it.shares, c)
		copies := it.left
		if c == 0 {
			for x := range line {
				line[x] += copies * it.value
			}
			copies = 0
		}
		for ; copies > 0 && c <= cells; copies-- {
			changed := false
			for x := cells; x >= c; x-- {
				if v := line[x-c] + it.value; v > line[x] {
					line[x] = v
					changed = true
				}
			}
			if !changed {
				break
			}
		}
		if k%g.stride == 0 {
			copy(g.top[k/g.stride*(cells+1):], line)
		}
	}
	s.grids = append(s.grids, g)
}

func (g *grid) at(k, cells int) int64 {
	return g.top[k/g.stride*(g.cells+1)+cells]
}

// walk tries every good from k on as the next one in the bin.
func (s *knapsack) walk(depth, k int, value, size int64) {
	if value > s.limit {
		s.heavier = true
		return
	}
	if len(s.rest) == depth+1 {
		s.rest = append(s.rest, make([]int64, len(s.rest[0])))
		s.cells = append(s.cells, make([]int, len(s.cells[0])))
	}
	for ; k < len(s.goods) && !s.heavier; k++ {
		if s.scans++; s.scans%16 == 0 {
			s.j.steps--
		}
		if s.j.steps < 0 || s.hopeless(depth, k, value, size) {
			return // fewer goods to choose from later: no better
		}
		g := &s.goods[k]
		if g.left == 0 || !s.take(depth, g) {
			continue
		}
		if s.j.steps--; s.j.steps < 0 {
			return
		}
		g.left--
		if next := k; value+g.value > s.limit || !s.hopeless(depth+1, next, value+g.value, size-g.size) {
			s.walk(depth+1, next, value+g.value, size-g.size)
		}
		g.left++
	}
}

// take puts g into the bin of the next depth, if it fits.
func (s *knapsack) take(depth int, g *good) bool {
	from, to := s.rest[depth], s.rest[depth+1]
	for d, w := range g.need {
		if w > from[d] {
			return false
		}
		to[d] = from[d] - w
	}
	for d, c := range s.cells[depth] {
		s.cells[depth+1][d] = c - g.shares[d]
	}
	return true
}

// hopeless: the goods from k on cannot bring value above the limit.
func (s *knapsack) hopeless(depth, k int, value, size int64) bool {
	if value+size+s.excess[k] <= s.limit {
		return true
	}
	if k == len(s.goods) {
		return value <= s.limit
	}
	for d := range s.grids {
		if value+s.grids[d].at(k, s.cells[depth][d]) <= s.limit {
			return true
		}
	}
	return false
}
