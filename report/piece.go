package report

import (
	"bytes"
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
	Data                 template.JS  // JSON for Script, as the text of an element with the id charts; empty: none
}

// Style is the style sheet that all documents share.
func Style() []byte { return own(pages, "page/report.css") }

// Script shows other classes of queries on pages that have Piece.Data, and helps to point at pictures.
func Script() []byte { return own(pages, "page/report.js") }

// Strip is a template, "strip", of the tiles that a page begins with: each has Name, Link, Before, After, Note, IsBad and IsLong. It asks for the function
// stripOf, which is StripColumns.
func Strip() string { return string(own(pages, "page/strip.html")) }

// StripColumns is in how many columns so many tiles stand, five at most: rows are as equal as can be, so that no tile is alone in its row.
func StripColumns(tiles int) int {
	rows := (tiles + 4) / 5
	if rows < 2 {
		return max(tiles, 1)
	}
	return (tiles + rows - 1) / rows
}

// own reads a file that is part of the program.
func own(from fs.FS, name string) []byte {
	text, err := fs.ReadFile(from, name)
	if err != nil {
		panic("report: " + err.Error()) // it is embedded above
	}
	return text
}

// Piece is the document, to be framed by another page.
func (d *BenchDocument) Piece() (Piece, error) {
	p := Piece{Title: d.Title, Verdict: d.Verdict, Lead: d.Lead, IsBad: d.IsBad, Style: template.CSS(own(benchPages, "benchpage/bench.css"))}
	err := p.fill(benchPages, []string{"benchpage/parts.html", "benchpage/body.html"}, "bench-sides", d, "bench-body", d)
	return p, err
}

// Piece is the document, to be framed by another page.
func (d *EngineDocument) Piece() (Piece, error) {
	p := Piece{Title: d.Title, Verdict: d.Verdict, Lead: d.Lead, IsBad: d.IsBad, Style: template.CSS(own(benchPages, "benchpage/bench.css"))}
	err := p.fill(benchPages, []string{"benchpage/parts.html", "benchpage/engineparts.html"}, "engine-on", d, "engine-body", d)
	return p, err
}

// Piece is the document, to be framed by another page.
func (d *PlanDocument) Piece() (Piece, error) {
	p := Piece{Title: d.Title, Verdict: d.Verdict, Lead: d.Lead, IsBad: d.isWrong, Style: template.CSS(own(planPages, "planpage/plan.css"))}
	for _, s := range d.Sections {
		if s.Packing != nil {
			p.Style += highlights(&packing{}, s.Packing.Numbers)
		}
	}
	err := p.fill(planPages, []string{"planpage/sections.html"}, "hatches", nil, "review", d)
	return p, err
}

// Piece is the document, to be framed by another page.
func (d *DecisionDocument) Piece() (Piece, error) {
	p := Piece{Title: d.Title, Verdict: d.Verdict, Lead: d.Lead, IsBad: d.isBad, Style: template.CSS(own(planPages, "planpage/plan.css"))}
	err := p.fill(planPages, []string{"planpage/sections.html"}, "review", d)
	return p, err
}

// ActPiece is what the report says of the newest run: its timeline, step by step, and how long gates were closed. It is that of f.Run, or where that
// is empty of the first of f.Acts. Empty where nothing of it has begun.
func ActPiece(f Facts) (Piece, error) {
	zone := f.clock()
	p := Piece{Title: title(f)}
	var parts []any
	if t := newTimeline(f, zone); t != nil {
		parts = append(parts, "move.html", t)
	}
	for _, a := range newActs(f, zone) {
		parts = append(parts, "act.html", a)
	}
	if x := newPauses(f); x != nil {
		parts = append(parts, "pauses.html", x)
	}
	err := p.fill(nil, nil, parts...)
	return p, err
}

// ProofPiece is what the report says of traffic before and after, its Verdict, and of the ledger of the demo's clients, its Lead. Empty where neither was kept.
func ProofPiece(f Facts) (Piece, error) {
	var p Piece
	var parts []any
	if f.Proof != nil {
		p.Lead, p.IsBad = cleanWords(f.Proof), !f.Proof.isClean()
	}
	if t := newTraffic(f.Compare); t != nil {
		p.Verdict = t.Verdict
		var err error
		if p.Data, err = t.data(); err != nil {
			return p, err
		}
		parts = append(parts, "traffic.html", t)
	}
	if rows := proofRows(f.Proof); rows != nil {
		parts = append(parts, "proof.html", rows)
	}
	err := p.fill(nil, nil, parts...)
	return p, err
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
