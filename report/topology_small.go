package report

import (
	"fmt"
)

// topologyPicture is a small picture of every pair: its servers, what each does, and who replicates from whom.
type topologyPicture struct {
	ID                  string
	Width, Height, Size float64
	Desc, Caption       string
	Keys                []topologyKey
	Cells               []topologyCell
}

type topologyKey struct{ Class, Glyph, Text string }

type topologyCell struct {
	Title, Label string
	LX, LY       float64
	Boxes        []topologyBox
	Links        []string
}

type topologyBox struct {
	X, Y, W, GX, GY, GS float64
	Class, Glyph        string
}

// smallPair is a pair to be drawn, smallMember one of its servers.
type smallPair struct {
	name, title string
	members     []smallMember
}

type smallMember struct {
	name         string
	from         []string // names of others
	class, glyph string
}

// manySmall is how many pairs are drawn with room for their names. More are drawn smaller.
const manySmall = 120

// mostMembers is how many servers of one pair are drawn; the table has all.
const mostMembers = 8

func newSmallPicture(pairs []topologyPair, dense bool, most int) *topologyPicture {
	var small []smallPair
	for _, p := range pairs {
		x := smallPair{name: string(p.name), title: p.title()}
		for _, s := range p.sides {
			m := smallMember{name: string(s.side), class: stands[s.stand].class, glyph: stands[s.stand].glyph}
			for _, from := range s.from {
				m.from = append(m.from, string(from))
			}
			x.members = append(x.members, m)
		}
		small = append(small, x)
	}
	out := drawSmall(small, dense, most)
	out.Desc = describe(pairs)
	return out
}

// drawSmall lays pairs out in rows, with room for so many servers each.
func drawSmall(pairs []smallPair, dense bool, most int) *topologyPicture {
	box, gap, label, tall, size := 18.0, 22.0, 92.0, 30.0, 11.0
	if dense {
		box, gap, label, tall, size = 11, 9, 38, 17, 9
	}
	var names []string
	for _, p := range pairs {
		names = append(names, p.name)
	}
	wide := label + float64(most)*(box+gap) + 8
	columns := max(1, int(planWidth/wide))
	rows := (len(pairs) + columns - 1) / columns
	out := &topologyPicture{Width: planWidth, Height: float64(rows)*tall + 6, Size: size}
	letters := int(label / size * 1.6)
	short := labels(names, letters)
	for i, p := range pairs {
		x, y := float64(i%columns)*wide, float64(i/columns)*tall+4
		cell := topologyCell{Title: p.title, Label: shortened(short(p.name), letters), LX: round1(x + label - 6), LY: round1(y + box/2 + size*0.36)}
		at := map[string]float64{}
		for j, m := range p.members[:min(len(p.members), mostMembers)] {
			b := topologyBox{X: round1(x + label + float64(j)*(box+gap)), Y: round1(y), W: box, Class: m.class, Glyph: m.glyph}
			b.GX, b.GY, b.GS = round1(b.X+box/2), round1(y+box*0.82), round1(box*0.85)
			cell.Boxes = append(cell.Boxes, b)
			at[m.name] = b.X
		}
		for _, m := range p.members {
			for _, name := range m.from {
				from, ok := at[name]
				to, okTo := at[m.name]
				if ok && okTo && from != to {
					cell.Links = append(cell.Links, smallLink(from, to, y, box))
				}
			}
		}
		out.Cells = append(out.Cells, cell)
	}
	return out
}

// smallLink is an arrow from the one that is replicated from; both ways, one above the other.
func smallLink(from, to, y, box float64) string {
	if from < to {
		return fmt.Sprintf("M%g,%gH%gm-3,-2l3,2l-3,2", round1(from+box), round1(y+box*0.35), to)
	}
	return fmt.Sprintf("M%g,%gH%gm3,-2l-3,2l3,2", from, round1(y+box*0.7), round1(to+box))
}
