package sources

import (
	"os"
	"path/filepath"
	"testing"

	"stowage/inventory/claims"
)

// TestPatchIsOffered: one line of one file, in the form in which it was
// written, and what cannot be said so is counted.
func TestPatchIsOffered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "backend x\n  server a 10.0.0.2:3306 # 10.0.0.2 is b\n  server b 10.0.0.1:3306\n  server 7 7 7\n"
	must(t, os.WriteFile(filepath.Join(dir, "haproxy.cfg"), []byte(text), 0o644))
	shown := func(source, value, place string) claims.Shown {
		return claims.Shown{Source: source, Value: value, Place: place}
	}
	conflict := func(list ...claims.Shown) claims.Conflict {
		return claims.Conflict{Value: "db1", Culprits: []string{"lb"}, Claims: list}
	}
	r := claims.Report{Conflicts: []claims.Conflict{
		conflict(shown("farm", "db1", "farm.yaml:3"), shown("ansible", "10.0.0.1:3306", "hosts:4"), shown("lb", "10.0.0.2:3306", "haproxy.cfg:2")),
		conflict(shown("farm", "db2", "farm.yaml:4"), shown("lb", "10.0.0.1:3306", "haproxy.cfg:3")),              // nobody writes it so
		conflict(shown("a", "8", "x:1"), shown("lb", "7", "haproxy.cfg:4")),                                       // which 7?
		conflict(shown("a", "10.0.0.9:3306", "x:1"), shown("lb", "10.0.0.1:3306", "10.0.0.1:3306 SHOW REPLICAS")), // no file
	}}
	diff, left := Patch(dir, r)
	want := "--- haproxy.cfg\n+++ haproxy.cfg\n@@ -2 +2 @@\n-  server a 10.0.0.2:3306 # 10.0.0.2 is b\n+  server a 10.0.0.1:3306 # 10.0.0.2 is b\n"
	if diff != want || left != 3 {
		t.Errorf("got %d left, and\n%s\nwant\n%s", left, diff, want)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "haproxy.cfg")); err != nil || string(after) != text {
		t.Errorf("the file was changed: %v\n%s", err, after)
	}
}
