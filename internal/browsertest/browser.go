// Package browsertest opens pages in headless Chromium, for tests of what a
// person sees: charts that are drawn, and a console that is silent, so that
// neither the content security policy nor a script complains.
package browsertest

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Open loads an address and returns the document as it is once everything was
// loaded and the scripts ran, and what the console said, a line each. It skips
// the test where there is no Chromium. Further flags of Chromium, such as
// --virtual-time-budget, may follow.
func Open(t *testing.T, address string, flags ...string) (dom, console string) {
	t.Helper()
	program := find(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(append(quiet(t), "--enable-logging=stderr", "--window-size=1280,1600", "--dump-dom", address), flags...)...)
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

// find is Chromium. It skips the test where there is none.
func find(t *testing.T) string {
	t.Helper()
	if os.Getenv("STOWAGE_SERVERS") == "none" { // make check
		t.Skip("SKIPPED: no browser is wanted")
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("NOT TESTED: that pages work in a browser; chromium is not installed")
	}
	return program
}

// quiet are the flags of a browser without a window that speaks with nobody but the test.
func quiet(t *testing.T) []string {
	t.Helper()
	return []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--user-data-dir=" + t.TempDir(),
	}
}
