package report

import (
	"fmt"
	"math"
	"strings"
)

// hoursOfYear is 365.25 days.
const hoursOfYear = 8766

func (c *census) powerSection() planSection {
	p := c.plan
	s := planSection{ID: "power", Name: "Watts and cost"}
	if p.WattsBefore+p.Watts+p.CostBefore+p.Cost == 0 {
		s.Text = []string{"Not known: no host type has watts or a price."}
		return s
	}
	before, after := c.kinds(c.before), c.kinds(c.after)
	t := planTable{Head: columns("host type", "#watts each", "#price each", "#hosts before", "#watts before", "#price before", "#hosts after", "#watts after", "#price after")}
	for _, kind := range c.farm.HostTypes {
		was, is := float64(before[kind.Name]), float64(after[kind.Name])
		if was+is == 0 {
			continue
		}
		t.Rows = append(t.Rows, cells(string(kind.Name), orNothing(kind.Watts), orNothing(kind.Price), whole(was), whole(was*kind.Watts), whole(was*kind.Price),
			whole(is), whole(is*kind.Watts), whole(is*kind.Price)))
	}
	t.Rows = append(t.Rows, cells("all", "", "", whole(float64(p.HostsBefore)), whole(p.WattsBefore), whole(p.CostBefore), whole(float64(p.HostsUsed)), whole(p.Watts), whole(p.Cost)))
	s.Tables = append(s.Tables, t)
	if p.WattsBefore > 0 && p.Watts > 0 {
		s.Text = append(s.Text, fmt.Sprintf("%s watts become %s: %s kWh a year instead of %s, at the hosts; cooling comes on top.", whole(p.WattsBefore), whole(p.Watts), whole(math.Round(p.Watts*hoursOfYear/1000)), whole(math.Round(p.WattsBefore*hoursOfYear/1000))))
		if n := float64(c.shards()); n > 0 {
			s.Text = append(s.Text, fmt.Sprintf("A shard: %s W before, %s W after.", digits(p.WattsBefore/n), digits(p.Watts/n)))
		}
	}
	s.Text = append(s.Text, boundText("draws", "W", p.WattsBound, p.Watts), boundText("costs", "", p.CostBound, p.Cost))
	s.Text = without(s.Text, "")
	return s
}

// boundText says how near a sum is to what no plan can go below.
func boundText(verb, unit string, bound, is float64) string {
	switch {
	case bound <= 0 || is <= 0:
		return ""
	case is <= bound*(1+1e-9):
		return fmt.Sprintf("No plan for these goals %s less: that is proved.", verb)
	}
	return fmt.Sprintf("No plan for these goals %s less than %s; this one is %s above that.", verb, strings.TrimSpace(whole(bound)+" "+unit), percent((is-bound)/bound))
}

func without(texts []string, bad string) []string {
	var out []string
	for _, t := range texts {
		if t != bad {
			out = append(out, t)
		}
	}
	return out
}
