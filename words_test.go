package stowage_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// phrase is a way to say something that has to be read twice, and a better one.
type phrase struct {
	has    string // a line without it is not looked at
	said   *regexp.Regexp
	better string
}

// nowhere are phrases that no comment, message or page has.
var nowhere = []phrase{
	{"for ", regexp.MustCompile(`[,;] for (it|they|there|nobody|we|he) (?:[^t]|t[^o])`), "because"},
	{" on with", regexp.MustCompile(`\b[Gg](o|oes|oing|one) on with\b`), "continue, continue with"},
	{"against", regexp.MustCompile(`\bheld against\b|\b[Hh]old(s|ing)? (\S+ ){0,3}against\b`), "compared with, compare with"},
	{"told apart", regexp.MustCompile(`\btold apart\b`), "distinguished"},
	{"so few as", regexp.MustCompile(`\bso few as\b`), "as few as"},
	{"manieth", regexp.MustCompile(`\bmanieth\b`), "one in N"},
	{"grave", regexp.MustCompile(`\bgraver\b|\bas grave as\b`), "above"},
	{" lies ", regexp.MustCompile(`\b(it|what|which|that|file|data|directory|log|report) lies (in|on|at|there|below|beside|between|outside|inside)\b`), "is, was"},
	{"stands ", regexp.MustCompile(`\b(it|what|which|that) stands (in|on|at|there|below|beside|between|behind|before)\b`), "is"},
	{" no ", regexp.MustCompile(`(\bit|\bthat|\bwhich|%q|%s) (is|was) no (name|number|file|directory|plan|pattern|host|source|result|JSON|word|path|URL)\b`), "is not a"},
	{"any more", regexp.MustCompile(`\bnot there any more\b`), "gone"},
}

// unsaid are phrases that are left to comments: no message, help or page has them.
var unsaid = []phrase{
	{"", regexp.MustCompile(`\b1 (sides|pairs|hosts|shards|rows|tables|instances|agents|runs|statements)\b`), "1 side, 2 sides"},
	{"", regexp.MustCompile(`\b(is|are|was|were) told\b`), "name what happens: was asked to, knows, is sent"},
	{"", regexp.MustCompile(`\b[Ww]hoever\b`), "anyone who; name the program or the person"},
	{"", regexp.MustCompile(`\bsomebody\b`), "someone, another process: name it"},
	{"", regexp.MustCompile(`\bshall\b`), "must, will"},
	{"", regexp.MustCompile(`\bat work\b`), "running"},
	{"", regexp.MustCompile(`\bthan (it|they) (lacks|lack)\b|\bof which (are|is) known\b|\bone's own\b`), "say it the other way round"},
	{"", regexp.MustCompile(`\bas (it was|they were) before\b`), "put back, unchanged"},
}

// TestWordsArePlain: section 8 of the style, as far as a machine can read it. A line that is refused is written again, subject first.
func TestWordsArePlain(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "bin" || d.Name() == "assets" || d.Name() == "traces" || d.Name() == "corpus"):
			return fs.SkipDir
		case d.IsDir() || path == "words_test.go" || strings.HasPrefix(d.Name(), "THIRD-PARTY"):
			return nil
		}
		switch filepath.Ext(path) {
		case ".go":
			plainLines(t, path, readText(t, path), nowhere)
			if !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "e2e/") && !strings.Contains(path, "test/") {
				plainStrings(t, path)
			}
		case ".md":
			plainLines(t, path, readText(t, path), nowhere)
		case ".sh", ".txt", ".html", ".yaml", ".pml":
			if !strings.Contains(path, "testdata/") {
				plainLines(t, path, readText(t, path), nowhere)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func plainLines(t *testing.T, path, text string, refused []phrase) {
	t.Helper()
	for _, p := range refused {
		if !strings.Contains(text, p.has) {
			continue
		}
		for n, line := range strings.Split(text, "\n") {
			if !strings.Contains(line, p.has) {
				continue
			}
			if found := p.said.FindString(line); found != "" {
				t.Errorf("%s:%d: %q; better: %s", path, n+1, strings.TrimSpace(found), p.better)
			}
		}
	}
}

// plainStrings reads the texts of a program: string literals of several words.
func plainStrings(t *testing.T, path string) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING || len(strings.Fields(l.Value)) < 3 {
			return true
		}
		for _, p := range unsaid {
			if found := p.said.FindString(l.Value); found != "" {
				t.Errorf("%s: a text says %q; better: %s", files.Position(l.Pos()), found, p.better)
			}
		}
		return true
	})
}

// TestTheWordsAreSeen: each refused phrase is one that somebody might write.
func TestTheWordsAreSeen(t *testing.T) {
	said := strings.Split(strings.TrimSpace(refusedExamples), "\n")
	for _, p := range append(append([]phrase{}, nowhere...), unsaid...) {
		seen := 0
		for _, line := range said {
			if p.said.MatchString(line) {
				seen++
			}
		}
		if seen == 0 {
			t.Errorf("no example is refused by %s", p.said)
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(allowedExamples), "\n") {
		for _, p := range nowhere {
			if found := p.said.FindString(line); found != "" {
				t.Errorf("%q is refused for %q", line, found)
			}
		}
	}
}

const refusedExamples = `
the other pairs wait, for it is not their turn
go on with: stowage resume
rows are held against the twin's
two results that cannot be told apart
every so manieth statement, so few as
at or graver than
a file that lies in the directory
the place at which it stands in the log
%q is no number
the table is not there any more
1 sides done
they are told
whoever reads it
somebody changed it
what shall be together
another bench is at work there
of which are known
all as it was before
`

const allowedExamples = `
the time is too short for it to end
a device known to lie
the server stands still for a second
11 sides done
`
