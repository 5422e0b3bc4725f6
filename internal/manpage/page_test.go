package manpage

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// awkward is text that troff would take for something else.
const awkward = `.SH is no heading, and 'quit' is no request.
A \ and a --flag stay, and so do ~/.my.cnf, ^ and 10 ms → 20 ms.

  an example   --flag='x'
	a tab

name     what it is
a        first`

func TestTextStaysAsItIs(t *testing.T) {
	page := Page{Name: "stowage-x", Section: 1, Short: `does "x"`, Version: "0.1.0", Date: "2026-11-26", Sections: []Section{
		{Title: "Description", Text: awkward},
		{Title: "Empty"},
		{Title: "Options", Items: []Item{{"-C, --dir DIR", "the workspace:\n a directory"}, {".x", "'a'"}}},
	}}
	const want = `.TH "STOWAGE\-X" 1 "2026-11-26" "0.1.0" Stowage
.SH NAME
stowage\-x \- does "x"
.SH "DESCRIPTION"
\&.SH is no heading, and \(aqquit\(aq is no request.
A \e and a \-\-flag stay, and so do \(ti/.my.cnf, \(ha and 10 ms \[u2192] 20 ms.
.PP
.nf
  an example   \-\-flag=\(aqx\(aq
        a tab
.fi
.PP
.nf
name     what it is
a        first
.fi
.SH "OPTIONS"
.TP
\fB\-C, \-\-dir DIR\fR
the workspace: a directory
.TP
\fB.x\fR
\(aqa\(aq
`
	if got := string(page.Bytes()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("NOT TESTED: what troff makes of a page: there is no groff")
	}
	cmd := exec.Command(groff, "-ww", "-man", "-Tutf8", "-P-cbou")
	cmd.Stdin = bytes.NewReader(page.Bytes())
	var out, warnings bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &warnings
	if err := cmd.Run(); err != nil || warnings.Len() > 0 {
		t.Errorf("groff: %v: %s", err, &warnings)
	}
	for _, words := range []string{".SH is no heading, and 'quit' is no request.", "--flag='x'", "~/.my.cnf, ^ and 10 ms → 20 ms", "name     what it is"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), strings.Join(strings.Fields(words), " ")) {
			t.Errorf("the page does not show %q:\n%s", words, &out)
		}
	}
}
