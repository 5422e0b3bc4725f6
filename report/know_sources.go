package report

import (
	"fmt"
	"io"
	"strings"

	"stowage/inventory/claims"
	"stowage/inventory/graph"
)

// NewSourcesDocument is what the sources of the farm say of each other.
func NewSourcesDocument(f KnowFacts) *KnowDocument {
	d := &KnowDocument{Title: "Sources"}
	if f.Sources == nil || f.Graph == nil {
		return d
	}
	c, g := f.Sources, f.Graph
	d.Verdict, d.Lead = "Agreed.", fmt.Sprintf("%s say the same of %s.", count(len(c.Sources), "source"), subjectsText(*c))
	if n := len(c.Conflicts); n > 0 {
		sure := 0
		for _, x := range c.Conflicts {
			if x.IsSure {
				sure++
			}
		}
		d.IsBad = true
		d.Verdict, d.Lead = count(n, "conflict")+".", fmt.Sprintf("Who is wrong is sure in %s of them. %s, %s.", whole(float64(sure)), count(len(c.Sources), "source"), subjectsText(*c))
	} else if len(c.Stale)+len(c.Faults) > 0 {
		d.IsBad = true
		d.Verdict, d.Lead = "Not everything could be read.", fmt.Sprintf("What was read does not disagree. %s, %s.", count(len(c.Sources), "source"), subjectsText(*c))
	}
	d.Tiles = []tile{
		{Name: "Sources", Link: "#graph", After: whole(float64(len(c.Sources))), Note: count(len(c.Stale), "stale one"), IsBad: len(c.Stale) > 0},
		{Name: "Conflicts", Link: "#conflicts", After: whole(float64(len(c.Conflicts))), Note: count(len(c.Faults), "line") + " that cannot be read", IsBad: len(c.Conflicts)+len(c.Faults) > 0},
		{Name: "Pairs", Link: "#topology", After: whole(float64(len(g.Pairs))), Note: troubled(g.Pairs)},
		{Name: "As of", Link: "#graph", After: f.since(c.Taken), Note: c.Taken.UTC().Format("2006-01-02 15:04 UTC")},
	}
	d.Sections = []planSection{graphSection(*g), conflictSection(*c), topologySection(*g), weightSection(*g)}
	return d
}

func (f KnowFacts) since(at any) string {
	t, ok := at.(interface{ IsZero() bool })
	if !ok || t.IsZero() {
		return "not known"
	}
	return graph.Age(f.Made, f.Sources.Taken)
}

func subjectsText(c claims.Report) string {
	var out []string
	for _, k := range claims.Kinds {
		out = append(out, count(c.Subjects[k], string(k)))
	}
	return strings.Join(out, ", ")
}

func troubled(pairs []graph.Pair) string {
	n := 0
	for _, p := range pairs {
		if len(p.Trouble()) > 0 {
			n++
		}
	}
	if n == 0 {
		return "nothing to say about them"
	}
	return whole(float64(n)) + " to look at"
}

func graphSection(g graph.Graph) planSection {
	s := planSection{ID: "graph", Name: "Who feeds whom", Graph: newGraphPicture(g)}
	nodes := planTable{Caption: "Sources", Head: columns("source", "kind", "where", "#claims", "age", "state", "#blamed", "#surely", "decides")}
	for _, n := range g.Nodes {
		if n.IsUse {
			continue
		}
		state := n.State()
		if n.Why != "" {
			state += ": " + n.Why
		}
		nodes.Rows = append(nodes.Rows, cells(n.Name, n.Kind, n.Where, whole(float64(n.Claims)), graph.Age(g.Taken, n.At), state, whole(float64(n.Blamed)), whole(float64(n.Surely)), strings.Join(n.Decides, ", ")))
	}
	edges := planTable{Caption: "Edges", Head: columns("from", "", "to", "known by", "disagree about", "freshness", "evidence")}
	for _, e := range g.Edges {
		arrow := "linked with"
		if e.HasDirection {
			arrow = "is read by"
		}
		edges.Rows = append(edges.Rows, cells(e.From, arrow, e.To, string(e.How), e.Difference(), e.Freshness(), e.Evidence))
	}
	s.Tables = []planTable{nodes}
	if len(edges.Rows) > 0 {
		s.Tables = append(s.Tables, edges)
	} else {
		s.Text = []string{"No source is known to feed another. Declare it in inventory.yaml: feeds: [SOURCE]."}
	}
	s.Notes = []string{"What breaks if one is wrong: stowage inventory graph --if SOURCE."}
	return s
}

func conflictSection(c claims.Report) planSection {
	s := planSection{ID: "conflicts", Name: "Conflicts"}
	if len(c.Conflicts) == 0 {
		s.Text = []string{"No two sources disagree, and nothing is missing or impossible."}
	} else {
		t := planTable{Caption: "Every claim side by side", Head: columns("subject", "attribute", "check", "claims", "who is wrong", "why", "remedy")}
		for _, x := range c.Conflicts {
			var said []string
			for _, y := range x.Claims {
				said = append(said, fmt.Sprintf("%s: %s (%s)", y.Source, y.Value, y.Place))
			}
			who := string(x.Verdict) + ", nobody can be named"
			if len(x.Culprits) > 0 {
				who = strings.Join(x.Culprits, ", ") + ", " + string(x.Verdict)
				if x.IsSure {
					who += ", surely"
				}
			}
			t.Rows = append(t.Rows, cells(string(x.Kind)+" "+x.Subject, x.Attribute, x.Check, strings.Join(said, "; "), who, x.Reason, x.Remedy))
		}
		s.Tables = append(s.Tables, t.fold())
	}
	if len(c.Faults) > 0 {
		t := planTable{Caption: "Lines that cannot be read", Head: columns("source", "place", "what")}
		for _, x := range c.Faults {
			t.Rows = append(t.Rows, cells(x.Source, x.Place, x.Text))
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}

func topologySection(g graph.Graph) planSection {
	s := planSection{ID: "topology", Name: "Pairs, replicas and lag", Topology: newTopologyPicture(g.Pairs)}
	t := planTable{Caption: "Instances", Head: columns("instance", "pair", "topology", "host", "replicates from", "answers", "#seconds behind", "remark")}
	for _, p := range g.Pairs {
		remark := strings.Join(p.Trouble(), "; ")
		for i, m := range p.Members {
			if i > 0 {
				remark = ""
			}
			t.Rows = append(t.Rows, cells(m.Instance, p.Name, p.Topology, m.Host, m.From, m.Alive, m.Lag, remark))
		}
	}
	if len(t.Rows) == 0 {
		s.Topology, s.Text = nil, []string{"No source has an instance."}
		return s
	}
	s.Tables = []planTable{t.fold()}
	return s
}

func weightSection(g graph.Graph) planSection {
	t := planTable{Caption: "What rests on each source", Head: columns("source", "attribute", "#claims", "#nobody else says", "#disputed")}
	for _, x := range g.Tallies {
		t.Rows = append(t.Rows, cells(x.Source, x.Attribute, whole(float64(x.Claims)), whole(float64(x.Alone)), whole(float64(x.Disputed))))
	}
	o := planTable{Caption: "Every two sources", Head: columns("source", "and", "#facts of both", "#equal", "#in the same letters")}
	for _, x := range g.Overlaps {
		o.Rows = append(o.Rows, cells(x.A, x.B, whole(float64(x.Shared)), whole(float64(x.Equal)), whole(float64(x.Verbatim))))
	}
	return planSection{ID: "weight", Name: "What rests on what", Tables: []planTable{t.fold(), o.fold()},
		Notes: []string{"A claim that nobody else makes is checked by nobody: a mistake in it is seen when it does harm."}}
}

// GraphSVG writes the picture of who feeds whom as a file of its own.
func GraphSVG(w io.Writer, g graph.Graph) error {
	return writeSVG(w, "graph", newGraphPicture(g))
}
