package placement

import (
	"fmt"
	"math"

	"stowage/farm"
)

// Surface is the surface of one failure: the largest share of shards that may
// stand behind one host. Shards count once on a host, on whichever side.
type Surface struct {
	// Customer is the share of any one customer's shards; 0: no limit. One
	// shard is always allowed: a customer with a single one has all of it
	// behind a host wherever it is.
	Customer float64 `json:"customer,omitempty"`
	// Shards is the share of all shards of the farm; 0: no limit.
	Shards float64 `json:"shards,omitempty"`
}

// MostShards is how many of all shards may be behind one host.
func (s Surface) MostShards(all int) int { return most(s.Shards, all) }

// MostOfCustomer is how many of a customer's shards may be behind one host.
func (s Surface) MostOfCustomer(all int) int { return max(min(all, 1), most(s.Customer, all)) }

// most is a share of a whole, rounded down. 29% of 100 is 29, although 0.29
// times 100 is a little less in floating point.
func most(share float64, all int) int {
	if share <= 0 || share >= 1 {
		return all
	}
	return int(math.Floor(share*float64(all) + 1e-9))
}

// surface: the shares are at least what stands together anyway. A pair's
// shards do with UnitInstance; with UnitShard it is a single one.
func (c *goalCheck) surface() {
	s := c.goals.Surface
	c.share("surface.customer", s.Customer)
	c.share("surface.shards", s.Shards)
	all, largest := 0, 0
	var where farm.PairName
	for _, p := range c.farm.Pairs {
		all += len(p.Shards)
		if len(p.Shards) > largest && !c.frozen[p.Name] {
			largest, where = len(p.Shards), p.Name
		}
	}
	text := farm.Counted(largest, "shard") + " of pair " + string(where)
	if c.goals.Unit == UnitShard {
		largest, text = min(largest, 1), "1 shard"
	}
	if largest > s.MostShards(all) {
		c.say("surface.shards", "surface of %s is too small: %s out of %d is %s, and cannot be split",
			percent(s.Shards), text, all, percentUp(largest, all))
	}
	c.customers()
}

func (c *goalCheck) share(path string, v float64) {
	if !(v >= 0 && v <= 1) {
		c.say(path, "%s is %v: it must be above 0%% and up to 100%%", path, v*100)
	}
}

// customerShards is how many shards a customer has, and how many of them the
// unit of the plan keeps together.
type customerShards struct {
	name          farm.CustomerName
	all, together int
}

// customers are judged together: one line for all whose limit is too small.
func (c *goalCheck) customers() {
	share := c.goals.Surface.Customer
	if !(share > 0) {
		return
	}
	var worst, largest customerShards
	n := 0
	for _, x := range c.shardsByCustomer() {
		if x.all > largest.all {
			largest = x
		}
		if x.together <= c.goals.Surface.MostOfCustomer(x.all) {
			continue
		}
		if n++; x.together*worst.all >= worst.together*x.all {
			worst = x
		}
	}
	switch {
	case largest.all == 0:
		c.say("surface.customer", "surface of a customer is limited, and no shard in farm.yaml has a customer")
	case most(share, largest.all) == 0:
		c.say("surface.customer", "surface of %s is less than one shard of any customer: the largest, %s, has %d, so that one is %s",
			percent(share), largest.name, largest.all, percentUp(1, largest.all))
	case n > 0:
		c.say("surface.customer", "surface of %s is too small for %s: one pair holds more: %s of %s, of %d in all, are %s",
			percent(share), farm.Counted(n, "customer"), farm.Counted(worst.together, "shard"), worst.name, worst.all, percentUp(worst.together, worst.all))
	}
}

// shardsByCustomer is in the order of the farm.
func (c *goalCheck) shardsByCustomer() []customerShards {
	var list []customerShards
	index := map[farm.CustomerName]int{}
	for _, p := range c.farm.Pairs {
		here := map[farm.CustomerName]int{}
		for _, s := range p.Shards {
			if s.Customer == "" {
				continue
			}
			i, ok := index[s.Customer]
			if !ok {
				i = len(list)
				index[s.Customer] = i
				list = append(list, customerShards{name: s.Customer})
			}
			list[i].all++
			here[s.Customer]++
			switch {
			case c.frozen[p.Name]:
			case c.goals.Unit == UnitShard:
				list[i].together = 1
			default:
				list[i].together = max(list[i].together, here[s.Customer])
			}
		}
	}
	return list
}

func percent(share float64) string { return fmt.Sprintf("%.4g%%", share*100) }

// percentUp is rounded up, so that writing it into goals.yaml is enough.
func percentUp(part, all int) string {
	return fmt.Sprintf("%.4g%%", math.Ceil(1000*float64(part)/float64(all))/10)
}
