package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The manual pages, for packages: a build of their own, which is not the program that is shipped.
func TestManualPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	if out, err := exec.Command("go", "run", "-tags", "man", ".", "man", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]string{"stowage.1": "STOWAGE", "stowage-plan-show.1": "Markdown", "stowage-move.1": "Exit codes"} {
		if page, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%s has no %q: %v", name, want, err)
		}
	}
}
