package claims

import (
	"cmp"
	"slices"
)

// common counts what two sources both say.
type common struct{ shared, equal, verbatim int }

// overlap counts one attribute of one subject for every two sources that claim it.
func (r *reconciler) overlap(facts []fact) {
	for i := range facts {
		a := &facts[i]
		for j := i + 1; j < len(facts); j++ {
			b := &facts[j]
			if a.source == b.source || a.unknown || b.unknown {
				continue
			}
			c := &r.overlaps[int(a.source)*len(r.sources)+int(b.source)] // facts are in the order of sources
			c.shared++
			if a.value == b.value {
				c.equal++
				if r.set.rows[a.row].value == r.set.rows[b.row].value {
					c.verbatim++
				}
			}
		}
	}
}

func (r *reconciler) describeOverlaps() {
	for a := range r.sources {
		for b := a + 1; b < len(r.sources); b++ {
			if c := r.overlaps[a*len(r.sources)+b]; c.shared > 0 {
				r.report.Overlaps = append(r.report.Overlaps, Overlap{A: r.sources[a].Name, B: r.sources[b].Name, Shared: c.shared, Equal: c.equal, Verbatim: c.verbatim, IsInOrder: r.isInOrder(a, b)})
			}
		}
	}
	for _, key := range sortedKeys(r.tallies) {
		for i, t := range r.tallies[key] {
			if t.claims > 0 {
				r.report.Tallies = append(r.report.Tallies, Tally{Source: r.sources[i].Name, Attribute: key, Claims: t.claims, Alone: t.alone, Disputed: t.disputed})
			}
		}
	}
}

// fewOrdered is too few for an order that two files have in common to mean anything: ten things have 3.6 million orders.
const fewOrdered = 10

// isInOrder reports whether two sources list what both have in one order, which is not that of names.
func (r *reconciler) isInOrder(a, b int) bool {
	if r.sources[a].IsLive || r.sources[b].IsLive {
		return false // servers are asked in an order of ours
	}
	one, other := r.order(a), r.order(b)
	at := make(map[uint32]int, len(other))
	for i, sub := range other {
		at[sub] = i
	}
	last, lastName, n, steps, byName := -1, "", 0, 0, 0
	for _, sub := range one {
		i, ok := at[sub]
		if !ok {
			continue
		}
		name := r.set.subjects.things[sub].Name
		if n > 0 && i > last {
			steps++
		}
		if n > 0 && name > lastName {
			byName++
		}
		last, lastName, n = i, name, n+1
	}
	return n >= fewOrdered && steps*50 >= (n-1)*49 && byName*10 < (n-1)*9
}

// order is the subjects of a source as it lists them.
func (r *reconciler) order(source int) []uint32 {
	if r.orders == nil {
		memo := r.subjectNumbers()
		r.orders = make([][]uint32, len(r.sources))
		last := make([]uint32, len(r.set.subjects.things)) // by subject: 1 + the source that named it last
		for i := range r.set.rows {
			w := &r.set.rows[i]
			sub := memo[w.subject]
			if n := uint32(w.source) + 1; last[sub] != n {
				last[sub] = n
				r.orders[w.source] = append(r.orders[w.source], sub)
			}
		}
	}
	return r.orders[source]
}

// describeMembers puts together what is agreed on each instance.
func (r *reconciler) describeMembers() {
	disputed, held := map[string]bool{}, map[string]string{}
	for _, d := range r.open {
		if d.subject.Kind != Instance {
			continue
		}
		disputed[d.subject.Name] = true
		if d.verdict.decided {
			held[d.attribute+" "+d.subject.Name] = d.verdict.holds
		}
	}
	get := func(name, attribute string) string {
		return cmp.Or(r.agreed[attributeKey(Instance, attribute)][name].value, held[attribute+" "+name])
	}
	for sub := range r.listing {
		s := r.set.subjects.things[sub]
		if s.Kind != Instance {
			continue
		}
		pair := cmp.Or(get(s.Name, "pair"), r.pairs[s.Name])
		r.report.Members = append(r.report.Members, Member{Instance: s.Name, Pair: pair, Topology: r.agreed["pair.topology"][pair].value, Host: get(s.Name, "host"), From: get(s.Name, "replicates_from"),
			Role: get(s.Name, "role"), Alive: get(s.Name, "alive"), Lag: get(s.Name, "lag"), Disputed: disputed[s.Name]})
	}
	slices.SortFunc(r.report.Members, func(a, b Member) int { return cmp.Or(cmp.Compare(a.Pair, b.Pair), cmp.Compare(a.Instance, b.Instance)) })
}
