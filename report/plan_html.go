package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"

	"stowage/farm"
)

//go:embed planpage/plan.html planpage/plan.css
var planPages embed.FS

// planPage is what the template sees.
type planPage struct {
	Doc    *PlanDocument
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
	t, err := template.New("plan").Funcs(functions()).ParseFS(pages, "page/packing.html", "page/table.html")
	if err != nil {
		return fail(err)
	}
	if t, err = t.ParseFS(planPages, "planpage/plan.html"); err != nil {
		return fail(err)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "plan.html", page); err != nil {
		return fail(err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fail(err)
	}
	return nil
}

func newPlanPage(d *PlanDocument) (*planPage, error) {
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
	p := &planPage{Doc: d, Code: template.JS(code), Style: template.CSS(style) + template.CSS(own)}
	for _, s := range d.Sections {
		if s.Packing != nil {
			p.Style += highlights(&packing{}, s.Packing.Numbers)
		}
		p.IsBad = p.IsBad || farm.Blocks(s.Findings)
	}
	p.Policy = fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'", hash(string(p.Code)), hash(string(p.Style)))
	return p, nil
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
