package placement

// staying is the layout in which nothing moves, or nil where that keeps not
// all of the goals. A farm that was packed once is left alone unless something
// better is found: the plan after a plan has no moves.
func (p *problem) staying() *layout {
	if p.goals.Unit == UnitShard || len(p.emptied) > 0 {
		return nil
	}
	l := &layout{problem: p, where: make([]int, len(p.items))}
	for i, it := range p.items {
		if it.from < 0 {
			return nil
		}
		l.where[i] = it.from
	}
	if l.broken() != "" {
		return nil
	}
	return l
}
