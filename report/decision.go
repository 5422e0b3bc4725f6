package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"stowage/bench/decide"
	"stowage/farm"
)

// DecisionDocument is what people review before storage is bought: an outcome of package decide in the words in which it is shown. WriteHTML and
// WriteMarkdown only lay it out. Its exported fields are for the templates.
type DecisionDocument struct {
	Title    string
	Verdict  string
	Lead     string
	Tiles    []tile
	Sections []planSection
	isBad    bool
}

// NewDecisionDocument lays an outcome out. The same outcome makes the same document.
func NewDecisionDocument(o *decide.Outcome) *DecisionDocument {
	d := &DecisionDocument{Title: o.Title, Verdict: o.Headline() + ".", isBad: o.Verdict == decide.NobodyLeft}
	if len(o.Why) > 0 {
		d.Lead = sentence(o.Why[0])
	}
	d.Tiles = decisionTiles(o)
	for _, s := range []planSection{
		{ID: "why", Name: "Why", Text: sentences(o.Why)}, decisionFigures(o), decisionLimits(o), decisionLeads(o), decisionLosses(o), decisionChanges(o), decisionSources(o),
		{ID: "method", Name: "How it was judged", Text: append([]string{sentence(o.Method)}, sentences(o.Assumed)...)},
	} {
		if len(s.Text)+len(s.Tables)+len(s.Notes) > 0 {
			d.Sections = append(d.Sections, s)
		}
	}
	return d
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// sentences begin with a name as it is written: names are not capitalised.
func sentences(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, t+".")
	}
	return out
}

func decisionTiles(o *decide.Outcome) []tile {
	in := 0
	for _, c := range o.Candidates {
		if !c.Out {
			in++
		}
	}
	ahead := o.Ahead
	if ahead == "" {
		ahead = "nobody"
	}
	out := []tile{
		{Name: "ahead", Link: "#figures", After: ahead, Note: string(o.Verdict), IsBad: o.Verdict == decide.NobodyLeft},
		{Name: "candidates left", Link: "#limits", After: whole(float64(in)), Note: "of " + whole(float64(len(o.Candidates))), IsBad: in == 0},
	}
	if len(o.Leads) > 0 {
		l := o.Leads[0]
		note := "over " + l.Over + ", not bounded"
		if l.Low != nil {
			note = fmt.Sprintf("over %s, at least %s%s", l.Over, times, digits(*l.Low))
		}
		out = append(out, tile{Name: "lead", Link: "#leads", After: times + digits(l.By), Note: note})
	}
	unknown := 0
	for _, c := range o.Candidates {
		for _, f := range c.Figures {
			if f.Value == nil {
				unknown++
			}
		}
	}
	return append(out, tile{Name: "figures unknown", Link: "#figures", After: whole(float64(unknown)), Note: "of " + whole(float64(len(o.Goals)*len(o.Candidates)))})
}

// decisionFigures are all figures: goals down, candidates across.
func decisionFigures(o *decide.Outcome) planSection {
	s := planSection{ID: "figures", Name: "Figures", Notes: sentences(o.Marks())}
	head := []string{"aspect", "goal", "#share"}
	for _, c := range o.Candidates {
		head = append(head, "#"+c.Name)
	}
	t := planTable{Head: columns(head...)}
	last := ""
	for k, g := range o.Goals {
		aspect, share := "", "-"
		if g.Aspect != last {
			aspect, last = decide.AspectTitle(g.Aspect), g.Aspect
		}
		if g.Share > 0 {
			share = percent(g.Share)
		}
		row := cells(aspect, o.GoalWords(g), share)
		for _, c := range o.Candidates {
			row = append(row, planCell{Text: o.Show(g, c.Figures[k])})
		}
		t.Rows = append(t.Rows, row)
	}
	worth, limits := cells("together", "worth, of the one ahead", ""), cells("", "hard limits", "")
	for _, c := range o.Candidates {
		cell := planCell{Text: "-"}
		if c.Worth != nil {
			cell = planCell{Text: digits(*c.Worth), Share: math.Min(1, *c.Worth), Limit: 1, HasBar: true}
		}
		worth, limits = append(worth, cell), append(limits, planCell{Text: c.State()})
	}
	t.Rows = append(t.Rows, worth, limits)
	s.Tables = []planTable{t}
	return s
}

func decisionLimits(o *decide.Outcome) planSection {
	s := planSection{ID: "limits", Name: "Hard limits"}
	t := planTable{Head: columns("candidate", "state", "what")}
	for _, c := range o.Candidates {
		for _, f := range c.Failed {
			t.Rows = append(t.Rows, cells(c.Name, "OUT", f.Text))
		}
		for _, f := range c.NotShown {
			t.Rows = append(t.Rows, cells(c.Name, "not shown", f.Text))
		}
		if len(c.OnClaim) > 0 {
			t.Rows = append(t.Rows, cells(c.Name, "by claim", "holds "+strings.Join(c.OnClaim, ", ")+" by figures without an interval"))
		}
	}
	if len(t.Rows) > 0 {
		s.Tables = []planTable{t}
	}
	return s
}

func decisionLeads(o *decide.Outcome) planSection {
	s := planSection{ID: "leads", Name: "How far ahead", Text: sentences(o.DominanceWords())}
	if len(o.Leads) == 0 {
		return s
	}
	t := planTable{Head: columns("over", "#by", "#at least", "#at most", "verdict", "#may be off by", "where the lead comes from")}
	bound := func(v *float64) string {
		if v == nil {
			return "nothing bounds it"
		}
		return times + digits(*v)
	}
	for _, l := range o.Leads {
		var parts []string
		for _, name := range decide.AspectNames {
			if v, ok := l.ByAspect[name]; ok {
				parts = append(parts, fmt.Sprintf("%s %s%s", decide.AspectTitle(name), times, digits(v)))
			}
		}
		off := "-"
		if l.OffBy != nil {
			off = times + digits(*l.OffBy)
		}
		t.Rows = append(t.Rows, cells(l.Over, times+digits(l.By), bound(l.Low), bound(l.High), string(l.Verdict), off, strings.Join(parts, ", ")))
	}
	s.Tables = []planTable{t}
	s.Notes = []string{"May be off by: by which factor all figures without an interval may be wrong together, to the lead's harm, before it is no longer sure."}
	return s
}

func decisionLosses(o *decide.Outcome) planSection {
	s := planSection{ID: "loss", Name: "What one lost device costs"}
	t := planTable{Head: columns("candidate", "what it costs", "probability of the loss of data while one is missing (r: failures of a device an hour, t: hours of exposure, n: devices)")}
	for _, c := range o.Candidates {
		if c.Array != nil {
			t.Rows = append(t.Rows, cells(c.Name, c.Array.Words(), c.Array.Formula))
		}
	}
	if len(t.Rows) > 0 {
		s.Tables = []planTable{t}
		s.Notes = []string{"Losses that do not come from a lost device (a controller, a host, a person, a sector that cannot be read while rebuilding) are not in it. What is left of reads and writes is without the rebuild's own share."}
	}
	return s
}

func decisionChanges(o *decide.Outcome) planSection {
	return planSection{ID: "changes", Name: "What would change it", Text: sentences(o.Changes(12))}
}

func decisionSources(o *decide.Outcome) planSection {
	s := planSection{ID: "sources", Name: "Where the figures are from"}
	for _, c := range o.Candidates {
		title := c.Name
		if c.Title != "" {
			title += ": " + c.Title
		}
		t := planTable{Caption: title, Head: columns("goal", "rests on", "source")}
		for _, f := range c.Figures {
			basis, source := string(f.Basis), strings.Join(f.Source, "; ")
			if f.Value == nil {
				basis, source = "unknown", f.Why
			}
			t.Rows = append(t.Rows, cells(f.Goal, basis, source))
		}
		for _, n := range c.Notes {
			t.Rows = append(t.Rows, cells("", "note", n))
		}
		s.Tables = append(s.Tables, t)
	}
	return s
}

// WriteHTML writes the document as one HTML file that loads nothing from anywhere.
func (d *DecisionDocument) WriteHTML(w io.Writer) error {
	page, err := newPage(d)
	if err == nil {
		page.IsBad = d.isBad
		page.seal()
		err = page.write(w, "decision.html")
	}
	if err != nil {
		return &farm.Error{Op: "write document of decision", Subject: d.Title, Err: err}
	}
	return nil
}

// WriteMarkdown writes the document as plain Markdown, for version control.
func (d *DecisionDocument) WriteMarkdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s\n\n**%s** %s\n", prose(d.Title), prose(d.Verdict), prose(d.Lead))
	for _, s := range d.Sections {
		if s.ID == "changes" || s.ID == "why" || s.ID == "method" {
			s = asList(s)
		}
		s.writeMarkdown(b)
	}
	if err := b.Flush(); err != nil {
		return &farm.Error{Op: "write document of decision", Subject: d.Title, Err: err}
	}
	return nil
}

// asList makes every paragraph an item.
func asList(s planSection) planSection {
	texts := make([]string, len(s.Text))
	for i, t := range s.Text {
		texts[i] = "- " + t
	}
	s.Text = texts
	return s
}
