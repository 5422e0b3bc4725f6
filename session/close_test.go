package session

import (
	"slices"
	"testing"

	"stowage/farm"
	"stowage/workspace"
)

// The last opened is closed first; what is opened while the session ends is closed with it.
func TestCloseGoesBackAndLeavesNothing(t *testing.T) {
	s := Of(&workspace.Workspace{Dir: t.TempDir()}, &farm.Farm{}, nil, Options{})
	var closed []string
	note := func(what string) func() { return func() { closed = append(closed, what) } }
	s.onClose(note("first"))
	s.onClose(func() { note("second")(); s.onClose(note("late")) })
	s.Close()
	s.Close()
	if want := []string{"second", "late", "first"}; !slices.Equal(closed, want) {
		t.Errorf("closed %q, want %q", closed, want)
	}
}
