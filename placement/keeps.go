package placement

import (
	"fmt"

	"stowage/farm"
)

// broken is the first rule that a layout breaks, or "". What is frozen may
// break any.
func (l *layout) broken() string {
	for i, r := range l.where {
		switch {
		case r < 0:
			return "there is no place for " + l.name(i)
		case l.isFrozen(i):
		case l.hosts[r].shut != "" && l.items[i].from != r, l.hosts[r].outside, l.emptied[r]:
			return fmt.Sprintf("%s is on a host that takes nothing", l.name(i))
		case l.isBarred(i, r):
			return fmt.Sprintf("%s is pinned or forbidden", l.name(i))
		case l.clashes(i):
			return fmt.Sprintf("%s and its twin are not apart", l.name(i))
		}
	}
	for r, on := range l.loads() {
		if text := l.overfull(r, on); text != "" {
			return text
		}
	}
	if text := l.customersHeld(); text != "" {
		return text
	}
	return l.groupsKept()
}

// clashes says whether item i is not apart from a side of its thing that comes
// after it.
func (l *layout) clashes(i int) bool {
	_, end := l.sides(l.items[i].thing)
	for twin := i + 1; twin < end; twin++ {
		if l.where[twin] >= 0 && l.clash(l.where[i], l.where[twin]) != "" {
			return true
		}
	}
	return false
}

// overfull says what a host holds too much of.
func (l *layout) overfull(r int, on load) string {
	host := l.hosts[r]
	if on.items == host.frozen.instances {
		return "" // nothing is on it, or only what is frozen
	}
	name := string(host.spec.Name)
	for d, v := range on.needs {
		if v > host.limit[d] {
			return fmt.Sprintf("%s has too little %s", name, l.dims[d].resource)
		}
	}
	if host.most > 0 && on.instances > host.most {
		return name + " holds too many instances"
	}
	if l.goals.Surface.Shards > 0 && on.shards > l.goals.Surface.MostShards(l.all) {
		return name + " holds too many shards"
	}
	return ""
}

func (l *layout) customersHeld() string {
	if l.goals.Surface.Customer <= 0 {
		return ""
	}
	all := l.customerShards()
	type held struct {
		host     int
		customer farm.CustomerName
	}
	on, moving := map[held]int{}, map[int]bool{}
	for i, r := range l.where {
		moving[r] = moving[r] || !l.isFrozen(i)
		for c, n := range l.customersOf(i) {
			on[held{r, c}] += n
		}
	}
	for at, n := range on {
		if moving[at.host] && n > l.goals.Surface.MostOfCustomer(all[at.customer]) {
			return string(l.hosts[at.host].spec.Name) + " holds too many shards of one customer"
		}
	}
	return ""
}

// groupsKept looks at what belongs together and what is to be apart.
func (l *layout) groupsKept() string {
	if len(l.goals.Together)+len(l.goals.Apart) == 0 {
		return ""
	}
	on := map[Copy]map[int]bool{}
	for i, it := range l.items {
		which := Copy{l.pair(i).Name, it.side}
		if on[which] == nil {
			on[which] = map[int]bool{}
		}
		on[which][l.where[i]] = true
	}
	for _, union := range l.unions() {
		for _, side := range l.sideNames() {
			hosts, moving := map[int]bool{}, false
			for _, name := range union {
				for r := range on[Copy{name, side}] {
					hosts[r] = true
					moving = moving || !l.frozen[name]
				}
			}
			if moving && len(hosts) > 1 {
				return fmt.Sprintf("%s and others do not share a host", union[0])
			}
		}
	}
	for _, g := range l.goals.Apart {
		owner := map[int]farm.PairName{}
		for _, name := range g.Pairs {
			for _, side := range l.sideNames() {
				for r := range on[Copy{name, side}] {
					if other, taken := owner[r]; taken && other != name && !(l.frozen[name] && l.frozen[other]) {
						return fmt.Sprintf("%s and %s share a host", other, name)
					}
					if _, taken := owner[r]; !taken || l.frozen[owner[r]] {
						owner[r] = name
					}
				}
			}
		}
	}
	return ""
}
