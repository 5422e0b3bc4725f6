package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stowage/act"
	"stowage/backup"
	"stowage/digest"
	"stowage/farm"
	"stowage/move"
	"stowage/placement"
)

var update = flag.Bool("update", false, "rewrite golden files")

// page is a report as a file.
func page(t *testing.T, f Facts) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReportOfTwoPairs(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "two-pairs.plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	var plan placement.Plan // a file, so that a better planner changes nothing here
	if err := json.Unmarshal(raw, &plan); err != nil {
		t.Fatal(err)
	}
	facts := inventRun(inventFarm(farmSize{2, 2, 2}), plan)
	facts.Compare.Classes = facts.Compare.Classes[4:9]
	got := page(t, facts)
	path := filepath.Join("testdata", "two-pairs.html")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range min(len(gotLines), len(wantLines)) {
			if gotLines[i] != wantLines[i] {
				t.Fatalf("%s differs in line %d (rewrite with -update and review):\n got %s\nwant %s", path, i+1, gotLines[i], wantLines[i])
			}
		}
		t.Fatalf("%s has %d lines, got %d (rewrite with -update and review)", path, len(wantLines), len(gotLines))
	}
}

func TestSameFactsMakeTheSameBytes(t *testing.T) {
	facts := inventFacts(t, demoSize)
	if first, again := page(t, facts), page(t, facts); first != again {
		t.Error("two reports of the same facts differ")
	}
}

// TestMissingFactsAreSaid leaves out one thing after the other.
func TestMissingFactsAreSaid(t *testing.T) {
	for _, c := range []struct {
		name     string
		leaveOut func(*Facts)
		sections []string // that must not be there
		how      string   // that must be said
	}{
		{"plan", func(f *Facts) { f.Plan = nil }, []string{"packing", "plan"}, "stowage plan"},
		{"farm", func(f *Facts) { f.Now = nil }, nil, "stowage inventory accept"},
		{"events", func(f *Facts) { f.Events = nil }, []string{"move"}, "stowage move PLAN"},
		{"comparison", func(f *Facts) { f.Compare = nil }, []string{"traffic"}, "stowage digest compare BEFORE AFTER"},
		{"proof", func(f *Facts) { f.Proof = nil }, []string{"proof"}, "stowage demo, whose"},
		{"findings", func(f *Facts) { f.Findings = nil }, []string{"findings"}, "<code>stowage inventory</code>"},
		{"all", func(f *Facts) { *f = Facts{Farm: f.Farm, Made: f.Made} }, []string{"packing", "plan", "move", "pauses", "traffic", "proof", "findings"}, "stowage plan"},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts := inventFacts(t, demoSize)
			whole := page(t, facts)
			if strings.Contains(whole, "Not in this report") {
				t.Error("the whole report says that something is missing")
			}
			c.leaveOut(&facts)
			got := page(t, facts)
			if !strings.Contains(got, "Not in this report") || !strings.Contains(got, c.how) {
				t.Errorf("does not say %q", c.how)
			}
			for _, s := range c.sections {
				id := `<section id="` + s + `">`
				if !strings.Contains(whole, id) {
					t.Errorf("section %s is not in the whole report either", s)
				}
				if strings.Contains(got, id) || strings.Contains(got, `href="#`+s+`"`) {
					t.Errorf("section %s, or a link to it, is still there", s)
				}
			}
		})
	}
}

func TestNoFindingsIsNotNobodyLooked(t *testing.T) {
	facts := inventFacts(t, demoSize)
	facts.Findings = []farm.Finding{}
	got := page(t, facts)
	if !strings.Contains(got, "Nothing was found.") || strings.Contains(got, "Not in this report") {
		t.Error("an empty list of findings must be reported as such")
	}
}

// TestNamesFromOutsideAreText puts markup into everything that has a name.
func TestNamesFromOutsideAreText(t *testing.T) {
	const evil = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`
	facts := inventFacts(t, farmSize{2, 2, 2})
	facts.Farm, facts.Run = evil, evil
	old := facts.Plan.Basis.Pairs[0].Name
	for i := range facts.Plan.Basis.Pairs {
		if facts.Plan.Basis.Pairs[i].Name == old {
			facts.Plan.Basis.Pairs[i].Name = evil
		}
	}
	for i := range facts.Plan.Assignments {
		if facts.Plan.Assignments[i].Pair == old {
			facts.Plan.Assignments[i].Pair, facts.Plan.Assignments[i].Instance = evil, evil
		}
	}
	for i := range facts.Events {
		facts.Events[i].Pair, facts.Events[i].Step, facts.Events[i].Text = evil, evil, evil
	}
	facts.Plan.Hosts[0].Name, facts.Plan.Moves[0].To.Host, facts.Plan.BoundMethod = evil, evil, evil
	facts.Findings = []farm.Finding{{Check: evil, Severity: evil, Subject: evil, Text: evil, Remedy: evil}}
	facts.Compare.Classes[0].Fingerprint, facts.Compare.Classes[0].Reason = evil+"</script>", evil
	facts.Compare.Classes[0].Verdict = digest.Verdict(evil)
	facts.Versions, facts.Commands = []Fact{{evil, evil}}, []Command{{Line: evil}}
	got := page(t, facts)
	if n := strings.Count(got, "<script"); n != 2 {
		t.Errorf("%d scripts, want the data and the code", n)
	}
	if n := strings.Count(got, "</script"); n != 2 {
		t.Errorf("%d ends of scripts, want 2", n)
	}
	if strings.Contains(got, "<img") {
		t.Error("an element came in with a name")
	}
	if strings.Contains(got, "ZgotmplZ") {
		t.Error("a value ended up where the template package refuses it")
	}
	if !strings.Contains(got, html.EscapeString("<script>alert(1)</script>")) {
		t.Error("the name itself is not shown")
	}
}

var (
	scripts    = regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`)
	styles     = regexp.MustCompile(`(?s)<style[^>]*>(.*?)</style>`)
	references = regexp.MustCompile(`(?i)\s(?:src|href|srcset|action|formaction|poster|data|background|xlink:href|ping|cite)\s*=\s*("[^"]*"|'[^']*'|[^\s>]+)`)
	inCSS      = regexp.MustCompile(`(?i)url\(([^)]*)\)|@import[^;]*`)
	inline     = regexp.MustCompile(`(?i)<[a-z][^>]*\s(style|on[a-z]+)\s*=`)
)

// TestNothingIsLoaded looks at every place from which HTML or CSS can load.
func TestNothingIsLoaded(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, inventFacts(t, demoSize)); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, m := range styles.FindAllStringSubmatch(got, -1) {
		for _, u := range inCSS.FindAllStringSubmatch(m[1], -1) {
			if !strings.HasPrefix(u[1], "#") {
				t.Errorf("the style refers to %s", u[0])
			}
		}
	}
	markup := styles.ReplaceAllString(scripts.ReplaceAllString(got, "<script></script>"), "<style></style>")
	found := references.FindAllStringSubmatch(markup, -1)
	if len(found) < 10 {
		t.Errorf("only %d references found: the test looks for the wrong thing", len(found))
	}
	for _, m := range found {
		if !strings.HasPrefix(strings.Trim(m[1], `"'`), "#") {
			t.Errorf("refers to something outside the file: %s", m[0])
		}
	}
	for _, tag := range []string{"<link", "<iframe", "<object", "<embed", "<base", "<form", "<img", "<video", "<audio", `http-equiv="refresh"`} {
		if strings.Contains(strings.ToLower(markup), tag) {
			t.Errorf("holds %s", tag)
		}
	}
	for _, m := range scripts.FindAllStringSubmatch(got, -1) {
		if strings.Contains(m[1], "src") {
			t.Errorf("a script has a source: %s", m[1])
		}
	}
}

// TestPolicyAllowsWhatIsThere reckons the hashes from the file itself.
func TestPolicyAllowsWhatIsThere(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, inventFacts(t, demoSize)); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	m := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(got)
	if m == nil {
		t.Fatal("no policy")
	}
	policy := html.UnescapeString(m[1])
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		t.Errorf("the policy is too wide: %s", policy)
	}
	directives := map[string]string{}
	for _, d := range strings.Split(policy, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(d), " ")
		directives[name] = value
	}
	var allowed []string
	for _, s := range scripts.FindAllStringSubmatch(got, -1) {
		if !strings.Contains(s[1], "application/json") {
			allowed = append(allowed, "'"+hash(s[2])+"'")
		}
	}
	if want := strings.Join(allowed, " "); directives["script-src"] != want {
		t.Errorf("script-src %s, the scripts are %s", directives["script-src"], want)
	}
	style := styles.FindAllStringSubmatch(got, -1)
	if len(style) != 1 || directives["style-src"] != "'"+hash(style[0][1])+"'" {
		t.Errorf("style-src %s does not fit the style", directives["style-src"])
	}
	if m := inline.FindString(styles.ReplaceAllString(scripts.ReplaceAllString(got, ""), "")); m != "" {
		t.Errorf("the policy forbids this attribute: %s", m)
	}
}

// TestPicturesHaveTwins asks every picture for its name and every section
// with pictures for a table.
func TestPicturesHaveTwins(t *testing.T) {
	got := page(t, inventFacts(t, demoSize))
	for _, m := range regexp.MustCompile(`<svg[^>]*>`).FindAllString(got, -1) {
		if !strings.Contains(m, "aria-hidden") && !strings.Contains(m, "aria-label") {
			t.Errorf("a picture without a name: %s", m)
		}
	}
	for _, s := range []string{"packing", "move", "pauses", "traffic"} {
		_, rest, _ := strings.Cut(got, `<section id="`+s+`">`)
		body, _, _ := strings.Cut(rest, "</section>")
		if !strings.Contains(body, "<table") {
			t.Errorf("section %s has no table", s)
		}
		if s != "traffic" && !strings.Contains(body, "View as table") {
			t.Errorf("section %s does not offer its picture as a table", s)
		}
	}
}

// TestEveryStepOfAMoveHasWords fails when package move has a step of which
// this package knows nothing.
func TestEveryStepOfAMoveHasWords(t *testing.T) {
	names := map[string]bool{}
	for _, b := range move.Runbooks() {
		for _, s := range b.Steps {
			names[s.Name] = true
			if stepWords[s.Name] == "" {
				t.Errorf("step %s of runbook %s has no words", s.Name, b.Name)
			}
		}
	}
	for n := range stepWords {
		if !names[n] {
			t.Errorf("there is no step %s", n)
		}
	}
	if !names[stepOut] || !names[stepIn] {
		t.Errorf("no steps %s and %s", stepOut, stepIn)
	}
}

// The same for backups and restores, whose steps have names of a move's and do something else.
func TestEveryStepOfABackupHasWords(t *testing.T) {
	names := map[string]bool{}
	for _, k := range []act.Kind{backup.Kind(nil), backup.RestoreKind(nil)} {
		for _, b := range k.Runbooks {
			for _, s := range b.Steps[1:] { // all begin with preflight
				name := k.Name + " " + s.Name
				if slices.Contains([]string{"attach", "rewire", "catch-up", "warm", "in"}, s.Name) && stepWords[s.Name] != "" {
					continue // as in a move
				}
				if names[name] = true; kindWords[name] == "" {
					t.Errorf("step %s has no words", name)
				}
			}
		}
	}
	for n := range kindWords {
		if !names[n] {
			t.Errorf("there is no step %s", n)
		}
	}
}

// TestBadProofIsSeen: a report must not look fine when it is not.
func TestBadProofIsSeen(t *testing.T) {
	facts := inventFacts(t, demoSize)
	if strings.Contains(page(t, facts), "look here") {
		t.Error("a clean run says look here")
	}
	facts.Proof.Lost = 1
	got := page(t, facts)
	for _, want := range []string{"The proof did not hold: 1 write lost", "look here", "must be 0", `class="tile bad"`} {
		if !strings.Contains(got, want) {
			t.Errorf("does not hold %q", want)
		}
	}
	if strings.Contains(got, "each found exactly once") {
		t.Error("still claims that each write was found once")
	}
}
