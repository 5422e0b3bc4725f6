package check_test

import (
	"slices"
	"stowage/farm"
	"stowage/placement"
)

// spoiltRules are mutations of rules, sizes and proofs.
var spoiltRules = map[string]func(m *mutant) []string{
	"something frozen moves": func(m *mutant) []string {
		move := m.move()
		m.p.Goals.Frozen = append(m.p.Goals.Frozen, m.old(placement.Assignment{Pair: move.Pair, Shard: move.Shard}))
		return []string{"frozen"}
	},
	"a pin is broken": func(m *mutant) []string {
		a := m.assignment()
		if a == nil {
			return nil
		}
		for _, h := range m.farm.Hosts {
			if h.Name != a.Host {
				m.p.Goals.Pins = append(m.p.Goals.Pins, placement.Binding{What: []string{string(m.old(*a))}, Hosts: []farm.HostName{h.Name}})
				return []string{"pinned"}
			}
		}
		return nil
	},
	"something is where it is forbidden": func(m *mutant) []string {
		a := m.assignment()
		if a == nil {
			return nil
		}
		instance := farm.Pair{Name: m.old(*a)}.Instance(a.Side)
		m.p.Goals.Forbids = append(m.p.Goals.Forbids, placement.Binding{What: []string{string(instance)}, Hosts: []farm.HostName{a.Host}})
		return []string{"forbidden"}
	},
	"what is together is not": func(m *mutant) []string {
		a, b := m.assignment(), m.assignment()
		if a == nil || b == nil || a.Side != b.Side || a.Host == b.Host || m.old(*a) == m.old(*b) {
			return nil
		}
		m.p.Goals.Together = append(m.p.Goals.Together, placement.Group{Name: "g", Pairs: []farm.PairName{m.old(*a), m.old(*b)}})
		return []string{"together"}
	},
	"what is apart is not": func(m *mutant) []string {
		a := m.assignment()
		for _, b := range m.p.Assignments {
			if a != nil && a.Host == b.Host && m.old(*a) != m.old(b) {
				m.p.Goals.Apart = append(m.p.Goals.Apart, placement.Group{Name: "g", Pairs: []farm.PairName{m.old(*a), m.old(b)}})
				return []string{"apart"}
			}
		}
		return nil
	},
	"too much behind one host": tooMuchBehindOneHost,
	"too much of a customer behind one host": func(m *mutant) []string {
		for i := range m.farm.Pairs {
			for k := range m.farm.Pairs[i].Shards {
				m.farm.Pairs[i].Shards[k].Customer = "all"
			}
		}
		rules := tooMuchBehindOneHost(m)
		if rules != nil {
			m.p.Goals.Surface.Customer, m.p.Goals.Surface.Shards = m.p.Goals.Surface.Shards, 0
		}
		return rules
	},
	"more headroom than there is": func(m *mutant) []string {
		for _, h := range m.moving() {
			for n, v := range inOrder(h.Use) { // what is used must then fit in less than that
				if host, _ := m.farm.Host(h.Name); v > 0.01 && v < 1 && host.Reserved == nil {
					m.p.Goals.Headroom = map[farm.ResourceName]float64{n: 1 - v*0.99}
					return []string{"host-load"}
				}
			}
		}
		return nil
	},
	"a smaller host": func(m *mutant) []string {
		for _, h := range m.moving() {
			for n, v := range inOrder(h.Use) {
				host, _ := m.farm.Host(h.Name)
				if t := m.typeOf(h.Name); t != nil && v > 0.01 && t.Capacity[n]*v*0.99 > host.Reserved[n] {
					t.Capacity[n] *= v * 0.99
					return []string{"host-load", "farm"} // what is reserved elsewhere may be too much for it
				}
			}
		}
		return nil
	},
	"more reserved than is left": func(m *mutant) []string {
		for _, u := range m.moving() {
			for i := range m.farm.Hosts {
				h := &m.farm.Hosts[i]
				t := m.typeOf(h.Name)
				if h.Name != u.Name || h.Reserved != nil || u.Use[farm.Disk] < 0.02 || u.Use[farm.Disk] > 1 {
					continue
				}
				h.Reserved = farm.Resources{farm.Disk: t.Capacity[farm.Disk] * (1.01 - u.Use[farm.Disk])}
				return []string{"host-load"}
			}
		}
		return nil
	},
	"more growth than there is room for": func(m *mutant) []string {
		for _, u := range m.moving() {
			if host, _ := m.farm.Host(u.Name); u.Use[farm.Disk] > 0.2 && host.Reserved == nil && len(m.p.Goals.Overhead) == 0 {
				m.p.Goals.Growth = max(1, m.p.Goals.Growth) / u.Use[farm.Disk] * 1.01
				return []string{"host-load"}
			}
		}
		return nil
	},
	"more overhead than there is room for": func(m *mutant) []string {
		u := m.moving()
		if len(u) == 0 {
			return nil
		}
		m.p.Goals.Overhead = farm.Resources{farm.Disk: m.typeOf(u[0].Name).Capacity[farm.Disk] * 1.01}
		return []string{"host-load"}
	},
	"more instances than may be": func(m *mutant) []string {
		most := 0
		for _, h := range m.moving() {
			most = max(most, len(h.Instances))
		}
		if most < 2 {
			return nil
		}
		m.p.Goals.MaxInstances = most - 1
		return []string{"max-instances"}
	},
	"a host of a type not packed onto": func(m *mutant) []string {
		a := m.assignment()
		if a == nil {
			return nil
		}
		m.p.Goals.Onto = []farm.HostTypeName{"old", "small", "big"}
		m.p.Goals.Onto = slices.DeleteFunc(m.p.Goals.Onto, func(n farm.HostTypeName) bool { return n == m.typeOf(a.Host).Name })
		return []string{"host-type"}
	},
	"a host that is to be emptied": func(m *mutant) []string {
		a := m.assignment()
		if a == nil {
			return nil
		}
		m.p.Goals.Without = append(m.p.Goals.Without, a.Host)
		return []string{"host-without"}
	},
	"a host without a dir": func(m *mutant) []string {
		move := m.move()
		for i := range m.farm.Hosts {
			if m.farm.Hosts[i].Name == move.To.Host {
				m.farm.Hosts[i].Dir = ""
				return []string{"host-dir"}
			}
		}
		return nil
	},
	"a negative size": func(m *mutant) []string {
		p := &m.farm.Pairs[m.any(len(m.farm.Pairs))]
		if len(p.Shards) == 0 {
			return nil
		}
		s := &p.Shards[m.any(len(p.Shards))]
		if s.Needs[farm.Disk] == 0 {
			return nil
		}
		s.Needs[farm.Disk] *= -1
		return []string{"farm"}
	},
	"a negative headroom": func(m *mutant) []string {
		m.p.Goals.Headroom = map[farm.ResourceName]float64{farm.Disk: -0.5}
		return []string{"goals"}
	},
	"a lower bound without a proof": func(m *mutant) []string {
		m.p.LowerBound++
		m.p.Certificates = nil
		return []string{"certificate", "figures"}
	},
	"a lower bound above its proof": func(m *mutant) []string {
		// The bound of hosts is what was proved, and never more.
		m.p.LowerBound++
		m.p.HostsUsed += 5
		return []string{"certificate"}
	},
	"a bound of cost above its proof": func(m *mutant) []string {
		if len(m.p.Certificates) == 0 {
			return nil
		}
		m.p.CostBound++
		return []string{"certificate"}
	},
	"a bound of watts above its proof": func(m *mutant) []string {
		if len(m.p.Certificates) == 0 {
			return nil
		}
		m.p.WattsBound++
		return []string{"certificate"}
	},
}

func tooMuchBehindOneHost(m *mutant) []string {
	all, most := 0, 0
	for _, p := range m.farm.Pairs {
		all += len(p.Shards)
	}
	for _, h := range m.moving() {
		most = max(most, h.Shards)
	}
	if most < 2 {
		return nil
	}
	m.p.Goals.Surface.Shards = (float64(most) - 0.5) / float64(all)
	return []string{"surface"}
}
