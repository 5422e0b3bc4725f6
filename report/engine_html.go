package report

import (
	"bytes"
	"html/template"
	"io"

	"stowage/farm"
)

// enginePage is what the template sees.
type enginePage struct {
	Doc    *EngineDocument
	Policy string
	Style  template.CSS
	Code   template.JS
}

// WriteHTML writes the document as one HTML file that loads nothing from anywhere, as that of a bench of storage.
func (d *EngineDocument) WriteHTML(w io.Writer) error {
	fail := func(err error) error { return &farm.Error{Op: "write document of engines", Err: err} }
	shell, err := newBenchPage(nil)
	if err != nil {
		return fail(err)
	}
	t, err := template.New("engine").Funcs(functions()).ParseFS(pages, "page/strip.html", "page/table.html")
	if err != nil {
		return fail(err)
	}
	if t, err = t.ParseFS(benchPages, "benchpage/*.html"); err != nil {
		return fail(err)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "engine.html", enginePage{Doc: d, Policy: shell.Policy, Style: shell.Style, Code: shell.Code}); err != nil {
		return fail(err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fail(err)
	}
	return nil
}
