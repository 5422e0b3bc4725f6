package placement

import (
	"fmt"

	"stowage/farm"
)

// Binding says something of instances and hosts: in Goals.Pins that each of
// these instances is on one of these hosts, in Goals.Forbids that it is on
// none of them.
type Binding struct {
	What  []string        `json:"what"`  // pairs (both sides of them) and instances; see Copies
	Hosts []farm.HostName `json:"hosts"` // hosts of the farm, and those that may be bought
}

// Group is pairs that a rule speaks of together.
type Group struct {
	Name  string          `json:"name"`
	Pairs []farm.PairName `json:"pairs"`
}

// Copy is one side of one pair.
type Copy struct {
	Pair farm.PairName
	Side farm.SideName
}

// Copies says what every name in Binding.What stands for: a pair for all its
// sides, A first, an instance for one. A name that is both is the pair.
func Copies(f *farm.Farm) map[string][]Copy {
	m := make(map[string][]Copy, 3*len(f.Pairs))
	all := func(p farm.Pair) []Copy {
		var out []Copy
		for _, side := range p.SideNames() {
			out = append(out, Copy{p.Name, side})
		}
		return out
	}
	for _, p := range f.Pairs {
		for i, which := range all(p) {
			m[string(p.Instance(which.Side))] = all(p)[i : i+1 : i+1]
		}
	}
	for _, p := range f.Pairs {
		m[string(p.Name)] = all(p)
	}
	return m
}

// names: everything that rules speak of is in the farm.
func (c *goalCheck) names() {
	c.bindingNames("pin", c.goals.Pins)
	c.bindingNames("forbid", c.goals.Forbids)
	c.groupNames("together", c.goals.Together)
	c.groupNames("apart", c.goals.Apart)
	for _, p := range c.goals.Frozen {
		if _, ok := c.pairs[p]; !ok {
			c.say("frozen", "unknown pair %q", p)
		}
	}
}

func (c *goalCheck) bindingNames(key string, bs []Binding) {
	for i, b := range bs {
		at := fmt.Sprintf("%s[%d]", key, i)
		if len(b.What) == 0 {
			c.say(at, "%s number %d names no pair and no instance", key, i+1)
		}
		if len(b.Hosts) == 0 {
			c.say(at, "%s number %d names no host", key, i+1)
		}
		for _, w := range b.What {
			if _, ok := c.copies[w]; !ok {
				c.say(at, "unknown pair or instance %q", w)
			}
		}
		for _, h := range b.Hosts {
			if _, ok := c.hostAt[h]; !ok {
				c.say(at, "unknown host %q", h)
			}
		}
	}
}

func (c *goalCheck) groupNames(key string, gs []Group) {
	for i, g := range gs {
		for _, p := range g.Pairs {
			if _, ok := c.pairs[p]; !ok {
				c.say(fmt.Sprintf("%s[%d]", key, i), "unknown pair %q in group %s", p, g.Name)
			}
		}
	}
}

// boundBy is which bindings speak of one copy, by index.
type boundBy struct{ pins, forbids []int }

// boundCopies are all copies that a binding speaks of, in the order of the
// rules, and which bindings those are.
func (c *goalCheck) boundCopies() ([]Copy, map[Copy]*boundBy) {
	var order []Copy
	by := map[Copy]*boundBy{}
	add := func(bs []Binding, list func(*boundBy) *[]int) {
		for i, b := range bs {
			for _, w := range b.What {
				for _, which := range c.copies[w] {
					if by[which] == nil {
						by[which] = &boundBy{}
						order = append(order, which)
					}
					if l := list(by[which]); len(*l) == 0 || (*l)[len(*l)-1] != i {
						*l = append(*l, i)
					}
				}
			}
		}
	}
	add(c.goals.Pins, func(b *boundBy) *[]int { return &b.pins })
	add(c.goals.Forbids, func(b *boundBy) *[]int { return &b.forbids })
	return order, by
}

func (c *goalCheck) instance(which Copy) farm.InstanceName {
	return c.farm.Pairs[c.pairs[which.Pair]].Instance(which.Side)
}
