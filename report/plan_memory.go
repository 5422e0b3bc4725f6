package report

import (
	"cmp"
	"fmt"
	"slices"

	"stowage/farm"
)

// memoryGroup is hosts of one type with as many shards.
type memoryGroup struct {
	kind     farm.HostType
	shards   int
	hosts    int
	asked    []float64 // memory that a shard asks for, without what instances need themselves
	overhead float64   // of the instances of one host, on average
}

func (c *census) memoryGroups(hosts []carrier) []*memoryGroup {
	type like struct {
		kind   farm.HostTypeName
		shards int
	}
	at := map[like]*memoryGroup{}
	var out []*memoryGroup
	for _, h := range hosts {
		n := shardsOn(h)
		k := like{h.host.Type, n}
		if at[k] == nil {
			at[k] = &memoryGroup{kind: h.kind, shards: n}
			out = append(out, at[k])
		}
		g := at[k]
		g.hosts++
		g.overhead += float64(len(h.instances)) * c.plan.Goals.Overhead[farm.Memory]
		for _, x := range h.instances {
			for _, s := range x.shards {
				g.asked = append(g.asked, c.plan.Goals.Needs(*s)[farm.Memory])
			}
		}
	}
	for _, g := range out {
		g.overhead /= float64(g.hosts)
	}
	slices.SortStableFunc(out, func(a, b *memoryGroup) int {
		return cmp.Or(cmp.Compare(a.kind.Name, b.kind.Name), cmp.Compare(b.shards, a.shards))
	})
	return out
}

// mostGroups is how many lines the table of memory has; the rest is left out.
const mostGroups = 40

func (c *census) memorySection() planSection {
	s := planSection{ID: "memory", Name: "Memory per shard"}
	t := planTable{Head: columns("", "host type", "#shards on a host", "#hosts", "#memory of the host", "#a shard, of all of it", "#a shard, of what may be used", "#a shard asks for", "enough")}
	var lines []string
	for _, when := range []struct {
		name  string
		hosts []carrier
	}{{"before", c.before}, {"after", c.after}} {
		groups := c.memoryGroups(when.hosts)
		for i, g := range groups {
			if i == mostGroups {
				s.Notes = append(s.Notes, fmt.Sprintf("%s more %s: other numbers of shards on a host.", whole(float64(len(groups)-i)), when.name))
				break
			}
			t.Rows = append(t.Rows, c.memoryRow(when.name, g))
		}
		lines = append(lines, c.memoryText(groups))
	}
	s.Tables = append(s.Tables, t)
	s.Text = []string{fmt.Sprintf("Memory of the host for each shard: %s before, %s after.", lines[0], lines[1])}
	s.Notes = append([]string{"What a shard asks for is its buffer pool, as farm.yaml has it. What may be used is the host\u2019s memory less headroom and less what each instance needs besides its shards."}, s.Notes...)
	return s
}

func (c *census) memoryRow(when string, g *memoryGroup) []planCell {
	row := cells(when, string(g.kind.Name), whole(float64(g.shards)), whole(float64(g.hosts)))
	all := g.kind.Capacity[farm.Memory]
	if all <= 0 || g.shards == 0 {
		return append(row, cells("not given", "\u2013", "\u2013", askedText(g.asked), "not known")...)
	}
	usable := (all*c.limit(farm.Memory) - g.overhead) / float64(g.shards)
	enough := "yes"
	mean := 0.0
	for _, v := range g.asked {
		mean += v / float64(len(g.asked))
	}
	switch {
	case mean == 0:
		enough = "not known"
	case usable < mean*(1-1e-9):
		enough = "no"
	}
	return append(row, cells(amount(all, farm.KindBytes), amount(all/float64(g.shards), farm.KindBytes), amount(usable, farm.KindBytes), askedText(g.asked), enough)...)
}

// askedText is one amount, or the range of several.
func askedText(asked []float64) string {
	if len(asked) == 0 {
		return "\u2013"
	}
	least, most := slices.Min(asked), slices.Max(asked)
	if least == most {
		return amount(least, farm.KindBytes)
	}
	return amount(least, farm.KindBytes) + " to " + amount(most, farm.KindBytes)
}

// memoryText is the range of memory per shard of all hosts.
func (c *census) memoryText(groups []*memoryGroup) string {
	var all []float64
	for _, g := range groups {
		if m := g.kind.Capacity[farm.Memory]; m > 0 && g.shards > 0 {
			all = append(all, m/float64(g.shards))
		}
	}
	if len(all) == 0 {
		return "not known"
	}
	return askedText(all)
}
