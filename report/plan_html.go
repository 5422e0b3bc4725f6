package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"

	"stowage/farm"
)

//go:embed planpage/*.html planpage/plan.css
var planPages embed.FS

// planPage is what the template sees.
type planPage struct {
	Doc    any // *PlanDocument or *DecisionDocument
	IsBad  bool
	Policy string
	Style  template.CSS
	Code   template.JS
}

// WriteHTML writes the document as one HTML file that loads nothing from
// anywhere: pictures are SVG, and the one script only helps to point at them.
func (d *PlanDocument) WriteHTML(w io.Writer) error {
	fail := func(err error) error {
		return &farm.Error{Op: "write document of plan", Subject: d.Name, Err: err}
	}
	page, err := newPlanPage(d)
	if err != nil {
		return fail(err)
	}
	if err := page.write(w, "plan.html"); err != nil {
		return fail(err)
	}
	return nil
}

// write fills one of the templates of planpage: documents that are reviewed have their sections and style in common.
func (p *planPage) write(w io.Writer, name string) error {
	t, err := template.New("plan").Funcs(functions()).ParseFS(pages, "page/cells.html", "page/hatches.html", "page/packing.html", "page/strip.html", "page/table.html")
	if err != nil {
		return err
	}
	if t, err = t.ParseFS(planPages, "planpage/sections.html", "planpage/"+name); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, p); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

func newPlanPage(d *PlanDocument) (*planPage, error) {
	p, err := newPage(d)
	if err != nil {
		return nil, err
	}
	for _, s := range d.Sections {
		if s.Packing != nil {
			p.Style += highlights(&packing{}, s.Packing.Numbers)
		}
	}
	p.IsBad = d.isWrong
	p.seal()
	return p, nil
}

// newPage is a page with the style and the script that all documents have.
func newPage(doc any) (*planPage, error) {
	style, err := pages.ReadFile("page/report.css")
	if err != nil {
		return nil, err
	}
	own, err := planPages.ReadFile("planpage/plan.css")
	if err != nil {
		return nil, err
	}
	code, err := pages.ReadFile("page/report.js")
	if err != nil {
		return nil, err
	}
	return &planPage{Doc: doc, Code: template.JS(code), Style: template.CSS(style) + template.CSS(own)}, nil
}

// seal allows what the page holds by now, and nothing else.
func (p *planPage) seal() {
	p.Policy = fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'", hash(string(p.Code)), hash(string(p.Style)))
}

// meter is how long a bar of 72 is.
func meter(share float64) float64 { return round1(72 * min(max(share, 0), 1)) }

// meterTone says how near its end a bar is.
func meterTone(c planCell) string {
	switch {
	case c.Share > c.Limit*(1+1e-9):
		return "over"
	case c.Share > nearLimit*c.Limit:
		return "near"
	}
	return "full"
}
