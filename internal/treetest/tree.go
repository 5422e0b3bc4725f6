// Package treetest makes trees of files as /dev, /proc, /sys and /etc of a
// machine show them, for tests of what reads such trees.
package treetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Make writes files, by their path below it, into a directory that goes with
// the test. A text that begins with "-> " makes a symbolic link to what follows.
func Make(t testing.TB, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, isLink := strings.CutPrefix(text, "-> "); isLink {
			err = os.Symlink(to, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}
