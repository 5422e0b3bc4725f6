package digest

import "encoding/binary"

// timing is how long the events of a class took, and in which blocks of time they were: a histogram and a series of blocks.
// Both can be made from the times themselves, so as long as there are few they are kept as a list, five bytes an event. Of
// 100,000 classes most stay that way. Which of the two it is never shows in a result.
type timing struct {
	few  []byte // pairs, see appendTime
	n    int    // how many
	last int64  // number of the last block in few
	all  *allTimes
}

// fewTimes is how many events are kept as a list.
const fewTimes = 24

type allTimes struct {
	latency histogram
	series  series
}

// eventTime is one event: nanoseconds, and the number of its block when it is known.
type eventTime struct {
	ns     uint64
	number int64
	dated  bool
}

// add counts one event, and reports how many cells of blocks that packed, see series.add. Roomy says that there are so few
// classes that this one need not be small.
func (t *timing) add(e eventTime, roomy bool) (packed int) {
	if t.all != nil {
		return t.all.add(e)
	}
	if t.n == fewTimes {
		a := t.full()
		if roomy {
			a.latency.spread()
		}
		return a.add(e)
	}
	var room [2 * binary.MaxVarintLen64]byte
	p := room[:0]
	if e.dated {
		delta := e.number - t.last
		p = binary.AppendUvarint(p, uint64(delta<<1^delta>>63)<<1|1)
		t.last = e.number
		packed = 1
	} else {
		p = append(p, 0)
	}
	t.few = appendTight(t.few, binary.AppendUvarint(p, e.ns))
	t.n++
	return packed
}

func (a *allTimes) add(e eventTime) (packed int) {
	bucket := bucketOf(e.ns)
	a.latency.add(bucket, 1)
	if e.dated {
		return a.series.add(e.number, bucket, e.ns)
	}
	return 0
}

// each calls f for every event of the list.
func (t *timing) each(f func(eventTime)) {
	var number int64
	for p := t.few; len(p) > 0; {
		var e eventTime
		v, k := binary.Uvarint(p)
		p = p[k:]
		if e.dated = v&1 != 0; e.dated {
			v >>= 1
			number += int64(v>>1) ^ -int64(v&1)
			e.number = number
		}
		e.ns, k = binary.Uvarint(p)
		p = p[k:]
		f(e)
	}
}

// full turns the list into histogram and series.
func (t *timing) full() *allTimes {
	if t.all == nil {
		*t = timing{all: t.view()}
	}
	return t.all
}

// view is histogram and series, to look at.
func (t *timing) view() *allTimes {
	if t.all != nil {
		return t.all
	}
	a := &allTimes{}
	t.each(func(e eventTime) { a.add(e) })
	a.series.rewrite(0)
	return a
}

// cells is how many cells are packed.
func (t *timing) cells() int {
	if t.all != nil {
		return int(t.all.series.cells)
	}
	return t.n
}

// addTo adds the latencies to a histogram.
func (t *timing) addTo(h *histogram) {
	if t.all != nil {
		h.merge(&t.all.latency)
		return
	}
	t.each(func(e eventTime) { h.add(bucketOf(e.ns), 1) })
}

// merge adds the times of another class, whose blocks are as long and which is not used afterwards.
func (t *timing) merge(from *timing) {
	if from.all == nil {
		from.each(func(e eventTime) { t.add(e, false) })
		return
	}
	a := t.full()
	a.latency.take(&from.all.latency)
	a.series.join(&from.all.series)
}

// rewrite is series.rewrite.
func (t *timing) rewrite(up uint) {
	if t.all != nil {
		t.all.series.rewrite(up)
		return
	}
	if up > 0 {
		shifted := timing{few: make([]byte, 0, len(t.few))}
		t.each(func(e eventTime) {
			e.number >>= up
			shifted.add(e, false)
		})
		*t = shifted
	}
}

// extra is series.extra.
func (t *timing) extra() int {
	if t.all != nil {
		return t.all.series.extra()
	}
	if t.n < 2 {
		return 0
	}
	return t.view().series.extra()
}

func (t *timing) blocks() []timeBlock { return t.view().series.blocks() }
