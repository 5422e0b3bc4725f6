package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"stowage/farm"
	"stowage/internal/lazy"
)

// WriteMarkdown writes the document as plain Markdown, for version control:
// one thing a line, in a fixed order, and nothing in it that changes while the
// plan does not.
func (d *PlanDocument) WriteMarkdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	d.writeMarkdown(b)
	if err := b.Flush(); err != nil {
		return &farm.Error{Op: "write document of plan", Subject: d.Name, Err: err}
	}
	return nil
}

func (d *PlanDocument) writeMarkdown(b *bufio.Writer) {
	fmt.Fprintf(b, "# Plan %s: %s\n\n", prose(d.Name), prose(d.Title))
	fmt.Fprintf(b, "Farm %s", prose(d.Farm))
	if d.Made != "" {
		fmt.Fprintf(b, ", made %s", prose(d.Made))
	}
	fmt.Fprintf(b, ".\n\n**%s** %s\n", prose(d.Verdict), prose(d.Lead))
	for _, s := range d.Sections {
		s.writeMarkdown(b)
	}
}

func (s planSection) writeMarkdown(b *bufio.Writer) {
	fmt.Fprintf(b, "\n## %s\n", prose(s.Name))
	for _, t := range s.Text {
		fmt.Fprintf(b, "\n%s\n", prose(t))
	}
	for _, t := range s.Tables {
		t.writeMarkdown(b)
	}
	if s.Looked {
		writeFindingsMarkdown(b, s.Findings)
	}
	if len(s.Facts) > 0 {
		t := planTable{Head: columns("goal", "value")}
		for _, f := range s.Facts {
			t.Rows = append(t.Rows, cells(f.Name, f.Value))
		}
		t.writeMarkdown(b)
	}
	for _, n := range s.Notes {
		fmt.Fprintf(b, "\n%s\n", prose(n))
	}
}

func writeFindingsMarkdown(b *bufio.Writer, fs []farm.Finding) {
	if len(fs) == 0 {
		fmt.Fprint(b, "\nNothing was found.\n")
		return
	}
	t := planTable{Head: columns("severity", "subject", "what", "remedy", "check")}
	for _, f := range fs {
		t.Rows = append(t.Rows, cells(string(f.Severity), f.Subject, f.Text, f.Remedy, f.Check))
	}
	t.writeMarkdown(b)
}

// writeMarkdown writes a row a line. Columns are not padded: a longer name in
// one row would change all the others in a diff.
func (t planTable) writeMarkdown(b *bufio.Writer) {
	if t.Caption != "" {
		fmt.Fprintf(b, "\n### %s\n", prose(t.Caption))
	}
	fmt.Fprint(b, "\n|")
	for _, h := range t.Head {
		fmt.Fprintf(b, " %s |", prose(h.Name))
	}
	fmt.Fprint(b, "\n|")
	for _, h := range t.Head {
		if h.IsFigure {
			fmt.Fprint(b, " ---: |")
		} else {
			fmt.Fprint(b, " --- |")
		}
	}
	fmt.Fprint(b, "\n")
	for _, row := range t.Rows {
		fmt.Fprint(b, "|")
		for _, c := range row {
			text := prose(c.Text)
			if c.HasBar {
				text = blocks(c.Share) + " " + text
			}
			fmt.Fprintf(b, " %s |", text)
		}
		fmt.Fprint(b, "\n")
	}
}

// blocks is a bar of ten.
func blocks(share float64) string {
	n := int(min(max(share, 0), 1)*10 + 0.5)
	return strings.Repeat("\u2588", n) + strings.Repeat("\u2591", 10-n)
}

// prose takes out of a text what Markdown would take for something else.
func prose(text string) string {
	text = strings.NewReplacer("|", "\\|", "`", "'", "\r", " ", "\n", " ", "\u00a0", " ", "\u2009", " ").Replace(text)
	return tagLike().ReplaceAllString(text, "&lt;$1")
}

// tagLike is what would open an element of HTML: "< 0.1 %" would not.
var tagLike = lazy.Regexp(`<([A-Za-z/!?])`)
