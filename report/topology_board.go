package report

import (
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"sync"

	"stowage/farm"
)

// standCounts are servers by what they do.
type standCounts [standDead + 1]int

func (p topologyPair) counts() (n standCounts) {
	for _, s := range p.sides {
		n[s.stand]++
	}
	return n
}

// TopologyBoard is the pairs of a farm as parts of a page: their words and legend, and blocks that are drawn anew each for itself, so that what changes in one
// of them is small however large the farm is.
type TopologyBoard struct {
	Key    string // another key is another division into blocks
	Head   template.HTML
	Blocks []template.HTML
	Style  template.CSS
}

// How many pairs are drawn in which detail. A block of cards has a dozen kilobytes, one of groups 30, one of small pictures 100.
const (
	mostCards   = 48
	cardsBlock  = 12
	smallsBlock = 120
	mostSmalls  = 1200
	groupsBlock = 60
	mostRacks   = 400 // groups that are listed
)

// topologyHead is what is above the blocks.
type topologyHead struct {
	Words, Notes []string
	Keys         []topologyKey
	Back         bool // a group is shown: there is a way back to all
}

// topologyBlock is one block and its table.
type topologyBlock struct {
	ID, Title string
	Cards     *cardPicture
	Small     *topologyPicture
	Groups    *groupPicture
	Table     planTable
}

// NewTopologyBoard draws a farm: up to 48 pairs one by one, up to 1,200 as small pictures, and of more the groups that they are in, with those pairs that there is
// something to say about. Page is the address of the page that shows a group, as ?group=NAME.
func NewTopologyBoard(f TopologyFacts, page string) (TopologyBoard, error) {
	t := newTopology(f)
	var pairs []topologyPair
	for _, g := range t.groups {
		if f.Group == "" || g.name == f.Group {
			pairs = append(pairs, g.pairs...)
		}
	}
	blocks := t.blocks(pairs, page)
	b := TopologyBoard{Key: fmt.Sprintf("%s %d %d", f.Group, len(pairs), len(blocks)), Style: template.CSS(own(planPages, "planpage/plan.css"))}
	var err error
	if b.Head, err = drawn("topology-head", t.head(pairs)); err != nil {
		return b, err
	}
	for _, x := range blocks {
		html, err := drawn("topology-block", x)
		if err != nil {
			return b, err
		}
		b.Blocks = append(b.Blocks, html)
	}
	return b, nil
}

// boardTemplates are those of boards: one is drawn several times a second.
var boardTemplates = sync.OnceValues(func() (*template.Template, error) {
	t, err := template.New("board").Funcs(functions()).ParseFS(pages, "page/*.html")
	if err == nil {
		t, err = t.ParseFS(planPages, "planpage/sections.html", "planpage/topology.html")
	}
	return t, err
})

// drawn is one template as HTML.
func drawn(name string, of any) (template.HTML, error) {
	t, err := boardTemplates()
	var b strings.Builder
	if err == nil {
		err = t.ExecuteTemplate(&b, name, of)
	}
	if err != nil {
		return "", &farm.Error{Op: "draw", Subject: name, Err: err}
	}
	return template.HTML(b.String()), nil
}

func (t *topology) head(pairs []topologyPair) topologyHead {
	f := t.facts
	h := topologyHead{Back: f.Group != ""}
	hosts := map[farm.HostName]bool{}
	var n standCounts
	for _, p := range pairs {
		for _, s := range p.sides {
			hosts[s.host] = true
			n[s.stand]++
		}
	}
	text := fmt.Sprintf("%s on %s", count(len(pairs), "pair"), count(len(hosts), "host"))
	if f.Group != "" {
		text = fmt.Sprintf("%s %s: %s", t.label, f.Group, text)
	}
	h.Words = append(h.Words, text+".")
	for i, k := range n {
		if k > 0 {
			h.Keys = append(h.Keys, topologyKey{stands[i].class, stands[i].glyph, fmt.Sprintf("%s %s: %s", whole(float64(k)), stands[i].word, stands[i].words)})
		}
	}
	if f.RouteNote != "" {
		h.Notes = append(h.Notes, f.RouteNote)
	}
	if f.Asked.IsZero() {
		h.Notes = append(h.Notes, "How far servers are behind is not known: no inventory has asked them. stowage inventory does.")
	} else {
		h.Notes = append(h.Notes, fmt.Sprintf("How far servers are behind is what they said to the inventory of %s, %s ago. stowage inventory asks again.", moment(f.Asked), f.Age))
	}
	return h
}

func (t *topology) blocks(pairs []topologyPair, page string) []topologyBlock {
	switch {
	case len(pairs) <= mostCards:
		return t.cards(pairs)
	case len(pairs) <= mostSmalls || t.facts.Group != "" && len(t.groups) > 1:
		return t.smalls(pairs)
	}
	return t.grouped(pairs, page)
}

func (t *topology) cards(pairs []topologyPair) (out []topologyBlock) {
	for part := range slices.Chunk(pairs, cardsBlock) {
		id := fmt.Sprintf("pairs-%d", len(out))
		out = append(out, topologyBlock{ID: id, Cards: newCardPicture(id, part), Table: pairTable(part)})
	}
	return out
}

// smalls are pairs as small pictures; those beyond what a browser shows without effort are left to their own groups, or to stowage status.
func (t *topology) smalls(pairs []topologyPair) (out []topologyBlock) {
	shown := pairs[:min(len(pairs), mostSmalls*2)]
	most := 2
	for _, p := range shown {
		most = max(most, min(len(p.sides), mostMembers))
	}
	for part := range slices.Chunk(shown, smallsBlock) {
		id := fmt.Sprintf("pairs-%d", len(out))
		p := newSmallPicture(part, len(shown) > manySmall, most)
		p.ID = id
		out = append(out, topologyBlock{ID: id, Small: p, Table: pairTable(part)})
	}
	if len(shown) < len(pairs) {
		last := &out[len(out)-1]
		last.Title = fmt.Sprintf("%s of %s pairs are drawn", whole(float64(len(shown))), whole(float64(len(pairs))))
	}
	return out
}

// grouped are the groups of a large farm, and those pairs that there is something to say about.
func (t *topology) grouped(pairs []topologyPair, page string) []topologyBlock {
	var marked []topologyPair
	all := 0
	for _, want := range []stand{standDead, standHeld, standWork, standBehind, standAway} {
		for _, p := range pairs {
			if p.worst() == want {
				if all++; len(marked) < cardsBlock {
					marked = append(marked, p)
				}
			}
		}
	}
	x := topologyBlock{ID: "marked", Title: "Pairs to look at: none"}
	if all > 0 {
		x.Title, x.Cards, x.Table = fmt.Sprintf("Pairs to look at: %s", whole(float64(all))), newCardPicture("marked", marked), pairTable(marked)
		if all > len(marked) {
			x.Title = fmt.Sprintf("Pairs to look at: %d of %s", len(marked), whole(float64(all)))
		}
	}
	shown := t.groups[:min(len(t.groups), mostRacks)]
	most := 1
	for _, g := range shown {
		most = max(most, g.counts().sum())
	}
	title := fmt.Sprintf("By %s: %s", t.label, whole(float64(len(t.groups))))
	if len(shown) < len(t.groups) {
		title = fmt.Sprintf("By %s: %d of %s", t.label, len(shown), whole(float64(len(t.groups))))
	}
	out := []topologyBlock{x}
	for part := range slices.Chunk(shown, groupsBlock) {
		id := fmt.Sprintf("groups-%d", len(out))
		out = append(out, topologyBlock{ID: id, Title: title, Groups: newGroupPicture(id, part, most, page), Table: groupTable(part, t.label)})
		title = ""
	}
	return out
}

// asTable is the summary of a table that a picture has, from its first row to its last.
func asTable(first, last string) string {
	if first == last {
		return "View as table: " + first
	}
	return fmt.Sprintf("View as table: %s to %s", first, last)
}

// pairTable is every server of pairs.
func pairTable(pairs []topologyPair) planTable {
	t := planTable{Head: columns("instance", "pair", "topology", "host", "what it does", "#clients", "replicates from", "#seconds behind")}
	for _, p := range pairs {
		for _, s := range p.sides {
			clients := ""
			if s.weight >= 0 {
				clients = percent(s.weight / 100)
			}
			what := stands[s.stand].word
			switch {
			case s.trouble != "":
				what = s.about()
			case s.step != "":
				what += ": " + s.step
			}
			t.Rows = append(t.Rows, cells(string(s.instance), string(p.name), string(p.topology), fmt.Sprintf("%s:%d", s.host, s.port), what, clients, s.follows(), s.behind))
		}
	}
	t.Caption = asTable(string(pairs[0].name), string(pairs[len(pairs)-1].name))
	return t
}

// groupPage is the address at which a group is shown.
func groupPage(page, name string) string { return page + "?" + url.Values{"group": {name}}.Encode() }
