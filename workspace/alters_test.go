package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// A script that somebody has edited stays, and the new one has a name of its own.
func TestAlterScriptsAreNotReplaced(t *testing.T) {
	dir := t.TempDir()
	w := &Workspace{Dir: dir}
	for _, x := range []struct{ text, want string }{{"a", "x-safe-1.sql"}, {"a", "x-safe-1.sql"}, {"b", "x-safe-1-2.sql"}, {"c", "x-safe-1-3.sql"}, {"b", "x-safe-1-2.sql"}} {
		path, err := w.SaveAlterScript("x-safe-1.sql", x.text)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || filepath.Base(path) != x.want || string(text) != x.text {
			t.Errorf("%s: %s has %q, %v", x.text, path, text, err)
		}
	}
}
