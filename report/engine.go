package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"stowage/bench/engine/sheet"
	"stowage/bench/result"
)

// EngineDocument is what a bench of engines found: cells beside each other, several servers on one host, or a replica that works off a backlog.
// Its exported fields are for the templates.
type EngineDocument struct {
	ID                   string // the mode, as a part of the names of elements
	Title, Verdict, Lead string
	On                   string // what was measured, in a line
	IsBad                bool
	Tiles                []tile
	Cautions             []Caution
	Sections             []engineSection
	r                    *sheet.Result
}

// engineSection is a part of it: pictures, what they say in words, and the figures as tables.
type engineSection struct {
	ID, Name, Note string
	Groups         []engineGroup
	Words          []string
	Compared       *engineComparison
	Tables         []planTable
}

// engineGroup are pictures that share a key.
type engineGroup struct {
	Name  string
	Sides []benchSide // nobody where the pictures need no key
	Plots []*benchPlot
	Rest  []*benchPlot // folded
}

// NewEngineDocument lays a result out that was judged. The same result makes the same document.
func NewEngineDocument(r *sheet.Result) *EngineDocument {
	d := &EngineDocument{ID: "e-" + string(r.Mode), r: r, On: strings.TrimSuffix(r.Server+" on "+storage(r.Environment), " on ")}
	d.say()
	d.Cautions = d.cautions()
	d.Tiles = d.tiles()
	var first []engineSection
	switch r.Mode {
	case sheet.Instances:
		first = []engineSection{d.hostSection(), d.hostLatency()}
	case sheet.Apply:
		first = []engineSection{d.applySection()}
	default:
		first = []engineSection{d.costSection(), d.latencySection()}
	}
	for _, s := range append(first, d.comparedSection(), d.figuresSection(), d.originSection()) {
		if len(s.Groups)+len(s.Tables) > 0 || s.Compared != nil {
			s.ID = d.ID + "-" + s.ID
			d.Sections = append(d.Sections, s)
		}
	}
	return d
}

// say is what is at the top.
func (d *EngineDocument) say() {
	r := d.r
	d.Title = map[sheet.Mode]string{sheet.Instances: "How many servers a host carries", sheet.Apply: "How many writes a replica can follow"}[r.Mode]
	if d.Title == "" {
		d.Title = "What engines cost"
	}
	d.Verdict, d.IsBad = validity(r.Valid, r.Noise), !r.Valid
	quiet := "nobody disturbed it"
	if !r.Noise.Quiet {
		quiet = fmt.Sprintf("%d of them disturbed", r.Noise.Disturbed)
	}
	s := r.Settings
	d.Lead = fmt.Sprintf("%s in %s, %s. %s, %s, %s a server.", count(r.Noise.Runs, "run"), span(engineTook(r)), quiet,
		size(sheet.DataBytes(s.Rows))+" of rows", s.Keys+" keys", count(s.Clients, "client"))
}

// engineTook is how long all sessions took.
func engineTook(r *sheet.Result) time.Duration {
	var took time.Duration
	for _, s := range r.Sessions {
		took += s.Ended.Sub(s.Began)
	}
	return took
}

func (d *EngineDocument) cautions() []Caution {
	var out []Caution
	say := func(kind string, isBad bool, texts ...string) {
		for _, t := range texts {
			out = append(out, Caution{Kind: kind, Text: t, IsBad: isBad})
		}
	}
	r := d.r
	say("INVALID", true, r.Invalid...)
	for _, c := range r.Cells {
		switch {
		case c.Missing != "":
			say("Not measured", false, c.ID+": "+c.Missing)
		case c.Unsafe != "":
			say("NOT SAFE", true, c.ID+": "+c.Unsafe)
		}
	}
	var debts, unsettled []string
	for _, x := range r.Rows {
		if x.DebtUnpaid {
			debts = append(debts, x.ID)
		}
		if x.Unsettled {
			unsettled = append(unsettled, x.ID)
		}
	}
	if len(debts) > 0 {
		say("LSM debt not paid", false, strings.Join(debts, ", ")+": the run was shorter than its compaction needs; only the settled figures count, and a longer run may write more still")
	}
	if len(unsettled) > 0 {
		say("Not settled", true, strings.Join(unsettled, ", ")+": it still wrote when time was up; the settled figures are too good")
	}
	if len(r.Noise.Reasons) > 0 {
		say("Noise", false, strings.Join(r.Noise.Reasons, "; "))
	}
	if len(r.Labels) > 0 {
		say("Note", false, strings.Join(r.Labels, "; "))
	}
	return out
}

// measured are the rows that have runs.
func (d *EngineDocument) measured() []*sheet.Row {
	return slices.DeleteFunc(slices.Clone(d.r.Rows), func(x *sheet.Row) bool { return len(x.Samples) == 0 })
}

// field is what is in one picture: a load at one ratio of data to cache.
type field struct {
	load  string
	ratio float64
	rows  []*sheet.Row
}

// fields are the measured rows by load and ratio, in the order of the document. by tells apart what else shares no picture; nil: nothing.
func (d *EngineDocument) fields(by func(*sheet.Row) string) []field {
	var out []field
	var keys []string
	for _, x := range d.measured() {
		key := fmt.Sprint(x.Load, x.Ratio)
		if by != nil {
			key += by(x)
		}
		i := slices.Index(keys, key)
		if i < 0 {
			i = len(keys)
			keys, out = append(keys, key), append(out, field{load: x.Load, ratio: x.Ratio})
		}
		out[i].rows = append(out[i].rows, x)
	}
	return out
}

// id is a field as a part of an element's name.
func (f field) id() string { return plainID(fmt.Sprintf("%s-%.3g", f.load, f.ratio)) }

// sub is what must be known of a field beside its title.
func (f field) sub() string {
	fits := "fits"
	if f.ratio > 1 {
		fits = "does not fit"
	}
	return fmt.Sprintf("data %s the cache, %s of it", fits, digits(f.ratio)+times)
}

// paired gives names the looks of sides, the first as what the others are compared with.
func paired(names []string) []benchSide {
	var out []benchSide
	for i, n := range names {
		class := fmt.Sprintf("s%d", i+1)
		if len(names) == 1 {
			class = "s0"
		}
		out = append(out, benchSide{Name: n, Class: class, Shape: benchShape(class, 7, 6, 4)})
	}
	return out
}

// toldApart cuts names into groups that can be distinguished in one picture. The first is in each, because the others are compared with it.
func toldApart(names []string) [][]benchSide {
	if len(names) <= MostBenches {
		return [][]benchSide{paired(names)}
	}
	var out [][]benchSide
	for rest := names[1:]; len(rest) > 0; {
		n := min(len(rest), MostBenches-1)
		out = append(out, paired(append([]string{names[0]}, rest[:n]...)))
		rest = rest[n:]
	}
	return out
}

// stand is the part of the document that every bench has, in the form that the facts of storage are told from.
func (d *EngineDocument) stand() *result.Result {
	return &result.Result{Profile: d.r.Profile, Sessions: d.r.Sessions, Environment: d.r.Environment, Noise: d.r.Noise}
}
