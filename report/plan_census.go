package report

import (
	"cmp"
	"math"
	"slices"

	"stowage/farm"
	"stowage/placement"
)

// census is who is where before and after a plan, with what everything
// needs at the end of the runway.
type census struct {
	plan          placement.Plan
	farm          *farm.Farm // the one the plan was made for, with needs
	types         map[farm.HostTypeName]farm.HostType
	pairs         map[farm.PairName]*farm.Pair
	before, after []carrier
	resources     []farm.ResourceName // that some host type limits and something needs
	unknown       int                 // shards of the plan that farm.yaml does not have any more
	drift         []farm.Difference
}

// carrier is a host that carries something.
type carrier struct {
	host      farm.Host
	kind      farm.HostType
	isNew     bool
	instances []carried
	use       farm.Resources // share of the whole capacity, with what is reserved, in the fullest hour
	binding   string         // the resource, or slots, that is nearest its limit
	nearness  float64        // share of that limit
	runway    float64        // days until the disk breaks its headroom; +Inf: never
	disk      diskCourse
}

// carried is one instance on a host.
type carried struct {
	name   farm.InstanceName
	pair   farm.PairName
	side   farm.SideName
	shards []*farm.Shard
	needs  farm.Resources // peaks, at the end of the runway
}

func newCensus(f PlanFacts) *census {
	c := &census{plan: f.Plan, types: map[farm.HostTypeName]farm.HostType{}, pairs: map[farm.PairName]*farm.Pair{}}
	c.restore(f.Now)
	shards := map[farm.ShardName]*farm.Shard{}
	for i := range c.farm.Pairs {
		p := &c.farm.Pairs[i]
		c.pairs[p.Name] = p
		for k := range p.Shards {
			shards[p.Shards[k].Name] = &p.Shards[k]
		}
	}
	c.resources = c.limited()
	c.before, c.after = c.carriersBefore(), c.carriersAfter(shards)
	return c
}

// restore is the farm that the plan was made for: places and names from the
// plan's basis; what is not in it from farm.yaml as it stands.
func (c *census) restore(now *farm.Farm) {
	f := c.plan.Basis.Farm()
	f.Name = c.plan.Farm
	shards := map[farm.ShardName]farm.Shard{}
	if now != nil {
		f.Profiles = now.Profiles
		for i, t := range f.HostTypes {
			if known, ok := now.HostType(t.Name); ok {
				f.HostTypes[i].Watts, f.HostTypes[i].Price = known.Watts, known.Price
			}
		}
		for _, p := range now.Pairs {
			for _, s := range p.Shards {
				shards[s.Name] = s
			}
		}
		c.drift = driftOf(c.plan, now)
	}
	for _, p := range f.Pairs {
		for k, s := range p.Shards {
			if known, ok := shards[s.Name]; ok {
				p.Shards[k] = known
			} else {
				c.unknown++
			}
		}
	}
	c.farm = f
	for _, t := range f.HostTypes {
		c.types[t.Name] = t
	}
}

// driftOf is what changed in farm.yaml other than by this very plan.
func driftOf(p placement.Plan, now *farm.Farm) []farm.Difference {
	at := map[key]farm.HostName{}
	for _, pair := range now.Pairs {
		for name, side := range pair.Sides {
			at[key{pair.Name, name}] = side.Host
		}
	}
	to := map[key]farm.HostName{}
	for _, m := range p.Moves {
		to[key{m.Pair, m.Side}] = m.To.Host
	}
	done := func(pair farm.PairName, side farm.SideName) bool {
		k := key{pair, side}
		return to[k] != "" && at[k] == to[k]
	}
	out := placement.Drift(p, now, done)
	// Ids are given out while the plan is carried out: a count in between is no drift.
	return slices.DeleteFunc(out, func(d farm.Difference) bool { return d.Field == "next_server_id" })
}

// limited are the resources worth a column.
func (c *census) limited() []farm.ResourceName {
	needed, offered := farm.Resources{}, farm.Resources{}
	needed.Add(c.plan.Goals.Overhead)
	for _, p := range c.farm.Pairs {
		for _, s := range p.Shards {
			for n, v := range c.plan.Goals.Needs(s) {
				needed[n] = max(needed[n], v)
			}
		}
	}
	for _, t := range c.farm.HostTypes {
		offered.Add(t.Capacity)
	}
	var out []farm.ResourceName
	for _, n := range offered.Names() {
		if needed[n] > 0 {
			out = append(out, n)
		}
	}
	return out
}

func (c *census) carriersBefore() []carrier {
	on := map[farm.HostName][]carried{}
	for i := range c.farm.Pairs {
		p := &c.farm.Pairs[i]
		for _, side := range p.SideNames() {
			if at, ok := p.Sides[side]; ok {
				on[at.Host] = append(on[at.Host], c.carry(p.Instance(side), p.Name, side, pointers(p.Shards)))
			}
		}
	}
	var out []carrier
	for _, h := range c.farm.Hosts {
		if len(on[h.Name]) > 0 {
			out = append(out, c.carrier(h, false, on[h.Name]))
		}
	}
	return out
}

func (c *census) carriersAfter(shards map[farm.ShardName]*farm.Shard) []carrier {
	type place struct {
		host     farm.HostName
		instance farm.InstanceName
	}
	at := map[place]*carried{}
	on := map[farm.HostName][]*carried{}
	for _, a := range c.plan.Assignments {
		k := place{a.Host, a.Instance}
		if at[k] == nil {
			at[k] = &carried{name: a.Instance, pair: a.Pair, side: a.Side}
			on[a.Host] = append(on[a.Host], at[k])
		}
		if a.Shard != "" {
			if s := shards[a.Shard]; s != nil {
				at[k].shards = append(at[k].shards, s)
			}
		} else if p := c.pairs[a.Pair]; p != nil {
			at[k].shards = pointers(p.Shards)
		}
	}
	hosts := c.everyHost()
	var out []carrier
	for _, h := range c.plan.Hosts {
		var held []carried
		for _, x := range on[h.Name] {
			held = append(held, c.carry(x.name, x.pair, x.side, x.shards))
		}
		host, ok := hosts[h.Name]
		if !ok {
			host = farm.Host{Name: h.Name, Type: h.Type}
		}
		next := c.carrier(host, h.New, held)
		next.use = farm.Resources(h.Use) // what the plan says, not what we would reckon
		next.bind(c)
		if h.Binding != "" {
			next.bindTo(c, h.Binding)
		}
		out = append(out, next)
	}
	return out
}

// everyHost are the farm's hosts and those that may be bought.
func (c *census) everyHost() map[farm.HostName]farm.Host {
	out := map[farm.HostName]farm.Host{}
	for _, h := range c.farm.Hosts {
		out[h.Name] = h
	}
	for _, b := range c.plan.Goals.Buy {
		for _, h := range b.Hosts(c.farm) {
			out[h.Name] = h
		}
	}
	return out
}

func pointers(shards []farm.Shard) []*farm.Shard {
	out := make([]*farm.Shard, len(shards))
	for i := range shards {
		out[i] = &shards[i]
	}
	return out
}

func (c *census) carry(name farm.InstanceName, pair farm.PairName, side farm.SideName, shards []*farm.Shard) carried {
	x := carried{name: name, pair: pair, side: side, shards: shards, needs: farm.Resources{}}
	x.needs.Add(c.plan.Goals.Overhead)
	for _, s := range shards {
		x.needs.Add(c.plan.Goals.Needs(*s))
	}
	return x
}

func (c *census) carrier(h farm.Host, isNew bool, held []carried) carrier {
	out := carrier{host: h, kind: c.types[h.Type], isNew: isNew, instances: held, use: farm.Resources{}}
	for n, most := range out.kind.Capacity {
		if most > 0 {
			out.use[n] = (c.peak(held, n) + h.Reserved[n]) / most
		}
	}
	out.disk = c.course(h, out.kind, held)
	out.runway = out.disk.days(out.disk.limit)
	out.bind(c)
	return out
}

// peak is the most that instances need of a resource in any hour of the day.
func (c *census) peak(held []carried, n farm.ResourceName) float64 {
	if !n.IsRate() || len(c.farm.Profiles) == 0 {
		sum := 0.0
		for _, x := range held {
			sum += x.needs[n]
		}
		return sum
	}
	most := 0.0
	for hour := range 24 {
		sum := 0.0
		for _, x := range held {
			sum += c.plan.Goals.Overhead[n]
			for _, s := range x.shards {
				profile, _ := c.farm.Profile(s.Profile)
				sum += c.plan.Goals.Needs(*s)[n] * profile.Hours[hour]
			}
		}
		most = max(most, sum)
	}
	return most
}

// limit is the share of a resource that the goals let be used.
func (c *census) limit(n farm.ResourceName) float64 { return 1 - c.plan.Goals.Headroom[n] }

// mostOn is how many instances a host of the type may hold; 0: any number.
func (c *census) mostOn(t farm.HostType) int {
	most := t.MaxInstances
	if g := c.plan.Goals.MaxInstances; g > 0 && (most == 0 || g < most) {
		most = g
	}
	return most
}

// bind finds the resource that is nearest its limit.
func (x *carrier) bind(c *census) {
	x.binding, x.nearness = "", 0
	for _, n := range x.use.Names() {
		if share := x.use[n] / c.limit(n); share > x.nearness {
			x.binding, x.nearness = string(n), share
		}
	}
	if most := c.mostOn(x.kind); most > 0 {
		if share := float64(len(x.instances)) / float64(most); share > x.nearness {
			x.binding, x.nearness = slots, share
		}
	}
}

func (x *carrier) bindTo(c *census, binding string) {
	x.binding = binding
	switch most := c.mostOn(x.kind); {
	case binding == slots && most > 0:
		x.nearness = float64(len(x.instances)) / float64(most)
	case binding != slots:
		x.nearness = x.use[farm.ResourceName(binding)] / c.limit(farm.ResourceName(binding))
	}
}

// bindingText is what binds and how far: memory, 93 % of its limit.
func (x carrier) bindingText() string {
	switch x.binding {
	case "":
		return "nothing"
	case slots:
		return "instances"
	}
	return x.binding
}

func shardsOn(x carrier) int {
	n := 0
	for _, i := range x.instances {
		n += len(i.shards)
	}
	return n
}

func instancesOn(x carrier) int { return len(x.instances) }

// spreadOf is what hosts have of something: 22; 10 or 22; 58 to 66.
func spreadOf(hosts []carrier, of func(carrier) int) string {
	var all []int
	for _, h := range hosts {
		all = append(all, of(h))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	switch len(all) {
	case 0:
		return "none"
	case 1:
		return whole(float64(all[0]))
	case 2:
		return whole(float64(all[0])) + " or " + whole(float64(all[1]))
	}
	return whole(float64(all[0])) + " to " + whole(float64(all[len(all)-1]))
}

func (c *census) shards() int {
	n := 0
	for _, p := range c.farm.Pairs {
		n += len(p.Shards)
	}
	return n
}

// total is what hosts have of a resource together.
func (c *census) total(hosts []carrier, n farm.ResourceName) float64 {
	sum := 0.0
	for _, h := range hosts {
		sum += h.kind.Capacity[n]
	}
	return sum
}

// byNearness are the hosts, the one nearest a limit first.
func byNearness(hosts []carrier) []carrier {
	out := slices.Clone(hosts)
	slices.SortStableFunc(out, func(a, b carrier) int { return cmp.Compare(b.nearness, a.nearness) })
	return out
}

// middle is the median; of an even number the mean of the two in the middle.
func middle(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := slices.Clone(v)
	slices.Sort(s)
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
