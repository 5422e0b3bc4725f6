package report

import (
	"fmt"
	"sort"

	"stowage/farm"
	"stowage/placement"
)

// slots is what HostUse.Binding says when the number of instances binds.
const slots = "max_instances"

// load is one host and the sides it carries, in one of the two pictures.
type load struct {
	Name    farm.HostName
	Type    farm.HostTypeName
	Binding string  // the resource nearest its limit; empty: not known
	Fill    float64 // of the binding resource, 0 to 1
	Limit   float64 // what the goals let be filled
	Sides   []stowed
}

// stowed is one side on a host and its share of the host's binding resource.
type stowed struct {
	Pair     farm.PairName
	Side     farm.SideName
	Instance farm.InstanceName
	Share    float64
}

// stowage reads both pictures out of a plan.
type stowage struct {
	plan  *placement.Plan
	needs map[farm.PairName]farm.Resources
	types map[farm.HostTypeName]placement.BasisHostType
	hosts map[farm.HostName]placement.BasisHost
}

func newStowage(p *placement.Plan, now *farm.Farm) *stowage {
	s := &stowage{
		plan: p, needs: map[farm.PairName]farm.Resources{},
		types: map[farm.HostTypeName]placement.BasisHostType{}, hosts: map[farm.HostName]placement.BasisHost{},
	}
	for _, t := range p.Basis.HostTypes {
		s.types[t.Name] = t
	}
	for _, h := range p.Basis.Hosts {
		s.hosts[h.Name] = h
	}
	if now != nil {
		for _, pair := range now.Pairs {
			s.needs[pair.Name] = pair.Needs()
		}
	}
	return s
}

// before are the hosts as the plan found them, in the order of the farm.
func (s *stowage) before() []load {
	f := s.plan.Basis.Farm()
	on := map[farm.HostName][]stowed{}
	for _, pair := range f.Pairs {
		for _, side := range pair.SideNames() {
			if at, ok := pair.Sides[side]; ok {
				on[at.Host] = append(on[at.Host], stowed{Pair: pair.Name, Side: side, Instance: pair.Instance(side)})
			}
		}
	}
	var out []load
	for _, h := range f.Hosts {
		if len(on[h.Name]) > 0 {
			out = append(out, s.weigh(load{Name: h.Name, Type: h.Type, Sides: on[h.Name]}))
		}
	}
	return out
}

// after are the hosts in use after the plan. How full they are is what the
// plan says, not what we would reckon.
func (s *stowage) after() []load {
	on := map[farm.HostName][]stowed{}
	for _, a := range s.plan.Assignments {
		on[a.Host] = append(on[a.Host], stowed{Pair: a.Pair, Side: a.Side, Instance: a.Instance})
	}
	var out []load
	for _, h := range s.plan.Hosts {
		l := load{Name: h.Name, Type: h.Type, Binding: h.Binding, Sides: on[h.Name]}
		l.Fill, l.Limit = h.Use[farm.ResourceName(h.Binding)], s.limit(h.Binding)
		if most := s.types[h.Type].MaxInstances; h.Binding == slots && most > 0 {
			l.Fill = float64(len(l.Sides)) / float64(most)
		}
		out = append(out, s.share(l))
	}
	return out
}

func (s *stowage) limit(binding string) float64 {
	return 1 - s.plan.Goals.Headroom[farm.ResourceName(binding)]
}

// weigh finds the resource of a host that is nearest its limit.
func (s *stowage) weigh(l load) load {
	t := s.types[l.Type]
	sum := farm.Resources{}
	for _, x := range l.Sides {
		sum.Add(s.needs[x.Pair])
	}
	if t.MaxInstances > 0 {
		l.Binding, l.Fill = slots, float64(len(l.Sides))/float64(t.MaxInstances)
	}
	for _, r := range t.Capacity.Names() {
		fill := sum[r] / t.Capacity[r]
		if t.Capacity[r] > 0 && fill > 0 && fill/s.limit(string(r)) > l.Fill/s.limit(l.Binding) {
			l.Binding, l.Fill = string(r), fill
		}
	}
	l.Limit = s.limit(l.Binding)
	return s.share(l)
}

// share gives every side its part of the fill: by need where needs are known,
// the same to all otherwise.
func (s *stowage) share(l load) load {
	total := 0.0
	for _, x := range l.Sides {
		total += s.needs[x.Pair][farm.ResourceName(l.Binding)]
	}
	for i, x := range l.Sides {
		l.Sides[i].Share = l.Fill / float64(len(l.Sides))
		if total > 0 {
			l.Sides[i].Share = l.Fill * s.needs[x.Pair][farm.ResourceName(l.Binding)] / total
		}
	}
	sort.SliceStable(l.Sides, func(i, j int) bool { return l.Sides[i].Share > l.Sides[j].Share })
	return l
}

// freed are the hosts that carry nothing any more.
func freed(before, after []load) []farm.HostName {
	used := map[farm.HostName]bool{}
	for _, l := range after {
		used[l.Name] = true
	}
	var out []farm.HostName
	for _, l := range before {
		if !used[l.Name] {
			out = append(out, l.Name)
		}
	}
	return out
}

// fillText is how full a host is: 78 % of disk, 4 of 4 instances.
func (l load) fillText() string {
	switch l.Binding {
	case "":
		return "fill not known"
	case slots:
		return l.slotText() + " instances"
	default:
		return fmt.Sprintf("%s of %s", percent(l.Fill), l.Binding)
	}
}

func (l load) slotText() string {
	return fmt.Sprintf("%d of %.0f", len(l.Sides), float64(len(l.Sides))/l.Fill)
}

// short is fillText for a small box.
func (l load) short() string {
	if l.Binding == slots {
		return l.slotText()
	}
	return percent(l.Fill)
}

// fillRange is the least and the most filled host, for the line above a
// picture.
func fillRange(ls []load) string {
	least, most, of := 2.0, 0.0, ""
	for i, l := range ls {
		if l.Binding == "" {
			return "how full they are is not known"
		}
		least, most = min(least, l.Fill), max(most, l.Fill)
		switch {
		case i == 0:
			of = l.Binding
		case of != l.Binding:
			of = "what binds there"
		}
	}
	text := percent(most)
	if percent(least) != text {
		text = percent(least) + " to " + text
	}
	if of == slots {
		return text + " of the instances they may hold"
	}
	return text + " of " + of
}
