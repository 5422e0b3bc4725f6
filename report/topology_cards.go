package report

import (
	"fmt"

	"stowage/farm"
)

// cardPicture is pairs one by one: each server with its host, its share of the clients, and how far it is behind.
type cardPicture struct {
	ID            string
	Width, Height float64
	Desc          string
	Cards         []card
}

type card struct {
	X, Y, W, H  float64
	Name, Class string
	Topology    string
	RX          float64 // the right end of it
	Title       string
	Rows        []cardRow
	Links       []string
}

type cardRow struct {
	X, Y               float64
	GX, TX, TY, BX, FX float64 // of its glyph, its name, its bar of clients, and its figures
	Class, Glyph       string
	Name, Words        string
	HasShare           bool
	Share, BarW, BarY  float64
}

const (
	cardWide, cardGap     = 378.0, 20.0
	cardHead, cardRowTall = 26.0, 21.0
	cardBar               = 44.0
)

// newCardPicture draws pairs three to a row; rows are as high as their highest card.
func newCardPicture(id string, pairs []topologyPair) *cardPicture {
	out := &cardPicture{ID: id, Width: planWidth}
	const columns = 3
	top := 2.0
	for from := 0; from < len(pairs); from += columns {
		row := pairs[from:min(from+columns, len(pairs))]
		tall := 0.0
		for i, p := range row {
			c := newCard(p, round1(2+float64(i)*(cardWide+cardGap)), top)
			tall = max(tall, c.H)
			out.Cards = append(out.Cards, c)
		}
		top = round1(top + tall + 12)
	}
	out.Height = top
	out.Desc = describe(pairs)
	return out
}

func newCard(p topologyPair, x, y float64) card {
	c := card{X: x, Y: y, W: cardWide, H: cardHead + cardRowTall*float64(len(p.sides)) + 8, Name: shortened(string(p.name), 34), Title: p.title(), Class: stands[p.worst()].class}
	if p.topology != farm.ActiveActive {
		c.Topology, c.RX = string(p.topology), round1(x+cardWide-10)
	}
	middle := map[farm.SideName]float64{}
	for i, s := range p.sides {
		top := y + cardHead + cardRowTall*float64(i)
		look := stands[s.stand]
		r := cardRow{X: x + 34, Y: round1(top + 3), TX: x + 54, TY: round1(top + 14), BX: x + 178, FX: x + 232, Class: look.class, Glyph: look.glyph,
			Name: shortened(fmt.Sprintf("%s  %s:%d", s.side, s.host, s.port), 20), Words: shortened(s.short(), 25), BarY: round1(top + 5), GX: round1(x + 40.5)}
		if s.weight >= 0 {
			r.HasShare, r.Share, r.BarW = true, round1(cardBar*min(max(s.weight, 0), 100)/100), cardBar
		}
		c.Rows = append(c.Rows, r)
		middle[s.side] = round1(top + 9.5)
	}
	// An arrow from the server that is replicated from, in the margin; those upwards stand a little to the left.
	for _, s := range p.sides {
		for _, from := range s.from {
			a, okA := middle[from]
			b, okB := middle[s.side]
			if !okA || !okB {
				continue
			}
			out := 12.0
			a, b = a+3, b-3
			if a > b {
				out, a, b = 22, a-6, b+6
			}
			c.Links = append(c.Links, fmt.Sprintf("M%g,%gH%gV%gH%gm-3,-2l3,2l-3,2", x+32, a, round1(x+32-out), b, x+32))
		}
	}
	return c
}

// short is the side in the few words that a card has room for.
func (s topologySide) short() string {
	text := stands[s.stand].word
	if s.step != "" && s.stand == standWork {
		text += ": " + s.step
	}
	if s.weight > 0 {
		text = percent(s.weight/100) + " " + text
	}
	if len(s.from) > 0 && s.behind != "" && s.stand != standDead {
		text += ", " + s.behind + " s"
	}
	return text
}

// describe counts servers by what they do.
func describe(pairs []topologyPair) string {
	var n standCounts
	for _, p := range pairs {
		for i, k := range p.counts() {
			n[i] += k
		}
	}
	return fmt.Sprintf("%s: servers are %s. The same as a table: below.", count(len(pairs), "pair"), n.words())
}
