package bound

import (
	"math"
	"slices"
)

// pattern is one content of a bin of type t: times[k] copies of items[k].
type pattern struct {
	bin   int
	items []int32
	times []int32
}

func (p pattern) worth(values []int64) int64 {
	var sum int64
	for k, i := range p.items {
		sum += values[i] * int64(p.times[k])
	}
	return sum
}

// pricer looks for the content of one type of bin that is worth most, given
// what each item is worth: a knapsack of several dimensions. It searches
// depth first, and prunes by relaxations to one dimension: a weighted sum of
// all dimensions, whose weights it tunes, and the dimensions that matter by
// themselves. Each is solved by dynamic programming on a grid that rounds
// sizes down, which is a bound for every suffix of the items and every rest of
// room at once.
type pricer struct {
	m         *model
	bin       int
	size      []float64 // [item*dims+k]: need as a fraction of the room
	lambda    []float64 // weights of the dimensions, kept from call to call
	nodes     int       // spent so far, over all calls
	lastFloor float64   // that lambda is for
	filled    int64     // cells of tables computed in the last call

	// of one call
	values []int64
	order  []int32 // items that may be of use
	val    []int64
	weight []float64 // the weighted sum of sizes, in value units
	steep  []float64 // best value/weight from here on
	extra  []float64 // sum of what values exceed weights by, from here on
	tables []table
	row    []int32
	left   []int32 // copies of order[j] not yet used
	floor  int64   // only contents worth more are of interest
	margin float64 // what rounding may take from a rest: added to it, so that bounds stay bounds
	budget int
	scans  int
	best   int64
	found  []pattern
	keep   int
	chosen []int32
	room   [][]int64 // per depth
}

// table bounds what the items order[j:] are worth in a rest of room.
type table struct {
	dim    int // -1: the weighted sum
	n      int
	cells  int
	stride int
	scale  float64 // cells per unit
	best   []int32 // [j/stride*(cells+1)+cell]
}

func newPricer(m *model, bin int) *pricer {
	p := &pricer{m: m, bin: bin, lambda: make([]float64, m.dims), size: make([]float64, m.n*m.dims)}
	for i := range m.n {
		for k, w := range m.need[i] {
			if r := m.room[bin][k]; r > 0 {
				p.size[i*m.dims+k] = float64(w) / float64(r)
			}
		}
	}
	return p
}

// search looks for contents worth more than floor, for at most budget nodes.
// It returns the most that any content can be worth, or floor if that is
// more; and whether it has looked at everything. What it found is in p.found,
// best first.
func (p *pricer) search(values []int64, floor int64, budget, keep int) (int64, bool) {
	p.filled = 0
	p.values, p.floor, p.best, p.budget, p.keep = values, floor, floor, budget, keep
	p.found = p.found[:0]
	top := p.tune(floor)
	if top < float64(floor+1) {
		return floor, true
	}
	p.choose(top)
	p.build()
	p.chosen = p.chosen[:0]
	p.margin = 1e-9 * p.span()
	p.descend(0, 0, 0, p.span()+p.margin)
	p.nodes += budget - p.budget
	slices.SortStableFunc(p.found, func(a, b pattern) int {
		return int(min(1, max(-1, b.worth(values)-a.worth(values))))
	})
	return p.best, p.budget > 0
}

// span is the room of an empty bin in the weighted sum.
func (p *pricer) span() float64 {
	sum := 0.0
	for _, l := range p.lambda {
		sum += l
	}
	return sum
}

// tune finds weights for the dimensions that make the relaxed knapsack worth
// little: it minimises sum(lambda) + sum of the positive parts of value -
// lambda*size by subgradient steps, and stops when that is at most floor,
// because then nothing better than floor exists.
func (p *pricer) tune(floor int64) float64 {
	d := p.m.dims
	limits := p.m.limit[p.bin]
	var items []int32
	sum := 0.0
	for i, v := range p.values {
		if v > 0 && limits[i] > 0 {
			items = append(items, int32(i))
		}
	}
	p.restart(items, math.Max(float64(floor), 1))
	best := math.Inf(1)
	bestLambda := slices.Clone(p.lambda)
	grad := make([]float64, d)
	lambda := slices.Clone(p.lambda)
	rate := 1.0
	since := 0
	for range 120 {
		sum = 0
		for k := range d {
			grad[k] = 1
			sum += lambda[k]
		}
		for _, i := range items {
			s := p.size[int(i)*d : int(i)*d+d]
			r := float64(p.values[i])
			for k, l := range lambda {
				r -= l * s[k]
			}
			if r > 0 {
				u := float64(limits[i])
				sum += r * u
				for k, e := range s {
					grad[k] -= e * u
				}
			}
		}
		if sum < best*(1-1e-9) {
			best = sum
			copy(bestLambda, lambda)
			since = 0
		} else if since++; since >= 6 {
			rate /= 2
			since = 0
			if rate < 0.02 {
				break
			}
			copy(lambda, bestLambda)
			continue
		}
		if best <= float64(floor) {
			break
		}
		norm := 0.0
		for k, g := range grad {
			if lambda[k] > 0 || g < 0 {
				norm += g * g
			}
		}
		if norm < 1e-12 {
			break
		}
		step := rate * (sum - 0.98*float64(floor)) / norm
		for k, g := range grad {
			lambda[k] = math.Max(0, lambda[k]-step*g)
		}
	}
	copy(p.lambda, bestLambda)
	if p.span() < 1 { // nothing is scarce; the grids need some measure all the same
		for k := range p.lambda {
			p.lambda[k] = 1
		}
		best = p.relaxation(items, p.lambda)
	}
	return best * (1 + 1e-10)
}

// restart begins with the best of: the weights of the last call, all dimensions
// alike, and each dimension alone; scaled to what a bin is to be worth now.
func (p *pricer) restart(items []int32, floor float64) {
	d := p.m.dims
	last := slices.Clone(p.lambda)
	for k := range last {
		last[k] *= floor / math.Max(p.lastFloor, 1)
	}
	p.lastFloor = floor
	starts := [][]float64{slices.Repeat([]float64{1}, d)}
	for k := range d {
		alone := make([]float64, d)
		alone[k] = 1
		starts = append(starts, alone)
	}
	best := math.Inf(1)
	if p.span() > 0 {
		best = p.relaxation(items, last)
		copy(p.lambda, last)
	}
	for _, l := range starts {
		span := 0.0
		for _, e := range l {
			span += e
		}
		if span == 0 {
			continue
		}
		for k := range l {
			l[k] *= floor / span
		}
		if v := p.relaxation(items, l); v < best {
			best = v
			copy(p.lambda, l)
		}
	}
}

// relaxation is the value of the knapsack relaxed with weights lambda.
func (p *pricer) relaxation(items []int32, lambda []float64) float64 {
	sum := 0.0
	for _, l := range lambda {
		sum += l
	}
	d := p.m.dims
	for _, i := range items {
		r := float64(p.values[i])
		for k, s := range p.size[int(i)*d : int(i)*d+d] {
			r -= lambda[k] * s
		}
		if r > 0 {
			sum += r * float64(p.m.limit[p.bin][i])
		}
	}
	return sum
}

// hint is the weights of the dimensions as whole numbers.
func (p *pricer) hint() []int64 {
	h := make([]int64, len(p.lambda))
	for k, l := range p.lambda {
		h[k] = int64(l)
	}
	return h
}

// choose orders the items and leaves out those that cannot be in a content
// worth more than floor.
func (p *pricer) choose(top float64) {
	d := p.m.dims
	type scored struct {
		i    int32
		w, r float64
	}
	var list []scored
	for i, v := range p.values {
		if v <= 0 || p.m.limit[p.bin][i] == 0 {
			continue
		}
		w := 0.0
		for k, l := range p.lambda {
			w += l * p.size[i*d+k]
		}
		r := float64(v) - w
		if r < 0 && top+r*(1-1e-9) < float64(p.floor)+0.9 {
			continue
		}
		list = append(list, scored{int32(i), w, r})
	}
	slices.SortStableFunc(list, func(a, b scored) int {
		switch {
		case a.w > b.w:
			return -1
		case a.w < b.w:
			return 1
		default:
			return int(a.i - b.i)
		}
	})
	n := len(list)
	p.order, p.val, p.left = p.order[:0], p.val[:0], p.left[:0]
	p.weight = p.weight[:0]
	p.steep = slices.Grow(p.steep[:0], n+1)[:n+1]
	p.extra = slices.Grow(p.extra[:0], n+1)[:n+1]
	for _, s := range list {
		p.order = append(p.order, s.i)
		p.val = append(p.val, p.values[s.i])
		p.weight = append(p.weight, s.w)
		p.left = append(p.left, p.m.limit[p.bin][s.i])
	}
	p.steep[n], p.extra[n] = 0, 0
	for j := n - 1; j >= 0; j-- {
		steep := math.Inf(1)
		if p.weight[j] > 0 {
			steep = float64(p.val[j]) / p.weight[j]
		}
		p.steep[j] = math.Max(p.steep[j+1], steep)
		p.extra[j] = p.extra[j+1] + math.Max(0, list[j].r)*float64(p.left[j])
	}
	p.room = p.room[:0]
	p.room = append(p.room, slices.Clone(p.m.room[p.bin]))
}

// build makes the tables: the weighted sum first, then the dimensions that
// have a part in it.
func (p *pricer) build() {
	n := len(p.order)
	// Fine grids cost little against the nodes they save: on a farm of 600
	// instances 18,000 cells proved in 0.02 s what 6,000 did not in a second.
	cells := max(200, min(2_000, 2_000_000/(n+1)))
	if p.budget > 50_000 {
		cells = max(200, min(20_000, 15_000_000/(n+1), p.budget/4))
	}
	if p.budget > 20_000_000 {
		cells = max(200, min(50_000, 60_000_000/(n+1)))
	}
	old := p.tables
	p.tables = p.tables[:0]
	next := func() table {
		if len(p.tables) < len(old) {
			return old[len(p.tables)]
		}
		return table{}
	}
	add := func(dim int, scale float64, size func(j int) float64) {
		t := next()
		t.dim, t.cells, t.scale = dim, cells, scale
		p.fill(&t, size)
		p.tables = append(p.tables, t)
	}
	span := p.span()
	add(-1, float64(cells)/span, func(j int) float64 { return p.weight[j] })
	for k, l := range p.lambda {
		if l < 0.05*span {
			continue
		}
		if room := p.m.room[p.bin][k]; int64(cells) > room {
			saved := cells
			cells = int(room)
			add(k, 1, func(j int) float64 { return float64(p.m.need[p.order[j]][k]) })
			cells = saved
		} else {
			add(k, float64(cells)/float64(room), func(j int) float64 { return float64(p.m.need[p.order[j]][k]) })
		}
	}
}

// fill computes a table from the last item to the first. To save memory only
// every stride-th row is kept; the rows between use the one before, which
// counts a few items more and so is a bound as well.
func (p *pricer) fill(t *table, size func(j int) float64) {
	n, width := len(p.order), t.cells+1
	p.filled += int64(n * width)
	t.n, t.stride = n, max(1, n*width/2_000_000)
	t.best = slices.Grow(t.best[:0], (n/t.stride+1)*width)[:(n/t.stride+1)*width]
	p.row = slices.Grow(p.row[:0], width)[:width]
	clear(p.row)
	for j := n - 1; j >= 0; j-- {
		s := int(math.Max(0, math.Floor(size(j)*t.scale*(1-1e-12)-1e-6)))
		v := int32(min(p.val[j], math.MaxInt32))
		if s == 0 {
			v = int32(min(p.val[j]*int64(p.left[j]), math.MaxInt32))
			for c, e := range p.row {
				p.row[c] = saturated(e, v)
			}
		} else {
			for range min(int(p.left[j]), t.cells/s) {
				more := p.row[s:]
				for c := len(more) - 1; c >= 0; c-- {
					if e := saturated(p.row[c], v); e > more[c] {
						more[c] = e
					}
				}
			}
		}
		if j%t.stride == 0 {
			copy(t.best[j/t.stride*width:], p.row)
		}
	}
}

// saturated is a+b, or the largest number if that is too much.
func saturated(a, b int32) int32 {
	if c := a + b; c >= a {
		return c
	}
	return math.MaxInt32
}

func (t *table) at(j int, rest float64) int64 {
	if j >= t.n {
		return 0
	}
	c := int(rest*t.scale*(1+1e-12) + 1e-6)
	if c > t.cells {
		c = t.cells
	}
	return int64(t.best[j/t.stride*(t.cells+1)+c])
}

// descend tries every item from j on as the next one in the bin.
func (p *pricer) descend(depth, j int, value int64, rest float64) {
	n := len(p.order)
	if len(p.room) <= depth+1 {
		p.room = append(p.room, make([]int64, p.m.dims))
	}
	room, below := p.room[depth], p.room[depth+1]
	sum := &p.tables[0]
	for ; j < n; j++ {
		if p.scans++; p.scans%16 == 0 {
			p.budget--
		}
		if p.budget <= 0 {
			return
		}
		if value+sum.at(j, rest) <= p.best || float64(value)+rest*p.steep[j]+0.1 < float64(p.best+1) {
			return
		}
		if p.left[j] == 0 {
			continue
		}
		need := p.m.need[p.order[j]]
		fits := true
		for k, w := range need {
			if w > room[k] {
				fits = false
				break
			}
			below[k] = room[k] - w
		}
		if !fits {
			continue
		}
		p.budget--
		v := value + p.val[j]
		next := j
		p.left[j]--
		if p.left[j] == 0 {
			next++
		}
		p.chosen = append(p.chosen, int32(j))
		if v > p.best {
			p.note(v)
		}
		if r := math.Max(rest-p.weight[j], p.margin); !p.hopeless(next, v, r, below) {
			p.descend(depth+1, next, v, r)
		}
		p.chosen = p.chosen[:len(p.chosen)-1]
		p.left[j]++
	}
}

func (p *pricer) hopeless(j int, value int64, rest float64, room []int64) bool {
	most := math.Min(rest*p.steep[j], rest+p.extra[j])
	if float64(value)+most+0.1 < float64(p.best+1) {
		return true
	}
	for k := range p.tables {
		t := &p.tables[k]
		r := rest
		if t.dim >= 0 {
			r = float64(room[t.dim])
		}
		if value+t.at(j, r) <= p.best {
			return true
		}
	}
	return false
}

// note keeps the content at hand.
func (p *pricer) note(value int64) {
	p.best = value
	pat := pattern{bin: p.bin}
	for k := 0; k < len(p.chosen); {
		j, times := p.chosen[k], int32(0)
		for ; k < len(p.chosen) && p.chosen[k] == j; k++ {
			times++
		}
		pat.items = append(pat.items, p.order[j])
		pat.times = append(pat.times, times)
	}
	if len(p.found) >= p.keep {
		copy(p.found, p.found[1:])
		p.found = p.found[:len(p.found)-1]
	}
	p.found = append(p.found, pat)
}
