package report

import (
	"fmt"
	"strings"

	"stowage/inventory/graph"
)

// mostCells is how many pairs are drawn. Those that there is something to say about go first where there are more.
const mostCells = 2000

// newTopologyPicture is every pair as sources tell of it: who replicates from whom, who does not answer and who is behind.
func newTopologyPicture(pairs []graph.Pair) *topologyPicture {
	shown := pairs
	if len(pairs) > mostCells {
		shown = nil
		for _, want := range []bool{true, false} {
			for _, p := range pairs {
				if (len(p.Trouble()) > 0) == want && len(shown) < mostCells {
					shown = append(shown, p)
				}
			}
		}
	}
	counts := map[string]int{}
	var small []smallPair
	most := 2
	for _, p := range shown {
		most = max(most, min(len(p.Members), mostMembers))
		x := smallPair{name: p.Name, title: pairTitle(p)}
		if x.name == "" && len(p.Members) > 0 {
			x.name = p.Members[0].Instance
		}
		for _, m := range p.Members {
			class, glyph := memberClass(m.Alive, m.Lag, m.Disputed)
			counts[class]++
			x.members = append(x.members, smallMember{m.Instance, []string{m.From}, class, glyph})
		}
		small = append(small, x)
	}
	out := drawSmall(small, len(small) > manySmall, most)
	out.ID, out.Keys = "topology", []topologyKey{
		{"fine", "", "answers"}, {"unasked", "", "nobody asked it"}, {"late", "+", "behind"}, {"odd", "?", "sources disagree"}, {"dead", "\u00d7", "does not answer"}}
	out.Desc = fmt.Sprintf("%s: %d servers answer, %d do not, %d are behind, sources disagree about %d, and %d were not asked. The table below has each.", count(len(shown), "pair"), counts["fine"], counts["dead"], counts["late"], counts["odd"], counts["unasked"])
	out.Caption = "Every pair with its servers; an arrow leads from the server that is replicated from"
	if len(pairs) > len(shown) {
		out.Caption += fmt.Sprintf(". %s of %s pairs are drawn", whole(float64(len(shown))), whole(float64(len(pairs))))
	}
	return out
}

func memberClass(alive, lag string, disputed bool) (class, glyph string) {
	switch {
	case alive == "no":
		return "dead", "\u00d7"
	case disputed:
		return "odd", "?"
	case lag != "" && lag != "0":
		return "late", "+"
	case alive == "":
		return "unasked", ""
	}
	return "fine", ""
}

func pairTitle(p graph.Pair) string {
	name := p.Name
	if name == "" {
		name = "no known pair"
	}
	out := []string{name}
	if p.Topology != "" {
		out[0] += ", " + p.Topology
	}
	for _, m := range p.Members {
		text := m.Instance
		if m.Host != "" {
			text += " on " + m.Host
		}
		if m.From != "" {
			text += ", replicates from " + m.From
		}
		if m.Lag != "" {
			text += ", " + m.Lag + " s behind"
		}
		out = append(out, text)
	}
	return strings.Join(append(out, p.Trouble()...), "; ")
}
