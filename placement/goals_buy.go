package placement

import (
	"fmt"

	"stowage/farm"
)

// Purchase is a host type of which hosts may be bought.
type Purchase struct {
	Type   farm.HostTypeName   `json:"type"`
	Most   int                 `json:"most"`
	Labels map[string][]string `json:"labels,omitempty"` // values by label, given to the hosts in turn
}

// mostBought keeps a slip of the keyboard from filling the memory.
const mostBought = 100_000

// Hosts are the hosts that the purchase may add to the farm: Most of them,
// called TYPE-new-001 and so on, names that the farm already has left out.
// Host number i, from 0, has value i of each label, starting over at its end.
// They have no address and no dir yet. They are in the order in which they
// should be taken; there are none of a purchase that Check refuses.
func (p Purchase) Hosts(f *farm.Farm) []farm.Host {
	if p.Most < 1 || p.Most > mostBought {
		return nil
	}
	taken := make(map[farm.HostName]bool, len(f.Hosts))
	for _, h := range f.Hosts {
		taken[h.Name] = true
	}
	hosts := make([]farm.Host, 0, p.Most)
	for n := 1; len(hosts) < p.Most; n++ {
		name := farm.HostName(fmt.Sprintf("%s-new-%03d", p.Type, n))
		if !taken[name] {
			hosts = append(hosts, farm.Host{Name: name, Type: p.Type, Labels: p.labels(len(hosts))})
		}
	}
	return hosts
}

func (p Purchase) labels(i int) map[string]string {
	if len(p.Labels) == 0 {
		return nil
	}
	labels := make(map[string]string, len(p.Labels))
	for label, values := range p.Labels {
		if len(values) > 0 {
			labels[label] = values[i%len(values)]
		}
	}
	return labels
}

// purchases: what may be bought is known, and will be packed onto.
func (c *goalCheck) purchases() {
	seen := map[farm.HostTypeName]bool{}
	for _, p := range c.goals.Buy {
		at := "buy." + string(p.Type)
		switch _, known := c.types[p.Type]; {
		case !known:
			c.say(at, "unknown host type %q to buy: farm.yaml has %s", p.Type, hostTypeNames(c.farm))
		case !c.goals.packsOnto(p.Type):
			c.say(at, "%s may be bought and is not packed onto: add it to onto", p.Type)
		case seen[p.Type]:
			c.say(at, "%s is there twice", p.Type)
		}
		seen[p.Type] = true
		if p.Most < 1 || p.Most > mostBought {
			c.say(at, "%s may be bought %d times: it must be 1 to %d", p.Type, p.Most, mostBought)
		}
		for label, values := range p.Labels {
			if len(values) == 0 {
				c.say(at+".labels."+label, "label %s of %s has no values", label, p.Type)
			}
		}
	}
}

// Rates are how fast data is copied, in bytes a second. 0: not limited.
type Rates struct {
	Stream    float64 `json:"stream,omitempty"`     // one copy
	Host      float64 `json:"host,omitempty"`       // all copies from or to one host
	Rack      float64 `json:"rack,omitempty"`       // all copies from or to one value of RackLabel
	RackLabel string  `json:"rack_label,omitempty"` // the label that says which rack a host is in
}

func (c *goalCheck) rates() {
	r := c.goals.Rates
	c.amount("rates.stream", "rate of a stream", r.Stream)
	c.amount("rates.host", "rate of a host", r.Host)
	c.amount("rates.rack", "rate of a rack", r.Rack)
	switch {
	case r.Rack > 0 && r.RackLabel == "":
		c.say("rates", "rates has rack and no rack_label: say which label of a host is its rack")
	case r.RackLabel != "" && r.Rack == 0:
		c.say("rates", "rates has rack_label and no rack: say how many bytes a second a rack carries")
	case r.RackLabel != "":
		c.needLabel("rates.rack_label", r.RackLabel)
	}
}
