package placement

import (
	"fmt"
	"math/bits"
	"slices"

	"stowage/farm"
)

// hostSet is a set of indexes into goalCheck.hosts.
type hostSet []uint64

func (c *goalCheck) noHosts() hostSet { return make(hostSet, (len(c.hosts)+63)/64) }

// setOf are the hosts of these names that the goals know.
func (c *goalCheck) setOf(names []farm.HostName) hostSet {
	s := c.noHosts()
	for _, n := range names {
		if i, ok := c.hostAt[n]; ok {
			s.add(i)
		}
	}
	return s
}

func (s hostSet) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s hostSet) has(i int) bool { return s[i/64]>>(i%64)&1 == 1 }

func (s hostSet) and(o hostSet) {
	for i := range s {
		s[i] &= o[i]
	}
}

func (s hostSet) without(o hostSet) {
	for i := range s {
		s[i] &^= o[i]
	}
}

func (s hostSet) size() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// first is the lowest index in the set, or -1.
func (s hostSet) first() int {
	for i, w := range s {
		if w != 0 {
			return i*64 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

// shown are the names of a set for a message: the first few.
func (c *goalCheck) shown(s hostSet) string {
	text, n := "", 0
	for i := range c.hosts {
		if !s.has(i) {
			continue
		}
		if n++; n > 3 {
			return fmt.Sprintf("%s and %d more", text, s.size()-3)
		}
		if n > 1 {
			text += ", "
		}
		text += string(c.hosts[i].Name)
	}
	return text
}

// bindings finds pins and forbids that leave an instance nowhere to be. Only
// what is bound is looked at: whether all the rest finds room is for Solve.
type bindings struct {
	*goalCheck
	pins, forbids []hostSet
	packed        hostSet // hosts to pack onto
	said          map[string]bool
	allowed       map[Copy]hostSet // of the copies that are bound and not frozen
}

func (c *goalCheck) bindings() {
	b := c.newBindings()
	order, by := c.boundCopies()
	for _, which := range order {
		if c.frozen[which.Pair] {
			b.frozenBound(which, by[which])
		} else {
			b.free(which, by[which])
		}
	}
	for _, which := range order {
		if which.Side == farm.A {
			b.twins(which, by[which])
		}
	}
	b.togetherBound()
}

func (c *goalCheck) newBindings() *bindings {
	b := &bindings{goalCheck: c, packed: c.noHosts(), said: map[string]bool{}, allowed: map[Copy]hostSet{}}
	for i, h := range c.hosts {
		if c.goals.packsOnto(h.Type) {
			b.packed.add(i)
		}
	}
	for _, p := range c.goals.Pins {
		b.pins = append(b.pins, c.setOf(p.Hosts))
	}
	for _, p := range c.goals.Forbids {
		b.forbids = append(b.forbids, c.setOf(p.Hosts))
	}
	return b
}

// once says one thing of one rule once: a group has many instances.
func (b *bindings) once(rule, path, format string, args ...any) {
	if !b.said[rule+path] {
		b.said[rule+path] = true
		b.say(path, format, args...)
	}
}

// frozenBound: a frozen pair is already where it is bound to be.
func (b *bindings) frozenBound(which Copy, by *boundBy) {
	at := b.farm.Pairs[b.pairs[which.Pair]].Sides[which.Side].Host
	host, ok := b.hostAt[at]
	if !ok {
		return
	}
	for _, i := range by.pins {
		if b.pins[i].size() > 0 && !b.pins[i].has(host) {
			b.once("frozen", fmt.Sprintf("pin[%d]", i), "%s is frozen on %s and pinned to %s", b.instance(which), at, b.shown(b.pins[i]))
		}
	}
	for _, i := range by.forbids {
		if b.forbids[i].has(host) {
			b.once("frozen", fmt.Sprintf("forbid[%d]", i), "%s is frozen on %s and forbidden there", b.instance(which), at)
		}
	}
}

// free narrows down where a copy may be, rule by rule, and blames the one that
// leaves nothing.
func (b *bindings) free(which Copy, by *boundBy) {
	left := slices.Clone(b.packed)
	if left.size() == 0 {
		return // the farm has no such hosts: said elsewhere
	}
	for n, i := range by.pins {
		at := fmt.Sprintf("pin[%d]", i)
		before := slices.Clone(left)
		left.and(b.pins[i])
		switch {
		case left.size() > 0 || b.pins[i].size() == 0:
		case n == 0:
			host := b.hosts[b.pins[i].first()]
			b.once("packed", at, "%s is pinned to %s, and hosts of type %s are not packed onto: freeze what must stay there", b.instance(which), host.Name, host.Type)
		default:
			b.once("pins", at, "%s is pinned to %s here, and to %s in pin number %d", b.instance(which), b.shown(b.pins[i]), b.shown(before), by.pins[n-1]+1)
		}
		if left.size() == 0 {
			return
		}
	}
	pinned := slices.Clone(left)
	for _, i := range by.forbids {
		left.without(b.forbids[i])
		if left.size() > 0 {
			continue
		}
		at := fmt.Sprintf("forbid[%d]", i)
		if len(by.pins) > 0 {
			b.once("forbidden", at, "%s is forbidden on every host it is pinned to (%s)", b.instance(which), b.shown(pinned))
		} else {
			b.once("forbidden", at, "%s is forbidden on every host to pack onto", b.instance(which))
		}
		return
	}
	b.allowed[which] = left
}

// twins: the two sides of a pair find two hosts that differ in every spread
// label. By the marriage theorem two sides do when both have a place and there
// are two places in all; labels are looked at one by one.
func (b *bindings) twins(a Copy, by *boundBy) {
	mine, twin := b.allowed[a], b.allowed[Copy{a.Pair, farm.B}]
	if mine == nil || twin == nil {
		return
	}
	at := ""
	switch {
	case len(by.pins) > 0:
		at = fmt.Sprintf("pin[%d]", by.pins[len(by.pins)-1])
	default:
		at = fmt.Sprintf("forbid[%d]", by.forbids[len(by.forbids)-1])
	}
	both := slices.Clone(mine)
	for i := range both {
		both[i] |= twin[i]
	}
	if both.size() == 1 {
		b.once("twins", at, "both sides of %s are bound to one host (%s) and need two", a.Pair, b.shown(both))
		return
	}
	for _, label := range b.goals.SpreadLabels {
		if v, one := b.oneValue(both, label); one {
			b.once("spread", at, "both sides of %s are bound to hosts with %s %s, and spread_labels has %s", a.Pair, label, v, label)
		}
	}
}

// oneValue reports whether all hosts of a set have the same value of a label.
func (b *bindings) oneValue(s hostSet, label string) (string, bool) {
	first := s.first()
	v := b.hosts[first].Labels[label]
	for i := first; i < len(b.hosts); i++ {
		if s.has(i) && b.hosts[i].Labels[label] != v {
			return "", false
		}
	}
	return v, v != ""
}
