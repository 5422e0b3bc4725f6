package capacity

import (
	"cmp"
	"math"
	"slices"

	"stowage/farm"
)

// shared is the part of a pair's CPU, IOPS and network that an active-active side, or a replica, is taken to carry while its twin lives. Clients are
// pinned to one side each, half of them to either; both sides apply all writes, so the real part is larger.
const shared = 0.5

// Death is what happens when one host dies: who takes its load, and what that is too much for.
type Death struct {
	Host   farm.HostName   `json:"host"`
	Pairs  int             `json:"pairs"`  // that lose a side
	Shards int             `json:"shards"` // in those
	Gone   []farm.PairName `json:"gone"`   // pairs with no other server: their data is not served any more
	Heirs  []Heir          `json:"heirs"`  // the fullest first
}

// Heir is a host that takes load over.
type Heir struct {
	Host  farm.HostName `json:"host"`
	Pairs int           `json:"pairs"` // that it carries alone now
	Uses  []Use         `json:"uses"`  // by resource: those that grow first, the fullest of them before the others
}

// Use is one resource of an heir, before and after, in base units.
type Use struct {
	Resource farm.ResourceName `json:"resource"`
	Before   float64           `json:"before"`
	Then     float64           `json:"then"`
	Limit    float64           `json:"limit"`
	IsOver   bool              `json:"over"` // it grows beyond what the host has besides what is reserved
}

func (u Use) growing() int {
	if u.Then > u.Before {
		return 1
	}
	return 0
}

// IsOver says whether any resource is.
func (h Heir) IsOver() bool { return slices.ContainsFunc(h.Uses, func(u Use) bool { return u.IsOver }) }

// IsSafe says whether everything goes on, within all limits.
func (d Death) IsSafe() bool {
	return len(d.Gone) == 0 && !slices.ContainsFunc(d.Heirs, Heir.IsOver)
}

// fullest is the largest part of a limit that is in use, of what grows.
func (h Heir) fullest() float64 {
	if len(h.Uses) == 0 {
		return 0
	}
	return h.Uses[0].Then / h.Uses[0].Limit
}

// home is one side of a pair on a host.
type home struct {
	pair *farm.Pair
	side farm.SideName
}

// Deaths lets each host in use die by itself. What shards need is what they need alone, as farm.yaml has it: disk and memory are needed in full on
// every side, and CPU, IOPS and network as the roles of the sides say. The worst deaths come first.
func Deaths(f *farm.Farm) []Death {
	on := map[farm.HostName][]home{}
	for i := range f.Pairs {
		p := &f.Pairs[i]
		for _, side := range p.SideNames() {
			host := p.Sides[side].Host
			on[host] = append(on[host], home{p, side})
		}
	}
	var out []Death
	all := indexed(f)
	for _, name := range f.HostsInUse() {
		d := Death{Host: name, Gone: []farm.PairName{}, Heirs: []Heir{}}
		heirs, hit := map[farm.HostName]int{}, map[farm.PairName]bool{}
		for _, x := range on[name] {
			if hit[x.pair.Name] {
				continue
			}
			hit[x.pair.Name] = true
			d.Pairs, d.Shards = d.Pairs+1, d.Shards+len(x.pair.Shards)
			to, ok := heirOf(x.pair, name)
			if !ok {
				d.Gone = append(d.Gone, x.pair.Name)
			} else if carries(x.pair, to, "") < carries(x.pair, to, name) {
				heirs[x.pair.Sides[to].Host]++
			}
		}
		for host, pairs := range heirs {
			d.Heirs = append(d.Heirs, Heir{Host: host, Pairs: pairs, Uses: uses(all, on[host], host, name)})
		}
		slices.SortFunc(d.Heirs, func(a, b Heir) int { return cmp.Or(cmp.Compare(b.fullest(), a.fullest()), cmp.Compare(a.Host, b.Host)) })
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b Death) int {
		return cmp.Or(len(b.Gone)-len(a.Gone), cmp.Compare(b.worst(), a.worst()), cmp.Compare(a.Host, b.Host))
	})
	return out
}

func (d Death) worst() float64 {
	if len(d.Heirs) == 0 {
		return 0
	}
	return d.Heirs[0].fullest()
}

// heirOf is the side that serves when a host is dead: the first, in order, that is elsewhere.
func heirOf(p *farm.Pair, dead farm.HostName) (farm.SideName, bool) {
	for _, side := range p.SideNames() {
		if p.Sides[side].Host != dead {
			return side, true
		}
	}
	return "", false
}

// Carries is the part of its pair's CPU, IOPS and network that a side is taken to carry while all sides live.
func Carries(p *farm.Pair, side farm.SideName) float64 { return carries(p, side, "") }

// carries is the part of the pair's CPU, IOPS and network that a side carries.
func carries(p *farm.Pair, side farm.SideName, dead farm.HostName) float64 {
	serves, _ := heirOf(p, dead)
	alive := 0
	for _, s := range p.SideNames() {
		if p.Sides[s].Host != dead {
			alive++
		}
	}
	if alive == 1 || p.Topology != farm.ActiveActive && side == serves {
		return 1
	}
	return shared
}

// uses is what a host carries before and after another dies.
func uses(all index, here []home, host, dead farm.HostName) []Use {
	before, then := farm.Resources{}, farm.Resources{}
	for _, x := range here {
		was, is := carries(x.pair, x.side, ""), carries(x.pair, x.side, dead)
		for r, v := range x.pair.Needs() {
			if r == farm.Disk || r == farm.Memory {
				before[r], then[r] = before[r]+v, then[r]+v
				continue
			}
			before[r], then[r] = before[r]+v*was, then[r]+v*is
		}
	}
	out := []Use{}
	for r, v := range then {
		if has := all.limit(host, r); has > 0 && !math.IsInf(has, 1) {
			out = append(out, Use{Resource: r, Before: before[r], Then: v, Limit: has, IsOver: v > before[r] && v > has*(1+1e-9)})
		}
	}
	slices.SortFunc(out, func(a, b Use) int {
		return cmp.Or(b.growing()-a.growing(), cmp.Compare(b.Then/b.Limit, a.Then/a.Limit), cmp.Compare(a.Resource, b.Resource))
	})
	return out
}
