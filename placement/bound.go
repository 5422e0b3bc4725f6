package placement

import (
	"fmt"
	"slices"
)

// bound is a number of hosts that no plan can do with less, and what says so.
type bound struct {
	hosts  int
	method string
}

// lowerBound is the strongest of: two hosts, because the sides of a pair must
// be apart; and, for each resource and for max_instances, the fewest hosts
// whose limits, largest first, add up to what all instances need together.
//
// hosts is len(rooms)+1 when even all of them together are too small.
func (p *problem) lowerBound() bound {
	if len(p.items) == 0 {
		return bound{0, "nothing to place"}
	}
	best := bound{2, "the two sides of a pair must be on different hosts"}
	for d, name := range p.dims {
		n := p.volumeBound(d)
		if n <= best.hosts {
			continue
		}
		best = bound{n, fmt.Sprintf("volume of %s", name)}
		if name == slots {
			best.method = "max_instances of the hosts"
		}
	}
	return best
}

func (p *problem) volumeBound(d int) int {
	limits := make([]float64, 0, len(p.rooms))
	for i := range p.rooms {
		limits = append(limits, p.rooms[i].limits[d])
	}
	slices.Sort(limits)
	slices.Reverse(limits)
	room, n := 0.0, 0
	for n < len(limits) && p.demand[d] > room*(1+tolerance) {
		room += limits[n]
		n++
	}
	if p.demand[d] > room*(1+tolerance) {
		return len(limits) + 1
	}
	return n
}
