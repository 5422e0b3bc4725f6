package report

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"stowage/internal/browsertest"
	"stowage/internal/turns"
)

// browse opens a file in Chromium.
func browse(t *testing.T, file string) (dom, console string) {
	t.Helper()
	return browsertest.Open(t, "file://"+file, "--virtual-time-budget=5000")
}

// TestInABrowser opens whole reports: pictures are there, the script shows
// another class, and the console is silent, so that neither the policy nor a
// script complains.
func TestInABrowser(t *testing.T) {
	turns.One(t, 8)
	dir := t.TempDir()
	write := func(name string, f Facts, change func(string) string) string {
		var b strings.Builder
		if err := Write(&b, f); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(change(b.String())), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	same := func(s string) string { return s }
	drawn := regexp.MustCompile(`<svg class="shares"`)
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)

	t.Run("whole", func(t *testing.T) {
		dom, console := browse(t, write("whole.html", inventFacts(t, demoSize), same))
		if console != "" {
			t.Errorf("the console says:\n%s", console)
		}
		if n := len(drawn.FindAllString(dom, -1)); n != 3 {
			t.Errorf("%d pictures, want gates, waits and a class", n)
		}
	})
	t.Run("another class", func(t *testing.T) {
		facts := inventFacts(t, demoSize)
		dom, console := browse(t, write("second.html", facts, func(s string) string {
			return strings.Replace(policy.ReplaceAllString(s, ""), "</body>", `<script>var c = document.getElementById('class-choice'); c.value = '1'; c.dispatchEvent(new Event('change'));</script></body>`, 1)
		}))
		if console != "" {
			t.Errorf("the console says:\n%s", console)
		}
		// Written with the second class in the first place, the page is what the script has made of it.
		facts.Compare.Classes[0], facts.Compare.Classes[1] = facts.Compare.Classes[1], facts.Compare.Classes[0]
		want := newTraffic(facts.Compare).Chosen
		for i, c := range want.Columns {
			row := want.Rows[i]
			for _, text := range []string{"<title>" + c.Title + "</title>", fmt.Sprintf(`<td class="n">%s</td><td class="n">%s</td><td class="n">%s</td>`, row.To, row.Before, row.After)} {
				if !strings.Contains(html.UnescapeString(dom), text) {
					t.Errorf("after the choice of another class the page does not have %s", text)
				}
			}
			for _, b := range want.Bars[2*i : 2*i+2] {
				if text := fmt.Sprintf(`<rect class="bar %s" x="%v" y="%v" width="%v" height="%v">`, b.Class, b.X, b.Y, b.W, b.H); !strings.Contains(dom, text) {
					t.Errorf("after the choice of another class the page does not have %s", text)
				}
			}
		}
	})
	t.Run("nothing known", func(t *testing.T) {
		_, console := browse(t, write("empty.html", Facts{Farm: "demo", Made: began}, same))
		if console != "" {
			t.Errorf("the console says:\n%s", console)
		}
	})
	t.Run("tampered with", func(t *testing.T) {
		// The policy must bite, and this test must be able to fail.
		dom, console := browse(t, write("tampered.html", inventFacts(t, demoSize), func(s string) string {
			return strings.Replace(s, "'use strict';", "'use strict'; document.title = 'changed';", 1)
		}))
		if !strings.Contains(console, "Content Security Policy") {
			t.Errorf("a changed script ran without complaint; the console says: %q", console)
		}
		if strings.Contains(dom, "<title>changed") || strings.Contains(dom, "<option") {
			t.Error("a changed script ran")
		}
	})
}
