package check

import (
	"math"
	"slices"

	"stowage/farm"
	"stowage/placement"
)

// ownFigures: what the plan says of itself is true.
func (j *judge) ownFigures() {
	p := j.plan
	if p.FormatVersion != placement.FormatVersion {
		j.say("figures", "plan", "format_version is %d", p.FormatVersion)
	}
	if p.HostsUsed != len(j.after) {
		j.say("figures", "plan", "hosts_used is %d and the assignments use %d", p.HostsUsed, len(j.after))
	}
	if p.LowerBound > len(j.after) || p.LowerBound < 0 {
		j.say("figures", "plan", "the lower bound %d is not one of %d hosts that are enough", p.LowerBound, len(j.after))
	}
	if gap := float64(p.HostsUsed-p.LowerBound) / max(1, float64(p.LowerBound)); p.LowerBound > 0 && !near(p.Gap, gap) || p.LowerBound == 0 && p.Gap != 0 {
		j.say("figures", "plan", "gap is %v and not %v", gap, p.Gap)
	}
	before := map[farm.HostName]bool{}
	for _, pair := range j.farm.Pairs {
		for _, s := range pair.Sides {
			before[s.Host] = true
		}
	}
	if p.HostsBefore != len(before) {
		j.say("figures", "plan", "hosts_before is %d and %d are in use", p.HostsBefore, len(before))
	}
	j.money("cost_before and watts_before", before, p.CostBefore, p.WattsBefore)
	after := map[farm.HostName]bool{}
	for name := range j.after {
		after[name] = true
	}
	j.money("cost and watts", after, p.Cost, p.Watts)
	if !(p.CostBound >= 0) || !(p.WattsBound >= 0) || p.CostBound > p.Cost*(1+slack) || p.WattsBound > p.Watts*(1+slack) {
		j.say("figures", "plan", "cost and watts of at least %v and %v are more than the plan has", p.CostBound, p.WattsBound)
	}
}

func (j *judge) money(what string, hosts map[farm.HostName]bool, cost, watts float64) {
	c, w := 0.0, 0.0
	for name := range hosts {
		t := j.types[j.hosts[name].Type]
		c += t.Price
		w += t.Watts
	}
	if !near(c, cost) || !near(w, watts) {
		j.say("figures", "plan", "%s are %v and %v, and not %v and %v", what, c, w, cost, watts)
	}
}

// hostFigures: the hosts in use are all listed, once, with what is on them.
func (j *judge) hostFigures() {
	listed := map[farm.HostName]bool{}
	for _, h := range j.plan.Hosts {
		l := j.after[h.Name]
		if l == nil || listed[h.Name] {
			j.say("figures", string(h.Name), "it is listed as used and is not, or is listed twice")
			continue
		}
		listed[h.Name] = true
		j.hostFigure(h, l)
	}
	if len(listed) != len(j.after) {
		j.say("figures", "plan", "%d hosts are listed and %d are used", len(listed), len(j.after))
	}
}

func (j *judge) hostFigure(h placement.HostUse, l *load) {
	name, host := string(h.Name), j.hosts[h.Name]
	t := j.types[host.Type]
	if h.Type != host.Type || h.New != j.bought[h.Name] {
		j.say("figures", name, "it is a %s and is listed as a %s", host.Type, h.Type)
	}
	seen := map[farm.InstanceName]bool{}
	for _, i := range h.Instances {
		if seen[i] || !l.instances[i] {
			j.say("figures", name, "instance %s is listed and not assigned, or listed twice", i)
		}
		seen[i] = true
	}
	if len(seen) != len(l.instances) {
		j.say("figures", name, "%d instances are listed and %d are assigned", len(h.Instances), len(l.instances))
	}
	if h.Shards != len(l.shards) {
		j.say("figures", name, "%d shards are listed and %d are assigned", h.Shards, len(l.shards))
	}
	fullest, binding := -1.0, -1.0
	look := func(what string, share float64) {
		fullest = max(fullest, share)
		if what == h.Binding {
			binding = share
		}
	}
	for n, c := range t.Capacity {
		if c <= 0 {
			continue
		}
		use := (j.peak(l, n) + host.Reserved[n]) / c
		if given, has := h.Use[n]; !has || !(math.Abs(given-use) <= slack*max(1, use)) {
			j.say("figures", name, "use of %s is %.3f and not %.3f", n, use, given)
		}
		look(string(n), use/(1-j.plan.Goals.Headroom[n]))
	}
	for n := range h.Use {
		if _, has := t.Capacity[n]; !has {
			j.say("figures", name, "use of %s, which it does not limit", n)
		}
	}
	if most := j.mostInstances(host); most > 0 {
		look(placement.MaxInstances, float64(len(l.instances))/float64(most))
	}
	if binding < fullest-1e-4*max(1, fullest) || fullest < 0 && h.Binding != "" {
		j.say("figures", name, "%s does not bind", h.Binding)
	}
}

// copied: a move copies what its side holds now, and all together no more than
// they may.
func (j *judge) copied() {
	total := 0.0
	for _, m := range j.plan.Moves {
		bytes := 0.0
		if s := j.shards[m.Shard]; s != nil {
			bytes = s.Needs[farm.Disk]
		} else if pair := j.pairs[m.Pair]; pair != nil {
			for _, s := range pair.Shards {
				bytes += s.Needs[farm.Disk]
			}
		}
		if math.Abs(float64(m.Bytes)-bytes) > 1+slack*bytes {
			j.say("move-bytes", m.Name, "it holds %.0f bytes and %d are to be copied", bytes, m.Bytes)
		}
		total += bytes
	}
	if most := j.plan.Goals.MovedMost; most > 0 && total > most*(1+slack)+float64(len(j.plan.Moves)) {
		j.say("moved-most", "plan", "%s are copied, but at most %s may be", amount(farm.Disk, total), amount(farm.Disk, most))
	}
}

// basis: the farm as the plan remembers it is this farm. Moves are refused
// when it has changed since, so what is forgotten there is never noticed.
func (j *judge) basis() {
	b, f := j.plan.Basis, j.today
	same := b.NextServerID == f.NextServerID && len(b.HostTypes) == len(f.HostTypes) && len(b.Hosts) == len(f.Hosts) && len(b.Pairs) == len(f.Pairs)
	for i := 0; same && i < len(f.HostTypes); i++ {
		x, y := b.HostTypes[i], f.HostTypes[i]
		same = x.Name == y.Name && x.MaxInstances == y.MaxInstances && equal(x.Capacity, y.Capacity)
	}
	for i := 0; same && i < len(f.Hosts); i++ {
		x, y := b.Hosts[i], f.Hosts[i]
		same = x.Name == y.Name && x.Type == y.Type && x.Address == y.Address && x.Dir == y.Dir && equal(x.Labels, y.Labels) && equal(x.Reserved, y.Reserved)
	}
	for i := 0; same && i < len(f.Pairs); i++ {
		x, y := b.Pairs[i], f.Pairs[i]
		same = x.Name == y.Name && x.Topology == y.Topology && len(x.Sides) == len(y.Sides)
		for side, s := range y.Sides {
			same = same && x.Sides[side] == placement.BasisSide(s)
		}
		same = same && slices.EqualFunc(x.Shards, y.Shards, func(n farm.ShardName, s farm.Shard) bool { return n == s.Name })
	}
	if !same || j.plan.Farm != f.Name {
		j.say("basis", "plan", "it was not made for this farm as it is")
	}
}

// equal takes a missing map for an empty one.
func equal[K, V comparable](a, b map[K]V) bool {
	for k, v := range a {
		if w, has := b[k]; !has || v != w {
			return false
		}
	}
	return len(a) == len(b)
}
