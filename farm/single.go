package farm

// WithoutSingles is the farm as a plan sees it: single instances stay where
// they are, and what they need is taken off their hosts. (A plan packs pairs;
// a single instance is moved by name.) A farm without any is returned as it
// is. They are not counted towards max_instances.
func (f *Farm) WithoutSingles() *Farm {
	singles := false
	for _, p := range f.Pairs {
		singles = singles || p.Topology == Single
	}
	if !singles {
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
