package placement

import "slices"

// balancing evens out a packing: it moves and swaps items between the bins in
// use so that the fullest bin gets emptier, and changes nothing else. Only
// items that move anyway are touched, so that it copies nothing more, and no
// bin is emptied or opened. It walks downhill from the fullest bin and stops
// where no move and no swap helps: good, not proved best.
type balancing struct {
	*view
	where  []int // bin by item of the view
	limits [][]int64
	load   [][]int64
	count  []int
	inside [][]int // items of the view by bin
}

const (
	// mostBalanced is up to how many items a packing is evened out: beyond it
	// there are so many on a host that spreading has done it.
	mostBalanced = 20_000
	// balanceSteps bounds the walk.
	balanceSteps = 5_000
)

// balance changes where, the bin by item of the view. Goals about groups of
// pairs and customers are left to the search: with them nothing is changed.
func (v *view) balance(where []int) {
	if len(v.goals.Together)+len(v.goals.Apart) > 0 || v.goals.Surface.Customer > 0 || len(v.items) > mostBalanced || len(v.dims) == 0 {
		return
	}
	b := &balancing{view: v, where: where, load: make([][]int64, len(v.bins)), count: make([]int, len(v.bins)), inside: make([][]int, len(v.bins))}
	extra := v.surfaces()
	for n := range v.bins {
		limit := v.limit(n, extra)
		b.limits = append(b.limits, limit)
		b.load[n] = make([]int64, len(limit))
	}
	needs := make([][]int64, len(v.items))
	for n, i := range v.items {
		needs[n] = v.packItem(i, extra).Demand
		if where[n] >= 0 {
			b.put(n, where[n], needs[n])
		}
	}
	for range balanceSteps {
		if !b.step(needs) {
			return
		}
	}
}

func (b *balancing) put(n, bin int, needs []int64) {
	b.where[n] = bin
	b.inside[bin] = append(b.inside[bin], n)
	b.count[bin]++
	for d, v := range needs {
		b.load[bin][d] += v
	}
}

func (b *balancing) take(n int, needs []int64) {
	bin := b.where[n]
	at := slices.Index(b.inside[bin], n)
	b.inside[bin] = slices.Delete(b.inside[bin], at, at+1)
	b.count[bin]--
	for d, v := range needs {
		b.load[bin][d] -= v
	}
}

// share is how full a bin would be with so much more and so much less.
func (b *balancing) share(bin int, plus, minus []int64) float64 {
	most := 0.0
	for d, limit := range b.limits[bin] {
		v := b.load[bin][d]
		if plus != nil {
			v += plus[d]
		}
		if minus != nil {
			v -= minus[d]
		}
		if limit > 0 && limit != NoLimit {
			most = max(most, float64(v)/float64(limit))
		} else if v > 0 && limit == 0 {
			return 2
		}
	}
	return most
}

// step makes the fullest bin emptier, by one move or one swap with another.
func (b *balancing) step(needs [][]int64) bool {
	fullest, top := -1, 0.0
	for bin := range b.bins {
		if s := b.share(bin, nil, nil); b.count[bin] > 0 && s > top {
			fullest, top = bin, s
		}
	}
	if fullest < 0 {
		return false
	}
	best, item, other, to := top-1e-6, -1, -1, -1
	for _, n := range b.inside[fullest] {
		if !b.moves(n) {
			continue
		}
		for bin := range b.bins {
			if bin == fullest || b.count[bin] == 0 || !b.allowed(n, bin) {
				continue
			}
			if b.count[fullest] > 1 && b.hasSlot(bin) {
				if s := max(b.share(bin, needs[n], nil), b.share(fullest, nil, needs[n])); s < best && s <= 1 {
					best, item, other, to = s, n, -1, bin
				}
			}
			for _, m := range b.inside[bin] {
				if !b.moves(m) || !b.allowed(m, fullest) {
					continue
				}
				if s := max(b.share(bin, needs[n], needs[m]), b.share(fullest, needs[m], needs[n])); s < best && s <= 1 {
					best, item, other, to = s, n, m, bin
				}
			}
		}
	}
	if item < 0 {
		return false
	}
	b.take(item, needs[item])
	if other >= 0 {
		b.take(other, needs[other])
		b.put(other, fullest, needs[other])
	}
	b.put(item, to, needs[item])
	return true
}

// moves says whether an item of the view moves anyway.
func (b *balancing) moves(n int) bool {
	it := b.problem.items[b.items[n]]
	return (it.from < 0 || it.from != b.bins[b.where[n]][0]) && !b.isFrozen(b.items[n])
}

func (b *balancing) hasSlot(bin int) bool {
	most := b.most(bin)
	return most == 0 || b.count[bin] < most
}

// allowed says whether rules about places let an item into a bin.
func (b *balancing) allowed(n, bin int) bool {
	i, r := b.items[n], b.bins[bin][0]
	if b.hosts[r].shut != "" || b.hosts[r].full || b.emptied[r] || !b.allows(i, bin) {
		return false
	}
	if b.mirrored {
		return true
	}
	a, end := b.sides(b.problem.items[i].thing)
	for twin := a; twin < end; twin++ { // in the direct view item n is item n of the problem
		if twin != i && b.where[twin] >= 0 && b.clash(r, b.where[twin]) != "" {
			return false
		}
	}
	return true
}
