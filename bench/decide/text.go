package decide

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// textWidth is how wide the text for a terminal is at most, but for a single candidate that needs more.
const textWidth = 100

// WriteText is an outcome for people.
func (o *Outcome) WriteText(w io.Writer) error {
	var b strings.Builder
	p := &printer{&b}
	p.line("%s", o.Title)
	p.line("")
	p.line("%s", o.Headline())
	for _, why := range o.Why {
		p.wrap("  - ", why)
	}
	p.list("Candidates", o.Introductions())
	o.writeFigures(p)
	o.writeOut(p)
	o.writeLosses(p)
	p.list("What would change it", o.Changes(5))
	p.list("Better in everything", o.DominanceWords())
	p.list("Taken to be so", o.Assumed)
	p.list("Marks", o.Marks())
	_, err := io.WriteString(w, b.String())
	return err
}

// Introductions are the candidates' titles and what must be known of them.
func (o *Outcome) Introductions() []string {
	var out []string
	for _, c := range o.Candidates {
		parts := c.Notes
		if c.Title != "" {
			parts = append([]string{c.Title}, parts...)
		}
		if len(parts) > 0 {
			out = append(out, c.Name+": "+strings.Join(parts, "; "))
		}
	}
	return out
}

// Headline is the verdict in one line.
func (o *Outcome) Headline() string {
	switch o.Verdict {
	case Winner, Alone:
		return "WINNER: " + o.Winner
	case Same:
		return "NO DIFFERENCE THAT MATTERS, " + o.Ahead + " by a hair"
	case NobodyLeft:
		return "NOBODY LEFT"
	}
	if o.Ahead == "" {
		return "INCONCLUSIVE"
	}
	return "INCONCLUSIVE: " + o.Ahead + " is ahead, not surely"
}

type printer struct{ *strings.Builder }

func (p *printer) line(format string, args ...any) {
	p.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// wrap prints a text after a mark, and what does not fit below it.
func (p *printer) wrap(mark, text string) {
	indent, line := strings.Repeat(" ", len(mark)), mark
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > textWidth:
			p.line("%s", line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	p.line("%s", line)
}

func (p *printer) list(name string, texts []string) {
	if len(texts) == 0 {
		return
	}
	p.line("\n%s", name)
	for _, t := range texts {
		p.wrap("  - ", t)
	}
}

// cells are a candidate's column in the table of figures.
func (o *Outcome) cells(at int) []string {
	s := o.Candidates[at]
	out := []string{s.Name}
	for k, g := range o.Goals {
		out = append(out, o.Show(g, s.Figures[k]))
	}
	worth := "-"
	if s.Worth != nil {
		worth = short(*s.Worth)
	}
	if !slices.ContainsFunc(o.Goals, func(g Judged) bool { return g.Limit != nil }) {
		return append(out, worth, "-")
	}
	return append(out, worth, s.State())
}

// State is how a candidate stands to the hard limits, in a word.
func (s Standing) State() string {
	switch {
	case s.Out:
		return "OUT"
	case len(s.NotShown) > 0:
		return "not shown"
	case len(s.OnClaim) > 0:
		return "by claim"
	}
	return "hold"
}

// Show is a figure with its mark: 35,000 [sheet].
func (o *Outcome) Show(g Judged, f Shown) string {
	if f.Value == nil {
		return "unknown"
	}
	text := g.Unit.Print(*f.Value, o.Currency)
	if f.Low != nil && f.High != nil && *f.Low > 0 && *f.High/(*f.Low) > 1.005 {
		text += " +-" + percent(max(*f.High / *f.Value, *f.Value / *f.Low)-1)
	}
	return text + mark(f.Basis)
}

func mark(b Basis) string {
	switch b {
	case Sheet:
		return " [sheet]"
	case Entered:
		return " [entered]"
	case Unbounded:
		return " [no interval]"
	}
	return ""
}

// Marks explains the marks that are used.
func (o *Outcome) Marks() []string {
	seen := map[Basis]bool{}
	for _, c := range o.Candidates {
		for _, f := range c.Figures {
			seen[f.Basis] = true
		}
		if c.Array != nil {
			seen[c.Array.Basis] = true
		}
	}
	var out []string
	for _, x := range []struct {
		basis Basis
		text  string
	}{
		{Sheet, "[sheet] a data sheet claims it, or something that it is reckoned from"},
		{Entered, "[entered] published by others; how a second run would differ is not known"},
		{Unbounded, "[no interval] measured here, once, or while others used the device: nothing says how sure it is"},
	} {
		if seen[x.basis] {
			out = append(out, x.text)
		}
	}
	return out
}

// GoalWords is a goal with what is asked of it: "price, at most 20,000 EUR".
func (o *Outcome) GoalWords(g Judged) string {
	text := g.Goal
	if g.Limit != nil {
		word := "at least"
		if !g.More {
			word = "at most"
		}
		text += ", " + word + " " + g.Unit.Print(*g.Limit, o.Currency)
	}
	if g.Enough != nil {
		text += ", " + g.Unit.Print(*g.Enough, o.Currency) + " is enough"
	}
	return text
}

// writeFigures prints all figures: goals down, candidates across, as many beside each other as fit.
func (o *Outcome) writeFigures(p *printer) {
	names := []string{""}
	for _, g := range o.Goals {
		share := "-"
		if g.Share > 0 {
			share = percent(g.Share)
		}
		names = append(names, fmt.Sprintf("%s (%s)", o.GoalWords(g), share))
	}
	names = append(names, "worth", "hard limits")
	room := textWidth - widest(names)
	for from := 0; from < len(o.Candidates); {
		var columns [][]string
		left := room
		for i := from; i < len(o.Candidates); i++ {
			c := o.cells(i)
			if left -= widest(c) + 2; left < 0 && len(columns) > 0 {
				break
			}
			columns = append(columns, c)
		}
		from += len(columns)
		p.line("")
		o.writeBlock(p, names, columns)
	}
}

func (o *Outcome) writeBlock(p *printer, names []string, columns [][]string) {
	for row, name := range names {
		if row > 0 && row <= len(o.Goals) && (row == 1 || o.Goals[row-1].Aspect != o.Goals[row-2].Aspect) {
			p.line("%s", AspectTitle(o.Goals[row-1].Aspect))
		}
		indent := ""
		if row > 0 && row <= len(o.Goals) {
			indent = "  "
		}
		line := indent + pad(name, widest(names)+2-len(indent))
		for _, c := range columns {
			line += pad(c[row], -widest(c)-2)
		}
		p.line("%s", line)
	}
}

func widest(texts []string) int {
	most := 0
	for _, t := range texts {
		most = max(most, utf8.RuneCountInString(t))
	}
	return most
}

// pad fills up to a width: behind the text, or before it where the width is negative.
func pad(text string, width int) string {
	fill := strings.Repeat(" ", max(0, max(width, -width)-utf8.RuneCountInString(text)))
	if width < 0 {
		return fill + text
	}
	return text + fill
}

func (o *Outcome) writeOut(p *printer) {
	var out, doubt []string
	for _, c := range o.Candidates {
		for _, f := range c.Failed {
			out = append(out, c.Name+": "+f.Text)
		}
		for _, f := range c.NotShown {
			doubt = append(doubt, c.Name+": "+f.Text)
		}
	}
	p.list("Out", out)
	p.list("Not shown", doubt)
}

func (o *Outcome) writeLosses(p *printer) {
	var texts []string
	for _, c := range o.Candidates {
		if c.Array != nil {
			texts = append(texts, c.Name+": "+c.Array.Words())
		}
	}
	p.list("What one lost device costs", texts)
}
