package check_test

import (
	"slices"
	"stowage/farm"
)

// spoiltAssignments are mutations of what goes where.
var spoiltAssignments = map[string]func(m *mutant) []string{
	"an assignment is dropped": func(m *mutant) []string {
		at := m.any(len(m.p.Assignments))
		m.p.Assignments = slices.Delete(m.p.Assignments, at, at+1)
		return []string{"assignment-once"}
	},
	"an assignment is there twice": func(m *mutant) []string {
		m.p.Assignments = append(m.p.Assignments, m.p.Assignments[m.any(len(m.p.Assignments))])
		return []string{"assignment-once"}
	},
	"an assignment of another side": func(m *mutant) []string {
		a := &m.p.Assignments[m.any(len(m.p.Assignments))]
		a.Side = a.Side.Twin()
		return []string{"assignment-once"}
	},
	"an assignment under another name": func(m *mutant) []string {
		a := &m.p.Assignments[m.any(len(m.p.Assignments))]
		a.Instance += "x"
		return []string{"assignment-name"}
	},
	"an assignment of nothing": func(m *mutant) []string {
		a := m.p.Assignments[0]
		a.Pair, a.Shard = "nobody", "nothing"
		m.p.Assignments = append(m.p.Assignments, a)
		return []string{"assignment-known"}
	},
	"an unknown host": func(m *mutant) []string {
		m.p.Assignments[m.any(len(m.p.Assignments))].Host = "nowhere"
		return []string{"host-known"}
	},
	"both sides on one host": func(m *mutant) []string {
		a := &m.p.Assignments[m.any(len(m.p.Assignments))]
		if m.byShard() { // the whole instance, so that it still has one place
			from, to := a.Instance, m.twin(*a).Host
			for i := range m.p.Assignments {
				if m.p.Assignments[i].Instance == from {
					m.p.Assignments[i].Host = to
				}
			}
		} else {
			a.Host = m.twin(*a).Host
		}
		return []string{"sides-apart", "frozen"}
	},
	"both sides in one rack": func(m *mutant) []string {
		a := m.assignment()
		if a == nil {
			return nil
		}
		m.p.Goals.SpreadLabels = append(m.p.Goals.SpreadLabels, "room")
		for i := range m.farm.Hosts {
			h := &m.farm.Hosts[i]
			h.Labels["room"] = string(h.Name)
			if h.Name == m.twin(*a).Host {
				h.Labels["room"] = string(a.Host)
			}
		}
		return []string{"labels-apart"}
	},
	"a host without the label": func(m *mutant) []string {
		if a := m.assignment(); a == nil {
			return nil
		}
		m.p.Goals.SpreadLabels = []string{"room"}
		return []string{"labels-apart"}
	},
	"an instance in two places": func(m *mutant) []string {
		for i := range m.p.Assignments {
			a := &m.p.Assignments[i]
			for _, b := range m.p.Assignments[:i] {
				if a.Instance == b.Instance {
					a.Port++
					return []string{"assignment-place"}
				}
			}
		}
		return nil
	},
	"the sides of a shard in two pairs": func(m *mutant) []string {
		for i := range m.p.Assignments {
			a := &m.p.Assignments[i]
			for _, b := range m.p.Assignments {
				if m.byShard() && b.Pair != a.Pair && !m.isFrozen(*a) {
					a.Pair, a.Instance = b.Pair, farm.Pair{Name: b.Pair}.Instance(a.Side)
					return []string{"assignment-pair"}
				}
			}
		}
		return nil
	},
	"more shards in an instance than may be": func(m *mutant) []string {
		held := map[farm.InstanceName]int{}
		most := 0
		for _, a := range m.p.Assignments {
			if held[a.Instance]++; !m.isFrozen(a) {
				most = max(most, held[a.Instance])
			}
		}
		if !m.byShard() || most < 2 {
			return nil
		}
		m.p.Goals.ShardsPerInstance = most - 1
		return []string{"shards-per-instance"}
	},
	"a new pair with an old name": func(m *mutant) []string {
		a := m.assignment()
		if !m.byShard() || a == nil {
			return nil
		}
		from, to := a.Pair, m.farm.Pairs[0].Name
		for i := range m.p.Assignments {
			if b := &m.p.Assignments[i]; b.Pair == from {
				b.Pair, b.Instance = to, farm.Pair{Name: to}.Instance(b.Side)
			}
		}
		return []string{"assignment-name"}
	},
}
