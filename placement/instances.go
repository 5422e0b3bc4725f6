package placement

// With the unit shard, what is on a host is shards and the new instances
// that they are dealt to, each of which needs something for itself
// (Goals.Overhead). A couple of hosts with n shards has one instance on each,
// or where shards_per_instance is s, n/s rounded up.
//
// The search counts that a little too high: own/s for every shard and
// own*(s-1)/s for the host, which is never less than own times n/s rounded
// up. A hopeful view leaves the latter out; its answers are checked.

// ownShare is what an item needs for the instance it will be in, or nil.
func (v *view) ownShare() []int64 {
	s := int64(v.goals.ShardsPerInstance)
	if v.goals.Unit != UnitShard || s == 0 || len(v.goals.Overhead) == 0 {
		return nil
	}
	out := make([]int64, len(v.own))
	for d, own := range v.own {
		if out[d] = own / s; !v.hopeful {
			out[d] = (own + s - 1) / s
		}
	}
	return out
}

// capacity is what host r offers to the items that are placed. hopeful leaves
// out what may turn out not to be needed.
func (p *problem) capacity(r int, hopeful bool) []int64 {
	host := p.hosts[r]
	out := append([]int64(nil), host.limit...)
	if p.goals.Unit != UnitShard {
		return out
	}
	s := int64(p.goals.ShardsPerInstance)
	for d := range out {
		if out[d] == NoLimit {
			continue
		}
		if host.frozen.needs != nil {
			out[d] -= host.frozen.needs[d]
		}
		switch {
		case s == 0:
			out[d] -= p.own[d]
		case !hopeful:
			out[d] -= (p.own[d]*(s-1) + s - 1) / s
		}
		out[d] = max(0, out[d])
	}
	return out
}

// mostItems is how many of the items that are placed a host may hold; 0: any
// number.
func (p *problem) mostItems(host host) int {
	if p.goals.Unit != UnitShard || host.most == 0 {
		return host.most
	}
	return p.goals.ShardsPerInstance * max(0, host.most-host.frozen.instances)
}

// newInstances is how many new instances each host gets.
func (l *layout) newInstances() []int {
	out := make([]int, len(l.hosts))
	if l.goals.Unit != UnitShard {
		return out
	}
	shards := map[[2]int]int{}
	for i := 0; i < len(l.items); i += 2 {
		if l.where[i] >= 0 && !l.isFrozen(i) {
			shards[[2]int{l.where[i], l.where[i+1]}]++
		}
	}
	for couple, n := range shards {
		instances := 1
		if s := l.goals.ShardsPerInstance; s > 0 {
			instances = (n + s - 1) / s
		}
		out[couple[0]] += instances
		out[couple[1]] += instances
	}
	return out
}
