package placement

import (
	"fmt"
	"slices"
	"sort"

	"stowage/farm"
)

// within the budget: moved_most is a hard limit of the bytes that a plan may
// copy. The best plan may need more; then as many hosts as the budget allows
// are emptied, those that hold least first, and the rest stays as it is.
func (p *problem) withinBudget(l *layout, proof proof) (*layout, error) {
	most := p.goals.MovedMost
	if most <= 0 || l.copied() <= most {
		return l, nil
	}
	least, err := p.least(nil, proof)
	if err != nil {
		return nil, err
	}
	if least.copied() > most {
		return nil, fmt.Errorf("%w: keeping the goals takes copying %s, the least that was found, and moved_most allows %s", farm.ErrRefused,
			farm.RoundQuantity(least.copied(), farm.KindBytes), farm.RoundQuantity(most, farm.KindBytes))
	}
	order := p.byContent()
	best := least
	lo, hi := 0, len(order)-p.fewest() // the sides of a pair need two hosts
	for lo < hi {
		mid := (lo + hi + 1) / 2
		tried, err := p.least(order[:mid], proof)
		if err == nil && tried.missing() < 0 && tried.copied() <= most {
			lo = mid
			if tried.better(best) {
				best = tried
			}
		} else {
			hi = mid - 1
		}
	}
	return best, nil
}

// copied is the bytes that go to other hosts, from hosts not packed onto too.
func (l *layout) copied() float64 {
	sum := 0.0
	for i, r := range l.where {
		if l.items[i].from != r {
			sum += float64(l.items[i].bytes)
		}
	}
	return sum
}

// least is the layout that copies least when these hosts are emptied.
func (p *problem) least(empty []int, proof proof) (*layout, error) {
	q := *p
	q.goals.Minimise = append([]string{"moves"}, slices.DeleteFunc(slices.Clone(p.goals.Minimise), func(m string) bool { return m == "moves" })...)
	q.emptied = map[int]bool{}
	for _, r := range empty {
		q.emptied[r] = true
	}
	l, err := q.search(proof)
	if err != nil {
		return nil, err
	}
	return &layout{problem: p, where: l.where}, nil
}

// byContent are the hosts that hold something now, those with the least bytes
// first.
func (p *problem) byContent() []int {
	bytes := map[int]int64{}
	for _, it := range p.items {
		if it.from >= 0 {
			bytes[it.from] += it.bytes
		}
	}
	var out []int
	for r := range p.hosts {
		if _, holds := bytes[r]; holds {
			out = append(out, r)
		}
	}
	sort.SliceStable(out, func(a, b int) bool { return bytes[out[a]] < bytes[out[b]] })
	return out
}
