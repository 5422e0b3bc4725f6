package graph

import (
	"fmt"
	"strings"

	"stowage/farm"
)

// DOT is the graph in the language of Graphviz: sources as boxes, who uses them as ellipses. It can be drawn with `dot -Tsvg`.
func (g Graph) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n", quoted(g.Farm))
	for _, n := range g.Nodes {
		if n.IsUse {
			fmt.Fprintf(&b, "  %s [shape=ellipse];\n", quoted(n.Name))
			continue
		}
		label := fmt.Sprintf("%s\n%s, %s\n%s", n.Name, n.Kind, Age(g.Taken, n.At), farm.Counted(n.Claims, "claim"))
		more := ""
		if n.Blamed > 0 {
			label += fmt.Sprintf(", %d wrong", n.Blamed)
			more = ", color=red"
		}
		if n.IsStale {
			more += ", style=\"rounded,dashed\""
		}
		fmt.Fprintf(&b, "  %s [label=%s%s];\n", quoted(n.Name), quoted(label), more)
	}
	for _, e := range g.Edges {
		var more []string
		label := string(e.How)
		if e.Disagree > 0 {
			label += fmt.Sprintf("\n%d of %d differ", e.Disagree, e.Shared)
			more = append(more, "color=red")
		}
		if e.BehindSeconds > 0 {
			label += "\n" + e.Freshness()
		}
		if !e.HasDirection {
			more = append(more, "dir=none", "style=dashed")
		}
		fmt.Fprintf(&b, "  %s -> %s [%s];\n", quoted(e.From), quoted(e.To), strings.Join(append([]string{"label=" + quoted(label)}, more...), ", "))
	}
	b.WriteString("}\n")
	return b.String()
}

// quoted is a string of DOT. Backslashes begin escapes there, and \n is a new line.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", "", "\x00", "").Replace(text) + `"`
}
