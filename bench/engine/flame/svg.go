package flame

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"stowage/farm"
)

//go:embed flame.svg
var picture string

const (
	width    = 1200.0
	margin   = 10.0
	rowTall  = 17.0
	top      = 62.0
	letter   = 6.6 // of the font, in pixels
	thinnest = 0.3 // a frame that nobody could see
)

// box is a frame in the picture.
type box struct {
	X, W, Y, TextY     float64
	Title, Text, Class string
}

type page struct {
	Title, Sub string
	W, H       float64
	Boxes      []box
	RowTall    float64
	FootY      float64
}

// WriteSVG draws the graph: the outermost callers at the bottom, the width of a frame is its part of the samples. The file loads nothing.
func (g *Graph) WriteSVG(w io.Writer, title, sub string) error {
	p := page{Title: title, Sub: sub, W: width, RowTall: rowTall - 1}
	deep := g.root.depth() - 1
	p.H = top + float64(max(deep, 1))*rowTall + 30
	p.FootY = p.H - 10
	if g.Samples > 0 {
		g.place(&p, &g.root, margin, 0, (width-2*margin)/float64(g.Samples))
	}
	t, err := template.New("flame").Funcs(template.FuncMap{"x": escaped}).Parse(picture)
	if err != nil {
		return &farm.Error{Op: "draw flame graph", Err: err}
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return &farm.Error{Op: "draw flame graph", Err: err}
	}
	_, err = w.Write(b.Bytes())
	return err
}

func escaped(text string) (string, error) {
	var b bytes.Buffer
	err := xml.EscapeText(&b, []byte(text))
	return b.String(), err
}

func (n *node) depth() int {
	deepest := 0
	for _, c := range n.children {
		deepest = max(deepest, c.depth())
	}
	return deepest + 1
}

// place puts the children of a node above it, by name, so that the same function has the same place in two pictures.
func (g *Graph) place(p *page, n *node, x float64, level int, each float64) {
	children := slices.Clone(n.children)
	slices.SortFunc(children, func(a, b *node) int { return strings.Compare(a.frame.Name+a.frame.Module, b.frame.Name+b.frame.Module) })
	for _, c := range children {
		wide := float64(c.samples) * each
		if wide >= thinnest {
			y := p.H - 30 - float64(level+1)*rowTall
			b := box{X: round(x), W: round(wide), Y: y, TextY: y + 12, Class: class(c.frame), Title: fmt.Sprintf("%s (%s): %.2f %%, %s, %.2f %% in itself", c.frame.Name, c.frame.Module, 100*float64(c.samples)/float64(g.Samples), farm.Counted(c.samples, "sample"), 100*float64(c.self)/float64(g.Samples))}
			if room := int((wide - 6) / letter); room >= 3 {
				if b.Text = c.frame.Name; len(b.Text) > room {
					b.Text = strings.ToValidUTF8(b.Text[:room-1], "") + "\u2026"
				}
			}
			p.Boxes = append(p.Boxes, b)
			g.place(p, c, x, level+1, each)
		}
		x += wide
	}
}

func round(v float64) float64 { return float64(int(v*100+0.5)) / 100 }

// class is the colour: whose code it is.
func class(f Frame) string {
	switch {
	case f.Module == "thread":
		return "t"
	case f.IsKernel():
		return "k"
	case f.Name == Unnamed:
		return "u"
	case strings.HasPrefix(f.Module, "lib") || strings.HasPrefix(f.Module, "ld-"):
		return "l"
	}
	return "s"
}
