package workspace_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stowage/farm"
	"stowage/workspace"
)

var update = flag.Bool("update", false, "rewrite the expected messages")

// Each testdata/*.txtar is a workspace with something wrong in it and, as
// "message", what a person is told. Rewrite with -update and read the result
// as prose.
func TestBadFiles(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			script, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir, want := unpack(t, string(script))
			err = readAll(dir)
			if !errors.Is(err, farm.ErrInput) {
				t.Fatalf("error %v is not of unusable input", err)
			}
			if farm.Hint(err) == "" {
				t.Error("no hint what to do")
			}
			got := strings.ReplaceAll(err.Error(), dir, "DIR") + "\n"
			if *update {
				before, _, _ := strings.Cut(string(script), messageMark)
				if err := os.WriteFile(path, []byte(before+messageMark+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
		})
	}
}

const messageMark = "-- message --\n"

// unpack writes the files of a script into a new directory, and returns the
// message that its end expects. A file starts after its "-- name --" line.
func unpack(t *testing.T, script string) (dir, message string) {
	t.Helper()
	files, message, ok := strings.Cut(script, messageMark)
	if !ok {
		t.Fatal("the script has no message")
	}
	dir = t.TempDir()
	var name string
	content := map[string]string{}
	for line := range strings.Lines(files) {
		if n, ok := strings.CutPrefix(line, "-- "); ok && strings.HasSuffix(n, " --\n") {
			name = strings.TrimSuffix(n, " --\n")
			content[name] = ""
		} else if name != "" {
			content[name] += line
		}
	}
	for name, text := range content {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, message
}

// readAll reads all that is there and stops at the first error.
func readAll(dir string) error {
	w, err := workspace.Open(dir)
	if err != nil {
		return err
	}
	if _, err := w.Farm(); err != nil {
		return err
	}
	if _, err := w.Goals(); err != nil {
		return err
	}
	_, err = w.Plan("p")
	return err
}
