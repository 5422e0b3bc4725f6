package placement

import (
	"math"

	"stowage/farm"
)

// Needs is what a shard asks for at the end of the runway: its disk grown by
// so many days, and then everything times Growth. Rates are those of the peak;
// the shard's profile says when that is.
func (g Goals) Needs(s farm.Shard) farm.Resources {
	needs := s.After(g.RunwayDays)
	if g.Growth > 0 && g.Growth != 1 {
		for n := range needs {
			needs[n] *= g.Growth
		}
	}
	return needs
}

// numbers: every amount is a number that makes sense.
func (c *goalCheck) numbers() {
	g := c.goals
	c.amount("runway", "runway", g.RunwayDays)
	c.amount("growth", "growth", g.Growth)
	c.amount("moved_most", "moved_most", g.MovedMost)
	for _, n := range g.Overhead.Names() {
		c.amount("overhead."+string(n), "overhead of "+string(n), g.Overhead[n])
		if !knownResource(c.farm, n) {
			c.say("overhead."+string(n), "unknown resource %q: no host type has it", n)
		}
	}
	if g.MaxInstances < 0 {
		c.say("max_instances", "max_instances is %d: it must be 1 or more, or left out", g.MaxInstances)
	}
	if g.ShardsPerInstance < 0 { // with unit instance it waits for --unit shard
		c.say("shards_per_instance", "shards_per_instance is %d: it must be 1 or more, or left out", g.ShardsPerInstance)
	}
	if g.Parallel < 1 {
		c.say("parallel", "parallel is %d: at least 1 side must be allowed to swing", g.Parallel)
	}
	if g.Soak < 0 {
		c.say("soak", "soak is %s: it must not be negative", g.Soak)
	}
}

func (c *goalCheck) amount(path, what string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		c.say(path, "%s is %v: it must be a number from 0", what, v)
	}
}

// capacity: some host type to pack onto has what shards need. A farm's own
// resource may be zero on others.
func (c *goalCheck) capacity() {
	if len(c.goals.Onto) == 0 {
		return // farm.Check has looked at all of them
	}
	offered, packed := farm.Resources{}, 0
	for _, t := range c.farm.HostTypes {
		if !c.goals.packsOnto(t.Name) {
			continue
		}
		packed++
		for n := range c.kinds() {
			if v, limited := t.Capacity[n]; !limited || v > 0 {
				offered[n]++
			}
		}
	}
	for _, n := range c.kinds().Names() {
		if packed == 0 || offered[n] > 0 {
			continue
		}
		if s, needed := c.firstThatNeeds(n); needed {
			c.say("onto", "no host type to pack onto has any %s, and shards need it (first %s)", n, s)
		}
	}
}

// kinds are all resources that a host type limits.
func (c *goalCheck) kinds() farm.Resources {
	all := farm.Resources{}
	for _, t := range c.farm.HostTypes {
		all.Add(t.Capacity)
	}
	return all
}

// firstThatNeeds is the first shard that is to be placed and needs any.
func (c *goalCheck) firstThatNeeds(n farm.ResourceName) (farm.ShardName, bool) {
	for _, p := range c.farm.Pairs {
		for _, s := range p.Shards {
			if s.Needs[n] > 0 && !c.frozen[p.Name] {
				return s.Name, true
			}
		}
	}
	return "", false
}

// totals: at the end of the runway, all instances together still fit into an
// int64 of base units. What the farm needs today has been checked with it.
func (c *goalCheck) totals() {
	if c.goals.RunwayDays == 0 && c.goals.Growth == 0 && len(c.goals.Overhead) == 0 {
		return
	}
	sum := farm.Resources{}
	for _, p := range c.farm.Pairs {
		for _, s := range p.Shards {
			sum.Add(c.goals.Needs(s))
		}
		sum.Add(c.goals.Overhead)
	}
	path := "overhead"
	switch {
	case c.goals.RunwayDays > 0:
		path = "runway"
	case c.goals.Growth > 0:
		path = "growth"
	}
	for _, n := range sum.Names() {
		if v := 2 * sum[n]; v >= math.MaxInt64 && !math.IsInf(v, 0) {
			c.say(path, "with runway, growth and overhead the farm needs %s of %s: that is more than can be counted (%s)",
				farm.RoundQuantity(v, n.Kind()), n, farm.RoundQuantity(math.MaxInt64, n.Kind()))
		}
	}
}
