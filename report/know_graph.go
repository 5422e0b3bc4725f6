package report

import (
	"fmt"
	"strings"

	"stowage/inventory/graph"
)

// graphPicture is who feeds whom: sources in columns, those that are made of others to the right of them. Its table twin stands below it.
type graphPicture struct {
	Width, Height float64
	Desc, Caption string
	Nodes         []graphNode
	Edges         []graphEdge
}

type graphNode struct {
	X, Y, W, H   float64
	Class, Title string
	Lines        []graphText
}

type graphText struct {
	X, Y        float64
	Class, Text string
}

type graphEdge struct {
	Path, Class, Tip, Title string
	Labels                  []graphText
}

const (
	nodeWide, nodeTall = 186.0, 62.0
	rowTall            = 92.0
)

func newGraphPicture(g graph.Graph) *graphPicture {
	columns := graphColumns(g)
	p := &graphPicture{Width: planWidth, Caption: "Sources, those that are made of others to the right of them. Ages and disagreement are those of the newest inventory check"}
	at := map[string]*graphNode{}
	space := planWidth - nodeWide - 4
	if len(columns) > 1 {
		space /= float64(len(columns) - 1)
	}
	p.Height = 14
	for i, c := range columns { // the row of farm.yaml is left free: what reads it is at its end
		top := 7.0
		if i > 0 && len(c) > 0 && c[0].Name != graph.Acts {
			top += rowTall
		}
		p.Height = max(p.Height, top+7+float64(len(c))*rowTall)
		for j, n := range c {
			x := graphNodeOf(g, n, round1(2+float64(i)*space), round1(top+float64(j)*rowTall+(rowTall-nodeTall)/2))
			p.Nodes = append(p.Nodes, x)
			at[n.Name] = &x
		}
	}
	var said []string
	for _, e := range g.Edges {
		from, to := at[e.From], at[e.To]
		if from == nil || to == nil {
			continue
		}
		p.Edges = append(p.Edges, graphEdgeOf(e, from, to, space-nodeWide))
		verb := "is linked with"
		if e.HasDirection {
			verb = "is read by"
		}
		said = append(said, fmt.Sprintf("%s %s %s", e.From, verb, e.To))
	}
	p.Desc = "No source is known to feed another."
	if len(said) > 0 {
		p.Desc = strings.Join(said, "; ") + "."
	}
	return p
}

// graphColumns places every node behind all that feed it. Rings end somewhere.
func graphColumns(g graph.Graph) [][]graph.Node {
	depth := map[string]int{}
	for range g.Nodes {
		changed := false
		for _, e := range g.Edges {
			if d := depth[e.From] + 1; d > depth[e.To] && d < len(g.Nodes) {
				depth[e.To], changed = d, true
			}
		}
		if !changed {
			break
		}
	}
	last := 0
	for _, n := range g.Nodes {
		if !n.IsUse {
			last = max(last, depth[n.Name])
		}
	}
	var out [][]graph.Node
	for _, n := range g.Nodes {
		d := min(depth[n.Name], last)
		if n.IsUse {
			d = last + 1
		}
		for len(out) <= d {
			out = append(out, nil)
		}
		out[d] = append(out[d], n)
	}
	return out
}

func graphNodeOf(g graph.Graph, n graph.Node, x, y float64) graphNode {
	out := graphNode{X: x, Y: y, W: nodeWide, H: nodeTall, Class: "use", Title: n.Name}
	line := func(nth int, class, text string) {
		out.Lines = append(out.Lines, graphText{round1(x + 10), round1(y + 18 + 16*float64(nth)), class, text})
	}
	line(0, "srcname", shortened(n.Name, 24))
	if n.IsUse {
		line(1, "", "uses a source")
		return out
	}
	out.Class = "plain"
	if n.IsStale || n.IsPart {
		out.Class = "stale"
	}
	if n.Blamed > 0 {
		out.Class += " blamed"
	}
	line(1, "", fmt.Sprintf("%s, %s", n.Kind, graph.Age(g.Taken, n.At)))
	class, text := "", count(n.Claims, "claim")
	if n.State() != "read" {
		class, text = "srcbad", n.State()
	}
	if n.Blamed > 0 {
		class, text = "srcbad", text+", wrong in "+whole(float64(n.Blamed))
	}
	line(2, class, text)
	out.Title = fmt.Sprintf("%s: %s, %s, %s, as of %s; wrong in %d, surely in %d. %s", n.Name, n.Kind, n.Where, count(n.Claims, "claim"), n.At.UTC().Format("2006-01-02 15:04 UTC"), n.Blamed, n.Surely, n.Why)
	return out
}

// shortened cuts a name that does not fit.
func shortened(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "\u2026"
	}
	return text
}

// bezier is one coordinate of a cubic curve.
func bezier(t, a, b, c, d float64) float64 {
	u := 1 - t
	return u*u*u*a + 3*u*u*t*b + 3*u*t*t*c + t*t*t*d
}

func graphEdgeOf(e graph.Edge, from, to *graphNode, gap float64) graphEdge {
	x1, y1, x2, y2 := from.X+from.W, from.Y+from.H/2, to.X, to.Y+to.H/2
	bend := max(40, (x2-x1)/2)
	out := graphEdge{Path: fmt.Sprintf("M%g,%gC%g,%g %g,%g %g,%g", x1, y1, round1(x1+bend), y1, round1(x2-bend), y2, x2, y2), Class: "plain", Tip: "tip"}
	if e.Disagree > 0 {
		out.Class, out.Tip = "bad", "tip-bad"
	}
	if !e.HasDirection {
		out.Class, out.Tip = out.Class+" open", ""
	}
	texts := []string{string(e.How)}
	if e.Disagree > 0 {
		texts = append(texts, e.Difference()+" differ")
	}
	if e.BehindSeconds > 0 {
		texts = append(texts, e.Freshness())
	}
	// In the middle of the first gap between columns: a longer edge goes on behind boxes.
	x := x1 + min(x2-x1, gap)/2
	t, step := 0.5, 0.25
	for range 12 {
		if at := bezier(t, x1, x1+bend, x2-bend, x2); at > x {
			t -= step
		} else {
			t += step
		}
		step /= 2
	}
	y := bezier(t, y1, y1, y2, y2) - 13*float64(len(texts)-1) - 2
	for i, t := range texts {
		out.Labels = append(out.Labels, graphText{round1(x), round1(y + 13*float64(i) - 3), "", t})
	}
	out.Title = fmt.Sprintf("%s and %s: %s. %s", e.From, e.To, strings.Join(texts, ", "), e.Evidence)
	return out
}
