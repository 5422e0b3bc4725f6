package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"stowage/farm"
)

//go:embed page/*.html page/report.css page/report.js
var pages embed.FS

// Write writes the report as one HTML file. The file loads nothing from
// anywhere, and says so to the browser: its policy allows only the script and
// the style it holds, by their hashes. The same facts make the same bytes.
func Write(w io.Writer, f Facts) error {
	d, err := newDocument(f)
	if err != nil {
		return &farm.Error{Op: "write report", Subject: f.Farm, Err: err}
	}
	t, err := template.New("report").Funcs(functions()).ParseFS(pages, "page/*.html")
	if err == nil {
		t, err = t.ParseFS(benchPages, "benchpage/parts.html", "benchpage/engineparts.html")
	}
	if err == nil {
		t, err = t.ParseFS(planPages, "planpage/sections.html")
	}
	if err != nil {
		return &farm.Error{Op: "read report templates", Err: err}
	}
	var page bytes.Buffer
	if err := t.ExecuteTemplate(&page, "report.html", d); err != nil {
		return &farm.Error{Op: "write report", Subject: f.Farm, Err: err}
	}
	if _, err := w.Write(page.Bytes()); err != nil {
		return &farm.Error{Op: "write report", Subject: f.Farm, Err: err}
	}
	return nil
}

// document is what the templates see.
type document struct {
	Title    string
	Farm     string
	Made     string
	Sections []section
	Gaps     []gap

	Tiles    []tile
	Clean    string // the sentence under the title
	IsBad    bool   // it does not say what everybody hopes for
	Packing  *packing
	Plan     *planned
	Timeline *timeline
	Acts     []*timeline
	Roll     *rollSection
	Pauses   *pauses
	Traffic  *traffic
	Proof    []proofRow
	Road     *road
	Ledger   []proofRow    // of the owners
	Accepted []acceptedRow // findings that people live with
	Know     []planSection // sources, runway, load, queries, rules
	Bench    *BenchDocument
	Engines  []*EngineDocument
	Findings []farm.Finding
	Looked   bool // Findings were looked for
	Notes    made

	Policy string
	Style  template.CSS
	Code   template.JS
	Data   template.JS
}

// section is one entry of the table of contents.
type section struct{ ID, Name string }

// made is the section on how the report came about.
type made struct {
	Versions []Fact
	Commands []commandRow
}

type commandRow struct{ Line, Started, Took string }

func newDocument(f Facts) (*document, error) {
	zone := f.clock()
	found, accepted := split(f.Findings, f.Accepted)
	d := &document{
		Road: newRoad(f, zone), Ledger: ledgerRows(f.Ledger), Accepted: accepted,
		Title: title(f), Farm: f.Farm, Made: zone.stamp(f.Made), Gaps: gaps(f),
		Packing: newPacking(f), Plan: newPlanned(f.Plan), Timeline: newTimeline(f, zone), Acts: newActs(f, zone), Pauses: newPauses(f),
		Traffic: newTraffic(f.Compare), Proof: proofRows(f.Proof), Findings: sortedFindings(found), Looked: f.Findings != nil,
		Notes: newMade(f, zone), Know: slices.Concat(measuredSections(f.Hosts), knowSections(f.Know, found, f.Findings != nil)),
	}
	if f.Roll != nil {
		d.Roll = newRollSection(*f.Roll)
	}
	if len(f.Benches) > 0 {
		d.Bench = NewBenchDocument(f.Benches)
	}
	for _, r := range f.Engines {
		d.Engines = append(d.Engines, NewEngineDocument(r))
	}
	d.Tiles = tiles(f, d.Timeline, d.Pauses, d.Traffic)
	d.Clean, d.IsBad = cleanWords(f.Proof), f.Proof != nil && !f.Proof.isClean()
	if f.Proof == nil && f.Ledger != nil {
		d.Clean, d.IsBad = ledgerWords(*f.Ledger), !f.Ledger.IsClean()
	}
	d.Sections = d.sections()
	return d, d.dress(f)
}

// clock prints times in the zone of the report.
func (f Facts) clock() clock {
	if f.Zone == nil {
		return clock{f.Made.Location()}
	}
	return clock{f.Zone}
}

// KnowPart is what is known, as its template takes it.
func (d *document) KnowPart() *KnowDocument { return &KnowDocument{Sections: d.Know} }

// ledgerWords is what the owners' ledger says, in one sentence.
func ledgerWords(l farm.Ledger) string {
	if !l.IsClean() {
		return fmt.Sprintf("The owners\u2019 ledger did not hold: %s lost, %d doubled.", count(int(l.Lost), "write"), l.Duplicated)
	}
	text := fmt.Sprintf("%s acknowledged writes, each found exactly once afterwards", whole(float64(l.Acknowledged)))
	if l.Failed != nil {
		text += "; no query failed"
	}
	return text + ": by the ledger of the owners."
}

// cleanWords is what the ledger says, in one sentence.
func cleanWords(p *Proof) string {
	switch {
	case p == nil:
		return ""
	case p.isClean():
		return fmt.Sprintf("%s acknowledged writes, each found exactly once afterwards; no query failed.", whole(float64(p.Acknowledged)))
	default:
		return fmt.Sprintf("The proof did not hold: %s lost, %d doubled, %s failed, %s stale.", count(int(p.Lost), "write"), p.Duplicated, farm.Counted(p.FailedQueries, "query"), farm.Counted(p.StaleReads, "read"))
	}
}

// knows reports whether what is known has a section.
func (d *document) knows(id string) bool {
	return slices.ContainsFunc(d.Know, func(s planSection) bool { return s.ID == id })
}

func (d *document) sections() []section {
	var out []section
	for _, s := range []struct {
		is bool
		section
	}{
		{d.Packing != nil, section{"packing", "Before and after"}},
		{d.Road != nil, section{"road", "The road"}},
		{d.Plan != nil, section{"plan", "The plan"}},
		{d.Timeline != nil, section{"move", "The move"}},
		{d.Roll != nil, section{"roll", "The roll"}},
		{d.Pauses != nil, section{"pauses", "Pauses"}},
		{d.Traffic != nil, section{"traffic", "Traffic"}},
		{d.Proof != nil, section{"proof", "Proof"}},
		{d.Ledger != nil, section{"ledger", "The owners\u2019 ledger"}},
		{d.Bench != nil, section{"storage", "Storage"}},
		{d.knows("measured"), section{"measured", "Hosts, measured"}},
		{slices.ContainsFunc(d.Know, func(s planSection) bool { return s.ID != "measured" }), section{"know", "What is known"}},
		{d.knows("reshape"), section{"reshape", "Reshape"}},
		{d.knows("backups"), section{"backups", "Backups"}},
		{d.Looked, section{"findings", "Findings"}},
		{len(d.Accepted) > 0, section{"accepted", "Accepted findings"}},
		{true, section{"made", "How this was made"}},
	} {
		if s.is {
			out = append(out, s.section)
		}
		if s.ID == "move" {
			for _, a := range d.Acts {
				out = append(out, section{a.Run, a.Title})
			}
		}
		if s.ID == "storage" {
			for _, e := range d.Engines {
				out = append(out, section{e.ID, e.Title})
			}
		}
	}
	return out
}

// dress adds style, scripts and the policy that allows them and no others.
func (d *document) dress(f Facts) error {
	style, err := pages.ReadFile("page/report.css")
	if err != nil {
		return err
	}
	code, err := pages.ReadFile("page/report.js")
	if err != nil {
		return err
	}
	pairs := 0
	if f.Plan != nil {
		pairs = len(f.Plan.Basis.Pairs)
	}
	d.Style = template.CSS(style) + highlights(d.Packing, pairs)
	if d.Bench != nil || len(d.Engines) > 0 {
		own, err := benchStyle()
		if err != nil {
			return err
		}
		d.Style += own
	}
	if len(d.Know) > 0 {
		d.Style += template.CSS(own(planPages, "planpage/plan.css"))
	}
	d.Code = template.JS(code)
	if d.Data, err = d.Traffic.data(); err != nil {
		return err
	}
	d.Policy = fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'", hash(string(d.Code)), hash(string(d.Style)))
	return nil
}

// hash is how a content security policy names an inline script or style.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func newMade(f Facts, zone clock) made {
	m := made{Versions: f.Versions}
	if f.Inventory != nil {
		m.Versions = append(append([]Fact(nil), m.Versions...), serverVersions(f)...)
	}
	for _, c := range f.Commands {
		row := commandRow{Line: c.Line, Started: zone.stamp(c.Started)}
		if c.Seconds > 0 {
			row.Took = span(seconds(c.Seconds))
		}
		m.Commands = append(m.Commands, row)
	}
	if f.Plan != nil && f.Plan.Made != "" {
		m.Versions = append(append([]Fact(nil), m.Versions...), Fact{"plan " + f.Plan.Name + " made", planMade(f.Plan.Made, zone)})
	}
	return m
}

func planMade(text string, zone clock) string {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return zone.stamp(t)
	}
	return text
}

// serverVersions counts instances by version, in the order they are met.
func serverVersions(f Facts) []Fact {
	n, order := map[string]int{}, []string{}
	for _, i := range f.Inventory.Instances {
		if i.Version == "" {
			continue
		}
		if n[i.Version] == 0 {
			order = append(order, i.Version)
		}
		n[i.Version]++
	}
	var out []Fact
	for _, v := range order {
		out = append(out, Fact{"server", fmt.Sprintf("%s on %s", v, count(n[v], "instance"))})
	}
	return out
}

// sortedFindings are the most severe first.
func sortedFindings(fs []farm.Finding) []farm.Finding {
	var out []farm.Finding
	for _, s := range []farm.Severity{farm.Blocker, farm.Warning, farm.Note} {
		for _, f := range fs {
			if f.Severity == s {
				out = append(out, f)
			}
		}
	}
	for _, f := range fs {
		if f.Severity != farm.Blocker && f.Severity != farm.Warning && f.Severity != farm.Note {
			out = append(out, f)
		}
	}
	return out
}

func functions() template.FuncMap {
	return template.FuncMap{
		"whole":   func(n int) string { return whole(float64(n)) },
		"lower":   strings.ToLower,
		"add":     func(a, b float64) float64 { return round1(a + b) },
		"half":    func(a float64) float64 { return round1(a / 2) },
		"meter":   meter,
		"stripOf": StripColumns,
		"tone":    meterTone,
	}
}
