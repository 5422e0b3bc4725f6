package farm

// HasTwoSides says whether a pair is of two instances: no single instance, and
// no set with further replicas.
func (p Pair) HasTwoSides() bool { return len(p.SideNames()) == 2 }

// HasTwosOnly says whether all pairs are of two instances.
func (f *Farm) HasTwosOnly() bool {
	for i := range f.Pairs {
		if !f.Pairs[i].HasTwoSides() {
			return false
		}
	}
	return true
}

// TwosOnly is the farm as a plan of single shards sees it: single instances,
// and sets with further replicas, stay where they are, and what they need today
// is taken off their hosts. A farm without any is returned as it is. They are
// not counted towards max_instances.
func (f *Farm) TwosOnly() *Farm { return f.TwosOnlyWhen(func(s Shard) Resources { return s.Needs }) }

// TwosOnlyWhen is TwosOnly at another time, when shards need what needs says.
// Nothing is left of a host that they outgrow.
func (f *Farm) TwosOnlyWhen(needs func(Shard) Resources) *Farm {
	if f.HasTwosOnly() {
		return f
	}
	c := f.Clone()
	c.Pairs = nil
	host := make(map[HostName]int, len(c.Hosts))
	for i, h := range c.Hosts {
		host[h.Name] = i
	}
	for _, p := range f.Pairs {
		if p.HasTwoSides() {
			c.Pairs = append(c.Pairs, p)
			continue
		}
		for _, s := range p.Sides {
			i, known := host[s.Host]
			if !known {
				continue
			}
			if c.Hosts[i].Reserved == nil {
				c.Hosts[i].Reserved = Resources{}
			}
			for _, shard := range p.Shards {
				c.Hosts[i].Reserved.Add(needs(shard))
			}
		}
	}
	for _, h := range c.Hosts {
		t, _ := c.HostType(h.Type)
		for n, has := range t.Capacity {
			if h.Reserved[n] > has {
				h.Reserved[n] = has
			}
		}
	}
	return c
}
