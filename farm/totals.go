package farm

import "math"

// totals checks what only shows when all shards are looked at together: sums
// that nothing can count, and host types without any of what is needed.
func (c *checker) totals() {
	sum, first := Resources{}, map[ResourceName]ShardName{}
	growth := 0.0
	for _, p := range c.farm.Pairs {
		for _, s := range p.Shards {
			growth += s.Growth
			for n, v := range s.Needs {
				sum[n] += v
				if _, ok := first[n]; !ok && v > 0 {
					first[n] = s.Name
				}
			}
		}
	}
	for _, n := range sum.Names() {
		c.total("pairs", string(n)+" of all shards", sum[n], n.Kind())
		if shard, needed := first[n]; needed {
			c.offered(n, shard)
		}
	}
	c.total("pairs", "growth of all shards", growth, KindBytesPerDay)
}

// total refuses sums that do not fit into an int64 of base units when both
// sides of every pair are counted. Single amounts that are not numbers have
// been found before.
func (c *checker) total(path, what string, v float64, k Kind) {
	if 2*v >= math.MaxInt64 && !math.IsInf(v, 0) {
		c.say(path, "%s, on two sides, is %s: that is more than can be counted (%s)",
			what, RoundQuantity(2*v, k), RoundQuantity(math.MaxInt64, k))
	}
}

// offered: no machine has no disk, so a zero there is a slip. A farm's own
// resource may well be zero on some types (licences: 0), not on all.
func (c *checker) offered(n ResourceName, shard ShardName) {
	var without []HostType
	for _, t := range c.farm.HostTypes {
		if v, limited := t.Capacity[n]; limited && v == 0 {
			without = append(without, t)
		}
	}
	if n.Kind() == KindOpen && len(without) < len(c.farm.HostTypes) {
		return
	}
	for _, t := range without {
		c.say("host_types."+string(t.Name)+"."+c.key(n), "host type %s has no %s (0), and shards need it (first %s): give what it has, or leave it out if it is not limited",
			t.Name, c.key(n), shard)
	}
}

// key is what a host type calls a resource: its processors are cores.
func (c *checker) key(n ResourceName) string {
	if n == CPU {
		return "cores"
	}
	return string(n)
}
