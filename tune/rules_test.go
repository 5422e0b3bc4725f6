package tune_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"stowage/tune"
	"stowage/tune/probe"
)

var update = flag.Bool("update", false, "rewrite what the rules say in testdata/rules")

// TestRules asks each rule about the trees of testdata/rules/ID.txtar. The
// first part of a file's name is the case; base/ belongs to all of them. What
// the rule says stands in CASE/want:
//
//	followed                       nothing to find
//	not applicable: WHY
//	not known: SUBJECT: WHAT IS MISSING
//	SEVERITY SUBJECT: VERDICT      and below it what was read, the fix, and the change that could be carried out
//
// `go test ./tune -update` rewrites it.
func TestRules(t *testing.T) {
	for _, r := range tune.Rules() {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("testdata", "rules", r.ID+".txtar")
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			verdicts := map[string]bool{}
			var rewritten []txtar.File
			for _, name := range cases(archive) {
				got := said(r, treeOf(t, archive, name))
				verdicts[strings.Fields(got)[0]] = true
				want := content(archive, name+"/want")
				if got != want && !*update {
					t.Errorf("%s:\n%swant:\n%s", name, got, want)
				}
				rewritten = append(rewritten, filesOf(archive, name)...)
				rewritten = append(rewritten, txtar.File{Name: name + "/want", Data: []byte(got)})
			}
			finds := verdicts["blocker"] || verdicts["warning"] || verdicts["note"]
			if !finds || !verdicts["followed"] && !alwaysSays[r.ID] {
				t.Errorf("%s shows %v: it needs a case with a finding and one that follows the rule", file, verdicts)
			}
			if *update {
				archive.Files = append(filesOf(archive, "base"), rewritten...)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// alwaysSays are rules that say something wherever they apply.
var alwaysSays = map[string]bool{"CLD-INIT": true}

// cases are the first parts of the names, in their order, but for base.
func cases(a *txtar.Archive) []string {
	var out []string
	for _, f := range a.Files {
		name, _, _ := strings.Cut(f.Name, "/")
		if name != "base" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func filesOf(a *txtar.Archive, name string) []txtar.File {
	var out []txtar.File
	for _, f := range a.Files {
		if strings.HasPrefix(f.Name, name+"/") && f.Name != name+"/want" {
			out = append(out, f)
		}
	}
	return out
}

func content(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// treeOf writes base and the case into a directory and reads it.
func treeOf(t *testing.T, a *txtar.Archive, name string) *tune.Facts {
	t.Helper()
	dir := t.TempDir()
	for _, f := range append(filesOf(a, "base"), filesOf(a, name)...) {
		_, path, _ := strings.Cut(f.Name, "/")
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return probe.Read(t.Context(), probe.Recorded(dir), nil, nil)
}

// said is what one rule says, as text.
func said(r tune.Rule, facts *tune.Facts) string {
	report := tune.Audit(facts, []tune.Rule{r})
	var b strings.Builder
	for _, n := range report.NotApplicable {
		fmt.Fprintf(&b, "not applicable: %s\n", n.Why)
	}
	for range report.Followed {
		fmt.Fprintln(&b, "followed")
	}
	for _, n := range report.NotKnown {
		fmt.Fprintf(&b, "not known: %s: %s\n  get: %s\n", n.Subject, n.Missing, n.Get)
	}
	for _, f := range report.Findings {
		fmt.Fprintf(&b, "%s %s: %s\n  read: %s\n  fix: %s\n", f.Severity, f.Subject, f.Verdict, f.Read, f.Fix)
		for _, c := range f.Changes() {
			fmt.Fprintf(&b, "  change: %s from %q to %q\n", c.Setting(), c.From, c.To)
		}
	}
	return b.String()
}

// TestEveryFindingIsComplete: whoever reads a finding at night must not have
// to guess what lasts and how to get back. All rules look at every tree that was
// recorded for any of them, and each has one answer: the tree of the KeyError, a
// virtual floppy that has become sda, is one of them (HW-ID).
func TestEveryFindingIsComplete(t *testing.T) {
	ids := map[string]bool{}
	for _, r := range tune.Rules() {
		if ids[r.ID] || r.ID == "" || r.Title == "" || r.Reads == "" || r.Source == "" || r.Except == "" || r.Check == nil {
			t.Errorf("rule %q is incomplete or named twice", r.ID)
		}
		ids[r.ID] = true
		archive, err := txtar.ParseFile(filepath.Join("testdata", "rules", r.ID+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range cases(archive) {
			report := tune.Audit(treeOf(t, archive, name), tune.Rules())
			answers := map[string]bool{}
			for _, n := range report.NotApplicable {
				answers[n.ID] = true
			}
			for _, id := range report.Followed {
				answers[id] = true
			}
			for _, n := range report.NotKnown {
				answers[n.ID] = true
				if n.Subject == "" || n.Missing == "" || n.Get == "" {
					t.Errorf("%s, %s: what is not known is not said: %+v", r.ID, name, n)
				}
			}
			for _, f := range report.Findings {
				answers[f.ID] = true
				for what, text := range map[string]string{"id": f.ID, "severity": string(f.Severity), "subject": f.Subject, "read": f.Read, "verdict": f.Verdict, "why": f.Why,
					"source": f.Source, "except": f.Except, "fix": f.Fix, "persist": f.Persist, "revert": f.Revert} {
					if strings.TrimSpace(text) == "" {
						t.Errorf("%s, %s: a finding without %s: %+v", r.ID, name, what, f)
					}
				}
			}
			if len(answers) != len(tune.Rules()) {
				t.Errorf("%s, %s: %d rules have an answer, of %d", r.ID, name, len(answers), len(tune.Rules()))
			}
		}
	}
}

// TestNothingKnown: a tree with nothing in it passes no rule for want of
// facts; each says why it does not apply.
func TestNothingKnown(t *testing.T) {
	report := tune.Audit(&tune.Facts{}, tune.Rules())
	if len(report.Findings)+len(report.Followed) > 0 {
		t.Errorf("findings %v, followed %v: nothing was known", report.Findings, report.Followed)
	}
	if len(report.NotApplicable) != len(tune.Rules()) {
		t.Errorf("%d rules do not apply, of %d", len(report.NotApplicable), len(tune.Rules()))
	}
}

// TestRulesAreDocumented: docs/measuring/tune.md has a line for every rule.
func TestRulesAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "measuring", "tune.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range tune.Rules() {
		if !strings.Contains(string(page), "\n| `"+r.ID+"` | "+r.Title+" | "+r.Reads+" |") {
			t.Errorf("docs/measuring/tune.md has no line for %s, or another one", r.ID)
		}
	}
}
