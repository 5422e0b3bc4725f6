package pack

import (
	"cmp"
	"slices"
)

// descent is one stream of solver.descend: it takes a bin away, or puts a
// cheaper one in its place, and looks for a layout without it.
type descent struct {
	*search
	solver *solver
	best   *answer
	from   *answer // before the bin was taken away; nil: between two tries
	spent  int64   // on this try
	tries  int     // since the last gain
}

// crowd is how many units a bin holds on average from which spreading and
// repair do better than ejections alone.
const crowd = 12

// round works for so long and returns; the next round goes on from there.
func (d *descent) round(work int64) {
	end := d.work + work
	for d.work < end && !d.ended && !d.enough() {
		if d.from == nil && !d.begin() {
			return
		}
		started := d.work
		d.budget = min(end, d.work+d.solver.tryWork()-d.spent)
		if d.eject() {
			d.finish()
			continue
		}
		d.spent += d.work - started
		if d.spent >= d.solver.tryWork() {
			d.giveUp()
		}
	}
}

func (d *descent) enough() bool {
	return d.best.value[0] <= d.solver.goal && d.solver.alike()
}

// tryWork is how long one step down may take: all there is when any bin is as
// good as any other, because then only the first step matters.
func (s *solver) tryWork() int64 {
	if s.alike() {
		return 1 << 60
	}
	return s.roundOf() / 4
}

// begin takes the next step down: it empties a bin, or trades it for a
// cheaper one.
func (d *descent) begin() bool {
	out, in := d.step()
	if out < 0 {
		return false
	}
	d.from = d.answer()
	d.spent = 0
	units := slices.Clone(d.inside[out])
	d.closeBin(out)
	if in >= 0 {
		d.use(in)
	}
	d.weigh()
	if len(d.where) > crowd*len(d.open) {
		d.budget = d.work + d.solver.roundOf()
		d.spread()
		d.repair()
		d.unload()
	} else if in >= 0 {
		for _, u := range units {
			if d.hasRoom(u, in) && d.may(u, in) {
				d.put(u, in)
			}
		}
	}
	return true
}

// step chooses the bin to take away and the cheaper one to open instead, or
// -1. Emptier bins come first; later tries go through the others.
func (d *descent) step() (out, in int32) {
	bins := d.leastFirst()
	if len(bins) == 0 {
		return -1, -1
	}
	d.tries++
	if d.solver.alike() {
		return bins[(d.tries-1)%len(bins)], -1
	}
	k := d.dice.IntN(1 + min(len(bins)-1, 2*d.tries))
	if d.tries%3 == 1 {
		return bins[k], -1
	}
	for range 8 {
		out = bins[d.dice.IntN(len(bins))]
		if in = d.cheaper(out); in >= 0 {
			return out, in
		}
	}
	return bins[k], -1
}

// leastFirst are the open bins that may be emptied, least bulk first.
func (d *descent) leastFirst() []int32 {
	var bins []int32
	bulk := make([]float64, d.nb)
	for _, b := range d.open {
		if !d.held[b] {
			bins = append(bins, b)
			for _, u := range d.inside[b] {
				bulk[b] += d.bulk[u]
			}
		}
	}
	slices.SortStableFunc(bins, func(a, b int32) int { return cmp.Compare(bulk[a], bulk[b]) })
	return bins
}

// cheaper is a bin out of use whose type is better by the objectives than
// that of bin b, any of those types; or -1.
func (d *descent) cheaper(b int32) int32 {
	var choice []int32
	seen := map[int32]bool{}
	for c := range int32(d.nb) {
		t := d.typ[c]
		if seen[t] || d.isOpen[c] || !d.usable(c) || !d.solver.isCheaper(t, d.typ[b]) {
			continue
		}
		seen[t] = true
		choice = append(choice, c)
	}
	if len(choice) == 0 {
		return -1
	}
	return choice[d.dice.IntN(len(choice))]
}

// isCheaper compares two types by the objectives in order.
func (s *solver) isCheaper(t, than int32) bool {
	for _, o := range s.objectives {
		if o == Moved {
			continue
		}
		if a, b := s.p.Types[t].price(o), s.p.Types[than].price(o); a != b {
			return a < b
		}
	}
	return false
}

// finish takes over a layout that worked, or undoes it when it gained nothing.
func (d *descent) finish() {
	a := d.answer()
	if !a.better(d.best) {
		d.giveUp()
		return
	}
	d.best, d.from, d.tries = a, nil, 0
}

// giveUp goes back to before the step.
func (d *descent) giveUp() {
	from := d.from
	d.from = nil
	for u, b := range from.where {
		if d.where[u] >= 0 && d.where[u] != b {
			d.take(int32(u))
		}
	}
	for _, b := range d.open {
		d.isOpen[b] = false
	}
	d.open = slices.Clone(from.open)
	for _, b := range d.open {
		d.isOpen[b] = true
	}
	d.restore(from.where)
	d.weigh()
}
