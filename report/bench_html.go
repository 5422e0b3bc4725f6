package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"

	"stowage/farm"
)

//go:embed benchpage/bench.html benchpage/body.html benchpage/parts.html benchpage/engine.html benchpage/engineparts.html benchpage/bench.css
var benchPages embed.FS

// benchPage is what the template sees.
type benchPage struct {
	Doc    *BenchDocument
	Policy string
	Style  template.CSS
	Code   template.JS
}

// WriteHTML writes the document as one HTML file that loads nothing from anywhere: pictures are SVG, and the one script only opens for the printer what is folded.
func (d *BenchDocument) WriteHTML(w io.Writer) error {
	fail := func(err error) error {
		return &farm.Error{Op: "write document of bench", Err: err}
	}
	page, err := newBenchPage(d)
	if err != nil {
		return fail(err)
	}
	t, err := template.New("bench").Funcs(functions()).ParseFS(pages, "page/strip.html", "page/table.html")
	if err != nil {
		return fail(err)
	}
	if t, err = t.ParseFS(benchPages, "benchpage/*.html"); err != nil {
		return fail(err)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "bench.html", page); err != nil {
		return fail(err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fail(err)
	}
	return nil
}

func newBenchPage(d *BenchDocument) (*benchPage, error) {
	style, err := pages.ReadFile("page/report.css")
	if err != nil {
		return nil, err
	}
	own, err := benchStyle()
	if err != nil {
		return nil, err
	}
	code, err := pages.ReadFile("page/report.js")
	if err != nil {
		return nil, err
	}
	p := &benchPage{Doc: d, Code: template.JS(code), Style: template.CSS(style) + own}
	p.Policy = fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'", hash(string(p.Code)), hash(string(p.Style)))
	return p, nil
}

// benchStyle is what the pictures of a bench need beside the style of all reports.
func benchStyle() (template.CSS, error) {
	own, err := benchPages.ReadFile("benchpage/bench.css")
	return template.CSS(own), err
}
