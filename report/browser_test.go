package report

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// browse opens a file in Chromium and returns the document as it is after the
// scripts ran, and what the console said.
func browse(t *testing.T, program, file string) (dom, console string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(),
		"--enable-logging=stderr", "--virtual-time-budget=5000", "--window-size=1280,1600", "--dump-dom", "file://"+file)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, said.String())
	}
	var lines []string
	for line := range strings.Lines(said.String()) {
		if strings.Contains(line, "CONSOLE") {
			lines = append(lines, line)
		}
	}
	return string(out), strings.Join(lines, "")
}

// TestInABrowser opens whole reports: charts are drawn, and the console is
// silent, so that neither the policy nor a script complains.
func TestInABrowser(t *testing.T) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("NOT TESTED: that reports render in a browser; chromium is not installed")
	}
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
		dom, console := browse(t, program, write("whole.html", inventFacts(t, demoSize), same))
		if console != "" {
			t.Errorf("the console says:\n%s", console)
		}
		if n := len(drawn.FindAllString(dom, -1)); n != 3 {
			t.Errorf("%d charts drawn, want gates, waits and a class", n)
		}
	})
	t.Run("nothing known", func(t *testing.T) {
		_, console := browse(t, program, write("empty.html", Facts{Farm: "demo", Made: began}, same))
		if console != "" {
			t.Errorf("the console says:\n%s", console)
		}
	})
	t.Run("tampered with", func(t *testing.T) {
		// The policy must bite, and this test must be able to fail.
		dom, console := browse(t, program, write("tampered.html", inventFacts(t, demoSize), func(s string) string {
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
