package report

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"stowage/internal/browsertest"
)

// browse opens a file in Chromium.
func browse(t *testing.T, file string) (dom, console string) {
	t.Helper()
	return browsertest.Open(t, "file://"+file, "--virtual-time-budget=5000")
}

// TestInABrowser opens whole reports: charts are drawn, and the console is
// silent, so that neither the policy nor a script complains.
func TestInABrowser(t *testing.T) {
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
	drawn := regexp.MustCompile(`(?s)data-chart="(?:pauses|class)"[^>]*>\s*<div[^>]*><svg`)

	t.Run("whole", func(t *testing.T) {
		dom, console := browse(t, write("whole.html", inventFacts(t, demoSize), same))
		if console != "" {
			t.Errorf("the console says:\n%s", console)
		}
		if n := len(drawn.FindAllString(dom, -1)); n != 3 {
			t.Errorf("%d charts drawn, want gates, waits and a class", n)
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
		if drawn.MatchString(dom) || strings.Contains(dom, "<title>changed") {
			t.Error("a changed script ran")
		}
	})
}
