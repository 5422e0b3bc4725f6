package report

import (
	"fmt"
	"math"

	"stowage/farm"
)

// mostScaled is up to how many instances a host the table goes.
const mostScaled = 24

// scale is what a number of instances needs of a host type.
type scale struct {
	kind      farm.HostType
	mean      carried // one instance as they are on average on hosts of this type
	smallest  carried
	largest   carried
	instances int // on hosts of this type
	shards    float64
	upTo      int
}

// scales are the host types in use after the plan, in the order of the farm.
func (c *census) scales() []scale {
	var out []scale
	for _, kind := range c.farm.HostTypes {
		s := scale{kind: kind, mean: carried{needs: farm.Resources{}}}
		for _, h := range c.after {
			if h.host.Type != kind.Name {
				continue
			}
			for _, x := range h.instances {
				s.add(c, x)
			}
			s.upTo = max(s.upTo, len(h.instances))
		}
		if s.instances == 0 {
			continue
		}
		for n := range s.mean.needs {
			s.mean.needs[n] /= float64(s.instances)
		}
		s.shards /= float64(s.instances)
		fits, _ := c.fit(kind, s.mean)
		upTo := min(2*min(fits, mostScaled)+1, mostScaled) // far enough to see what stops it
		if most := c.mostOn(kind); most > 0 {
			upTo = min(upTo, most)
		}
		s.upTo = min(max(s.upTo, upTo, 2), mostScaled)
		out = append(out, s)
	}
	return out
}

func (s *scale) add(c *census, x carried) {
	if s.instances == 0 || c.weight(s.kind, x) < c.weight(s.kind, s.smallest) {
		s.smallest = x
	}
	if s.instances == 0 || c.weight(s.kind, x) > c.weight(s.kind, s.largest) {
		s.largest = x
	}
	s.mean.needs.Add(x.needs)
	s.instances++
	s.shards += float64(len(x.shards))
}

// weight is the largest share of a host's limits that one instance takes.
func (c *census) weight(kind farm.HostType, x carried) float64 {
	most := 0.0
	for n, cap := range kind.Capacity {
		if cap > 0 {
			most = max(most, x.needs[n]/(cap*c.limit(n)))
		}
	}
	return most
}

// fit is how many instances like x a host holds, and what binds then.
func (c *census) fit(kind farm.HostType, x carried) (n int, binds string) {
	room := math.Inf(1)
	binds = "nothing"
	if most := c.mostOn(kind); most > 0 {
		room, binds = float64(most), "instances at most"
	}
	for _, r := range c.resources {
		cap := kind.Capacity[r] * c.limit(r)
		if x.needs[r] > 0 && cap > 0 && cap/x.needs[r] < room {
			room, binds = cap/x.needs[r], string(r)
		}
	}
	if room >= math.MaxInt32 {
		return math.MaxInt32, binds
	}
	return int(room + 1e-9), binds
}

func (c *census) scalingSection() planSection {
	s := planSection{ID: "scaling", Name: "Scaling by instances on a host"}
	s.Text = append(s.Text, "Not measured: linear. So many instances are taken to need so many times what one needs, and to bring so many times its throughput. That is the best case: where instances wait for each other (locks of the kernel, caches, memory bandwidth) the real curve bends below it.")
	all := c.scales()
	for _, x := range all {
		s.Text = append(s.Text, c.fitText(x))
		s.Tables = append(s.Tables, c.scaleTable(x))
	}
	if len(all) > 0 {
		s.Chart = c.scaleChart(all[0])
	}
	return s
}

// fitText says how many of the largest and of the smallest fit.
func (c *census) fitText(s scale) string {
	say := func(x carried) string {
		n, binds := c.fit(s.kind, x)
		if n == math.MaxInt32 {
			return "any number"
		}
		return fmt.Sprintf("%d (%s)", n, binds)
	}
	if len(s.largest.shards) == len(s.smallest.shards) && c.weight(s.kind, s.largest) == c.weight(s.kind, s.smallest) {
		return fmt.Sprintf("On a %s: of instances like %s (%s) fit %s.", s.kind.Name, s.largest.name, count(len(s.largest.shards), "shard"), say(s.largest))
	}
	return fmt.Sprintf("On a %s: of the largest (%s, %s) fit %s, of the smallest (%s, %s) %s.", s.kind.Name,
		s.largest.name, count(len(s.largest.shards), "shard"), say(s.largest), s.smallest.name, count(len(s.smallest.shards), "shard"), say(s.smallest))
}

func (c *census) scaleTable(s scale) planTable {
	on := map[int]int{}
	for _, h := range c.after {
		if h.host.Type == s.kind.Name {
			on[len(h.instances)]++
		}
	}
	head := []string{"#instances on a " + string(s.kind.Name), "#shards", "#throughput"}
	for _, r := range c.resources {
		head = append(head, "#"+string(r))
	}
	t := planTable{
		Caption: fmt.Sprintf("Mean instance on a %s: %s; shares of what the goals let be used", s.kind.Name, digitsOrWhole(round1(s.shards))+" shards"),
		Head:    columns(append(head, "fits", "#hosts so in this plan", "#hosts if all were so")...),
	}
	fits, binds := c.fit(s.kind, s.mean)
	for n := 1; n <= s.upTo; n++ {
		row := cells(whole(float64(n)), digitsOrWhole(round1(s.shards*float64(n))), times+"\u2009"+whole(float64(n)))
		for _, r := range c.resources {
			row = append(row, cells(c.scaleShare(s, r, n))...)
		}
		verdict := "yes"
		if n > fits {
			verdict = "no: " + binds
		}
		t.Rows = append(t.Rows, append(row, cells(verdict, whole(float64(on[n])), whole(math.Ceil(float64(s.instances)/float64(n))))...))
	}
	return t
}

func (c *census) scaleShare(s scale, r farm.ResourceName, n int) string {
	if cap := s.kind.Capacity[r]; cap > 0 {
		return percent(float64(n) * s.mean.needs[r] / (cap * c.limit(r)))
	}
	return "\u2013"
}
