package window

import (
	"cmp"
	"slices"

	"stowage/farm"
)

// desk knows which pairs are read through which resource.
type desk struct {
	*atlas
	on    [][]*job  // by resource, the largest first
	bytes []float64 // by resource
	trail []step    // moves that may be taken back
	steps int       // that may still be tried
}

// step is a pair that was read from another side before.
type step struct {
	job *job
	was int
}

// How long better sides are looked for: an attempt hands at most so many pairs on, one to the next, and tries so many moves; so many are tried in all, and of the
// resources that end last so many are looked at.
const (
	longestChain = 4
	mostOfOne    = 2_000
	mostSteps    = 200_000
	mostLooked   = 20
)

// choose gives each pair the side whose resources have least to do, the largest pairs first; then pairs go from the resource that ends last to others, as long as that
// helps. Of equal sides that of a replica is taken, before that of the server that takes all writes.
func (a *atlas) choose(jobs []*job) {
	d := &desk{atlas: a, on: make([][]*job, len(a.all)), bytes: make([]float64, len(a.all)), steps: mostSteps}
	for _, j := range jobs {
		j.differ()
		best, bestTime := 0, -1.0
		for i := range j.sides {
			if j.pair.Topology == farm.PrimaryReplica { // its replicas first
				i = len(j.sides) - 1 - i
			}
			d.put(j, i)
			t := 0.0
			for _, r := range j.sides[i].own {
				t = max(t, d.takes(r))
			}
			if bestTime < 0 || t < bestTime {
				best, bestTime = i, t
			}
			d.take(j)
		}
		d.put(j, best)
	}
	for d.steps > 0 && d.improve(jobs) {
	}
}

// differ finds the resources that not all sides of a pair use: choosing a side decides about these only.
func (j *job) differ() {
	for i := range j.sides {
		o := &j.sides[i]
		for _, r := range o.path {
			if slices.ContainsFunc(j.sides, func(x option) bool { return !slices.Contains(x.path, r) }) {
				o.own = append(o.own, r)
			}
		}
	}
}

func (d *desk) put(j *job, side int) {
	j.chose = side
	for _, r := range j.sides[side].path {
		at, _ := slices.BinarySearchFunc(d.on[r], j, func(x, y *job) int {
			return cmp.Or(cmp.Compare(y.bytes, x.bytes), cmp.Compare(x.pair.Name, y.pair.Name))
		})
		d.on[r] = slices.Insert(d.on[r], at, j)
		d.bytes[r] += j.bytes
	}
}

func (d *desk) take(j *job) {
	for _, r := range j.sides[j.chose].path {
		at := slices.Index(d.on[r], j)
		d.on[r] = slices.Delete(d.on[r], at, at+1)
		d.bytes[r] -= j.bytes
	}
}

// takes is when a resource has done: its bytes at its rate, or its backups through the streams that it may have at once.
func (d *desk) takes(r int) float64 {
	x := d.all[r]
	seconds := d.bytes[r] / min(x.rate, unlimited)
	if x.slots == 0 {
		return seconds
	}
	streams := make([]float64, min(x.slots, len(d.on[r])))
	for _, j := range d.on[r] {
		first := 0
		for i, t := range streams {
			if t < streams[first] {
				first = i
			}
		}
		streams[first] += j.bytes / j.sides[j.chose].rate
	}
	for _, t := range streams {
		seconds = max(seconds, t)
	}
	return seconds
}

// improve makes one of the resources that end last end earlier, and none later than that one did. False: that cannot be.
func (d *desk) improve(jobs []*job) bool {
	ends := map[int]float64{}
	var order []int
	for _, j := range jobs {
		for _, r := range j.sides[j.chose].own {
			if _, known := ends[r]; !known && j.bytes > 0 {
				ends[r] = d.takes(r)
				order = append(order, r)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ends[b], ends[a]) })
	for _, r := range order[:min(mostLooked, len(order))] {
		left := mostOfOne
		if d.relieve(r, ends[r]*(1-1e-9), longestChain, &left) {
			d.trail = nil
			return true
		}
	}
	return false
}

// relieve has pairs read from other sides until a resource ends within a time, as do all that get one: these hand on one of theirs where they must. When that cannot be, nothing
// is changed.
func (d *desk) relieve(r int, within float64, depth int, left *int) bool {
	if d.takes(r) <= within {
		return true
	}
	if depth == 0 {
		return false
	}
	for _, j := range slices.Clone(d.on[r]) {
		if slices.ContainsFunc(d.trail, func(s step) bool { return s.job == j }) {
			continue
		}
		for i, o := range j.sides {
			if j.bytes == 0 || slices.Contains(o.path, r) || *left <= 0 || d.steps <= 0 {
				continue
			}
			*left, d.steps = *left-1, d.steps-1
			mark := len(d.trail)
			d.trail = append(d.trail, step{j, j.chose})
			d.take(j)
			d.put(j, i)
			if d.takes(r) <= within && !slices.ContainsFunc(o.own, func(x int) bool { return !d.relieve(x, within, depth-1, left) }) && d.takes(r) <= within {
				return true
			}
			d.undo(mark)
		}
	}
	return false
}

// undo takes moves back, the last first.
func (d *desk) undo(mark int) {
	for _, s := range slices.Backward(d.trail[mark:]) {
		d.take(s.job)
		d.put(s.job, s.was)
	}
	d.trail = d.trail[:mark]
}
