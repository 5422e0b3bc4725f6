package latest

import (
	"strings"
	"testing"

	"stowage/reshape/spec"
)

// Names that are too long for a trigger stay apart, and others are what they were.
func TestTriggerName(t *testing.T) {
	name := func(s string) string { return Shape{Spec: spec.Spec{Name: s}}.triggerName(3) }
	if got := name("files"); got != "stowage_latest_files_3" {
		t.Error(got)
	}
	long := strings.Repeat("é", 30)
	a, b := name(long+"a"), name(long+"b")
	if a == b || len(a) > 64 || len(b) > 64 || !strings.HasPrefix(a, "stowage_latest_éé") {
		t.Errorf("%q and %q", a, b)
	}
}
