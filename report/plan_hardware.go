package report

import (
	"fmt"
	"strings"

	"stowage/farm"
)

// kinds counts hosts by type, in the order of farm.yaml.
func (c *census) kinds(hosts []carrier) map[farm.HostTypeName]int {
	out := map[farm.HostTypeName]int{}
	for _, h := range hosts {
		out[h.host.Type]++
	}
	return out
}

// bought is how many hosts have to be bought.
func (c *census) bought() int {
	n := 0
	for _, h := range c.after {
		if h.isNew {
			n++
		}
	}
	return n
}

// boughtNote says which and for how much: 30 dense, 420,000.
func (c *census) boughtNote() string {
	n, order, price := c.boughtKinds()
	var parts []string
	for _, t := range order {
		parts = append(parts, fmt.Sprintf("%d %s", n[t], t))
	}
	text := strings.Join(parts, ", ")
	if price > 0 {
		text += ", " + whole(price)
	}
	return text
}

func (c *census) boughtKinds() (n map[farm.HostTypeName]int, order []farm.HostTypeName, price float64) {
	n = map[farm.HostTypeName]int{}
	for _, h := range c.after {
		if !h.isNew {
			continue
		}
		if n[h.host.Type] == 0 {
			order = append(order, h.host.Type)
		}
		n[h.host.Type]++
		price += h.kind.Price
	}
	return n, order, price
}

// quantity is an amount of a resource; plain numbers have commas.
func quantity(v float64, r farm.ResourceName) string {
	text := amount(v, r.Kind())
	if k := r.Kind(); v >= 1000 && (k == farm.KindPlain || k == farm.KindOpen && strings.Trim(text, "0123456789.") == "") {
		return whole(v)
	}
	return text
}

// changed is fewer, for what may become many times as much.
func changed(was, is float64) string {
	if was > 0 && is >= 3*was {
		return digits(is/was) + " times as much"
	}
	return fewer(was, is, "less", "more")
}

// orNothing is a number, or a dash where it is not given.
func orNothing(v float64) string {
	if v == 0 {
		return "\u2013"
	}
	return digitsOrWhole(v)
}

// digitsOrWhole keeps whole numbers whole.
func digitsOrWhole(v float64) string {
	if v == float64(int64(v)) {
		return whole(v)
	}
	return digits(v)
}

func (c *census) hardwareSection() planSection {
	s := planSection{ID: "hardware", Name: "Hardware"}
	before, after := c.kinds(c.before), c.kinds(c.after)
	n, order, price := c.boughtKinds()
	var types []farm.HostType
	for _, t := range c.farm.HostTypes {
		if before[t.Name] > 0 || after[t.Name] > 0 {
			types = append(types, t)
		}
	}
	names := farm.Resources{}
	for _, t := range types {
		names.Add(t.Capacity)
	}
	head := []string{"host type"}
	for _, r := range names.Names() {
		head = append(head, "#"+resourceHead(r))
	}
	t := planTable{Head: columns(append(head, "#instances at most", "#watts", "#price", "#hosts before", "#hosts after", "#to be bought")...)}
	for _, kind := range types {
		row := cells(string(kind.Name))
		for _, r := range names.Names() {
			text := "no limit"
			if v, ok := kind.Capacity[r]; ok {
				text = quantity(v, r)
			}
			row = append(row, cells(text)...)
		}
		most := "any"
		if m := c.mostOn(kind); m > 0 {
			most = whole(float64(m))
		}
		t.Rows = append(t.Rows, append(row, cells(most, orNothing(kind.Watts), orNothing(kind.Price),
			whole(float64(before[kind.Name])), whole(float64(after[kind.Name])), whole(float64(n[kind.Name])))...))
	}
	s.Tables = append(s.Tables, t)
	for _, kind := range order {
		s.Text = append(s.Text, c.purchaseText(kind, n[kind]))
	}
	if price > 0 {
		s.Text = append(s.Text, fmt.Sprintf("To be bought for %s in all, in farm.yaml\u2019s currency.", whole(price)))
	}
	if len(order) == 0 {
		s.Text = append(s.Text, "Nothing has to be bought.")
	}
	if free := c.freedHosts(); len(free) > 0 {
		s.Text = append(s.Text, fmt.Sprintf("%s carry nothing once the plan is done: %s.", count(len(free), "host"), listOf(free, 6)))
	}
	return s
}

// resourceHead is a resource as the head of a column.
func resourceHead(r farm.ResourceName) string {
	if r == farm.CPU {
		return "cores"
	}
	return string(r)
}

func (c *census) purchaseText(kind farm.HostTypeName, n int) string {
	var first, last farm.HostName
	for _, h := range c.after {
		if h.isNew && h.host.Type == kind {
			if first == "" {
				first = h.host.Name
			}
			last = h.host.Name
		}
	}
	text := fmt.Sprintf("%s of type %s to be bought: ", count(n, "host"), kind)
	if n == 1 {
		return text + string(first) + "."
	}
	return text + fmt.Sprintf("%s to %s.", first, last)
}

// freedHosts are the hosts that carried something and do not any more.
func (c *census) freedHosts() []string {
	used := map[farm.HostName]bool{}
	for _, h := range c.after {
		used[h.host.Name] = true
	}
	var out []string
	for _, h := range c.before {
		if !used[h.host.Name] {
			out = append(out, string(h.host.Name))
		}
	}
	return out
}

// listOf is names, the first few of many.
func listOf(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + whole(float64(len(names)-most)) + " more"
}
