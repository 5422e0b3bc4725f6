package domains

import (
	"stowage/farm"
	"stowage/mysql"
)

// writer is who may have a domain: a side of an active-active pair, or a pair
// with one writer, each of whose servers may be the next.
type writer struct {
	members []*member
	first   *member
}

// writersOf are the writers of a farm, in its order.
func writersOf(pairs []*pair) []writer {
	var out []writer
	for _, p := range pairs {
		var asked []*member
		for _, m := range p.members {
			if m.err == nil && m.version.HasGTIDDomains() {
				asked = append(asked, m)
			}
		}
		switch {
		case len(asked) == 0:
		case p.topology.HasOneWriter():
			out = append(out, writer{asked, asked[0]})
		default:
			for _, m := range asked {
				out = append(out, writer{[]*member{m}, m})
			}
		}
	}
	return out
}

// setGoals gives each server the domain it is to have: its own, where nobody
// else writes that, else one that no server of the farm has ever seen, by
// preference that of its server id. What a record says stays.
func setGoals(pairs []*pair) {
	writers, owners, known := writersOf(pairs), map[uint32]int{}, map[uint32]bool{}
	var high uint32
	see := func(d uint32) { known[d], high = true, max(high, d) }
	for _, w := range writers {
		owners[w.first.facts.Domain]++
		for _, m := range w.members {
			for _, d := range seen(m.facts) {
				see(d)
			}
			high = max(high, m.facts.ServerID)
		}
	}
	for _, p := range pairs {
		for _, m := range p.members {
			if was := p.was(m.name); was != nil {
				m.goal = was.Goal
				see(was.Goal)
			}
		}
	}
	for _, w := range writers {
		goal := w.first.facts.Domain
		if was := w.first.pair.was(w.first.name); was != nil {
			goal = was.Goal
		} else if owners[goal] > 1 {
			if goal = w.first.facts.ServerID; known[goal] {
				goal = high + 1
			}
			see(goal)
		}
		for _, m := range w.members {
			m.goal = goal
		}
	}
}

// seen are the domains that a server writes, or knows anything of.
func seen(f mysql.DomainFacts) []uint32 {
	out := append([]uint32{f.Domain}, f.Applied.Domains()...)
	for _, g := range f.Written {
		out = append(out, g.Domain)
	}
	return append(out, f.Binlog.Domains()...)
}

// was is what a run that is open, or has ended and was not undone, wrote down
// of a server.
func (p *pair) was(name farm.InstanceName) *Was {
	if p.record == nil || p.record.State == Undone {
		return nil
	}
	return p.record.member(name)
}
