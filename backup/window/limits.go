package window

import (
	"math"

	"stowage/capacity"
	"stowage/farm"
)

// Sink says where the bytes of backups go.
type Sink string

// The sinks. The zero value is Away.
const (
	Away Sink = "away" // out of the farm, through the links of its hosts
	Own  Sink = "own"  // onto disks of each instance's own host
	Host Sink = "host" // to one host of the farm
)

// Limits are what backups of a farm must not exceed. Rates are bytes a second; a rate or a number that is 0 is no limit.
type Limits struct {
	Stream float64 `json:"stream"` // of one backup; it must be above 0
	Read   float64 `json:"read"`   // from the disks of one host
	Write  float64 `json:"write"`  // onto the disks of one host, or into what is away
	Rack   float64 `json:"rack"`   // out of one rack, or into it
	// RackLabel is the label that says which rack a host is in.
	RackLabel string `json:"rack_label"`
	// Free is the share of a host's network that stays free, from 0 to 1. What clients use of the network is taken off besides.
	Free float64 `json:"network_free"`

	PerHost    int `json:"streams_per_host"`
	PerRack    int `json:"streams_per_rack"`    // by the label rack
	PerNetwork int `json:"streams_per_network"` // by the label network
	Parallel   int `json:"parallel"`            // in the whole farm

	Sink  Sink          `json:"sink"`
	Vault farm.HostName `json:"vault"` // of sink Host

	// Sides are those of pairs that are read from one side and no other, because their chains are there.
	Sides map[farm.PairName]farm.SideName `json:"sides,omitempty"`
}

// resource is something that several backups share.
type resource struct {
	name  string
	rate  float64 // bytes a second; infinite: no limit
	slots int     // streams at once; 0: no limit
}

// atlas knows which resources a backup of a side uses.
type atlas struct {
	farm   *farm.Farm
	limits Limits
	all    []resource
	index  map[string]int
	hosts  map[farm.HostName]farm.Host
	types  map[farm.HostTypeName]farm.HostType
	serves map[farm.HostName]float64 // bits a second that clients use of a host's network
}

func newAtlas(f *farm.Farm, l Limits) *atlas {
	a := &atlas{farm: f, limits: l, index: map[string]int{}, hosts: map[farm.HostName]farm.Host{}, types: map[farm.HostTypeName]farm.HostType{}, serves: map[farm.HostName]float64{}}
	for _, h := range f.Hosts {
		a.hosts[h.Name] = h
	}
	for _, t := range f.HostTypes {
		a.types[t.Name] = t
	}
	for i := range f.Pairs {
		p := &f.Pairs[i]
		needs := p.Needs()[farm.Network]
		for _, side := range p.SideNames() {
			a.serves[p.Sides[side].Host] += needs * capacity.Carries(p, side)
		}
	}
	return a
}

// path are the resources that a backup from a host uses, from its disks to the vault.
func (a *atlas) path(from farm.HostName) []int {
	l := a.limits
	out := []int{a.resource("disks of "+string(from), l.Read, l.PerHost)}
	out = append(out, a.streams(from)...)
	switch {
	case l.Sink == Own:
		out = append(out, a.resource("disks of "+string(from)+", written to", l.Write, 0))
	case l.Sink == Host && from == l.Vault:
		out = append(out, a.resource("disks of "+string(l.Vault)+", written to", l.Write, 0))
	case l.Sink == Host:
		out = append(out, a.links(from)...)
		out = append(out, a.resource("network of "+string(l.Vault)+", into it", a.network(l.Vault), 0), a.resource("disks of "+string(l.Vault)+", written to", l.Write, 0))
	default:
		out = append(out, a.links(from)...)
		out = append(out, a.resource("the vault, written to", l.Write, 0))
	}
	if l.Parallel > 0 {
		out = append(out, a.resource("streams of the farm", 0, l.Parallel))
	}
	return out
}

// links are those between a host and where the vault is.
func (a *atlas) links(from farm.HostName) []int {
	l := a.limits
	out := []int{a.resource("network of "+string(from), a.network(from), 0)}
	rack, to := a.hosts[from].Labels[l.RackLabel], ""
	if l.Sink == Host {
		to = a.hosts[l.Vault].Labels[l.RackLabel]
	}
	if rack != "" && rack != to {
		out = append(out, a.resource("links out of rack "+rack, l.Rack, 0))
	}
	if to != "" && rack != to {
		out = append(out, a.resource("links into rack "+to, l.Rack, 0))
	}
	return out
}

// streams are the budgets of those that leave a host's rack and network.
func (a *atlas) streams(from farm.HostName) []int {
	var out []int
	labels := a.hosts[from].Labels
	for _, b := range []struct {
		label string
		most  int
	}{{"rack", a.limits.PerRack}, {"network", a.limits.PerNetwork}} {
		if labels[b.label] != "" && b.most > 0 {
			out = append(out, a.resource("streams out of "+b.label+" "+labels[b.label], 0, b.most))
		}
	}
	return out
}

// network is what backups may take of a host's link: what is left of it when some stays free and clients have theirs. At least a hundredth: a host whose
// clients use it all is slow to back up, not impossible.
func (a *atlas) network(h farm.HostName) float64 {
	has, limited := a.types[a.hosts[h].Type].Capacity[farm.Network]
	if !limited || has <= 0 {
		return 0
	}
	return max(has/100, has*(1-a.limits.Free)-a.hosts[h].Reserved[farm.Network]-a.serves[h]) / 8
}

// resource is the index of a resource; a rate of 0 is no limit.
func (a *atlas) resource(name string, rate float64, slots int) int {
	if i, ok := a.index[name]; ok {
		return i
	}
	if rate <= 0 {
		rate = math.Inf(1)
	}
	a.index[name] = len(a.all)
	a.all = append(a.all, resource{name, rate, max(0, slots)})
	return len(a.all) - 1
}

// cap is what a resource carries at most: streams are a rate, too.
func (a *atlas) cap(r int) float64 {
	x := a.all[r]
	if x.slots > 0 {
		return min(x.rate, float64(x.slots)*a.limits.Stream)
	}
	return x.rate
}

// narrowest is the most that all backups of one path can carry.
func (a *atlas) narrowest(path []int) float64 {
	rate := math.Inf(1)
	for _, r := range path {
		rate = min(rate, a.cap(r))
	}
	return rate
}
