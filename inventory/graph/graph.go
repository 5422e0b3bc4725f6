package graph

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"stowage/inventory/claims"
)

// FormatVersion of the JSON form.
const FormatVersion = 1

// How an edge is known.
type How string

// The ways.
const (
	Declared   How = "declared"      // feeds or copy_of in inventory.yaml
	SameErrors How = "same mistakes" // wrong in the same way three times or more
	SameOrder  How = "same order"    // the same subjects in one order, which is not that of names
	Names      How = "names servers" // where clients are led
	Reads      How = "is read by"    // verbs of Stowage
)

// Graph is who feeds whom, and what the farm looks like in the eyes of all sources.
type Graph struct {
	FormatVersion int              `json:"format_version"`
	Farm          string           `json:"farm"`
	Taken         time.Time        `json:"taken"`
	Nodes         []Node           `json:"nodes"`
	Edges         []Edge           `json:"edges"`
	Overlaps      []claims.Overlap `json:"overlaps"`
	Tallies       []claims.Tally   `json:"tallies"`
	Pairs         []Pair           `json:"pairs"`
}

// Node is a source, or who uses sources.
type Node struct {
	Name     string    `json:"name"`
	Kind     string    `json:"kind"` // of the source; "use" for who uses sources
	Where    string    `json:"where,omitempty"`
	At       time.Time `json:"at,omitzero"`
	Claims   int       `json:"claims"`
	Blamed   int       `json:"blamed"` // conflicts in which it is a culprit
	Surely   int       `json:"surely"` // of these, with proof
	Faults   int       `json:"faults"` // lines that cannot be read
	IsStale  bool      `json:"stale,omitempty"`
	IsPart   bool      `json:"part,omitempty"`
	Why      string    `json:"why,omitempty"`
	Decides  []string  `json:"decides,omitempty"`  // attributes of which it is the declared authority
	Proposed []string  `json:"proposed,omitempty"` // and those for which it is proposed
	IsUse    bool      `json:"use,omitempty"`
}

// Edge leads from who is read to who is made of it.
type Edge struct {
	From     string `json:"from"`
	To       string `json:"to"`
	How      How    `json:"how"`
	Evidence string `json:"evidence"`
	// HasDirection: it is known that From feeds To. Otherwise one of the two feeds the other, or both are fed by a third.
	HasDirection bool `json:"has_direction"`
	Shared       int  `json:"shared"`   // facts that both claim
	Disagree     int  `json:"disagree"` // of these, those that differ
	// BehindSeconds is how much older To is than From; 0 where it is not, or nobody knows.
	BehindSeconds int64 `json:"behind_seconds"`
}

// Pair is a pair with its members, in the topology that sources agree on.
type Pair struct {
	Name     string          `json:"name"`
	Topology string          `json:"topology,omitempty"`
	Members  []claims.Member `json:"members"`
}

// Clients is the node of who is led by load balancers and application configuration, Acts that of the verbs that read farm.yaml.
const (
	Clients = "clients"
	Acts    = "plans and acts"
)

// ledBy are the kinds of sources that lead clients to servers.
var ledBy = []string{"haproxy", "json", "yaml", "php", "properties"}

// Of makes the graph of a report.
func Of(r claims.Report, specs []claims.Spec) Graph {
	g := Graph{FormatVersion: FormatVersion, Farm: r.Farm, Taken: r.Taken, Nodes: []Node{}, Edges: []Edge{}, Overlaps: r.Overlaps, Tallies: r.Tallies, Pairs: pairs(r.Members)}
	if g.Overlaps == nil {
		g.Overlaps = []claims.Overlap{}
	}
	if g.Tallies == nil {
		g.Tallies = []claims.Tally{}
	}
	for _, s := range r.Sources {
		g.Nodes = append(g.Nodes, nodeOf(r, s))
	}
	for _, s := range specs {
		if s.CopyOf != "" {
			g.add(Edge{From: s.CopyOf, To: s.Name, How: Declared, HasDirection: true, Evidence: "copy_of in inventory.yaml"})
		}
		for _, to := range s.Feeds {
			g.add(Edge{From: s.Name, To: to, How: Declared, HasDirection: true, Evidence: "feeds in inventory.yaml"})
		}
	}
	for _, c := range r.Copies {
		if !c.Declared {
			g.add(Edge{From: c.Of, To: c.Source, How: SameErrors, Evidence: c.Evidence})
		}
	}
	for _, o := range r.Overlaps {
		if o.IsInOrder {
			g.add(g.ordered(o))
		}
	}
	g.uses()
	for i := range g.Edges {
		g.compare(&g.Edges[i])
	}
	slices.SortStableFunc(g.Edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(g.at(a.From), g.at(b.From)), cmp.Compare(g.at(a.To), g.at(b.To)), cmp.Compare(a.How, b.How))
	})
	return g
}

func nodeOf(r claims.Report, s claims.SourceState) Node {
	n := Node{Name: s.Name, Kind: s.Kind, Where: s.Where, At: s.At, Claims: s.Claims, IsStale: s.IsStale, IsPart: s.IsPart, Why: s.Why}
	for _, c := range r.Conflicts {
		if slices.Contains(c.Culprits, s.Name) {
			n.Blamed++
			if c.IsSure {
				n.Surely++
			}
		}
	}
	for _, f := range r.Faults {
		if f.Source == s.Name {
			n.Faults++
		}
	}
	for _, a := range r.Authorities {
		if len(a.Sources) == 0 || a.Sources[0] != s.Name {
			continue
		}
		if a.Declared {
			n.Decides = append(n.Decides, a.Attribute)
		} else {
			n.Proposed = append(n.Proposed, a.Attribute)
		}
	}
	return n
}

// add keeps one edge between two nodes: the first way by which it is known, the ways are added in the order of their weight.
func (g *Graph) add(e Edge) {
	for _, old := range g.Edges {
		if old.From == e.From && old.To == e.To || old.From == e.To && old.To == e.From {
			return
		}
	}
	g.Edges = append(g.Edges, e)
}

// sameTime: files that were written within it were written together.
const sameTime = time.Hour

// ordered is the edge of two sources with one order. The one that was written first is taken for the one that is read.
func (g *Graph) ordered(o claims.Overlap) Edge {
	e := Edge{From: o.A, To: o.B, How: SameOrder, Evidence: fmt.Sprintf("both list the same subjects in one order, which is not that of names; %d of %d facts in the same letters", o.Verbatim, o.Shared)}
	a, b := g.node(o.A), g.node(o.B)
	switch {
	case a.At.IsZero() || b.At.IsZero() || a.At.Sub(b.At).Abs() <= sameTime:
	case a.At.Before(b.At):
		e.HasDirection = true
	default:
		e.From, e.To, e.HasDirection = o.B, o.A, true
	}
	return e
}

// uses adds who is led by the sources, where any are.
func (g *Graph) uses() {
	led, acts := []string{}, false
	for _, n := range g.Nodes {
		if slices.Contains(ledBy, n.Kind) {
			led = append(led, n.Name)
		}
		acts = acts || n.Kind == "farm"
	}
	if acts {
		g.Nodes = append(g.Nodes, Node{Name: Acts, Kind: "use", IsUse: true})
		g.Edges = append(g.Edges, Edge{From: "farm", To: Acts, How: Reads, HasDirection: true, Evidence: "plan, move, alter, roll and backup read farm.yaml"})
	}
	if len(led) > 0 {
		g.Nodes = append(g.Nodes, Node{Name: Clients, Kind: "use", IsUse: true})
	}
	for _, name := range led {
		n := g.node(name)
		g.Edges = append(g.Edges, Edge{From: name, To: Clients, How: Names, HasDirection: true, Evidence: fmt.Sprintf("%s leads clients to servers, in %d claims", n.Kind, n.Claims)})
	}
}

// compare fills in disagreement and freshness.
func (g *Graph) compare(e *Edge) {
	for _, o := range g.Overlaps {
		if o.A == e.From && o.B == e.To || o.A == e.To && o.B == e.From {
			e.Shared, e.Disagree = o.Shared, o.Shared-o.Equal
		}
	}
	from, to := g.node(e.From), g.node(e.To)
	if e.HasDirection && !to.IsUse && !from.At.IsZero() && !to.At.IsZero() {
		if behind := from.At.Sub(to.At); behind > sameTime {
			e.BehindSeconds = int64(behind / time.Second)
		}
	}
}

func (g *Graph) at(name string) int {
	return slices.IndexFunc(g.Nodes, func(n Node) bool { return n.Name == name })
}

func (g *Graph) node(name string) Node {
	if i := g.at(name); i >= 0 {
		return g.Nodes[i]
	}
	return Node{Name: name}
}

// pairs puts members together; those of no known pair come last, each alone.
func pairs(members []claims.Member) []Pair {
	out := []Pair{}
	var lone []Pair
	for _, m := range members {
		switch n := len(out); {
		case m.Pair == "":
			lone = append(lone, Pair{Members: []claims.Member{m}})
		case n > 0 && out[n-1].Name == m.Pair:
			out[n-1].Members = append(out[n-1].Members, m)
		default:
			out = append(out, Pair{Name: m.Pair, Topology: m.Topology, Members: []claims.Member{m}})
		}
	}
	return append(out, lone...)
}

// Trouble is what is wrong with a pair, as words; none where nothing is known to be.
func (p Pair) Trouble() []string {
	var out []string
	alive := map[string]string{}
	for _, m := range p.Members {
		alive[m.Instance] = m.Alive
	}
	for _, m := range p.Members {
		if m.Alive == "no" {
			out = append(out, m.Instance+" does not answer")
		}
		if m.Disputed {
			out = append(out, "sources disagree on "+m.Instance)
		}
		if m.From != "" && alive[m.From] == "no" {
			out = append(out, m.Instance+" replicates from a server that does not answer")
		}
		if m.Lag != "" && m.Lag != "0" {
			out = append(out, m.Instance+" is "+m.Lag+" s behind")
		}
	}
	if p.Name == "" {
		out = append(out, "no source says to which pair it belongs")
	}
	return out
}
