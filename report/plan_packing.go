package report

import (
	"fmt"
	"sort"
	"strings"

	"stowage/farm"
	"stowage/placement"
)

// mostDrawn is how many hosts are drawn one by one; of more, a sample is.
const (
	mostDrawn = 150
	sample    = 120
)

// planPacking is the picture of both packings, beside their tables.
type planPacking struct {
	Before, After panel
	IsLifted      bool
	Sides         []sideKey
	Numbers       int // of pairs that the style names
}

func (c *census) isByShard() bool { return c.plan.Goals.Unit == placement.UnitShard }

func (c *census) packingSection() planSection {
	s := planSection{ID: "packing", Name: "Packing before and after"}
	days := c.plan.Goals.RunwayDays
	when := "today"
	if days > 0 {
		when = fmt.Sprintf("at the end of the runway, %s from now", count(int(days), "day"))
	}
	s.Text = append(s.Text, fmt.Sprintf("Both sides of the comparison show what is needed %s, and every side with all of its pair\u2019s load. Before: what would become of the hosts if nothing were moved.", when))
	before, after := sampled(c.before), sampled(c.after)
	for _, x := range []struct {
		name   string
		all, n int
	}{{"before", len(c.before), len(before)}, {"after", len(c.after), len(after)}} {
		if x.n < x.all {
			s.Text = append(s.Text, fmt.Sprintf("Of the %s hosts %s, %d are drawn and listed: the fullest, the emptiest and every %s between them in the order of fill.", whole(float64(x.all)), x.name, x.n, nth(x.all/x.n)))
		}
	}
	s.Packing = c.picture(before, after)
	if len(after) < len(c.after) || len(before) < len(c.before) {
		s.Tables = append(s.Tables, c.alikeTable("After, alike hosts counted", c.after), c.alikeTable("Before, alike hosts counted", c.before))
	}
	s.Tables = append(s.Tables, c.hostTable("After: "+ofAll(len(after), len(c.after)), after), c.hostTable("Before: "+ofAll(len(before), len(c.before)), before))
	s.Notes = []string{"Percentages are of all that a host has; the head of a column says how much of it the goals let be used. Nearest its limit: the resource that binds, and how much of what may be used is used."}
	return s
}

// sampled are the hosts to draw, in their own order.
func sampled(hosts []carrier) []carrier {
	if len(hosts) <= mostDrawn {
		return hosts
	}
	sorted := byNearness(hosts)
	kept := map[farm.HostName]bool{}
	for i := range sample {
		kept[sorted[i*(len(sorted)-1)/(sample-1)].host.Name] = true
	}
	var out []carrier
	for _, h := range hosts {
		if kept[h.host.Name] {
			out = append(out, h)
		}
	}
	return out
}

// ofAll is 30 hosts, or 120 of 2,748 hosts.
func ofAll(n, all int) string {
	if n == all {
		return count(n, "host")
	}
	return fmt.Sprintf("%d of %s", n, count(all, "host"))
}

// nth is 2nd, 3rd, 11th.
func nth(n int) string {
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

// hostTable is one host a line.
func (c *census) hostTable(caption string, hosts []carrier) planTable {
	head := []string{"host", "type", "nearest its limit"}
	for _, r := range c.resources {
		name := string(r)
		if l := c.limit(r); l < 1 {
			name += " \u2264 " + percent(l)
		}
		head = append(head, "#"+name)
	}
	t := planTable{Caption: caption, Head: columns(append(head, "#shards", "instances")...), Folded: true}
	for _, h := range hosts {
		row := cells(string(h.host.Name), string(h.host.Type))
		row = append(row, planCell{Text: percent(h.nearness) + " " + h.bindingText(), Share: h.nearness, Limit: 1, HasBar: true})
		for _, r := range c.resources {
			text := "\u2013"
			if use, ok := h.use[r]; ok {
				text = percent(use)
			}
			row = append(row, cells(text)...)
		}
		t.Rows = append(t.Rows, append(row, cells(whole(float64(shardsOn(h))), instanceList(h))...))
	}
	return t
}

// mostNamed is how many instances of one host a table names.
const mostNamed = 24

func instanceList(h carrier) string {
	names := make([]string, len(h.instances))
	for i, x := range h.instances {
		names[i] = string(x.name)
	}
	sort.Strings(names)
	if len(names) > mostNamed {
		return strings.Join(names[:mostNamed], " ") + fmt.Sprintf(" and %d more", len(names)-mostNamed)
	}
	return strings.Join(names, " ")
}

// alikeTable counts hosts of one type that hold as many instances and bind on
// the same resource.
func (c *census) alikeTable(caption string, hosts []carrier) planTable {
	type sort3 struct {
		kind      farm.HostTypeName
		instances int
		binding   string
	}
	group := map[sort3][]carrier{}
	var order []sort3
	for _, h := range hosts {
		k := sort3{h.host.Type, len(h.instances), h.bindingText()}
		if group[k] == nil {
			order = append(order, k)
		}
		group[k] = append(group[k], h)
	}
	sort.SliceStable(order, func(a, b int) bool {
		if order[a].kind != order[b].kind {
			return order[a].kind < order[b].kind
		}
		if order[a].instances != order[b].instances {
			return order[a].instances > order[b].instances
		}
		return order[a].binding < order[b].binding
	})
	t := planTable{Caption: caption, Head: columns("type", "#instances", "binds", "#hosts", "#shards on a host", "#least full", "#median", "#fullest")}
	for _, k := range order {
		var near []float64
		for _, h := range group[k] {
			near = append(near, h.nearness)
		}
		sort.Float64s(near)
		t.Rows = append(t.Rows, cells(string(k.kind), whole(float64(k.instances)), k.binding, whole(float64(len(near))), spreadOf(group[k], shardsOn),
			percent(near[0]), percent(middle(near)), percent(near[len(near)-1])))
	}
	return t
}

// picture draws both packings with the boxes and slabs of the report.
func (c *census) picture(before, after []carrier) *planPacking {
	p := &planPacking{}
	numbers, last := map[farm.PairName]int{}, farm.A
	for _, h := range append(append([]carrier(nil), before...), after...) {
		for _, x := range h.instances {
			last = max(last, x.side)
			if _, ok := numbers[x.pair]; !ok {
				numbers[x.pair] = len(numbers)
			}
		}
	}
	p.Numbers, p.Sides = len(numbers), sideKeys(last)
	height := 470.0
	if len(before) > 40 {
		height = 640
	}
	p.Before, p.After = c.panel("before", before, height, numbers), c.panel("after", after, height, numbers)
	for _, x := range []struct {
		p        *panel
		when     string
		all, are int
	}{{&p.Before, "Before", len(c.before), len(before)}, {&p.After, "After", len(c.after), len(after)}} {
		if x.are < x.all {
			x.p.Title = x.when + ": " + ofAll(x.are, x.all)
		}
	}
	p.IsLifted = p.Before.lifted || p.After.lifted
	return p
}

func (c *census) panel(id string, hosts []carrier, height float64, numbers map[farm.PairName]int) panel {
	var loads []load
	for _, h := range hosts {
		loads = append(loads, c.load(h))
	}
	title := func(x stowed, l load) string {
		text := fmt.Sprintf("%s, side %s of %s, on %s", x.Instance, x.Side, x.Pair, l.Name)
		if l.Binding != "" {
			text += fmt.Sprintf(": %s of %s", percent(x.Share), bindingWords(l.Binding))
		}
		return text
	}
	p := draw(id, loads, height, numbers, brief(instances(loads)), title)
	var names []string
	for _, h := range hosts {
		names = append(names, string(h.host.Name))
	}
	for i := range p.Boxes {
		b := &p.Boxes[i]
		b.Name = clip(labels(names, int((b.W+boxGap/2)/(b.NameSize*0.6)))(names[i]), b.W+boxGap/2, b.NameSize)
	}
	return p
}

// load is a host for the picture: as high as all it has of what binds.
func (c *census) load(h carrier) load {
	l := load{Name: h.host.Name, Type: h.host.Type, Binding: h.binding, Limit: 1}
	for _, x := range h.instances {
		l.Sides = append(l.Sides, stowed{Pair: x.pair, Side: x.side, Instance: x.name})
	}
	switch n := farm.ResourceName(h.binding); h.binding {
	case "":
	case slots:
		l.Fill = h.nearness
		for i := range l.Sides {
			l.Sides[i].Share = h.nearness / float64(len(l.Sides))
		}
	default:
		l.Fill, l.Limit = h.use[n], c.limit(n)
		total := 0.0
		for _, x := range h.instances {
			total += x.needs[n]
		}
		for i, x := range h.instances {
			if total > 0 {
				l.Sides[i].Share = l.Fill * x.needs[n] / total
			}
		}
	}
	sort.SliceStable(l.Sides, func(i, j int) bool { return l.Sides[i].Share > l.Sides[j].Share })
	return l
}
