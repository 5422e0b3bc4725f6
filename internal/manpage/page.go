package manpage

import (
	"bytes"
	"fmt"
	"strings"
)

// Page is one manual page.
type Page struct {
	Name     string // stowage-plan-show
	Section  int    // of the manual
	Short    string // what it does, in one line
	Version  string // of the program: it is in the foot
	Date     string // 2026-11-26
	Sections []Section
}

// Section is a part of a page: text, and behind it items.
type Section struct {
	Title string
	Text  string
	Items []Item
}

// Item is a term, such as an option, and what there is to say of it.
type Item struct{ Term, Text string }

// Bytes is the page. Sections without text and items are left out.
func (p Page) Bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %s %d \"%s\" %s Stowage\n", quoted(strings.ToUpper(p.Name)), p.Section, p.Date, quoted(p.Version)) // a date with \- is none to mandoc
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escaped(p.Name), escaped(p.Short))
	for _, s := range p.Sections {
		s.write(&b)
	}
	return b.Bytes()
}

func (s Section) write(b *bytes.Buffer) {
	if s.Text == "" && len(s.Items) == 0 {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", quoted(strings.ToUpper(s.Title)))
	for i, paragraph := range paragraphs(s.Text) {
		paragraph.write(b, i == 0)
	}
	for _, item := range s.Items {
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", escaped(item.Term), line(strings.Join(strings.Fields(item.Text), " ")))
	}
}

// paragraph is what is filled as a whole, or kept as it stands.
type paragraph struct {
	lines []string
	kept  bool
}

// paragraphs takes text apart. A line that is indented, or has words in columns, is kept as it stands, with the lines like it around it.
func paragraphs(text string) (out []paragraph) {
	fresh := true
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if strings.TrimSpace(l) == "" {
			fresh = true
			continue
		}
		kept := l[0] == ' ' || l[0] == '\t' || strings.Contains(l, "   ")
		if fresh || kept != out[len(out)-1].kept {
			out = append(out, paragraph{kept: kept})
		}
		fresh = false
		last := &out[len(out)-1]
		last.lines = append(last.lines, l)
	}
	return out
}

func (p paragraph) write(b *bytes.Buffer, first bool) {
	if !first {
		b.WriteString(".PP\n")
	}
	if p.kept {
		b.WriteString(".nf\n")
	}
	for _, l := range p.lines {
		fmt.Fprintln(b, line(strings.ReplaceAll(l, "\t", "        ")))
	}
	if p.kept {
		b.WriteString(".fi\n")
	}
}

// line is text that begins a line: there a dot or a quote would be a request.
func line(text string) string {
	if text == "" || strings.HasPrefix(text, ".") {
		return `\&` + escaped(text)
	}
	return escaped(text)
}

// signs are what troff reads or prints as something else. A hyphen and quotes stay the ASCII ones, so that what is copied from a page can be run.
var signs = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

func escaped(text string) string {
	var b strings.Builder
	for _, r := range signs.Replace(text) {
		if r < 128 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}

// quoted is one argument of a macro.
func quoted(text string) string { return `"` + strings.ReplaceAll(escaped(text), `"`, `\(dq`) + `"` }
