package report

import (
	"html/template"
	"io"
	"strings"

	"stowage/farm"
)

// writeSVG writes a picture of the pages (a template with one figure) as a file of its own, light or dark as its reader prefers.
func writeSVG(w io.Writer, name string, picture any) error {
	t, err := template.New("svg").Funcs(functions()).ParseFS(pages, "page/*.html")
	if err == nil {
		t, err = t.ParseFS(planPages, "planpage/sections.html")
	}
	if err != nil {
		return &farm.Error{Op: "draw", Subject: name, Err: err}
	}
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, name, picture); err != nil {
		return &farm.Error{Op: "draw", Subject: name, Err: err}
	}
	text := b.String()
	at, end := strings.Index(text, `<figure`), strings.LastIndex(text, "</svg>")
	text = text[at:end]
	text = text[strings.Index(text, "<svg ")+len("<svg "):]
	first := strings.IndexByte(text, '>') + 1
	style := `<style>:root { --paper: #fff; --ink: #1b2228; --soft: #55606b; --rule: #d9dee3; --faint: #f2f4f6; --accent: #0b6a8f; --accent-soft: #9fcbdd; --bad: #a8201a; --text: system-ui, sans-serif; }` +
		`@media (prefers-color-scheme: dark) { :root { --paper: #14181c; --ink: #e6eaed; --soft: #a0abb5; --rule: #333b43; --faint: #1d2329; --accent: #5bb5d8; --accent-soft: #2b6079; --bad: #ff8a80; } }` +
		`svg { background: var(--paper); } .grid { stroke: var(--rule); } .limit { stroke: var(--ink); stroke-dasharray: 3 2.5; }` + string(own(planPages, "planpage/plan.css")) + `</style>`
	_, err = io.WriteString(w, `<svg xmlns="http://www.w3.org/2000/svg" class="planchart" `+text[:first]+style+text[first:]+"</svg>\n")
	return err
}
