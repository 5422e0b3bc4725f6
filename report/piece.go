package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"html/template"
	"io/fs"

	"stowage/farm"
)

// Piece is a document without its shell, for a page that frames it: the same templates, figures and pictures as in the file.
type Piece struct {
	Title, Verdict, Lead string
	IsBad                bool
	Body                 template.HTML
	Style                template.CSS // what Body needs beside Style
	Data                 template.JS  // JSON for Script, as the text of an element with the id charts
	NeedsLibrary         bool         // Script draws with Library
}

// Style is the style sheet that all documents share.
func Style() []byte { return own(pages, "page/report.css") }

// Script draws the charts of pages that have Piece.Data, and helps to point at pictures.
func Script() []byte { return own(pages, "page/report.js") }

// Strip is a template, "strip", of the tiles that a page begins with: each has Name, Link, Before, After, Note, IsBad and IsLong.
func Strip() string { return string(own(pages, "page/strip.html")) }

// Library is the chart library that Script draws with, where Piece.NeedsLibrary says so.
func Library() []byte { return []byte(echarts) }

// own reads a file that is part of the program.
func own(from fs.FS, name string) []byte {
	text, err := fs.ReadFile(from, name)
	if err != nil {
		panic("report: " + err.Error()) // it is embedded above
	}
	return text
}

// noCharts is the data of a document without charts for Script.
const noCharts = template.JS(`{"pauses":{},"classes":[]}`)

// Piece is the document, to be framed by another page.
func (d *BenchDocument) Piece() (Piece, error) {
	p := Piece{Title: d.Title, Verdict: d.Verdict, Lead: d.Lead, IsBad: d.IsBad, Style: template.CSS(own(benchPages, "benchpage/bench.css")), Data: noCharts}
	err := p.fill(benchPages, []string{"benchpage/parts.html", "benchpage/body.html"}, "bench-sides", d, "bench-body", d)
	return p, err
}

// Piece is the document, to be framed by another page.
func (d *EngineDocument) Piece() (Piece, error) {
	p := Piece{Title: d.Title, Verdict: d.Verdict, Lead: d.Lead, IsBad: d.IsBad, Style: template.CSS(own(benchPages, "benchpage/bench.css")), Data: noCharts}
	err := p.fill(benchPages, []string{"benchpage/parts.html", "benchpage/engineparts.html"}, "engine-on", d, "engine-body", d)
	return p, err
}

// Piece is the document, to be framed by another page.
func (d *PlanDocument) Piece() (Piece, error) {
	p := Piece{Title: d.Title, Verdict: d.Verdict, Lead: d.Lead, Style: template.CSS(own(planPages, "planpage/plan.css")), Data: noCharts}
	for _, s := range d.Sections {
		if s.Packing != nil {
			p.Style += highlights(&packing{}, s.Packing.Numbers)
		}
		p.IsBad = p.IsBad || farm.Blocks(s.Findings)
	}
	err := p.fill(planPages, []string{"planpage/sections.html"}, "hatches", nil, "review", d)
	return p, err
}

// Piece is the document, to be framed by another page.
func (d *DecisionDocument) Piece() (Piece, error) {
	p := Piece{Title: d.Title, Verdict: d.Verdict, Lead: d.Lead, IsBad: d.isBad, Style: template.CSS(own(planPages, "planpage/plan.css")), Data: noCharts}
	err := p.fill(planPages, []string{"planpage/sections.html"}, "review", d)
	return p, err
}

// ActPiece is what the report says of the newest run: its timeline, step by step, and how long gates were closed. It is that of f.Run, or where that
// is empty of the first of f.Acts. Empty where nothing of it has begun.
func ActPiece(f Facts) (Piece, error) {
	d, err := newDocument(f, "")
	if err != nil {
		return Piece{}, err
	}
	p := Piece{Title: d.Title}
	var parts []any
	if d.Timeline != nil {
		parts = append(parts, "move.html", d.Timeline)
	}
	for _, a := range d.Acts {
		parts = append(parts, "act.html", a)
	}
	if d.Pauses != nil {
		parts = append(parts, "pauses.html", d.Pauses)
		p.NeedsLibrary = true
	}
	err = errors.Join(p.data(d), p.fill(nil, nil, parts...))
	return p, err
}

// ProofPiece is what the report says of traffic before and after, its Verdict, and of the ledger of the demo's clients, its Lead. Empty where neither was kept.
func ProofPiece(f Facts) (Piece, error) {
	d, err := newDocument(f, "")
	if err != nil {
		return Piece{}, err
	}
	p := Piece{Lead: d.Clean, IsBad: d.IsBad}
	var parts []any
	if d.Traffic != nil {
		p.Verdict = d.Traffic.Verdict
		parts = append(parts, "traffic.html", d.Traffic)
		p.NeedsLibrary = true
	}
	if d.Proof != nil {
		parts = append(parts, "proof.html", d.Proof)
	}
	err = errors.Join(p.data(d), p.fill(nil, nil, parts...))
	return p, err
}

func (p *Piece) data(d *document) error {
	data, err := json.Marshal(d.charts())
	p.Data = template.JS(data) // json.Marshal writes <, > and & as \u003c and so on
	return err
}

// fill writes templates of the report, and of more, one behind the other: parts are names and values by turns.
func (p *Piece) fill(more fs.FS, names []string, parts ...any) error {
	fail := func(err error) error { return &farm.Error{Op: "write document", Subject: p.Title, Err: err} }
	t, err := template.New("piece").Funcs(functions()).ParseFS(pages, "page/*.html")
	if err == nil && more != nil {
		t, err = t.ParseFS(more, names...)
	}
	if err != nil {
		return fail(err)
	}
	var b bytes.Buffer
	for i := 0; i < len(parts); i += 2 {
		if err := t.ExecuteTemplate(&b, parts[i].(string), parts[i+1]); err != nil {
			return fail(err)
		}
	}
	p.Body = template.HTML(b.String())
	return nil
}
