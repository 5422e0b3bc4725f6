package digest

import (
	"fmt"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
)

// Digest is what is kept of captures: classes with exact sums, histograms and blocks of time. It is a value to merge,
// store, report and compare; it does not change otherwise.
type Digest struct {
	rules   RuleSet
	groupBy GroupBy

	events    uint64
	queryTime wide
	level     uint // blocks of time are 2^level seconds long
	grown     int  // cells packed since the last fit
	folded    uint64
	folds     int      // how often classes were folded: pointers to classes do not outlive that
	spare     []*class // were folded: to be used again
	inputs    []input
	byHash    map[uint64]*class // by hash of the fingerprint; a taken slot moves on to the next
}

func newDigest(r RuleSet, g GroupBy) *Digest {
	return &Digest{rules: r, groupBy: g, byHash: map[uint64]*class{}}
}

// Events is the number of events in the digest.
func (d *Digest) Events() uint64 { return d.events }

// BlockSeconds is the length of the blocks of time.
func (d *Digest) BlockSeconds() int64 { return 1 << d.level }

// grew notes that cells were packed, and looks now and then whether there are too many.
func (d *Digest) grew(cells int) {
	d.grown += cells
	if d.grown > maxCells {
		d.fit()
	}
}

// fit brings all series into canonical form and doubles the blocks until time costs few enough cells.
func (d *Digest) fit() {
	for up := uint(0); ; up = 1 {
		d.level += up
		extra := d.sumOfClasses(func(c *class) int {
			c.times.rewrite(up)
			return c.times.extra()
		})
		if extra <= maxCells || d.level >= maxLevel {
			d.grown = 0
			return
		}
	}
}

// sumOfClasses adds up what f says of each class. As many classes as there are processors are looked at at once: f may
// change its class, and nothing else.
func (d *Digest) sumOfClasses(f func(*class) int) int {
	work := make(chan *class, len(d.byHash))
	for _, c := range d.byHash {
		work <- c
	}
	close(work)
	var sum atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(d.byHash)) {
		workers.Go(func() {
			for c := range work {
				sum.Add(int64(f(c)))
			}
		})
	}
	workers.Wait()
	return int(sum.Load())
}

// settle brings the digest into the one form that equal data always has.
func (d *Digest) settle() {
	d.spare = nil
	d.fit()
	for i := range d.inputs {
		sortRemarks(d.inputs[i].skipped)
		sortRemarks(d.inputs[i].notes)
	}
	sort.SliceStable(d.inputs, func(i, j int) bool { return d.inputs[i].name < d.inputs[j].name })
}

// Merge adds another digest, which may not be used afterwards. Counts, sums, histograms, blocks and examples come out
// the same in whatever order digests are merged. It fails when the two were made with different rules or groups.
func (d *Digest) Merge(from *Digest) error {
	if d.rules != from.rules || d.groupBy != from.groupBy {
		return fmt.Errorf("merge digests: one was made with rules %s by %s, the other with rules %s by %s",
			d.rules, d.groupBy, from.rules, from.groupBy)
	}
	d.inputs = append(d.inputs, from.inputs...)
	d.absorb(from)
	d.settle()
	return nil
}

// absorb adds the classes of another digest of the same rules. The result must be settled before it is shown.
func (d *Digest) absorb(from *Digest) {
	for d.level < from.level {
		d.lengthen()
	}
	for from.level < d.level {
		from.lengthen()
	}
	d.events += from.events
	d.queryTime.add(from.queryTime)
	d.folded += from.folded
	packed := 0
	for _, c := range from.byHash {
		if mine := d.find(c); mine != nil {
			before := mine.times.cells()
			mine.merge(c)
			packed += mine.times.cells() - before
		} else {
			packed += c.times.cells()
			d.place(c)
		}
	}
	d.grew(packed)
}

func (d *Digest) lengthen() {
	d.level++
	for _, c := range d.byHash {
		c.times.rewrite(1)
	}
}

// find is the class with the same fingerprint as c, or nil.
func (d *Digest) find(c *class) *class {
	for slot := c.hash; ; slot++ {
		mine := d.byHash[slot]
		if mine == nil || mine.id == c.id {
			return mine
		}
	}
}
