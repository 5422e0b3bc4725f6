package placement

import (
	"errors"
	"slices"

	"stowage/placement/schedule"
)

// How often a layout without an order of moves is tried to be changed.
const (
	untanglings     = 12
	untanglingsMany = 2 // where each takes seconds
)

// untangled is a plan for a layout whose moves wait for each other's room. The
// first of them is kept from where it would go, and everything is placed
// anew; in the end hosts that give anything away receive nothing, so that none
// waits.
func (p *problem) untangled(l *layout, proof proof, err error) (Plan, bool) {
	q := *p
	q.bars = map[int][]bool{}
	for i, bars := range p.bars {
		q.bars[i] = slices.Clone(bars)
	}
	tries := untanglings
	if len(p.items) > mostDirect {
		tries = untanglingsMany
	}
	for tangled := l; tries > 0; tries-- {
		var stuck *schedule.Stuck
		if !errors.As(err, &stuck) || len(stuck.Left) == 0 {
			break
		}
		_, items := tangled.scheduled()
		q.keepFrom(items[stuck.Left[0]], tangled.where[items[stuck.Left[0]]])
		next, searched := q.place(proof)
		if searched != nil {
			break
		}
		plan, ordered := q.write(next, proof)
		if !errors.Is(ordered, errNoOrder) {
			return plan, ordered == nil
		}
		tangled, err = next, ordered
	}
	q = *p
	q.hosts = slices.Clone(p.hosts)
	for i, r := range l.where {
		if from := p.source(i); from >= 0 && l.items[i].from != r {
			q.hosts[from].shut = "giving something away, so that it receives nothing"
		}
	}
	next, searched := q.place(proof)
	if searched != nil {
		return Plan{}, false
	}
	plan, ordered := q.write(next, proof)
	return plan, ordered == nil
}

// keepFrom bars a host to an item.
func (p *problem) keepFrom(i, r int) {
	if p.bars[i] == nil {
		p.bars[i] = make([]bool, len(p.hosts))
	}
	p.bars[i][r] = true
}
