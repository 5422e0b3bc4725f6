package placement

import (
	"fmt"
	"strings"

	"stowage/farm"
)

// host is one host to pack onto: one of the farm's, or one that may be bought.
// Other hosts on which something is frozen are among them, behind the others.
type host struct {
	spec    farm.Host
	typ     farm.HostType
	bought  bool
	outside bool    // not to be packed onto: only what is frozen is on it
	limit   []int64 // by dimension, after headroom and what is reserved, in units of the search
	hard    []int64 // the same without headroom, today
	most    int     // instances; 0: any number
	shut    string  // why it takes no newcomers; empty: it does
	frozen  burden  // what is frozen on it
	full    bool    // what is frozen on it is more than its limits: it takes nothing else
}

// burden is what is on a host, in units of the search.
type burden struct {
	needs     []int64
	instances int
	shards    int
}

// NoLimit is the room, in units of the search, for what a host type does not
// limit: more than all needs together.
const NoLimit = int64(1) << 51

// offers is what a host has of a resource for instances; ok is false where it
// is not limited.
func (r host) offers(n farm.ResourceName, g Goals) (amount float64, ok bool) {
	c, ok := r.typ.Capacity[n]
	if !ok {
		return 0, false
	}
	return max(0, c*(1-g.Headroom[n])-r.spec.Reserved[n]), true
}

// hosts are the hosts to pack onto: the farm's in its order, then those that
// may be bought; then the other hosts on which something is frozen.
func hosts(f *farm.Farm, g Goals) []host {
	types := map[farm.HostTypeName]farm.HostType{}
	for _, t := range f.HostTypes {
		types[t.Name] = t
	}
	without := map[farm.HostName]bool{}
	for _, h := range g.Without {
		without[h] = true
	}
	frozen := frozenHosts(f, g)
	var out, outside []host
	for _, h := range f.Hosts {
		r := newHost(h, types[h.Type], g)
		if g.packsOnto(h.Type) && !without[h.Name] && !r.typ.HoldsNone(h.Reserved) {
			out = append(out, r)
		} else if frozen[h.Name] {
			r.outside, r.shut = true, "not packed onto"
			outside = append(outside, r)
		}
	}
	for _, b := range g.Buy {
		for _, h := range b.Hosts(f) {
			r := newHost(h, types[b.Type], g)
			r.bought, r.shut = true, ""
			out = append(out, r)
		}
	}
	return append(out, outside...)
}

// frozenHosts are the hosts of frozen pairs.
func frozenHosts(f *farm.Farm, g Goals) map[farm.HostName]bool {
	out := map[farm.HostName]bool{}
	if len(g.Frozen) == 0 {
		return out
	}
	is := map[farm.PairName]bool{}
	for _, p := range g.Frozen {
		is[p] = true
	}
	for _, p := range f.Pairs {
		for _, s := range p.Sides {
			if is[p.Name] && (g.Unit != UnitShard || len(p.Shards) > 0) {
				out[s.Host] = true
			}
		}
	}
	return out
}

func newHost(h farm.Host, t farm.HostType, g Goals) host {
	most := t.Most(h.Reserved)
	if g.MaxInstances > 0 && (most == 0 || g.MaxInstances < most) {
		most = g.MaxInstances
	}
	r := host{spec: h, typ: t, most: most}
	if h.Dir == "" {
		r.shut = "without dir in farm.yaml, so that nothing can be made there"
	}
	return r
}

// measure sets the host's limits, of which reserved is taken off today.
func (r *host) measure(dims []dimension, g Goals, reserved farm.Resources) {
	r.limit, r.hard = make([]int64, len(dims)), make([]int64, len(dims))
	for i, d := range dims {
		r.limit[i], r.hard[i] = NoLimit, NoLimit
		if c, ok := r.offers(d.resource, g); ok {
			whole := r.typ.Capacity[d.resource]
			r.limit[i] = d.offer(c, whole)
			r.hard[i] = d.offer(max(0, whole-reserved[d.resource]), whole)
		}
	}
}

// shape is equal for hosts that are alike in everything but name and labels.
func (r host) shape() string {
	var b strings.Builder
	b.WriteString(string(r.typ.Name))
	for _, n := range r.spec.Reserved.Names() {
		fmt.Fprintf(&b, " %s=%v", n, r.spec.Reserved[n])
	}
	return b.String()
}
