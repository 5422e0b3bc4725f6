package digest

import (
	"cmp"
	"crypto/md5"
	"slices"
)

// foldSmallest keeps the classes with the most query time and puts the others into one, named foldedName. What was
// folded is counted; a Digest in which something was folded no longer merges exactly. Classes that were folded are used
// again for new ones: of a million, nearly all come and go.
func (d *Digest) foldSmallest(keep int) {
	all := d.split(keep)
	if len(all) <= keep {
		return
	}
	rest := newClassNamed(foldedName)
	rest.fold(all[keep:])
	for _, c := range all[keep:] {
		if c.fingerprint != foldedName {
			d.folded++
		}
	}
	d.folds++
	clear(d.byHash)
	for _, c := range append(all[:keep:keep], rest) {
		if c.fingerprint == foldedName && c != rest {
			rest.merge(c)
			continue
		}
		d.place(c)
	}
	d.spare = append(d.spare, all[keep:]...)
}

// fold adds up classes of which no examples and no names of tables are kept.
func (c *class) fold(from []*class) {
	var few []eventTime
	for _, f := range from {
		c.addUp(f)
		if f.times.all != nil {
			c.times.merge(&f.times)
			continue
		}
		f.times.each(func(e eventTime) { few = append(few, e) })
	}
	// By time, so that each block is filled once.
	slices.SortFunc(few, func(a, b eventTime) int { return cmp.Compare(a.number, b.number) })
	for _, e := range few {
		c.times.add(e, true)
	}
	c.times.rewrite(0)
}

// blankClass is a class of which nothing is known yet. It takes those that were folded first.
func (d *Digest) blankClass() *class {
	n := len(d.spare)
	if n == 0 {
		return &class{}
	}
	c := d.spare[n-1]
	d.spare = d.spare[:n-1]
	*c = class{times: timing{few: c.times.few[:0]}}
	return c
}

const foldedName = "(folded: rare classes)"

func newClassNamed(s string) *class {
	key := []byte(s)
	return &class{fingerprint: s, id: md5.Sum(key), hash: hashBytes(key), length: int32(len(key))}
}

// split is the classes with the first keep of sorted in front, both parts in no order: folding 100,000 classes some dozen
// times spends most of its time on sorting them.
func (d *Digest) split(keep int) []*class {
	all := make([]weighed, 0, len(d.byHash))
	for _, c := range d.byHash {
		all = append(all, weighed{c.queryTime.saturated(), c})
	}
	for part := all; keep > 0 && keep < len(part); {
		n := pivot(part)
		switch {
		case n == keep:
			part = nil
		case n > keep:
			part = part[:n]
		default:
			part, keep = part[n:], keep-n
		}
	}
	out := make([]*class, len(all))
	for i, w := range all {
		out[i] = w.class
	}
	return out
}

// weighed is a class with its query time at hand.
type weighed struct {
	time  uint64
	class *class
}

func (w weighed) outweighs(v weighed) bool {
	if w.time != v.time {
		return w.time > v.time
	}
	return w.class.outweighs(v.class)
}

// pivot puts what outweighs one of the classes in front of it, and returns how many stand in front of what it outweighs: at
// least one, and fewer than all where there are two.
func pivot(part []weighed) int {
	last := len(part) - 1
	low, middle, high := 0, last/2, last
	if part[middle].outweighs(part[low]) {
		low, middle = middle, low
	}
	if part[high].outweighs(part[middle]) {
		middle = high
		if part[middle].outweighs(part[low]) {
			middle = low
		}
	}
	part[middle], part[last] = part[last], part[middle]
	n := 0
	for i := range part[:last] {
		if part[i].outweighs(part[last]) {
			part[i], part[n] = part[n], part[i]
			n++
		}
	}
	part[n], part[last] = part[last], part[n]
	return max(n, 1)
}
