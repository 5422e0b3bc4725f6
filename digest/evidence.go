package digest

import (
	"maps"
	"math"
	"slices"
)

// evidence is one side of a comparison: its blocks of time, and what every class did in each.
type evidence struct {
	seconds int64           // length of a block
	numbers []int64         // of the blocks in which anything happened, ascending
	classes [][]blockCounts // by class as numbered by the comparison, then by block; nil: too few events to be judged
	events  []float64       // by class
}

// blockCounts is what one class did in one block.
type blockCounts struct {
	n, sum float64
	single float64 // of n: events with a time of their own, which cells hold
	cells  []cell
}

func countsOf(b timeBlock) blockCounts {
	out := blockCounts{n: float64(b.count()), sum: float64(b.sum), cells: b.cells}
	out.single = out.n
	if last := len(b.cells) - 1; last >= 0 && b.cells[last].bucket == summedCell {
		out.single -= float64(b.cells[last].n)
		out.cells = b.cells[:last]
	}
	return out
}

// gather takes the series of the classes (nil where a side does not have the class).
func gather(classes []*class, level uint) *evidence {
	e := &evidence{seconds: 1 << level, events: make([]float64, len(classes)), classes: make([][]blockCounts, len(classes))}
	numbers := map[int64]struct{}{}
	for i, c := range classes {
		if c == nil {
			continue
		}
		for _, b := range c.times.blocks() {
			numbers[b.number] = struct{}{}
			e.events[i] += float64(b.count())
		}
	}
	e.numbers = slices.Sorted(maps.Keys(numbers))
	for i, c := range classes {
		if e.events[i] < wantEvents { // of 100,000 classes, most; a row takes as much memory as there are blocks
			continue
		}
		e.classes[i] = make([]blockCounts, len(e.numbers))
		for _, b := range c.times.blocks() {
			at, _ := slices.BinarySearch(e.numbers, b.number)
			e.classes[i][at] = countsOf(b)
		}
	}
	return e
}

// blocks is how many blocks there would be if they were seconds long.
func (e *evidence) blocks(seconds int64) int {
	n, last := 0, int64(math.MinInt64)
	for _, number := range e.numbers {
		if b := floorDiv(number*e.seconds, seconds); b != last {
			n, last = n+1, b
		}
	}
	return n
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// lengthened is the same evidence in longer blocks.
func (e *evidence) lengthened(seconds int64) *evidence {
	if seconds <= e.seconds {
		return e
	}
	out := &evidence{seconds: seconds, events: e.events}
	place := make([]int, len(e.numbers))
	for i, number := range e.numbers {
		b := floorDiv(number*e.seconds, seconds)
		if n := len(out.numbers); n == 0 || out.numbers[n-1] != b {
			out.numbers = append(out.numbers, b)
		}
		place[i] = len(out.numbers) - 1
	}
	for _, row := range e.classes {
		if row == nil {
			out.classes = append(out.classes, nil)
			continue
		}
		longer := make([]blockCounts, len(out.numbers))
		for i, b := range row {
			if b.n == 0 {
				continue
			}
			l := &longer[place[i]]
			l.n += b.n
			l.sum += b.sum
			l.single += b.single
			l.cells = addCells(l.cells, b.cells)
		}
		out.classes = append(out.classes, longer)
	}
	return out
}

// part is the evidence of the blocks from one to before another.
func (e *evidence) part(from, to int) *evidence {
	out := &evidence{seconds: e.seconds, events: e.events, numbers: e.numbers[from:to]}
	for _, row := range e.classes {
		if row != nil {
			row = row[from:to]
		}
		out.classes = append(out.classes, row)
	}
	return out
}

// totals is how many events a class has, and in how many blocks, which is left out where there are too few events.
func (e *evidence) totals(class int) (events float64, blocks int) {
	if e.classes[class] == nil {
		return e.events[class], 0
	}
	for _, b := range e.classes[class] {
		events += b.n
		if b.n > 0 {
			blocks++
		}
	}
	return events, blocks
}

// singles is how many events of a class have a time of their own.
func (e *evidence) singles(class int) (n float64) {
	for _, b := range e.classes[class] {
		n += b.single
	}
	return n
}

// pool adds up the blocks of a class, each as often as weights say, and forgets what it held before.
type pool struct {
	n, sum float64
	single float64 // of n: events with a time of their own
	lowest int
	counts []float64 // by coarse bucket from lowest
}

// span makes the pool wide enough for all blocks of a class.
func (p *pool) span(row []blockCounts) {
	lowest, highest := math.MaxInt, -1
	for _, b := range row {
		if len(b.cells) > 0 {
			lowest = min(lowest, b.cells[0].bucket)
			highest = max(highest, b.cells[len(b.cells)-1].bucket)
		}
	}
	p.lowest = lowest
	p.counts = make([]float64, max(0, highest-lowest+1))
}

func (p *pool) fill(row []blockCounts, weights []float64) {
	p.n, p.sum, p.single = 0, 0, 0
	clear(p.counts)
	for i := range row {
		w := weights[i]
		if w == 0 || row[i].n == 0 {
			continue
		}
		p.n += w * row[i].n
		p.sum += w * row[i].sum
		p.single += w * row[i].single
		for _, c := range row[i].cells {
			p.counts[c.bucket-p.lowest] += w * float64(c.n)
		}
	}
}

// logQuantile is the logarithm of a quantile, interpolated inside its bucket: resampling asks for differences smaller
// than a coarse bucket is wide.
func (p *pool) logQuantile(q float64) float64 {
	rank, seen := q*p.single, 0.0
	for i, n := range p.counts {
		if seen+n >= rank && n > 0 {
			b := (p.lowest + i) << coarseBits
			lower := math.Log(float64(bucketLower(b)) + 0.5)
			upper := math.Log(float64(bucketLower(b)+bucketWidth(b)<<coarseBits) + 0.5)
			return lower + (upper-lower)*(rank-seen)/n
		}
		seen += n
	}
	return math.NaN()
}

func (p *pool) logMean() float64 { return math.Log(p.sum/p.n + 0.5) }
