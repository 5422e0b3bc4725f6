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
// and sets with further replicas, stay where they are, and what they need is
// taken off their hosts. A farm without any is returned as it is. They are not
// counted towards max_instances.
func (f *Farm) TwosOnly() *Farm {
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
			c.Hosts[i].Reserved.Add(p.Needs())
		}
	}
	return c
}
