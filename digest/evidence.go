package digest

import (
	"math"
	"slices"
)

// evidence is one side of a comparison: its blocks of time, and what every class did in each.
type evidence struct {
	seconds int64           // length of a block
	numbers []int64         // of the blocks in which anything happened, ascending
	classes [][]blockCounts // by class as numbered by the comparison, then by block
}

// blockCounts is what one class did in one block.
type blockCounts struct {
	n, sum float64
	cells  []cell
}

// gather takes the series of the classes (nil where a side does not have the class).
func gather(classes []*class, level uint) *evidence {
	e := &evidence{seconds: 1 << level}
	series := make([][]timeBlock, len(classes))
	for i, c := range classes {
		if c != nil {
			series[i] = c.series.blocks()
			for _, b := range series[i] {
				e.numbers = append(e.numbers, b.number)
			}
		}
	}
	slices.Sort(e.numbers)
	e.numbers = slices.Compact(e.numbers)
	for _, s := range series {
		row := make([]blockCounts, len(e.numbers))
		for _, b := range s {
			at, _ := slices.BinarySearch(e.numbers, b.number)
			row[at] = blockCounts{float64(b.count()), float64(b.sum), b.cells}
		}
		e.classes = append(e.classes, row)
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
	out := &evidence{seconds: seconds}
	place := make([]int, len(e.numbers))
	for i, number := range e.numbers {
		b := floorDiv(number*e.seconds, seconds)
		if n := len(out.numbers); n == 0 || out.numbers[n-1] != b {
			out.numbers = append(out.numbers, b)
		}
		place[i] = len(out.numbers) - 1
	}
	for _, row := range e.classes {
		longer := make([]blockCounts, len(out.numbers))
		for i, b := range row {
			if b.n == 0 {
				continue
			}
			l := &longer[place[i]]
			l.n += b.n
			l.sum += b.sum
			l.cells = addCells(l.cells, b.cells)
		}
		out.classes = append(out.classes, longer)
	}
	return out
}

// part is the evidence of some of the blocks.
func (e *evidence) part(take []bool) *evidence {
	out := &evidence{seconds: e.seconds}
	for i, number := range e.numbers {
		if take[i] {
			out.numbers = append(out.numbers, number)
		}
	}
	for _, row := range e.classes {
		var some []blockCounts
		for i, b := range row {
			if take[i] {
				some = append(some, b)
			}
		}
		out.classes = append(out.classes, some)
	}
	return out
}

// totals is how many events a class has, and in how many blocks.
func (e *evidence) totals(class int) (events float64, blocks int) {
	for _, b := range e.classes[class] {
		events += b.n
		if b.n > 0 {
			blocks++
		}
	}
	return events, blocks
}

// pool adds up the blocks of a class, each as often as weights say, and forgets what it held before.
type pool struct {
	n, sum float64
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
	p.n, p.sum = 0, 0
	clear(p.counts)
	for i := range row {
		w := weights[i]
		if w == 0 || row[i].n == 0 {
			continue
		}
		p.n += w * row[i].n
		p.sum += w * row[i].sum
		for _, c := range row[i].cells {
			p.counts[c.bucket-p.lowest] += w * float64(c.n)
		}
	}
}

// logQuantile is the logarithm of a quantile, interpolated inside its bucket: resampling asks for differences smaller
// than a coarse bucket is wide.
func (p *pool) logQuantile(q float64) float64 {
	rank, seen := q*p.n, 0.0
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
