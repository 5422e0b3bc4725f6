package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"stowage/farm"
)

// packing is the section: the same sides on the hosts before and after.
type packing struct {
	Before, After panel
	Freed         []farm.HostName
	Rows          []packedRow
	IsScaled      bool // slabs are in proportion to needs
	IsLifted      bool // some would be too low to be read
	Sides         []sideKey
}

// packedRow is one side in the table beside the picture.
type packedRow struct {
	Pair                   farm.PairName
	Side                   farm.SideName
	Instance               farm.InstanceName
	From, To               farm.HostName
	FromShare, ToShare     string
	FromBinding, ToBinding string
}

// panel is one of the two drawings, in units of about one CSS pixel.
type panel struct {
	ID, Title, Desc, Fill string
	Hosts                 int
	Width, Height         float64
	Boxes                 []box
	ShowsLimit            bool
	lifted                bool
}

// box is one host.
type box struct {
	X, Y, W, H     float64
	Name, Caption  string
	Title          string
	NameY, CapY    float64
	Limit          float64 // y of the limit
	HasLimit       bool
	NameSize       float64
	Slabs          []slab
	CaptionVisible bool
}

// slab is one side in a box.
type slab struct {
	X, Y, W, H     float64
	Class          string // p12 sb: pair 12, side B
	Label, Title   string
	TX, TY, Size   float64
	Tab            int
	LabelIsVisible bool
}

const (
	panelWidth = 560.0
	boxGap     = 8.0
)

func newPacking(f Facts) *packing {
	if f.Plan == nil {
		return nil
	}
	s := newStowage(f.Plan, f.Now)
	before, after := newStowage(f.before(), f.Now).before(), s.after()
	numbers, noTwin := map[farm.PairName]int{}, map[farm.PairName]bool{}
	for i, p := range f.Plan.Basis.Pairs {
		numbers[p.Name], noTwin[p.Name] = i, len(p.Sides) != 2
	}
	short := brief(instances(after))
	height := 470.0
	if len(before) > 40 {
		height = 640
	}
	at, to := whereabouts(before), whereabouts(after)
	title := func(x stowed, l load) string {
		text := fmt.Sprintf("%s, side %s of %s: on %s", x.Instance, x.Side, x.Pair, at[x.key()].host)
		if moved := to[x.key()].host; moved != at[x.key()].host {
			text += " before, on " + string(moved) + " after"
		}
		if l.Binding != "" {
			text += fmt.Sprintf("; here %s of %s", percent(x.Share), bindingWords(l.Binding))
		}
		twin := key{x.Pair, x.Side.Twin()}
		if noTwin[x.Pair] {
			return text
		}
		return text + fmt.Sprintf(". Its twin, side %s: %s before, %s after", twin.Side, orNone(at[twin].host), orNone(to[twin].host))
	}
	p := &packing{
		Before: draw("before", before, height, numbers, short, title), After: draw("after", after, height, numbers, short, title),
		Freed: freed(before, after), IsScaled: len(s.needs) > 0,
	}
	p.IsLifted = p.Before.lifted || p.After.lifted
	p.Rows = packedRows(f, at, to)
	last := farm.A
	for _, r := range p.Rows {
		last = max(last, r.Side)
	}
	p.Sides = sideKeys(last)
	return p
}

func orNone(h farm.HostName) string {
	if h == "" {
		return "none"
	}
	return string(h)
}

func bindingWords(b string) string {
	if b == slots {
		return "the instances it may hold"
	}
	return "its " + b
}

// key names one side of one pair.
type key struct {
	Pair farm.PairName
	Side farm.SideName
}

func (x stowed) key() key { return key{x.Pair, x.Side} }

// spot is where a side is, and its share there.
type spot struct {
	host    farm.HostName
	share   float64
	binding string
}

func whereabouts(ls []load) map[key]spot {
	out := map[key]spot{}
	for _, l := range ls {
		for _, x := range l.Sides {
			out[x.key()] = spot{l.Name, x.Share, l.Binding}
		}
	}
	return out
}

func instances(ls []load) []string {
	var out []string
	for _, l := range ls {
		for _, x := range l.Sides {
			out = append(out, string(x.Instance))
		}
	}
	return out
}

func packedRows(f Facts, at, to map[key]spot) []packedRow {
	var out []packedRow
	show := func(s spot) string {
		if s.binding == "" {
			return ""
		}
		return percent(s.share) + " of " + strings.ReplaceAll(s.binding, slots, "instances")
	}
	for _, p := range f.Plan.Basis.Farm().Pairs {
		for _, side := range p.SideNames() {
			k := key{p.Name, side}
			out = append(out, packedRow{
				Pair: p.Name, Side: side, Instance: p.Instance(side), From: at[k].host, To: to[k].host,
				FromShare: show(at[k]), ToShare: show(to[k]),
			})
		}
	}
	return out
}

// draw lays hosts out in rows of a panel. A box is as high as its host is
// large: 100 % of the resource that binds there.
func draw(id string, ls []load, height float64, numbers map[farm.PairName]int, short func(string) string, title func(stowed, load) string) panel {
	p := panel{ID: id, Width: panelWidth, Height: height, Hosts: len(ls), Fill: fillRange(ls), Title: strings.ToUpper(id[:1]) + id[1:] + ": " + count(len(ls), "host")}
	p.Desc = fmt.Sprintf("%s as boxes, the instances on them stacked from the bottom; a full box is all of the resource that binds on that host. %s. The same as a table: below.",
		count(len(ls), "host"), strings.ToUpper(p.Fill[:1])+p.Fill[1:])
	if len(ls) == 0 {
		return p
	}
	columns := int(math.Ceil(math.Sqrt(float64(len(ls)) * 1.25)))
	rows := (len(ls) + columns - 1) / columns
	w := (panelWidth - boxGap*float64(columns-1)) / float64(columns)
	pitch := height / float64(rows)
	size := math.Min(12, math.Max(8, w/6))
	caption := size * 2.5
	for i, l := range ls {
		b := box{
			X: float64(i%columns) * (w + boxGap), Y: float64(i/columns) * pitch, W: w, H: pitch - caption - boxGap,
			Name: clip(string(l.Name), w, size), Caption: l.short(), Title: fmt.Sprintf("%s (%s): %s", l.Name, l.Type, l.fillText()),
			NameSize: round1(size), CaptionVisible: l.Binding != "",
		}
		if words := l.fillText(); fits(words, w, size) {
			b.Caption = words
		}
		b.NameY, b.CapY = b.Y+b.H+size, b.Y+b.H+2*size+1
		b.HasLimit = l.Binding != "" && l.Limit < 1
		b.Limit = b.Y + b.H*(1-l.Limit)
		p.ShowsLimit = p.ShowsLimit || b.HasLimit
		if b.stack(l, numbers, short, title) {
			p.lifted = true
		}
		p.Boxes = append(p.Boxes, b.rounded())
	}
	p.enter()
	return p
}

// leastHeight is how low a slab may be drawn: a name must fit.
const leastHeight = 12.0

// heights of the slabs of a host. What is too low to be read is drawn higher,
// as far as there is room; the figures beside it stay what they are.
func heights(l load, room float64) []float64 {
	out, sum := make([]float64, len(l.Sides)), 0.0
	for i, x := range l.Sides {
		if l.Binding != "" {
			out[i] = min(x.Share, 1) * room
		}
		out[i] = max(out[i], min(leastHeight, room/float64(len(l.Sides))))
		sum += out[i]
	}
	if sum > room {
		for i := range out {
			out[i] *= room / sum
		}
	}
	return out
}

// enter makes the first slab the one place where the tab key enters the panel;
// the arrow keys do the rest, so that 120 slabs are not 120 stops.
func (p *panel) enter() {
	for _, b := range p.Boxes {
		if len(b.Slabs) > 0 {
			b.Slabs[0].Tab = 0
			return
		}
	}
}

// stack puts the sides on each other, the largest at the bottom, and reports
// whether any is drawn higher than its share.
func (b *box) stack(l load, numbers map[farm.PairName]int, short func(string) string, title func(stowed, load) string) (lifted bool) {
	bottom := b.Y + b.H
	for i, h := range heights(l, b.H) {
		x := l.Sides[i]
		lifted = lifted || l.Binding != "" && h > x.Share*b.H+1
		s := slab{
			X: b.X + 1.5, W: b.W - 3, Y: bottom - h, H: math.Max(h-1.5, 1.5),
			Class: fmt.Sprintf("p%d %s", numbers[x.Pair], sideLook(x.Side)),
			Title: title(x, l), Tab: -1,
		}
		s.Size = math.Min(12, s.H-1)
		s.Label = string(x.Instance)
		if s.Size = math.Min(s.Size, 11.5); !fits(s.Label, s.W, s.Size) {
			s.Label = short(s.Label)
		}
		if !fits(s.Label, s.W, s.Size) {
			s.Size = s.W / (0.64 * float64(len(s.Label)))
		}
		s.LabelIsVisible = s.Size >= 6.5
		s.TX, s.TY = s.X+s.W/2, s.Y+s.H/2+s.Size*0.36
		bottom -= h
		b.Slabs = append(b.Slabs, s)
	}
	return lifted
}

// sideKey is what a side looks like in both pictures.
type sideKey struct{ Class, Text string }

// sideLook is the class of a side: B is hatched, further replicas are dotted.
func sideLook(side farm.SideName) string { return "s" + strings.ToLower(string(min(side, "C"))) }

// sideKeys are the looks of a picture whose last side is this one.
func sideKeys(last farm.SideName) []sideKey {
	out := []sideKey{{"keya", "side A"}, {"keyb", "side B"}, {"keyc", "side C"}}
	switch {
	case last > "C":
		out[2].Text = "sides C to " + string(last)
	case last == farm.B:
		out = out[:2]
	case last < farm.B:
		out = out[:1]
	}
	return out
}

func fits(text string, width, size float64) bool {
	return float64(len(text))*size*0.6 <= width-2
}

func clip(text string, width, size float64) string {
	runes := []rune(text)
	if most := int(width / (size * 0.56)); len(runes) > most && most > 1 {
		return string(runes[:most-1]) + "\u2026"
	}
	return text
}

func (b box) rounded() box {
	for _, v := range []*float64{&b.X, &b.Y, &b.W, &b.H, &b.NameY, &b.CapY, &b.Limit} {
		*v = round1(*v)
	}
	for i := range b.Slabs {
		s := &b.Slabs[i]
		for _, v := range []*float64{&s.X, &s.Y, &s.W, &s.H, &s.TX, &s.TY, &s.Size} {
			*v = round1(*v)
		}
	}
	return b
}

// mostHighlights is of how many pairs the style outlines both sides. A browser looks at every such rule whenever the pointer moves: with a thousand of them it
// took a tenth of a second. Of more pairs the script does it.
const mostHighlights = 150

// highlights are the style rules that outline both sides of the pair under
// the pointer or with the focus, in both panels, without a script. They hold
// numbers only, no name from outside.
func highlights(p *packing, pairs int) template.CSS {
	var b strings.Builder
	if p == nil || pairs > mostHighlights {
		return ""
	}
	for i := range pairs {
		fmt.Fprintf(&b, ".packing:has(.p%d:is(:hover,:focus)) .p%d{opacity:1}.packing:has(.p%d:is(:hover,:focus)) .p%d rect{stroke:var(--ink);stroke-width:2}\n", i, i, i, i)
	}
	return template.CSS(b.String())
}
