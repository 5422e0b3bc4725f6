package report

import (
	"fmt"
	"slices"
	"sort"

	"stowage/farm"
)

// lost is what is behind one thing that may fail: a host, or all hosts
// with one value of a label.
type lost struct {
	what      string
	hosts     int
	pairs     int // with one side there, or both
	both      int // pairs with both sides there: gone, not only without a twin
	shards    int
	customers int
}

// surfaceOf is what is lost with each group of hosts. group names the group of
// a host; hosts without one are left out.
func (c *census) surfaceOf(hosts []carrier, group func(carrier) string) []lost {
	type behind struct {
		lost
		sides     map[farm.ShardName]farm.SideName
		both      map[farm.PairName]bool
		pairs     map[farm.PairName]bool
		customers map[farm.CustomerName]bool
	}
	at := map[string]*behind{}
	var order []string
	for _, h := range hosts {
		name := group(h)
		if name == "" {
			continue
		}
		b := at[name]
		if b == nil {
			b = &behind{lost: lost{what: name}, sides: map[farm.ShardName]farm.SideName{}, both: map[farm.PairName]bool{}, pairs: map[farm.PairName]bool{}, customers: map[farm.CustomerName]bool{}}
			at[name] = b
			order = append(order, name)
		}
		b.hosts++
		for _, x := range h.instances {
			b.pairs[x.pair] = true
			for _, s := range x.shards {
				if other, ok := b.sides[s.Name]; ok && other != x.side {
					b.both[x.pair] = true
				}
				b.sides[s.Name] = x.side
				if s.Customer != "" {
					b.customers[s.Customer] = true
				}
			}
		}
	}
	var out []lost
	for _, name := range order {
		b := at[name]
		b.lost.pairs, b.lost.both, b.lost.shards, b.lost.customers = len(b.pairs), len(b.both), len(b.sides), len(b.customers)
		out = append(out, b.lost)
	}
	return out
}

// labels are the labels that hosts in use have, sorted.
func labelsOf(hosts []carrier) []string {
	set := map[string]bool{}
	for _, h := range hosts {
		for l := range h.host.Labels {
			set[l] = true
		}
	}
	var out []string
	for l := range set {
		out = append(out, l)
	}
	sort.Strings(out)
	return out
}

func byHost(h carrier) string { return string(h.host.Name) }

func byLabel(label string) func(carrier) string {
	return func(h carrier) string { return h.host.Labels[label] }
}

func (c *census) surfaceSection() planSection {
	s := planSection{ID: "surface", Name: "What one failure hits"}
	customers := c.customers()
	head := columns("one", "when", "#there are", "#shards, median", "#shards, most", "#of all", "#pairs, most", "#customers, median", "#customers, most", "#pairs with both sides", "worst")
	t := planTable{}
	for _, h := range head {
		if customers == 0 && (h.Name == "customers, median" || h.Name == "customers, most") {
			continue
		}
		t.Head = append(t.Head, h)
	}
	add := func(kind string, group func(carrier) string) {
		for _, when := range []struct {
			name  string
			hosts []carrier
		}{{"before", c.before}, {"after", c.after}} {
			if all := c.surfaceOf(when.hosts, group); len(all) > 0 {
				t.Rows = append(t.Rows, c.surfaceRow(kind, when.name, all, customers))
			}
		}
	}
	add("host", byHost)
	for _, label := range labelsOf(append(slices.Clone(c.before), c.after...)) {
		add(label, byLabel(label))
	}
	s.Tables = append(s.Tables, t)
	s.Text = append(s.Text, c.failureText())
	if customers == 0 {
		s.Notes = append(s.Notes, "Which customers are hit is not known: no shard in farm.yaml has a customer.")
	}
	if len(t.Rows) <= 2 {
		s.Notes = append(s.Notes, "What one rack or one power feed hits is not known: hosts have no labels.")
	}
	return s
}

func (c *census) surfaceRow(kind, when string, all []lost, customers int) []planCell {
	worst := slices.MaxFunc(all, func(a, b lost) int { return a.shards - b.shards })
	var shards, who []float64
	pairs, both, most := 0, 0, 0
	for _, l := range all {
		shards, who = append(shards, float64(l.shards)), append(who, float64(l.customers))
		pairs, both, most = max(pairs, l.pairs), both+l.both, max(most, l.customers)
	}
	row := cells(kind, when, whole(float64(len(all))), digitsOrWhole(middle(shards)), whole(float64(worst.shards)), percent(float64(worst.shards)/max(1, float64(c.shards()))), whole(float64(pairs)))
	if customers > 0 {
		row = append(row, cells(digitsOrWhole(middle(who)), whole(float64(most)))...)
	}
	return append(row, cells(whole(float64(both)), worst.what)...)
}

func (c *census) customers() int {
	all := map[farm.CustomerName]bool{}
	for _, p := range c.farm.Pairs {
		for _, s := range p.Shards {
			if s.Customer != "" {
				all[s.Customer] = true
			}
		}
	}
	return len(all)
}

// failureText says what happens when the host with most shards is lost.
func (c *census) failureText() string {
	if len(c.after) == 0 {
		return "Nothing is in use after the plan."
	}
	worst := slices.MaxFunc(c.after, func(a, b carrier) int { return shardsOn(a) - shardsOn(b) })
	gone, alone := map[farm.PairName]bool{}, 0
	for _, x := range worst.instances {
		if p := c.pairs[x.pair]; p != nil && p.Topology == farm.Single {
			alone++
			continue
		}
		gone[x.pair] = true
	}
	without := ""
	if alone > 0 {
		without = fmt.Sprintf(" Without a copy, and down until it is back: %s.", count(alone, "single instance"))
		if len(gone) == 0 {
			return fmt.Sprintf("When the host with most shards, %s, is lost, nothing takes over.%s", worst.host.Name, without)
		}
	}
	twins := 0
	for _, h := range c.after {
		for _, x := range h.instances {
			if h.host.Name != worst.host.Name && gone[x.pair] {
				twins++
				break
			}
		}
	}
	return fmt.Sprintf("When the host with most shards, %s, is lost, %s run on one side until it is back: their twins on %s serve all of it. That load is counted in this plan: no host goes beyond its limits.%s",
		worst.host.Name, count(len(gone), "pair"), count(twins, "host"), without)
}
