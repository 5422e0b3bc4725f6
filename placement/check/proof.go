package check

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"stowage/farm"
	"stowage/placement"
	"stowage/placement/bound"
	"stowage/placement/bound/verify"
)

// certificates: each certificate of the plan proves what the plan claims, for
// the packing problem of this farm as it is set up here anew. Hosts that are
// not packed onto and on which something is frozen are in use whatever
// happens, and come on top.
func (j *judge) certificates() {
	problem, hosts, cost, watts := j.packing()
	price, draw := j.parts()
	claims := map[bound.Objective]float64{bound.Bins: float64(j.plan.LowerBound), bound.Cost: price * j.plan.CostBound, bound.Watts: draw * j.plan.WattsBound}
	besides := map[bound.Objective]float64{bound.Bins: float64(hosts), bound.Cost: cost, bound.Watts: watts}
	proved := map[bound.Objective]float64{bound.Bins: besides[bound.Bins], bound.Cost: besides[bound.Cost], bound.Watts: besides[bound.Watts]}
	for _, c := range j.plan.Certificates {
		value, err := verify.Certificate(problem, c)
		switch {
		case c.Objective != bound.Bins && c.Objective != bound.Cost && c.Objective != bound.Watts:
			j.say("certificate", string(c.Objective), "unknown objective")
		case errors.Is(err, verify.ErrTooLarge):
			proved[c.Objective] = math.Inf(1) // not wrong, only not re-proved
		case err != nil:
			j.say("certificate", string(c.Objective), "it proves nothing: %v", err)
		default:
			proved[c.Objective] = max(proved[c.Objective], float64(value)+besides[c.Objective])
		}
	}
	if len(j.after) > 0 {
		for i := range j.farm.Pairs { // the sides of one of them are on so many hosts
			proved[bound.Bins] = max(proved[bound.Bins], float64(len(j.farm.Pairs[i].Sides)))
		}
	}
	for o, claim := range claims {
		if !(claim <= proved[o]+0.5) {
			j.say("certificate", string(o), "the plan claims a bound of %v and its certificates prove %v", claim, proved[o])
		}
	}
}

// parts are what prices and watts are counted in: hundredths; tenths of those,
// and so on, up to 10^8 for the dearest host type, until all are whole; larger
// ones where the dearest would be more than 10^11.
func (j *judge) parts() (price, draw float64) {
	prices, draws := []float64{}, []float64{}
	for _, t := range j.farm.HostTypes {
		prices, draws = append(prices, t.Price), append(draws, t.Watts)
	}
	parts := func(of []float64) float64 {
		dearest, n := slices.Max(append(of, 0)), 100.0
		broken := func(v float64) bool { return math.Abs(n*v-math.Round(n*v)) > 1e-12*n*v }
		for n*dearest > 1e11 {
			n /= 10
		}
		for slices.ContainsFunc(of, broken) && n*10*dearest <= 1e8 {
			n *= 10
		}
		return n
	}
	return parts(prices), parts(draws)
}

// whole leaves out what is less than one part: a bound is never above the cost.
func whole(v float64) float64 { return math.Floor(v * (1 + 1e-12)) }

// sidesOf are the sides that a pair has, A first.
func sidesOf(pair *farm.Pair) []farm.SideName {
	if _, has := pair.Sides[farm.B]; !has {
		return farm.SideNames[:1]
	}
	if len(pair.Sides) == 2 {
		return farm.SideNames[:]
	}
	return slices.Sorted(maps.Keys(pair.Sides))
}

// packing is the problem that certificates speak of: items by kind, in the
// order in which the farm's pairs (or shards) show them first, one of each
// for every side; hosts by kind (type and what is reserved), in the order
// of the farm and then of what may be bought. A resource is a dimension when
// something needs it and a host to pack onto limits it; cpu, iops and network
// are one for each hour of the day that no earlier hour equals. The largest
// capacity is 10^10 units, needs are rounded to the nearest and are at least
// one, and room is a little larger than it is, so that rounding forbids
// nothing.
//
// With the unit shard every host in use has at least one new instance, or
// every shard its part of one; what is frozen stays whole. Frozen pairs on
// hosts that are not packed onto are left out, and those that overfill another
// host are one item that fills it. The other results are the hosts left out,
// and what those cost and draw, in parts.
func (j *judge) packing() (problem bound.Problem, hosts int, cost, watts float64) {
	rooms := j.rooms()
	price, draw := j.parts()
	k := &kinds{judge: j, price: price, draw: draw, dims: j.dimensions(rooms), rooms: map[farm.HostName]bool{}, frozen: map[farm.HostName]*content{}, items: map[string]int{}}
	for _, h := range rooms {
		k.rooms[h.Name] = true
	}
	elsewhere := map[farm.HostName]bool{}
	for i := range j.farm.Pairs {
		pair := &j.farm.Pairs[i]
		if !j.isFrozen(pair.Name) || j.byShard && len(pair.Shards) == 0 {
			continue // of which nothing is left
		}
		whole := k.needs(pair.Shards, j.plan.Goals.Overhead)
		for _, side := range sidesOf(pair) {
			host := pair.Sides[side].Host
			if !k.rooms[host] {
				elsewhere[host] = true
				continue
			}
			if k.frozen[host] == nil {
				k.frozen[host] = &content{needs: make([]int64, len(k.dims))}
			}
			k.frozen[host].add(whole, pair.Shards)
		}
	}
	for host := range elsewhere {
		t := j.types[j.hosts[host].Type]
		hosts++
		cost += whole(k.price * t.Price)
		watts += whole(k.draw * t.Watts)
	}
	for i := range j.farm.Pairs {
		k.pair(&j.farm.Pairs[i])
	}
	shapes := map[string]int{}
	for _, h := range rooms {
		key := string(h.Type) + fmt.Sprint(h.Reserved)
		if at, known := shapes[key]; known {
			k.out.Bins[at].Available++
			continue
		}
		shapes[key] = len(k.out.Bins)
		k.out.Bins = append(k.out.Bins, k.bin(h))
	}
	k.fillers()
	if len(k.dims) == 0 {
		for i := range k.out.Items {
			k.out.Items[i].Needs = []int64{0}
		}
		for b := range k.out.Bins {
			k.out.Bins[b].Room = []int64{0}
		}
	}
	return k.out, hosts, cost, watts
}

// kinds collects items of one kind each.
type kinds struct {
	*judge
	price  float64 // parts that one of money, and one watt, is counted as
	draw   float64
	dims   []dim
	rooms  map[farm.HostName]bool
	frozen map[farm.HostName]*content
	items  map[string]int
	out    bound.Problem
}

// content is what is frozen on one host.
type content struct {
	needs     []int64
	instances int
	shards    int
	customers map[farm.CustomerName]int
}

func (c *content) add(needs []int64, shards []farm.Shard) {
	for d, v := range needs {
		c.needs[d] += v
	}
	c.instances++
	c.shards += len(shards)
	if c.customers == nil {
		c.customers = map[farm.CustomerName]int{}
	}
	for _, s := range shards {
		if s.Customer != "" {
			c.customers[s.Customer]++
		}
	}
}

// needs is what shards in one instance need, in units.
func (k *kinds) needs(shards []farm.Shard, overhead farm.Resources) []int64 {
	l := k.newLoad()
	k.plain(l, overhead, 1)
	for i := range shards {
		k.add(l, &shards[i], k.end(), 1)
	}
	out := make([]int64, len(k.dims))
	for d, dim := range k.dims {
		hour := dim.hour
		if k.hours == 1 {
			hour = 0
		}
		out[d] = dim.units(l.needs[k.resources[dim.resource]*k.hours+hour])
	}
	return out
}

// pair adds what is placed of a pair.
func (k *kinds) pair(pair *farm.Pair) {
	g := k.plan.Goals
	if k.byShard && !k.isFrozen(pair.Name) {
		for i := range pair.Shards {
			needs := k.needs(pair.Shards[i:i+1], nil)
			for d := range needs {
				if g.ShardsPerInstance > 0 {
					needs[d] += k.overhead(d) / int64(g.ShardsPerInstance)
				}
			}
			k.put(string(pair.Shards[i].Name), needs, 2)
		}
		return
	}
	if k.byShard && len(pair.Shards) == 0 {
		return
	}
	copies := 0
	for _, side := range sidesOf(pair) {
		host := pair.Sides[side].Host
		if !k.isFrozen(pair.Name) || k.rooms[host] && !k.overfull(host) {
			copies++
		}
	}
	if copies == 0 {
		return
	}
	needs := k.needs(pair.Shards, g.Overhead)
	if k.byShard && g.ShardsPerInstance == 0 {
		for d := range needs { // taken off the room
			needs[d] = max(0, needs[d]-k.overhead(d))
		}
	}
	k.put(string(pair.Instance(farm.A)), needs, copies)
}

// overhead is what an instance needs for itself, in units.
func (k *kinds) overhead(d int) int64 {
	return k.dims[d].units(k.plan.Goals.Overhead[k.dims[d].resource])
}

// put adds copies of an item; copies of one pair never share a host.
func (k *kinds) put(name string, needs []int64, copies int) {
	key := make([]byte, 0, 8*len(needs))
	for _, v := range needs {
		key = binary.LittleEndian.AppendUint64(key, uint64(v))
	}
	at, known := k.items[string(key)]
	if known {
		k.out.Items[at].Count += copies
		k.out.Items[at].PerBin = 0
		return
	}
	k.items[string(key)] = len(k.out.Items)
	it := bound.Item{Name: name, Needs: needs, Count: copies}
	if copies > 1 {
		it.PerBin = 1
	}
	k.out.Items = append(k.out.Items, it)
}

// overfull says whether what is frozen on a host is more than may be on it.
func (k *kinds) overfull(host farm.HostName) bool {
	c, h := k.frozen[host], k.hosts[host]
	if c == nil {
		return false
	}
	if most := k.mostInstances(h); most > 0 && c.instances > most {
		return true
	}
	for d, dim := range k.dims {
		if room, limited := k.room(h, dim); limited && c.needs[d] > room {
			return true
		}
	}
	s := k.plan.Goals.Surface
	if s.Shards > 0 && c.shards > s.MostShards(len(k.shards)) {
		return true
	}
	for name, n := range c.customers {
		all := 0
		for _, shard := range k.shards {
			if shard.Customer == name {
				all++
			}
		}
		if s.Customer > 0 && n > s.MostOfCustomer(all) {
			return true
		}
	}
	return false
}

// fillers adds an item for every host that frozen pairs overfill, in the order
// in which those are in the farm.
func (k *kinds) fillers() {
	filled := map[farm.HostName]bool{}
	for i := range k.farm.Pairs {
		pair := &k.farm.Pairs[i]
		for _, side := range sidesOf(pair) {
			host := pair.Sides[side].Host
			if !k.isFrozen(pair.Name) || k.byShard && len(pair.Shards) == 0 || !k.rooms[host] || filled[host] || !k.overfull(host) {
				continue
			}
			filled[host] = true
			needs := k.bin(k.hosts[host]).Room
			for d, v := range k.frozen[host].needs {
				needs[d] = min(needs[d], v)
			}
			k.put(string(pair.Instance(side)), needs, 1)
		}
	}
}

// dim is one dimension of the packing problem.
type dim struct {
	resource farm.ResourceName
	hour     int
	scale    float64
}

func (d dim) units(v float64) int64 {
	if v <= 0 {
		return 0
	}
	return int64(max(1, math.Round(min(v*d.scale, 2e10))))
}

// rooms are the hosts that may be packed onto.
func (j *judge) rooms() []farm.Host {
	wanted := map[farm.HostTypeName]bool{}
	for _, t := range j.plan.Goals.Onto {
		wanted[t] = true
	}
	without := map[farm.HostName]bool{}
	for _, h := range j.plan.Goals.Without {
		without[h] = true
	}
	var out []farm.Host
	for _, h := range j.farm.Hosts {
		if (len(wanted) == 0 || wanted[h.Type]) && !without[h.Name] && !j.types[h.Type].HoldsNone(h.Reserved) {
			out = append(out, h)
		}
	}
	for _, b := range j.plan.Goals.Buy {
		out = append(out, b.Hosts(j.farm)...)
	}
	return out
}

// left is what a host has of a resource for instances.
func (j *judge) left(h farm.Host, n farm.ResourceName) (float64, bool) {
	c, limited := j.types[h.Type].Capacity[n]
	return max(0, c*(1-j.plan.Goals.Headroom[n])-h.Reserved[n]), limited
}

// room is that in units, with a five millionth of the whole besides.
func (j *judge) room(h farm.Host, d dim) (int64, bool) {
	left, limited := j.left(h, d.resource)
	if !limited || left <= 0 {
		return 0, limited
	}
	return int64(math.Round(min((left+2e-7*j.types[h.Type].Capacity[d.resource])*d.scale, float64(placement.NoLimit-1)))), true
}

func (j *judge) dimensions(rooms []farm.Host) []dim {
	needed := farm.Resources{}
	needed.Add(j.plan.Goals.Overhead)
	for _, pair := range j.farm.Pairs {
		for _, s := range pair.Shards {
			needed.Add(s.Needs)
			if s.Growth > 0 && j.plan.Goals.RunwayDays > 0 {
				needed[farm.Disk] += s.Growth
			}
		}
	}
	var out []dim
	for _, n := range needed.Names() {
		most, limited := 0.0, false
		for _, h := range rooms {
			if c, has := j.left(h, n); has {
				most, limited = max(most, c), true
			}
		}
		if !limited || needed[n] <= 0 {
			continue
		}
		scale := 1e10 / most
		if most == 0 {
			scale = 1e10 / needed[n]
		}
		for _, h := range j.hoursOf(n) {
			out = append(out, dim{n, h, scale})
		}
	}
	return out
}

// hoursOf are the hours in which a resource is looked at.
func (j *judge) hoursOf(n farm.ResourceName) []int {
	if !follows(n) {
		return []int{0}
	}
	seen := map[string]bool{}
	var out []int
	for h := range 24 {
		key := ""
		for _, p := range j.farm.Profiles {
			key += fmt.Sprint(p.Hours[h], " ")
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, h)
		}
	}
	return out
}

// bin is a kind of host.
func (k *kinds) bin(h farm.Host) bound.Bin {
	t := k.types[h.Type]
	b := bound.Bin{Name: string(t.Name), Available: 1, MaxItems: k.mostInstances(h), Cost: int64(whole(k.price * t.Price)), Watts: int64(whole(k.draw * t.Watts))}
	if k.byShard {
		b.MaxItems *= k.plan.Goals.ShardsPerInstance
	}
	for d, dim := range k.dims {
		room, limited := k.room(h, dim)
		switch {
		case !limited:
			room = placement.NoLimit
		case k.byShard && k.plan.Goals.ShardsPerInstance == 0:
			room = max(0, room-k.overhead(d))
		}
		b.Room = append(b.Room, room)
	}
	return b
}
