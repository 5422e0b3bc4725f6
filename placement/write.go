package placement

import (
	"slices"

	"stowage/farm"
)

// write puts a finished layout down as a plan.
func (p *problem) write(l *layout, proof proof) (Plan, error) {
	plan := Plan{
		FormatVersion: FormatVersion, Farm: p.farm.Name, Goals: p.goals,
		HostsBefore: len(p.farm.HostsInUse()), HostsUsed: l.inUse(),
		LowerBound: proof.hosts.value, BoundMethod: proof.hosts.method, Certificates: proof.certificates,
		Assignments: []Assignment{}, Hosts: []HostUse{}, Moves: []Move{},
		Basis: basisOf(planned(p.whole, p.goals)),
	}
	if proof.hosts.value > 0 {
		plan.Gap = float64(plan.HostsUsed-proof.hosts.value) / float64(proof.hosts.value)
	}
	if err := l.order(&plan); err != nil {
		return Plan{}, err
	}
	use := l.loads()
	for r, is := range l.used() {
		if is {
			plan.Hosts = append(plan.Hosts, l.hostUse(r, use[r]))
			plan.Cost += p.hosts[r].typ.Price
			plan.Watts += p.hosts[r].typ.Watts
		}
	}
	byInstance := map[farm.HostName][]farm.InstanceName{}
	for _, a := range plan.Assignments {
		if !slices.Contains(byInstance[a.Host], a.Instance) {
			byInstance[a.Host] = append(byInstance[a.Host], a.Instance)
		}
	}
	for i := range plan.Hosts {
		h := &plan.Hosts[i]
		h.Instances = byInstance[h.Name]
		slices.Sort(h.Instances)
		p.bind(h)
	}
	plan.CostBefore, plan.WattsBefore = costAndWatts(p.farm, p.farm.HostsInUse())
	plan.CostBound, plan.WattsBound = p.price.amount(proof.cost), p.watts.amount(proof.watts)
	return plan, nil
}

// load is what is on a host, in units of the search.
type load struct {
	needs     []int64
	items     int
	instances int
	shards    int
}

func (l *layout) loads() []load {
	out := make([]load, len(l.hosts))
	for r := range out {
		out[r].needs = make([]int64, len(l.dims))
	}
	for i, r := range l.where {
		if r < 0 {
			continue
		}
		for d, v := range l.items[i].needs {
			out[r].needs[d] += v
		}
		out[r].items++
		out[r].shards += l.problem.shards(i)
		if l.items[i].shard < 0 {
			out[r].instances++
		}
	}
	for r, n := range l.newInstances() {
		out[r].instances += n
		for d, own := range l.own {
			out[r].needs[d] += own * int64(n)
		}
	}
	return out
}

// hostUse is how full a host is: the fullest hour counts.
func (l *layout) hostUse(r int, on load) HostUse {
	host := l.hosts[r]
	exact := l.exactly(r)
	u := HostUse{Name: host.spec.Name, Type: host.typ.Name, New: host.bought, Shards: on.shards, Use: map[farm.ResourceName]float64{}}
	for d, dim := range l.dims {
		capacity := host.typ.Capacity[dim.resource]
		if _, limited := host.typ.Capacity[dim.resource]; !limited || capacity <= 0 {
			continue
		}
		needs := float64(on.needs[d]) / dim.scale
		if exact != nil {
			needs = exact[dim.resource]
		}
		use := (needs + host.spec.Reserved[dim.resource]) / capacity
		u.Use[dim.resource] = max(u.Use[dim.resource], use)
	}
	for n, c := range host.typ.Capacity {
		if _, counted := u.Use[n]; !counted && c > 0 {
			u.Use[n] = (exact[n] + host.spec.Reserved[n]) / c
		}
	}
	return u
}

// exactly is what is on a host on which something is frozen, which may be
// more than units of the search can say, and of other resources than other
// hosts have; nil for all other hosts.
func (l *layout) exactly(r int) farm.Resources {
	if l.hosts[r].frozen.instances == 0 {
		return nil
	}
	hours := [24]farm.Resources{}
	for h := range hours {
		hours[h] = farm.Resources{}
		for range l.newInstances()[r] {
			hours[h].Add(l.goals.Overhead)
		}
	}
	for i, at := range l.where {
		if at != r {
			continue
		}
		for s, shard := range l.pair(i).Shards {
			if l.items[i].shard >= 0 && l.items[i].shard != s {
				continue
			}
			profile, _ := l.farm.Profile(shard.Profile)
			for n, v := range l.goals.Needs(shard) {
				for h := range hours {
					if n.IsRate() {
						hours[h][n] += v * profile.Hours[h]
					} else {
						hours[h][n] += v
					}
				}
			}
		}
		if l.items[i].shard < 0 {
			for h := range hours {
				hours[h].Add(l.goals.Overhead)
			}
		}
	}
	out := farm.Resources{}
	for _, of := range hours {
		for n, v := range of {
			out[n] = max(out[n], v)
		}
	}
	return out
}

// bind says what is nearest its limit on a host, counting what headroom leaves.
func (p *problem) bind(h *HostUse) {
	host := p.hosts[p.host[h.Name]]
	worst := -1.0
	for _, n := range farm.Resources(h.Use).Names() {
		if left := 1 - p.goals.Headroom[n]; left > 0 && h.Use[n]/left > worst {
			worst, h.Binding = h.Use[n]/left, string(n)
		}
	}
	if host.most > 0 && float64(len(h.Instances))/float64(host.most) > worst {
		h.Binding = MaxInstances
	}
}

// MaxInstances is what HostUse.Binding says when the number of instances is
// nearest its limit.
const MaxInstances = "max_instances"

func costAndWatts(f *farm.Farm, hosts []farm.HostName) (cost, watts float64) {
	types := map[farm.HostName]farm.HostTypeName{}
	for _, h := range f.Hosts {
		types[h.Name] = h.Type
	}
	for _, h := range hosts {
		t, _ := f.HostType(types[h])
		cost += t.Price
		watts += t.Watts
	}
	return cost, watts
}
