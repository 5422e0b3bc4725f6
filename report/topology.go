package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/farm"
)

// TopologyFacts are what is known of the pairs of a farm at this moment. They are read only.
type TopologyFacts struct {
	Farm *farm.Farm
	// Route says who is in rotation for a pair; ok is false where routing does not have it. nil: routing is not known, and RouteNote says why.
	Route     func(farm.PairName) (r TopologyRoute, ok bool)
	RouteNote string
	Work      []TopologyWork // parts of a run that have begun and not ended
	// Asked is when an inventory asked the servers; zero: never. Servers are their answers.
	Asked   time.Time
	Servers map[farm.InstanceName]TopologyServer
	Age     string // of Asked, in words
	Group   string // of pairs, of which all are shown; empty: all groups
}

// TopologyRoute is who is in rotation for a pair.
type TopologyRoute struct {
	Weight map[farm.SideName]float64 // percent of the clients, of the sides in rotation
	Closed []farm.SideName           // sides whose clients a closed gate holds
}

// TopologyWork is one part of a run, by its name: a side (PAIR/SIDE), a pair, a shard or a host, and the step that it is at.
type TopologyWork struct{ Name, Step string }

// TopologyServer is what a server has said of its replication.
type TopologyServer struct {
	Source string   // address that it replicates from
	Behind *float64 // seconds; nil: it did not say
	Error  string   // why it did not answer
}

// topology is a farm as its pairs are drawn.
type topology struct {
	facts  TopologyFacts
	groups []topologyGroup
	label  string // what groups are: rack, host type
}

// grouping says in which group of a large farm a pair is.
type grouping struct {
	label string // what groups are: rack, host type
	hosts map[farm.HostName]farm.Host
}

func newGrouping(f *farm.Farm) grouping {
	g := grouping{label: "host type", hosts: map[farm.HostName]farm.Host{}}
	for _, h := range f.Hosts {
		g.hosts[h.Name] = h
		if h.Labels[rackLabel] != "" {
			g.label = rackLabel
		}
	}
	return g
}

// of is the group of a pair: that of the host of its side A.
func (g grouping) of(p farm.Pair) string {
	h := g.hosts[p.Sides[farm.A].Host]
	if g.label == rackLabel {
		return cmp.Or(h.Labels[rackLabel], "no rack")
	}
	return cmp.Or(string(h.Type), "no host type")
}

type topologyGroup struct {
	name  string
	pairs []topologyPair
}

// topologyPair is one pair with all that is drawn and listed of it.
type topologyPair struct {
	name     farm.PairName
	topology farm.Topology
	sides    []topologySide
}

// topologySide is one server.
type topologySide struct {
	side     farm.SideName
	instance farm.InstanceName
	host     farm.HostName
	port     int
	stand    stand
	weight   float64 // percent of the clients; -1: not known
	step     string  // of a run
	from     []farm.SideName
	behind   string // seconds, as of the newest inventory; empty: not known
	trouble  string // why it did not answer
}

// stand is what a server of a pair does.
type stand int

// The stands, the most severe last: it is what a pair is called by.
const (
	standFollows stand = iota
	standServes
	standAway
	standBehind
	standWork
	standHeld
	standDead
)

// stands are all, with their look and words.
var stands = []struct{ class, glyph, word, words string }{
	{"stands", "", "follows", "replicates, takes no writes"},
	{"serves", "", "serves", "takes clients"},
	{"away", "\u2013", "out", "takes clients at rest, and is out of rotation"},
	{"late", "+", "behind", "serves or follows, and was behind when it was asked"},
	{"work", "\u25b6", "at work", "a run works on it"},
	{"held", "\u2016", "gate closed", "its clients wait at a closed gate"},
	{"dead", "\u00d7", "no answer", "did not answer when it was asked"},
}

// lateSeconds is from how many seconds on a server counts as behind: replication that works is below.
const lateSeconds = 10

func newTopology(f TopologyFacts) *topology {
	by := newGrouping(f.Farm)
	t := &topology{facts: f, label: by.label}
	steps := map[string]string{}
	for _, w := range f.Work {
		steps[w.Name] = w.Step
	}
	at := map[string]int{}
	for _, p := range f.Farm.Pairs {
		x := t.pair(p, steps)
		name := by.of(p)
		n, known := at[name]
		if !known {
			n = len(t.groups)
			at[name] = n
			t.groups = append(t.groups, topologyGroup{name: name})
		}
		t.groups[n].pairs = append(t.groups[n].pairs, x)
	}
	slices.SortStableFunc(t.groups, func(a, b topologyGroup) int { return farm.Natural(a.name, b.name) })
	return t
}

// rackLabel is the label of hosts by which large farms are grouped.
const rackLabel = "rack"

func (t *topology) pair(p farm.Pair, steps map[string]string) topologyPair {
	f := t.facts
	out := topologyPair{name: p.Name, topology: p.Topology}
	var route TopologyRoute
	routed := false
	if f.Route != nil {
		route, routed = f.Route(p.Name)
	}
	names := p.SideNames()
	whole := ""
	for _, s := range p.Shards {
		whole = cmp.Or(whole, steps[string(s.Name)])
	}
	whole = cmp.Or(steps[string(p.Name)], whole)
	for _, side := range names {
		at := p.Sides[side]
		x := topologySide{side: side, instance: p.Instance(side), host: at.Host, port: at.Port, stand: standFollows, weight: -1}
		serves := p.Topology == farm.ActiveActive || side == farm.A
		if serves {
			x.stand = standServes
		}
		if routed {
			weight, in := route.Weight[side]
			x.weight = weight
			switch {
			case in && weight > 0:
				x.stand = standServes
			case serves:
				x.stand = standAway
			}
		}
		asked := f.Servers[x.instance]
		if asked.Behind != nil {
			x.behind = trimmed(round1(*asked.Behind))
			if *asked.Behind >= lateSeconds {
				x.stand = max(x.stand, standBehind)
			}
		}
		x.from = sources(f.Farm, p, side, asked.Source)
		if x.step = cmp.Or(steps[string(p.Name)+"/"+string(side)], steps[string(at.Host)], whole); x.step != "" {
			x.stand = standWork
		}
		if slices.Contains(route.Closed, side) {
			x.stand = standHeld
		}
		if x.trouble = asked.Error; x.trouble != "" {
			x.stand = standDead
		}
		out.sides = append(out.sides, x)
	}
	return out
}

// sources are the sides of the pair that a side replicates from: what the server has said, or what the topology asks for.
func sources(f *farm.Farm, p farm.Pair, side farm.SideName, said string) []farm.SideName {
	for _, other := range p.SideNames() {
		if said != "" && other != side && f.Address(p.Sides[other]) == said {
			return []farm.SideName{other}
		}
	}
	switch {
	case said != "":
		return nil // from a server outside of the pair
	case p.Topology == farm.ActiveActive && side <= farm.B:
		return []farm.SideName{side.Twin()}
	case p.Topology == farm.PrimaryReplica && side != farm.A:
		return []farm.SideName{farm.A}
	}
	return nil
}

// worst is what the pair is called by.
func (p topologyPair) worst() stand {
	out := standFollows
	for _, s := range p.sides {
		out = max(out, s.stand)
	}
	return out
}

// about is the side in words, for its row in the table and for a pointer.
func (s topologySide) about() string {
	out := []string{stands[s.stand].word}
	if s.step != "" {
		out[0] = "a run works on it, step " + s.step
	}
	switch {
	case s.trouble != "":
		return "no answer: " + s.trouble
	case s.weight >= 0 && s.stand != standFollows:
		out = append(out, percent(s.weight/100)+" of the clients")
	}
	if len(s.from) > 0 && s.behind != "" {
		out = append(out, s.behind+" s behind")
	}
	return strings.Join(out, ", ")
}

func (s topologySide) follows() string {
	var out []string
	for _, x := range s.from {
		out = append(out, string(x))
	}
	return strings.Join(out, ", ")
}

func (p topologyPair) title() string {
	out := []string{string(p.name) + ", " + string(p.topology)}
	for _, s := range p.sides {
		text := fmt.Sprintf("%s: %s on %s:%d, %s", s.side, s.instance, s.host, s.port, s.about())
		if from := s.follows(); from != "" {
			text += ", replicates from " + from
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}
