package farm

// HasSingles says whether there are single instances.
func (f *Farm) HasSingles() bool {
	for _, p := range f.Pairs {
		if p.Topology == Single {
			return true
		}
	}
	return false
}

// WithoutSingles is the farm as a plan of single shards sees it: single
// instances stay where they are, and what they need is taken off their hosts.
// A farm without any is returned as it is. They are not counted towards
// max_instances.
func (f *Farm) WithoutSingles() *Farm {
	if !f.HasSingles() {
		return f
	}
	c := f.Clone()
	c.Pairs = nil
	for _, p := range f.Pairs {
		if p.Topology != Single {
			c.Pairs = append(c.Pairs, p)
			continue
		}
		for i := range c.Hosts {
			if c.Hosts[i].Name != p.Sides[A].Host {
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
