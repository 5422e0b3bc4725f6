package report

import (
	"fmt"

	"stowage/farm"
)

// tiles are the strip under the title.
func (c *census) tiles(risks []farm.Finding) []tile {
	p := c.plan
	was, is := c.disk(c.before), c.disk(c.after)
	out := []tile{
		{Name: "hosts", Link: "#packing", Before: whole(float64(p.HostsBefore)), After: whole(float64(p.HostsUsed)), Note: fewer(float64(p.HostsBefore), float64(p.HostsUsed), "fewer", "more")},
		{Name: "no plan needs fewer than", Link: "#proof", After: whole(float64(p.LowerBound)), Note: boundNote(p)},
		{Name: "shards on a host", Link: "#packing", Before: spreadOf(c.before, shardsOn), After: spreadOf(c.after, shardsOn), Note: "of " + whole(float64(c.shards()))},
	}
	if was > 0 && is > 0 {
		out = append(out, tile{Name: "disk in all hosts", Link: "#hardware", Before: amount(was, farm.KindBytes), After: amount(is, farm.KindBytes), Note: fewer(was, is, "less", "more")})
	}
	if p.WattsBefore > 0 && p.Watts > 0 {
		out = append(out, tile{Name: "power", Link: "#power", Before: whole(p.WattsBefore), After: whole(p.Watts) + " W", Note: fewer(p.WattsBefore, p.Watts, "less", "more")})
	}
	if n := c.bought(); n > 0 {
		out = append(out, tile{Name: "to be bought", Link: "#hardware", After: count(n, "host"), Note: c.boughtNote()})
	}
	if first, ok := soonest(c.after); ok {
		out = append(out, tile{Name: "disks hold for", Link: "#runway", After: dayText(first.runway), Note: "then " + string(first.host.Name) + " breaks its headroom"})
	}
	if len(p.Moves) > 0 {
		out = append(out, tile{Name: "moving takes about", Link: "#moves", After: longSpan(p.MoveSeconds), Note: count(len(p.Moves), "move") + ", " + size(p.Bytes())})
	}
	grave := 0
	for _, r := range risks {
		if r.Severity != farm.Note {
			grave++
		}
	}
	return append(out, tile{Name: "risks", Link: "#risks", After: whole(float64(len(risks))), Note: fmt.Sprintf("%d of them above a note", grave), IsBad: farm.Blocks(risks)})
}

// summarySection is the farm before and after in a dozen figures.
func (c *census) summarySection() planSection {
	p := c.plan
	s := planSection{ID: "summary", Name: "Summary"}
	t := planTable{Head: columns("what", "#before", "#after", "change")}
	add := func(name, before, after, change string) {
		t.Rows = append(t.Rows, cells(name, before, after, change))
	}
	add("hosts in use", whole(float64(p.HostsBefore)), whole(float64(p.HostsUsed)), fewer(float64(p.HostsBefore), float64(p.HostsUsed), "fewer", "more"))
	add("instances", whole(float64(held(c.before))), whole(float64(held(c.after))), c.unitWords())
	add("instances on a host", spreadOf(c.before, instancesOn), spreadOf(c.after, instancesOn), "")
	add("shards on a host", spreadOf(c.before, shardsOn), spreadOf(c.after, shardsOn), "of "+whole(float64(c.shards())))
	for _, r := range c.resources {
		was, is := c.total(c.before, r), c.total(c.after, r)
		if was > 0 && is > 0 {
			add(resourceHead(r)+" in all hosts", quantity(was, r), quantity(is, r), changed(was, is))
		}
	}
	if p.WattsBefore > 0 {
		add("watts", whole(p.WattsBefore), whole(p.Watts), fewer(p.WattsBefore, p.Watts, "less", "more"))
	}
	if p.CostBefore > 0 {
		add("price of the hosts", whole(p.CostBefore), whole(p.Cost), fewer(p.CostBefore, p.Cost, "less", "more"))
	}
	if len(p.Moves) > 0 {
		add("to copy", "", size(p.Bytes()), count(len(p.Moves), "move")+", about "+longSpan(p.MoveSeconds))
	}
	s.Tables = append(s.Tables, t)
	return s
}

func (c *census) unitWords() string {
	if c.isByShard() {
		return "shards regrouped into new instances"
	}
	return "moved as they are"
}

// held is how many instances hosts carry.
func held(hosts []carrier) int {
	n := 0
	for _, h := range hosts {
		n += len(h.instances)
	}
	return n
}
