package check_test

import (
	"slices"
	"stowage/farm"
	"stowage/placement"
)

// spoiltFigures are mutations of what a plan says of itself.
var spoiltFigures = map[string]func(m *mutant) []string{
	"hosts_used":     func(m *mutant) []string { m.p.HostsUsed += 1 - 2*m.IntN(2); return []string{"figures"} },
	"hosts_before":   func(m *mutant) []string { m.p.HostsBefore++; return []string{"figures"} },
	"gap":            func(m *mutant) []string { m.p.Gap += 0.01; return []string{"figures"} },
	"cost":           func(m *mutant) []string { m.p.Cost += 100; return []string{"figures"} },
	"watts":          func(m *mutant) []string { m.p.Watts = m.p.Watts*0.99 - 1; return []string{"figures"} },
	"cost_before":    func(m *mutant) []string { m.p.CostBefore++; return []string{"figures"} },
	"watts_before":   func(m *mutant) []string { m.p.WattsBefore++; return []string{"figures"} },
	"format_version": func(m *mutant) []string { m.p.FormatVersion++; return []string{"figures"} },
	"a cost bound above the cost": func(m *mutant) []string {
		m.p.CostBound = m.p.Cost*1.01 + 1
		return []string{"figures"}
	},
	"a bound above the hosts": func(m *mutant) []string {
		m.p.LowerBound = m.p.HostsUsed + 1
		return []string{"figures"}
	},
	"a host left out of the list": func(m *mutant) []string {
		at := m.any(len(m.p.Hosts))
		m.p.Hosts = slices.Delete(m.p.Hosts, at, at+1)
		return []string{"figures"}
	},
	"a host listed twice": func(m *mutant) []string {
		m.p.Hosts = append(m.p.Hosts, *m.host())
		return []string{"figures"}
	},
	"a host that is not used": func(m *mutant) []string {
		for _, h := range m.farm.Hosts {
			if !slices.ContainsFunc(m.p.Hosts, func(u placement.HostUse) bool { return u.Name == h.Name }) {
				m.p.Hosts = append(m.p.Hosts, placement.HostUse{Name: h.Name, Type: h.Type})
				return []string{"figures"}
			}
		}
		return nil
	},
	"the type of a host":    func(m *mutant) []string { m.host().Type += "x"; return []string{"figures"} },
	"a host called new":     func(m *mutant) []string { h := m.host(); h.New = !h.New; return []string{"figures"} },
	"the shards of a host":  func(m *mutant) []string { m.host().Shards++; return []string{"figures"} },
	"an instance of a host": func(m *mutant) []string { m.host().Instances[0] += "x"; return []string{"figures"} },
	"an instance twice on a host": func(m *mutant) []string {
		h := m.host()
		h.Instances = append(h.Instances, h.Instances[0])
		return []string{"figures"}
	},
	"the use of a host": func(m *mutant) []string {
		h := m.host()
		for _, n := range farm.Resources(h.Use).Names() {
			h.Use[n] += 0.001 * float64(1+m.IntN(100))
			return []string{"figures"}
		}
		return nil
	},
	"the use of a host left out": func(m *mutant) []string {
		h := m.host()
		for _, n := range farm.Resources(h.Use).Names() {
			delete(h.Use, n)
			return []string{"figures"}
		}
		return nil
	},
	"the use of what it does not limit": func(m *mutant) []string {
		m.host().Use["patience"] = 0.5
		return []string{"figures"}
	},
	"what binds": func(m *mutant) []string {
		h := m.host()
		most := 0.0
		for n, v := range inOrder(h.Use) {
			most = max(most, v/(1-m.p.Goals.Headroom[n]))
		}
		for n, v := range inOrder(h.Use) { // not one that is as near its limit
			if v/(1-m.p.Goals.Headroom[n]) < 0.99*most {
				h.Binding = string(n)
				return []string{"figures"}
			}
		}
		return nil
	},
	"the basis": func(m *mutant) []string {
		b := &m.p.Basis
		switch pair, host := &b.Pairs[m.any(len(b.Pairs))], &b.Hosts[m.any(len(b.Hosts))]; m.IntN(8) {
		case 0:
			b.NextServerID++
		case 1:
			host.Address += "1"
		case 2:
			host.Dir += "x"
		case 3:
			host.Reserved = farm.Resources{farm.Disk: 12345}
		case 4:
			side := pair.Sides[farm.A]
			side.Port++
			pair.Sides[farm.A] = side
		case 5:
			pair.Shards = append(pair.Shards, "more")
		case 6:
			b.HostTypes[0].MaxInstances++
		default:
			b.Pairs = b.Pairs[:len(b.Pairs)-1]
		}
		return []string{"basis"}
	},
}
